//! Where orders are entered: a PostgreSQL, or the primary that is built in.

use anyhow::{Context, Result};
use clap::ValueEnum;
use testbed::Hedgerow;

use crate::processor_time;

use super::calls::Calls;
use super::held_source::HeldSource;
use super::postgres_calls::PostgresCalls;
use super::postgres_source::{Database, PostgresSource};
use super::primary_calls::PrimaryCalls;

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SourceKind {
    /// A PostgreSQL on the same processors
    Postgres,
    /// A PostgreSQL as if on processors of its own: its log is written before and held back
    Held,
    /// Hedgerow's own primary, in the same process
    Primary,
}

/// A running source.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A server of its own.
    Postgres(&'a PostgresSource),
    /// The same, behind a link that holds its log back.
    Held(&'a HeldSource<'a>),
    /// Hedgerow itself.
    Primary(&'a Hedgerow),
}

impl Source<'_> {
    /// The connection of a writer; each run of writers has another seed.
    pub fn calls(&self, database: Database, writer: usize, seed: u64) -> Result<Box<dyn Calls>> {
        let writer = i32::try_from(writer)?;
        Ok(match self {
            Self::Postgres(source) => {
                Box::new(PostgresCalls::new(source.connect_to(database)?, writer)?)
            }
            Self::Held(held) => {
                let client = held.source.connect_to(database)?;
                Box::new(PostgresCalls::new(client, writer)?)
            }
            Self::Primary(hedgerow) => {
                Box::new(PrimaryCalls::new(hedgerow.connect()?, writer, seed)?)
            }
        })
    }

    /// Seconds of processors that it has taken; `None` where they are hedgerow's.
    pub fn processor_seconds(&self) -> Result<Option<f64>> {
        let source = match self {
            Self::Postgres(source) => source,
            Self::Held(held) => held.source,
            Self::Primary(_) => return Ok(None),
        };
        processor_time::of_family(source.process_id()?).map(Some)
    }

    /// The source that can be asked itself.
    pub fn peer(&self) -> Result<&PostgresSource> {
        match self {
            Self::Postgres(source) => Ok(source),
            Self::Held(held) => Ok(held.source),
            Self::Primary(_) => None.context("the built-in primary answers no such queries"),
        }
    }
}
