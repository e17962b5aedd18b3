//! A partition: tables, and one thread that runs transactions in them one after another
//! (Anti-Caching, section 2).
//!
//! 1. [`Partition::execute`] runs a call to its end, unless it needs evicted data. Then it is rolled
//!    back and waits, with its parameters, while other calls run.
//! 2. [`Partition::poll`] looks what has come from disk, brings it back into the tables, runs the calls
//!    that have all they needed, hands the command log on, and evicts what is too much. So many rows
//!    at a time come and go: the rest is for the next step.
//!
//! Who knows the calls that come next says so before they do: [`Partition::expect`].
//!
//! It starts no threads: [`BlockFiles::write`], [`BlockFiles::fetch`], [`LogWriter::write`] and
//! `SnapshotWriter::write` are steps that the process's threads, or a simulation, call.
//!
//! **Invariant:** what transactions read and change does not depend on what is on disk; only when they
//! run does.

use std::sync::Arc;

use parking_lot::Mutex;
use types::CommitPosition;

use crate::anti_cache::{AntiCache, BlockFiles};
use crate::attempt::Attempt;
use crate::call::{Call, Completion, Outcome, Refusal, Ticket};
use crate::change_feed::{ChangeFeed, ChangedRows};
use crate::command_log::{CommandLog, LogWriter};
use crate::error::PrimaryError;
use crate::expected_calls::{Declared, ExpectedCalls};
use crate::options::Sampling;
use crate::partition_set::PartitionPlace;
use crate::procedure::Procedure;
use crate::random::Random;
use crate::recovery::Recovery;
use crate::snapshot::{ReplayTime, Snapshots};
use crate::statistics::{AntiCacheStatistics, PartitionCounts};
use crate::stop::Stop;
use crate::table::Table;
use crate::transaction::{Circumstances, Workspace};
use crate::waiting::{WaitingCall, WaitingCalls};

/// See the module. `open` is in [`crate::recovery`].
pub struct Partition {
    pub(crate) place: PartitionPlace,
    pub(crate) tables: Vec<Table>,
    pub(crate) procedures: Vec<Arc<dyn Procedure>>,
    pub(crate) anti_cache: Option<AntiCache>,
    /// The partitions of a primary share it.
    pub(crate) log: Option<Arc<Mutex<CommandLog>>>,
    /// What a replica follows, when there is to be one, and what the last transaction has changed then. The
    /// partitions of a primary share the feed.
    pub(crate) feed: Option<Arc<ChangeFeed>>,
    pub(crate) changed_rows: Option<ChangedRows>,
    pub(crate) snapshots: Option<Snapshots>,
    pub(crate) replay_time: ReplayTime,
    pub(crate) recovery: Recovery,
    pub(crate) clock: Arc<dyn env::Clock>,
    pub(crate) next_number: u64,
    pub(crate) position: CommitPosition,
    pub(crate) time_us: i64,
    pub(crate) work: Workspace,
    pub(crate) declared: Declared,
    pub(crate) expected: ExpectedCalls,
    pub(crate) waiting: WaitingCalls,
    pub(crate) chance: Random,
    pub(crate) counts: PartitionCounts,
    pub(crate) calls_until_look: u32,
    pub(crate) is_full: bool,
    /// Held as long as the partition lives.
    pub(crate) folder_lock: Option<Box<dyn env::DirectoryLock>>,
}

impl Partition {
    /// Runs a call. `reply` gets what the procedure answers.
    ///
    /// # Panics
    /// When there is no such procedure.
    pub fn execute(&mut self, call: Call<'_>, reply: &mut Vec<u8>) -> Outcome {
        reply.clear();
        if let Err(refusal) = self.admit(call) {
            return Outcome::Refused(refusal);
        }
        self.next_number = self.place.number_after(self.next_number);
        let circumstances = Circumstances {
            number: self.next_number,
            time_us: self.time_us,
        };
        match self.find_declared(call) {
            Err(stop) => return self.ended(call, Err(stop)),
            Ok(true) => return self.miss(call, circumstances),
            Ok(false) => {}
        }
        match self.attempt(&mut [], call, circumstances, reply, false) {
            Attempt::Ended(result) => self.ended(call, result),
            Attempt::Missing => self.miss(call, circumstances),
        }
    }

    /// A call has ended so.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        call: Call<'_>,
        result: Result<CommitPosition, Stop>,
    ) -> Outcome {
        self.counts.end(call.procedure, result.is_ok());
        match result {
            Ok(position) => Outcome::Committed(position),
            Err(stop) => Outcome::Stopped(stop),
        }
    }

    /// A call waits for evicted data, unless there is no room for it.
    fn miss(&mut self, call: Call<'_>, circumstances: Circumstances) -> Outcome {
        if self.is_full {
            return Outcome::Refused(Refusal::MemoryFull);
        }
        match self.wait(call, circumstances) {
            Ok(ticket) => Outcome::Waiting(ticket),
            Err(stop) => self.ended(call, Err(stop)),
        }
    }

    /// Takes what other threads have done, and goes on with the calls that waited for it. Their ends
    /// are added to `completed`. An error means that nothing can be acknowledged any more.
    pub fn poll(&mut self, completed: &mut Vec<Completion>) -> Result<(), PrimaryError> {
        self.time_us = self.time_us.max(self.clock.wall_us());
        self.take_arrivals();
        while !self.is_held_up()
            && let Some((ticket, call)) = self.waiting.take_ready()
        {
            match call.part_of {
                None => self.run_again(ticket, call, completed),
                Some(shared) => self.waiting.arrived.push_back((shared, call)),
            }
        }
        self.advance_snapshot();
        self.make_room();
        self.show_statistics();
        self.log.as_ref().map_or(Ok(()), |log| log.lock().advance())
    }

    pub(crate) fn admit(&mut self, call: Call<'_>) -> Result<(), Refusal> {
        if let Some(log) = &self.log {
            log.lock().admit(call.parameters)?;
        }
        if self.feed.as_ref().is_some_and(|feed| feed.is_full()) {
            return Err(Refusal::ReplicaBehind);
        }
        self.calls_until_look -= 1;
        if self.calls_until_look == 0 || self.is_full {
            self.advance_snapshot();
            self.make_room();
        }
        let Some(anti_cache) = &self.anti_cache else {
            return Ok(());
        };
        if self.is_full && self.procedures[usize::from(call.procedure.0)].may_grow() {
            return Err(Refusal::MemoryFull);
        }
        if self.waiting.len() >= anti_cache.options.waiting_max {
            return Err(Refusal::TooManyWaiting);
        }
        Ok(())
    }

    /// Whether calls that have waited must wait for the log, too, or for the replica.
    pub(crate) fn is_held_up(&self) -> bool {
        let log = self.log.as_ref();
        log.is_some_and(|log| log.lock().is_full())
            || self.feed.as_ref().is_some_and(|feed| feed.is_full())
    }

    fn run_again(&mut self, ticket: Ticket, waited: WaitingCall, completed: &mut Vec<Completion>) {
        self.counts.restart(waited.call().procedure);
        let may_block = self.restart(waited.restarts, waited.fetched_bytes);
        let (mut reply, before) = (Vec::new(), self.position);
        let circumstances = waited.circumstances;
        let attempt = self.attempt(&mut [], waited.call(), circumstances, &mut reply, may_block);
        if self.position > before {
            self.replay_time.add_reads(waited.pins.len());
        }
        let (waited, result) = match attempt {
            Attempt::Ended(result) => (waited, result),
            // What it has fetched stays until it has run to its end.
            Attempt::Missing => match self.wait_again(ticket, waited) {
                Ok(()) => return,
                Err(stopped) => (stopped.0, Err(stopped.1)),
            },
        };
        self.unpin(&waited.pins);
        let outcome = self.ended(waited.call(), result);
        completed.push(Completion {
            ticket,
            outcome,
            reply,
        });
    }

    /// Notes that a call runs again, which has fetched so much: whether it may wait for the disk itself.
    pub(crate) fn restart(&mut self, restarts: u32, fetched_bytes: usize) -> bool {
        let Some(anti_cache) = &mut self.anti_cache else {
            return false;
        };
        anti_cache.statistics.restarts += 1;
        anti_cache.allow_fetches(fetched_bytes);
        restarts >= anti_cache.options.restarts_max
    }

    /// Runs a call of the log, on this partition and others.
    pub(crate) fn replay(
        &mut self,
        others: &mut [&mut Self],
        call: Call<'_>,
        circumstances: Circumstances,
    ) -> Result<CommitPosition, Stop> {
        self.follow(circumstances);
        for other in &mut *others {
            other.follow(circumstances);
        }
        match self.attempt(others, call, circumstances, &mut Vec::new(), true) {
            Attempt::Ended(result) => result,
            Attempt::Missing => unreachable!("it waits for the disk itself"),
        }
    }

    /// Goes on from a transaction of the log that is about to run.
    fn follow(&mut self, circumstances: Circumstances) {
        self.next_number = self.next_number.max(circumstances.number);
        self.time_us = self.time_us.max(circumstances.time_us);
        if let Some(anti_cache) = &mut self.anti_cache {
            anti_cache.allow_all_fetches();
        }
        self.calls_until_look -= 1;
        if self.calls_until_look == 0 || self.is_full {
            self.make_room();
        }
    }

    /// The position of the last transaction that changed something.
    pub fn position(&self) -> CommitPosition {
        self.position
    }

    /// Everything up to here would be recovered if the process ended now. Without a log: nothing.
    pub fn durable(&self) -> CommitPosition {
        self.log
            .as_ref()
            .map_or(CommitPosition::ZERO, |log| log.lock().durable())
    }

    /// Calls that wait for evicted data.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What reads and writes blocks for this partition, when it has an anti-cache.
    pub fn block_files(&self) -> Option<Arc<BlockFiles>> {
        self.anti_cache
            .as_ref()
            .map(|anti_cache| Arc::clone(&anti_cache.files))
    }

    /// What writes the log for this partition, when it has one.
    pub fn log_writer(&self) -> Option<Arc<LogWriter>> {
        let log = self.log.as_ref()?;
        Some(Arc::clone(&log.lock().writer))
    }

    /// What a replica follows, when the plan has a feed.
    pub fn change_feed(&self) -> Option<Arc<ChangeFeed>> {
        self.feed.clone()
    }

    /// Sets how much is tracked from now on.
    pub fn set_sampling(&mut self, sampling: Sampling) {
        if let Some(anti_cache) = &mut self.anti_cache {
            anti_cache.options.sampling = sampling;
        }
    }

    /// What the anti-cache has done.
    pub fn anti_cache_statistics(&self) -> AntiCacheStatistics {
        let anti_cache = self.anti_cache.as_ref();
        anti_cache.map_or_else(AntiCacheStatistics::default, |a| a.statistics)
    }

    /// Holes in the blocks on disk.
    pub fn holes(&self) -> u64 {
        self.anti_cache.as_ref().map_or(0, AntiCache::holes)
    }
}
