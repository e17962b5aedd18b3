//! A PostgreSQL as if on a machine of its own: what it writes is written before, held back, and delivered at its pace.
//!
//! The source's work would take processors that hedgerow has for itself where the source runs elsewhere, as sources do.
//! So the log of a phase is written before the phase begins, as fast as the source can, and waits in a link
//! ([`super::held_link`]); during the phase the source rests.

use anyhow::{Result, ensure};
use testbed::Hedgerow;
use testbed::soak::settled_bytes;

use super::calls::Calls;
use super::freshness;
use super::held_link::HeldLink;
use super::postgres_source::PostgresSource;
use super::writers::{self, Work};

/// A phase ends with a whole set of queries: for so many times its least length there have to be changes.
const LENGTHS: f64 = 1.6;

/// See the module.
#[derive(Debug)]
pub struct HeldSource<'a> {
    pub source: &'a PostgresSource,
    pub link: &'a HeldLink,
}

impl HeldSource<'_> {
    /// Has the source write what a phase of so many seconds at least will deliver.
    pub fn write_ahead(
        &self,
        connect: impl Fn(usize) -> Result<Box<dyn Calls>>,
        work: Work,
        seconds: f64,
    ) -> Result<()> {
        self.link.hold();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some millions"
        )]
        let changes = (work.changes_a_second * seconds * LENGTHS) as u64;
        let fast = Work {
            changes_a_second: f64::INFINITY,
            ..work
        };
        let wait = || self.link.wait_for_changes(changes);
        let ((), written) = writers::write_while(connect, fast, wait)?;
        ensure!(written.changes > 0, "nothing was written");
        self.link.wait_for_stamps(written.last())
    }

    /// Has hedgerow take what was not delivered, and come to rest: no phase has the merges of that.
    pub fn deliver_rest(&self, hedgerow: &Hedgerow) -> Result<()> {
        self.link.open();
        freshness::wait_until_visible(&mut self.source.connect()?, &mut hedgerow.connect()?)?;
        settled_bytes(hedgerow).map(|_| ())
    }
}
