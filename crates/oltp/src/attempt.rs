//! One run of a call, on one partition or several, and its end: commit, rollback, or the knowledge of
//! what is missing.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use types::CommitPosition;

use crate::call::Call;
use crate::change_feed::ChangedRows;
use crate::options::Sampling;
use crate::partition::Partition;
use crate::procedure::Procedure;
use crate::stop::Stop;
use crate::transaction::{Circumstances, Tracking, Transaction};

/// How an attempt ended.
pub(crate) enum Attempt {
    Ended(Result<CommitPosition, Stop>),
    /// Evicted data is missing; the workspace knows which.
    Missing,
}

/// What is done about evicted rows that a run meets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnEvicted {
    /// They are noted: the run is in its pre-pass.
    Note,
    /// They are fetched while the run waits.
    Fetch,
    /// So are those of which a statement wants the key only.
    FetchWholeRows,
}

impl Partition {
    /// Runs a procedure to one of its ends, on this partition and others.
    pub(crate) fn attempt(
        &mut self,
        others: &mut [&mut Self],
        call: Call<'_>,
        circumstances: Circumstances,
        reply: &mut Vec<u8>,
        may_block: bool,
    ) -> Attempt {
        self.replay_time.begin_run(&*self.clock);
        let on_evicted = if may_block {
            OnEvicted::Fetch
        } else {
            OnEvicted::Note
        };
        let mut result = self.run(others, call, circumstances, reply, on_evicted);
        if result == Err(Stop::Evicted) && !self.is_missing(others) {
            // It has asked a row, of which it wanted the key, for a text: no index tells that.
            if may_block {
                self.give_up(others, reply, true);
                let on_evicted = OnEvicted::FetchWholeRows;
                result = self.run(others, call, circumstances, reply, on_evicted);
            } else {
                self.want_found(others);
            }
        }
        if self.is_missing(others) {
            self.give_up(others, reply, true);
            return Attempt::Missing;
        }
        if let Err(stop) = result {
            self.give_up(others, reply, false);
            return Attempt::Ended(Err(stop));
        }
        Attempt::Ended(Ok(self.commit(others, call, circumstances)))
    }

    /// Runs the procedure once. One that panics is rolled back before the panic goes on: otherwise the
    /// next transaction would make final what this one has done.
    fn run(
        &mut self,
        others: &mut [&mut Self],
        call: Call<'_>,
        circumstances: Circumstances,
        reply: &mut Vec<u8>,
        on_evicted: OnEvicted,
    ) -> Result<(), Stop> {
        let (mut transaction, procedures) = self.begin(circumstances, on_evicted);
        let procedure = &procedures[usize::from(call.procedure.0)];
        let there = others.iter_mut();
        transaction.join(there.map(|other| other.begin(circumstances, on_evicted).0));
        let run = || procedure.run(&mut transaction, call.parameters, reply);
        let result = catch_unwind(AssertUnwindSafe(run));
        drop(transaction);
        result.unwrap_or_else(|panic| {
            self.give_up(others, reply, false);
            resume_unwind(panic)
        })
    }

    /// This partition's side of a transaction, and the procedures.
    fn begin(
        &mut self,
        circumstances: Circumstances,
        on_evicted: OnEvicted,
    ) -> (Transaction<'_>, &[Arc<dyn Procedure>]) {
        let tracking = self.tracking();
        let fetch = self.anti_cache.as_mut();
        let fetch = fetch.filter(|_| on_evicted != OnEvicted::Note);
        let transaction = Transaction::begin(
            self.place,
            &mut self.tables,
            &mut self.work,
            circumstances,
            tracking,
            fetch.map(|fetch| fetch as _),
        );
        let transaction = match on_evicted {
            OnEvicted::FetchWholeRows => transaction.with_whole_rows(),
            OnEvicted::Note | OnEvicted::Fetch => transaction,
        };
        (transaction, &self.procedures)
    }

    /// Whether the run has met evicted rows, here or on the others.
    fn is_missing(&self, others: &[&mut Self]) -> bool {
        let wants = |partition: &Self| !partition.work.wants.is_empty();
        wants(self) || others.iter().any(|other| wants(other))
    }

    /// Wants the rows of which the run has found the keys.
    fn want_found(&mut self, others: &mut [&mut Self]) {
        self.work.want_found(&self.tables);
        for other in others {
            other.work.want_found(&other.tables);
        }
    }

    /// Takes back what a transaction has done, here and on the others, and answered.
    fn give_up(&mut self, others: &mut [&mut Self], reply: &mut Vec<u8>, runs_again: bool) {
        reply.clear();
        self.roll_back(runs_again);
        others
            .iter_mut()
            .for_each(|other| other.roll_back(runs_again));
    }

    /// Takes back what a transaction has done here. Rows that it has used are not the next to be evicted
    /// when it will run again (section 3.3).
    fn roll_back(&mut self, runs_again: bool) {
        if runs_again {
            for (number, id) in self.work.used.drain(..) {
                self.tables[usize::from(number.0)].touch_if_live(id);
            }
        }
        self.work
            .undo
            .roll_back(&mut self.tables, &mut self.work.row);
    }

    fn commit(
        &mut self,
        others: &mut [&mut Self],
        call: Call<'_>,
        circumstances: Circumstances,
    ) -> CommitPosition {
        let positions = others.iter().map(|other| other.position);
        let before = positions.fold(self.position, CommitPosition::max);
        let changes = |partition: &Self| !partition.work.undo.is_empty();
        if !changes(self) && !others.iter().any(|other| changes(other)) {
            return before;
        }
        self.collect_changes(others);
        let position = match &self.log {
            Some(log) => {
                let name = self.procedures[usize::from(call.procedure.0)].name();
                self.replay_time.log_run(&*self.clock);
                let mut log = log.lock();
                let position = log.append(circumstances, name, call.parameters);
                log.append_changes(circumstances.time_us, changed_rows(self, others));
                position
            }
            None => CommitPosition(before.0 + 1),
        };
        self.make_final(position);
        for other in others {
            other.make_final(position);
        }
        position
    }

    /// Copies what the transaction has changed, here and on the others, when there is a feed.
    fn collect_changes(&mut self, others: &mut [&mut Self]) {
        let collect = |partition: &mut Self| {
            if let Some(rows) = &mut partition.changed_rows {
                rows.collect(&partition.work.undo, &partition.tables);
            }
        };
        collect(self);
        others.iter_mut().for_each(|other| collect(other));
    }

    /// What the transaction at this position did here cannot be undone any more.
    fn make_final(&mut self, position: CommitPosition) {
        if self.work.undo.is_empty() {
            return;
        }
        self.position = position;
        let pins = self
            .anti_cache
            .as_mut()
            .map(|anti_cache| &mut anti_cache.pins);
        match pins {
            Some(pins) => self.work.undo.commit(&mut self.tables, |table, id| {
                pins.forget(table.number, id);
            }),
            None => self.work.undo.commit(&mut self.tables, |_, _| {}),
        }
    }

    fn tracking(&mut self) -> Tracking {
        match self
            .anti_cache
            .as_ref()
            .map(|anti_cache| anti_cache.options.sampling)
        {
            None => Tracking::All(false),
            Some(Sampling::Accesses(alpha)) => Tracking::Each(alpha),
            Some(Sampling::Transactions(alpha)) => Tracking::All(self.chance.unit() < alpha),
        }
    }
}

/// What the last transaction that has committed on these partitions has changed in them.
pub(crate) fn changed_rows<'p>(
    first: &'p Partition,
    others: &'p [&mut Partition],
) -> impl Iterator<Item = &'p ChangedRows> + Clone {
    let first = first.changed_rows.iter();
    first.chain(others.iter().flat_map(|other| other.changed_rows.iter()))
}
