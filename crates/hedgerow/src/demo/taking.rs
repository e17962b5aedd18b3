//! The threads beside the node: the desk where orders are taken, and customers who ask the primary itself
//! after lines of any age, so that rows which have gone to disk are fetched again.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use replication::orders::desk::DeskError;
use replication::orders::primary_lookup::{self, LookupError};
use replication::orders::{OrderDesk, OrderOptions, OrderProgress, Workload};
use replication::primary::{Clients, Ended};
use replication::source::Stop;

use super::lookups::{Pace, Tally};
use crate::node::Node;

/// How long to wait before asking when there is nothing to ask for yet.
const NOTHING_TO_ASK: Duration = Duration::from_millis(50);

/// The threads.
pub(super) struct Taking {
    stop: Stop,
    progress: Arc<Mutex<OrderProgress>>,
    tally: Arc<Mutex<Tally>>,
    failure: Arc<Mutex<Option<String>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Taking {
    /// Starts them.
    pub(super) fn start(
        node: &Node,
        clients: &Clients,
        options: OrderOptions,
        pace: Pace,
    ) -> Result<Self, Ended> {
        let desk = OrderDesk::new(options, clients.session()?, node.env().clock.clone());
        let mut taking = Self {
            stop: Stop::new(),
            progress: desk.progress(),
            tally: Arc::default(),
            failure: Arc::default(),
            threads: Vec::new(),
        };
        let (stop, failure) = (taking.stop.clone(), taking.failure.clone());
        taking.spawn("desk", move || match desk.run(&stop) {
            Ok(()) => {}
            // Why the primary has ended its source tells.
            Err(DeskError::Ended(_)) => {}
            Err(error) => {
                failure.lock().get_or_insert(error.to_string());
            }
        });
        let customers = Customers {
            session: clients.session()?,
            workload: Workload::new(options.seed),
            progress: taking.progress.clone(),
            tally: taking.tally.clone(),
            pace,
            stop: taking.stop.clone(),
        };
        taking.spawn("customers", move || customers.run());
        Ok(taking)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) {
        match std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
        {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                let reason = format!("cannot start the thread {name:?}: {error}");
                self.failure.lock().get_or_insert(reason);
            }
        }
    }

    /// How far the desk is.
    pub(super) fn progress(&self) -> Arc<Mutex<OrderProgress>> {
        self.progress.clone()
    }

    /// What the customers' questions came to.
    pub(super) fn tally(&self) -> Arc<Mutex<Tally>> {
        self.tally.clone()
    }

    /// Why the desk cannot go on, if it cannot.
    pub(super) fn failure(&self) -> Arc<Mutex<Option<String>>> {
        self.failure.clone()
    }

    /// Ends the threads. Calls that are on their way are carried out or not.
    pub(super) fn stop(self) {
        self.stop.set();
        for thread in self.threads {
            if thread.join().is_err() {
                let reason = "a thread of the demonstration failed unexpectedly (a bug)";
                self.failure.lock().get_or_insert(reason.to_owned());
            }
        }
    }
}

/// Those who ask the primary.
struct Customers {
    session: replication::primary::Session,
    workload: Workload,
    progress: Arc<Mutex<OrderProgress>>,
    tally: Arc<Mutex<Tally>>,
    pace: Pace,
    stop: Stop,
}

impl Customers {
    fn run(self) {
        for number in 0.. {
            let pause = self.ask(number);
            if self.stop.wait(pause) {
                return;
            }
        }
    }

    /// Asks a question, if there is one. Returns how long to pause.
    fn ask(&self, number: u64) -> Duration {
        let position = self.progress.lock().position;
        let question = primary_lookup::question(self.workload, position, number);
        let Some(question) = question else {
            return NOTHING_TO_ASK;
        };
        let start = Instant::now();
        let answer = primary_lookup::ask(&self.session, self.workload, question, &self.stop);
        let latency = start.elapsed();
        let mut tally = self.tally.lock();
        match answer {
            Ok(()) => {
                tally.right += 1;
                tally.latency.note(latency);
            }
            Err(LookupError::Wrong(failure)) => {
                tally.wrong += 1;
                tally.failure.get_or_insert(failure);
            }
            // It is over, or the memory is full for now.
            Err(LookupError::Unanswered) => return NOTHING_TO_ASK,
        }
        self.pace.pause(latency)
    }
}
