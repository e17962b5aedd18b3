//! One phase: honest clients ask, alone or beside a crowd, and what the server used meanwhile.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use testbed::patience::wait_for;

use super::Plan;
use super::crowd::Crowd;
use super::tally::Counts;
use crate::accounts::Login;
use crate::quantiles::Quantiles;
use crate::{processor_time, resident_memory};

/// The server, and how it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    pub plan: Plan,
    pub login: &'a Login,
    /// The server's process.
    pub process: u32,
}

/// What came of a phase.
#[derive(Debug, Default)]
pub struct Outcome {
    pub look_ups: Quantiles,
    pub visits: Quantiles,
    pub failures: Vec<String>,
    /// The most memory of the server's that was resident.
    pub resident_bytes: u64,
    /// Processors that the server kept busy.
    pub server_processors: f64,
    /// The same of all clients.
    pub client_processors: f64,
    /// What the crowd did; nothing where there was none.
    pub hostility: Option<Hostility>,
}

/// What a crowd did while honest clients were measured.
#[derive(Clone, Copy, Debug)]
pub struct Hostility {
    pub connections_a_second: f64,
    pub guesses_a_second: f64,
    pub guesses_let_in: u64,
    /// Slow clients that were logged in in the end.
    pub inside: u64,
    /// How long it took until the server had let go of all connections, once the crowd was gone.
    pub seconds_until_gone: f64,
}

impl Sides<'_> {
    /// Honest clients alone.
    pub fn alone(&self, seed: u64) -> Result<Outcome> {
        resident_memory::forget_peak(self.process)?;
        self.measured(seed)
    }

    /// Honest clients beside the crowd. Memory counts from when that comes until it has gone.
    pub fn beside_crowd(&self, seed: u64) -> Result<Outcome> {
        resident_memory::forget_peak(self.process)?;
        let sockets = open_sockets(self.process)?;
        let crowd = Crowd::gather(self.login, self.plan.crowd)?;
        std::thread::sleep(self.plan.settling);
        let (before, started) = (crowd.counts(), Instant::now());
        let mut outcome = self.measured(seed)?;
        let mut hostility = Hostility::between(before, crowd.counts(), started.elapsed());
        let gone = Instant::now();
        crowd.disperse()?;
        wait_for("the server to let go of hostile connections", || {
            Ok((open_sockets(self.process)? <= sockets).then_some(()))
        })?;
        hostility.seconds_until_gone = gone.elapsed().as_secs_f64();
        outcome.hostility = Some(hostility);
        outcome.resident_bytes = resident_memory::peak_bytes(self.process)?;
        Ok(outcome)
    }

    fn measured(&self, seed: u64) -> Result<Outcome> {
        let own = std::process::id();
        let processors = || -> Result<(f64, f64)> {
            let server = processor_time::of_process(self.process)?;
            Ok((server, processor_time::of_process(own)?))
        };
        let started = Instant::now();
        let (server, clients) = processors()?;
        let length = Duration::from_secs_f64(self.plan.seconds);
        let served = self.plan.honest.ask(self.login, length, seed)?;
        let (server_then, clients_then) = processors()?;
        let seconds = started.elapsed().as_secs_f64();
        Ok(Outcome {
            look_ups: Quantiles::of(served.look_ups),
            visits: Quantiles::of(served.visits),
            failures: served.failures,
            resident_bytes: resident_memory::peak_bytes(self.process)?,
            server_processors: (server_then - server) / seconds,
            client_processors: (clients_then - clients) / seconds,
            hostility: None,
        })
    }
}

impl Hostility {
    fn between(before: Counts, after: Counts, time: Duration) -> Self {
        let rate = |before: u64, after: u64| {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
            let count = (after - before) as f64;
            count / time.as_secs_f64()
        };
        Self {
            connections_a_second: rate(before.connections, after.connections),
            guesses_a_second: rate(before.guesses_refused, after.guesses_refused),
            guesses_let_in: after.guesses_let_in,
            inside: after.inside,
            seconds_until_gone: f64::NAN,
        }
    }
}

/// A process's sockets.
fn open_sockets(process: u32) -> Result<usize> {
    let files = fs::read_dir(format!("/proc/{process}/fd"))?;
    // One that was closed since it was listed is none any more.
    let targets = files.flatten().flat_map(|file| fs::read_link(file.path()));
    Ok(targets
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, times) in [("look-ups", self.look_ups), ("visits", self.visits)] {
            let Quantiles {
                ms_p50,
                ms_p99,
                ms_max,
                ..
            } = times;
            write!(f, "{name} {ms_p50:.2}, {ms_p99:.2}, {ms_max:.1} ms; ")?;
        }
        write!(
            f,
            "{} failures, {} MiB, processors: server {:.2}, clients {:.2}",
            self.failures.len(),
            self.resident_bytes >> 20,
            self.server_processors,
            self.client_processors
        )?;
        if let Some(hostility) = &self.hostility {
            write!(f, "; {hostility:?}")?;
        }
        Ok(())
    }
}
