//! The course of a run.
//!
//! 1. Look-ups and audits run beside the orders; figures are shown four times a second.
//! 2. A run without end lasts until Control-C. A single run lasts until all its orders are
//!    visible; then everything is made durable and merged.
//! 3. A last audit at the last position, the three questions, the summary.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use env::Clock;
use lsm::{Store, StoreError, Work};
use parking_lot::Mutex;
use replication::orders::{OrderOptions, OrderProgress, Workload};
use replication::primary::Observed;
use sql::{Engine, Session, SessionStart};
use tokio::task::JoinSet;

use super::DemoError;
use super::ask::{ask, statement};
use super::audit::{audit_forever, audit_once};
use super::collector::{Collector, Watched};
use super::display::Display;
use super::figures::{Audit, Figures};
use super::freshness::measure_forever;
use super::lookups::{Pace, Tally, look_up_forever, look_up_some};
use super::meter::LatencyMeter;
use super::numerals::{grouped, short_time};
use super::questions::QUESTIONS;
use super::summary::{Times, summary};
use super::taking::Taking;
use crate::node::{Node, asked_to_end};
use crate::settings::USER;

/// How often figures are shown.
const FRAME: Duration = Duration::from_millis(250);
/// How often a single run looks whether it is over.
const LOOK: Duration = Duration::from_millis(5);
/// Status look-ups a second at most.
const LOOKUPS_A_SECOND: f64 = 200.0;
/// Status look-ups at the end of a single run.
const LAST_LOOKUPS: u64 = 200;
/// A paced run has time for look-ups.
const PACED_PAUSE: f64 = 1.0;
/// A run as fast as possible spends a twentieth of a processor on them.
const UNPACED_PAUSE: f64 = 20.0;

/// How often statuses are looked up beside a paced run, or one as fast as possible.
pub(super) fn pace(is_paced: bool) -> Pace {
    Pace {
        rate: LOOKUPS_A_SECOND,
        pause_factor: if is_paced { PACED_PAUSE } else { UNPACED_PAUSE },
    }
}

/// Everything that a run needs.
pub(super) struct Run {
    engine: Arc<Engine>,
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    workload: Workload,
    progress: Arc<Mutex<OrderProgress>>,
    tally: Arc<Mutex<Tally>>,
    primary_tally: Arc<Mutex<Tally>>,
    taking_failure: Arc<Mutex<Option<String>>>,
    audit: Arc<Mutex<Audit>>,
    freshness: Arc<Mutex<LatencyMeter>>,
    collector: Collector,
    pace: Pace,
    start: Instant,
}

impl Run {
    pub(super) fn new(
        node: &Node,
        options: OrderOptions,
        taking: &Taking,
        primary: Observed,
    ) -> Self {
        let progress = taking.progress();
        let workload = Workload::new(options.seed);
        let tally = Arc::<Mutex<Tally>>::default();
        let audit = Arc::<Mutex<Audit>>::default();
        let freshness = Arc::<Mutex<LatencyMeter>>::default();
        let watched = Watched {
            store: node.store().clone(),
            status: node.status().clone(),
            workload,
            progress: progress.clone(),
            tally: tally.clone(),
            primary,
            primary_tally: taking.tally(),
            audit: audit.clone(),
            freshness: freshness.clone(),
            goal: options.orders,
        };
        Self {
            engine: node.engine().clone(),
            store: node.store().clone(),
            clock: node.env().clock.clone(),
            workload,
            progress,
            tally,
            primary_tally: taking.tally(),
            taking_failure: taking.failure(),
            audit,
            freshness,
            collector: Collector::new(watched),
            pace: pace(options.rate.is_some()),
            start: Instant::now(),
        }
    }

    /// Runs to the end; says whether every answer was right.
    pub(super) async fn drive(mut self, once: bool) -> Result<bool, DemoError> {
        let asking = self.ask_beside()?;
        let visible = self.watch(once).await?;
        drop(asking);
        if once {
            self.finish_once(visible).await?;
        } else {
            self.say_goodbye()?;
        }
        let wrong = self.tally.lock().wrong + self.primary_tally.lock().wrong;
        let correct = self.audit.lock().failure.is_none() && wrong == 0;
        if !correct {
            self.tell_failures()?;
        }
        Ok(correct)
    }

    fn session(&self) -> Result<Session, DemoError> {
        let start = SessionStart {
            user: USER.to_owned(),
            ..SessionStart::default()
        };
        Ok(self.engine.session(&start)?)
    }

    /// Starts look-ups, audits and measurements; they end when the set is dropped.
    fn ask_beside(&self) -> Result<JoinSet<()>, DemoError> {
        let mut asking = JoinSet::new();
        let (session, tally) = (self.session()?, self.tally.clone());
        let (store, workload, pace) = (self.store.clone(), self.workload, self.pace);
        asking.spawn(async move { look_up_forever(session, store, workload, pace, &tally).await });
        let (session, audit) = (self.session()?, self.audit.clone());
        asking.spawn(async move { audit_forever(session, workload, &audit).await });
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let (progress, freshness) = (self.progress.clone(), self.freshness.clone());
        asking.spawn(async move { measure_forever(store, clock, progress, &freshness).await });
        Ok(asking)
    }

    /// Shows figures until the run is over. Returns how long that took.
    async fn watch(&mut self, once: bool) -> Result<Duration, DemoError> {
        let mut display = Display::new();
        let mut frames = tokio::time::interval(FRAME);
        let mut looks = tokio::time::interval(LOOK);
        let end = asked_to_end();
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => break,
                _ = looks.tick() => {
                    if let Some(failure) = self.taking_failure.lock().clone() {
                        return Err(DemoError::Taking(failure));
                    }
                    if once && self.is_over() {
                        break;
                    }
                }
                _ = frames.tick() => display.show(&self.collector.collect())?,
            }
        }
        let elapsed = self.start.elapsed();
        display.show_last(&self.collector.collect())?;
        Ok(elapsed)
    }

    /// Whether all orders of the run are visible.
    fn is_over(&self) -> bool {
        let progress = self.progress.lock();
        progress.finished && self.store.visible() >= progress.position
    }

    /// Makes everything durable and merged, asks once more and sums up.
    async fn finish_once(&mut self, visible: Duration) -> Result<(), DemoError> {
        let store = self.store.clone();
        let settling = tokio::task::spawn_blocking(move || settle(&store)).await;
        settling.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        let settled = self.start.elapsed();
        let session = self.session()?;
        audit_once(&session, self.workload, &self.audit).await?;
        look_up_some(
            &session,
            &self.store,
            self.workload,
            LAST_LOOKUPS,
            &self.tally,
        )
        .await?;
        let mut out = String::new();
        for question in &QUESTIONS {
            let answer = ask(&session, &statement(question.sql), Vec::new()).await?;
            let (position, latency) = (answer.position, short_time(answer.latency));
            out.push_str(&format!("\n{}\n{}", question.title, answer.table("  ")));
            out.push_str(&format!("  (at {position}, {latency})\n"));
        }
        let figures = self.collector.collect();
        let changes = self.progress.lock().taken.row_changes;
        out.push('\n');
        out.push_str(&summary(&figures, changes, Times { visible, settled }));
        std::io::stdout().write_all(out.as_bytes())?;
        Ok(())
    }

    fn say_goodbye(&mut self) -> Result<(), DemoError> {
        let Figures {
            tried,
            rolled_back,
            orders_held,
            elapsed,
            ..
        } = self.collector.collect();
        let mut out = std::io::stdout();
        writeln!(
            out,
            "\n{} orders in {}, {} rolled back; {} are held.",
            grouped(tried),
            short_time(elapsed),
            grouped(rolled_back),
            grouped(orders_held)
        )?;
        Ok(())
    }

    /// Says on standard error which answers were wrong.
    fn tell_failures(&self) -> Result<(), DemoError> {
        let failures = [
            self.audit.lock().failure.clone(),
            self.tally.lock().failure.clone(),
            self.primary_tally.lock().failure.clone(),
        ];
        let mut error = std::io::stderr();
        for failure in failures.into_iter().flatten() {
            writeln!(error, "WRONG: {failure}")?;
        }
        Ok(())
    }
}

/// Makes everything durable and merges until nothing is left to merge.
fn settle(store: &Store) -> Result<(), StoreError> {
    const OTHERS_MERGE: Duration = Duration::from_millis(5);
    store.flush()?;
    loop {
        if store.work(Work::Merge)? {
            continue;
        }
        if store.stats().merges_running == 0 {
            return Ok(());
        }
        std::thread::sleep(OTHERS_MERGE);
    }
}
