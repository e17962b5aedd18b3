//! All hostile clients, on one thread.
//!
//! Each is a task that connects, does what its kind does, and comes again when its connection has
//! ended: at once after a guess that was answered, after a pause when the server has had enough of
//! it. The thread has the lowest priority, because such clients are on machines of their own:
//! what they do themselves must not take processors from the server or from honest clients.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use testbed::patience::wait_for;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::connection::Connection;
use super::kinds::Kind;
use super::tally::{Counts, Tally};
use crate::accounts::Login;

/// How long a client whose connection the server has ended stays away.
const STAYS_AWAY: Duration = Duration::from_secs(1);
/// What the kernel calls the lowest priority.
const LOWEST_PRIORITY: i32 = 19;

/// How many there are.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// A third of them send statements slowly, a third read slowly, the others log in slowly.
    pub slow: usize,
    /// They begin their first packet and say no more.
    pub half_open: usize,
    /// They try passwords.
    pub guessing: usize,
}

impl Sizes {
    fn slow_in_each_way(self) -> usize {
        self.slow / 3
    }

    /// Those that are logged in, and so take a place among the clients served.
    pub fn inside(self) -> usize {
        self.slow_in_each_way() * Kind::INSIDE.len()
    }

    fn of(self, kind: Kind) -> usize {
        match kind {
            Kind::HalfOpen => self.half_open,
            Kind::Guessing => self.guessing,
            Kind::SlowStatement | Kind::SlowReader => self.slow_in_each_way(),
            Kind::SlowLogin => self.slow - self.inside(),
        }
    }
}

/// See the module.
pub struct Crowd {
    tally: Arc<Tally>,
    end: oneshot::Sender<()>,
    thread: JoinHandle<Result<()>>,
}

impl Crowd {
    /// Has them come; returns when those who can log in have done so.
    pub fn gather(login: &Login, sizes: Sizes) -> Result<Self> {
        raise_limit_of_open_files()?;
        let tally = Arc::new(Tally::default());
        let (end, ended) = oneshot::channel();
        let member = Member {
            login: Arc::new(login.clone()),
            tally: tally.clone(),
        };
        let thread = thread::Builder::new().name("hostile".to_owned());
        let thread = thread.spawn(move || member.run_all(sizes, ended))?;
        let crowd = Self { tally, end, thread };
        let inside = sizes.inside() as u64;
        wait_for("slow clients to be logged in", || {
            let settled = crowd.counts().inside == inside || crowd.thread.is_finished();
            Ok(settled.then_some(()))
        })?;
        if crowd.thread.is_finished() {
            crowd.disperse()?;
            bail!("the hostile clients have gone by themselves");
        }
        Ok(crowd)
    }

    /// What they have come to.
    pub fn counts(&self) -> Counts {
        self.tally.counts()
    }

    /// Has them go.
    pub fn disperse(self) -> Result<()> {
        // Nobody waits for it where the thread has ended with an error, which is told next.
        _ = self.end.send(());
        let ended = self.thread.join();
        ended.map_err(|_| anyhow!("the hostile clients' thread panicked"))?
    }
}

/// One of the crowd.
#[derive(Clone)]
struct Member {
    login: Arc<Login>,
    tally: Arc<Tally>,
}

impl Member {
    /// The whole crowd, until `ended`.
    fn run_all(self, sizes: Sizes, ended: oneshot::Receiver<()>) -> Result<()> {
        // On Linux, no process means this thread.
        setpriority_process(None, LOWEST_PRIORITY)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            for kind in Kind::INSIDE {
                // One after the other: proving a password takes milliseconds, and all at once
                // would drive one another out before they are through.
                for _ in 0..sizes.of(kind) {
                    let connection = self.connect(kind).await;
                    let connection = connection.context("a slow client cannot log in")?;
                    tokio::spawn(self.clone().live(kind, Some(connection)));
                }
            }
            for kind in [Kind::SlowLogin, Kind::HalfOpen, Kind::Guessing] {
                for _ in 0..sizes.of(kind) {
                    tokio::spawn(self.clone().live(kind, None));
                }
            }
            // An error means that whoever gathered the crowd has gone.
            _ = ended.await;
            Ok(())
        })
    }

    async fn connect(&self, kind: Kind) -> Result<Connection> {
        self.tally.connected();
        kind.connect(&self.login).await
    }

    /// A client from one connection to the next.
    async fn live(self, kind: Kind, mut connection: Option<Connection>) {
        loop {
            let bothered = match connection.take() {
                Some(connection) => kind.bother(connection, &self.login, &self.tally).await,
                None => self.come(kind).await,
            };
            if bothered.is_err() {
                sleep(STAYS_AWAY).await;
            }
        }
    }

    async fn come(&self, kind: Kind) -> Result<()> {
        let connection = self.connect(kind).await?;
        kind.bother(connection, &self.login, &self.tally).await
    }
}

/// Each client is a socket; many systems begin with 1,024 for a process and let it ask for more.
fn raise_limit_of_open_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}
