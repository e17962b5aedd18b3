//! One run of a call, on one partition or several, and its end: commit, rollback, or the knowledge of
//! what is missing.

use types::CommitPosition;

use crate::call::Call;
use crate::options::Sampling;
use crate::partition::Partition;
use crate::stop::Stop;
use crate::transaction::{Circumstances, Tracking, Transaction};

/// How an attempt ended.
pub(crate) enum Attempt {
    Ended(Result<CommitPosition, Stop>),
    /// Evicted data is missing; the workspace knows which.
    Missing,
}

impl Partition {
    /// Runs a procedure once, on this partition and others.
    pub(crate) fn attempt(
        &mut self,
        others: &mut [&mut Self],
        call: Call<'_>,
        circumstances: Circumstances,
        reply: &mut Vec<u8>,
        may_block: bool,
    ) -> Attempt {
        let tracking = self.tracking();
        let procedure = &*self.procedures[usize::from(call.procedure.0)];
        let fetch = self.anti_cache.as_mut().filter(|_| may_block);
        let mut transaction = Transaction::begin(
            self.place,
            &mut self.tables,
            &mut self.work,
            circumstances,
            tracking,
            fetch.map(|fetch| fetch as _),
        );
        let there = others.iter_mut();
        transaction.join(there.map(|other| other.begin(circumstances, may_block)));
        let result = procedure.run(&mut transaction, call.parameters, reply);
        drop(transaction);
        if self.is_missing() || others.iter().any(|other| other.is_missing()) {
            self.give_up(true);
            others.iter_mut().for_each(|other| other.give_up(true));
            reply.clear();
            return Attempt::Missing;
        }
        if let Err(stop) = result {
            self.give_up(false);
            others.iter_mut().for_each(|other| other.give_up(false));
            reply.clear();
            return Attempt::Ended(Err(stop));
        }
        Attempt::Ended(Ok(self.commit(others, call, circumstances)))
    }

    /// This partition's side of a transaction on several.
    fn begin(&mut self, circumstances: Circumstances, may_block: bool) -> Transaction<'_> {
        let tracking = self.tracking();
        let fetch = self.anti_cache.as_mut().filter(|_| may_block);
        Transaction::begin(
            self.place,
            &mut self.tables,
            &mut self.work,
            circumstances,
            tracking,
            fetch.map(|fetch| fetch as _),
        )
    }

    fn is_missing(&self) -> bool {
        !self.work.wants.is_empty()
    }

    /// Takes back what a transaction has done. Rows that it has used are not the next to be evicted
    /// when it will run again (section 3.3).
    fn give_up(&mut self, runs_again: bool) {
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
        let position = match &self.log {
            Some(log) => {
                let name = self.procedures[usize::from(call.procedure.0)].name();
                log.lock().append(circumstances, name, call.parameters)
            }
            None => CommitPosition(before.0 + 1),
        };
        self.make_final(position);
        for other in others {
            other.make_final(position);
        }
        position
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
