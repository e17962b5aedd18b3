//! One phase: who writes, who asks, and what came of it.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use postgres::Client;
use testbed::Hedgerow;

use crate::processor_time;
use crate::quantiles::Quantiles;

use super::calls::Calls;
use super::postgres_source::Database;
use super::queries::{self, Asked, Query};
use super::source::Source;
use super::writers::{self, Work, Written};
use super::{Plan, freshness};

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The source writes.
    Writes,
    /// It writes, hedgerow is asked.
    Busy,
    /// Hedgerow is asked.
    Quiet,
    /// The source writes what nobody follows, hedgerow is asked.
    Elsewhere,
    /// The source writes, and is asked itself.
    Peer,
}

impl Phase {
    /// What results call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Busy => "busy",
            Self::Quiet => "quiet",
            Self::Elsewhere => "elsewhere",
            Self::Peer => "peer",
        }
    }
}

/// Who takes part.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    pub source: Source<'a>,
    pub hedgerow: &'a Hedgerow,
    pub queries: &'a [Query],
    pub plan: Plan,
}

/// What came of a phase.
#[derive(Debug, Default)]
pub struct Outcome {
    pub asked: Option<Asked>,
    pub written: Option<Written>,
    pub freshness: Option<Quantiles>,
    /// Processors that the source kept busy, of the machine's, if it is a process of its own.
    pub source_processors: Option<f64>,
    /// The same of hedgerow.
    pub hedgerow_processors: f64,
}

impl Sides<'_> {
    /// Runs a phase; each round writes something else.
    pub fn run(&self, phase: Phase, round: u64) -> Result<(Phase, Outcome)> {
        let held = match self.source {
            Source::Held(held) if phase != Phase::Quiet => Some(held),
            _ => None,
        };
        if let Some(held) = held {
            let work = self.work(phase, round);
            held.write_ahead(self.connect(work), work, self.plan.seconds)?;
        }
        let started = Instant::now();
        let (source, hedgerow) = self.processor_seconds()?;
        let mut outcome = self.outcome(phase, round)?;
        let (source_then, hedgerow_then) = self.processor_seconds()?;
        let seconds = started.elapsed().as_secs_f64();
        let of_source = source_then.zip(source);
        outcome.source_processors = of_source.map(|(then, before)| (then - before) / seconds);
        outcome.hedgerow_processors = (hedgerow_then - hedgerow) / seconds;
        eprintln!("round {round}, {}: {outcome}", phase.name());
        if let Some(held) = held {
            held.deliver_rest(self.hedgerow)?;
        }
        Ok((phase, outcome))
    }

    fn work(&self, phase: Phase, round: u64) -> Work {
        Work {
            rows: self.plan.rows,
            changes_a_second: self.plan.changes_a_second,
            database: match phase {
                Phase::Elsewhere => Database::NotFollowed,
                _ => Database::Followed,
            },
            seed: round * 8 + phase as u64,
        }
    }

    fn connect(&self, work: Work) -> impl Fn(usize) -> Result<Box<dyn Calls>> {
        move |writer| self.source.calls(work.database, writer, work.seed)
    }

    fn outcome(&self, phase: Phase, round: u64) -> Result<Outcome> {
        let work = self.work(phase, round);
        let write_while = |during: &dyn Fn() -> Result<Option<Asked>>| match self.source {
            Source::Held(held) => held.link.deliver_while(work.changes_a_second, during),
            _ => writers::write_while(self.connect(work), work, during),
        };
        let ask = || self.ask(self.hedgerow.connect()?);
        match phase {
            Phase::Quiet => Ok(Outcome {
                asked: ask()?,
                ..Outcome::default()
            }),
            Phase::Writes => {
                let pause = Duration::from_secs_f64(self.plan.seconds);
                self.watched(|| {
                    write_while(&|| {
                        thread::sleep(pause);
                        Ok(None)
                    })
                })
            }
            Phase::Busy => self.watched(|| write_while(&ask)),
            Phase::Elsewhere => Ok(Outcome::of(write_while(&ask)?)),
            Phase::Peer => Ok(Outcome::of(write_while(&|| {
                self.ask(self.source.peer()?.connect()?)
            })?)),
        }
    }

    /// What was written comes with how fresh it was here.
    fn watched(
        &self,
        during: impl FnOnce() -> Result<(Option<Asked>, Written)>,
    ) -> Result<Outcome> {
        let (asked, written, delays) = freshness::watch(self.hedgerow.connect()?, during)?;
        Ok(Outcome {
            freshness: Some(Quantiles::of(delays)),
            ..Outcome::of((asked, written))
        })
    }

    fn ask(&self, mut client: Client) -> Result<Option<Asked>> {
        let least = Duration::from_secs_f64(self.plan.seconds);
        queries::ask_back_to_back(&mut client, self.queries, least).map(Some)
    }

    /// Of the source and of hedgerow, so far.
    fn processor_seconds(&self) -> Result<(Option<f64>, f64)> {
        let hedgerow = self.hedgerow.process_id().context("hedgerow runs")?;
        Ok((
            self.source.processor_seconds()?,
            processor_time::of_process(hedgerow)?,
        ))
    }
}

impl Outcome {
    fn of((asked, written): (Option<Asked>, Written)) -> Self {
        Self {
            asked,
            written: Some(written),
            ..Self::default()
        }
    }

    /// Queries a second.
    pub fn query_rate(&self) -> f64 {
        self.asked.as_ref().map_or(f64::NAN, Asked::rate)
    }

    /// Row changes a second.
    pub fn change_rate(&self) -> f64 {
        self.written.as_ref().map_or(f64::NAN, Written::rate)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} queries/s, {:.0} changes/s",
            self.query_rate(),
            self.change_rate()
        )?;
        if let Some(Quantiles {
            ms_p50,
            ms_p99,
            ms_max,
            ..
        }) = self.freshness
        {
            write!(f, ", fresh {ms_p50:.1}, {ms_p99:.1}, {ms_max:.1} ms")?;
        }
        write!(f, "; processors: hedgerow {:.2}", self.hedgerow_processors)?;
        match self.source_processors {
            Some(source) => write!(f, ", source {source:.2}"),
            None => Ok(()),
        }
    }
}
