//! A primary of several partitions, and transactions on more than one of them (Anti-Caching, section 2).
//!
//! 1. A call names its partitions by its parameters ([`Procedure::partitions`]).
//! 2. Whoever runs a call takes those partitions, in the order of their numbers, and lets them go when
//!    the call has ended or waits. The threads of these partitions wait meanwhile; the others go on.
//! 3. All partitions share one command log. A call is appended while its partitions are held, so the
//!    log is in an order in which everything could have happened one after another, and a call on
//!    several partitions is one record: after a crash all of it is there, or nothing.
//! 4. A call on several partitions that meets evicted data, in any of them, is rolled back in all. Its
//!    pre-pass has gone over all of them; it runs again when each has fetched what it needs there.
//!
//! **No deadlock:** partitions are taken in ascending order, the list of waiting calls and the log after
//! them, and nothing is kept over a wait for the disk.
//!
//! It starts no threads: one for each partition calls [`Primary::execute`] and [`Primary::poll`].
//!
//! Does not: balance partitions, or take snapshots.

use std::path::Path;
use std::sync::Arc;

use env::{DirectoryLock, Env};
use parking_lot::{Mutex, MutexGuard};
use types::CommitPosition;

use crate::anti_cache::BlockFiles;
use crate::attempt::{Attempt, changed_rows};
use crate::call::{Call, Completion, Outcome, Refusal};
use crate::change_feed::{ChangeFeed, FeedWriter};
use crate::command_log::{CommandLog, LogWriter, ReadLog, SegmentNumber};
use crate::error::PrimaryError;
use crate::partition::Partition;
use crate::partition_set::{PARTITIONS_MAX, PartitionNumber, PartitionPlace, PartitionSet};
use crate::procedure::{Procedure, find_procedure};
use crate::recovery::{PartitionPlan, open_log, refuse, take};
use crate::shared_calls::{SharedCall, SharedCallNumber, SharedCalls};
use crate::snapshot::MANIFEST_NAME;
use crate::stop::{Stop, Violation};
use crate::transaction::Circumstances;
use crate::waiting::WaitingCall;

/// See the module.
pub struct Primary {
    partitions: Vec<Mutex<Partition>>,
    procedures: Vec<Arc<dyn Procedure>>,
    log: Option<Arc<Mutex<CommandLog>>>,
    waiting: Mutex<SharedCalls>,
    /// Calls on several partitions that have waited and ended, by the first partition of each.
    ended: Vec<Mutex<Vec<Completion>>>,
    /// Held as long as the primary lives.
    _folder_lock: Option<Box<dyn DirectoryLock>>,
}

impl Primary {
    /// Opens the primary in `folder`, or makes it, with so many partitions, each of which has the
    /// tables, the procedures and the anti-cache of the plan. The number may differ from the one that
    /// the log was written with: every call goes where it names.
    ///
    /// # Panics
    /// When there are to be none, or more than [`PARTITIONS_MAX`].
    pub fn open(
        env: &Env,
        folder: &Path,
        plan: &PartitionPlan,
        partitions: u16,
    ) -> Result<Self, PrimaryError> {
        assert!(
            (1..=PARTITIONS_MAX).contains(&partitions),
            "{partitions} partitions"
        );
        plan.check_feed()?;
        let folder_lock = take(env, folder, plan)?;
        if plan.has_log {
            let is_manifest = |name: &str| name == MANIFEST_NAME;
            refuse(env, folder, "with several partitions", is_manifest)?;
        }
        let open = |number: u16| {
            let place = PartitionPlace {
                number: PartitionNumber(number),
                partitions,
            };
            let own_folder = folder.join(format!("partition-{number}"));
            Partition::empty(env, &own_folder, plan, place).map(Mutex::new)
        };
        let mut primary = Self {
            partitions: (0..partitions).map(open).collect::<Result<_, _>>()?,
            procedures: plan.procedures.clone(),
            log: None,
            waiting: Mutex::default(),
            ended: (0..partitions).map(|_| Mutex::default()).collect(),
            _folder_lock: folder_lock,
        };
        if plan.has_log {
            primary.recover(env, folder, plan)?;
        }
        for partition in &mut primary.partitions {
            partition.get_mut().remove_blocks_but(&[])?;
        }
        Ok(primary)
    }

    fn recover(
        &mut self,
        env: &Env,
        folder: &Path,
        plan: &PartitionPlan,
    ) -> Result<(), PrimaryError> {
        let feed = plan.feed.map(|start| ChangeFeed::new(&plan.tables, start));
        let mut feed = feed.map(|feed| FeedWriter::new(Arc::new(feed)));
        if let Some(feed) = &feed {
            for partition in &mut self.partitions {
                partition.get_mut().follow_with(feed.feed());
            }
        }
        let mut last = CommitPosition::ZERO;
        let writer = open_log(env, folder, SegmentNumber(0), |read| {
            last = self.replay_all(read, feed.as_mut())?;
            Ok(())
        })?;
        plan.check_reaches_replica(last)?;
        let log = Arc::new(Mutex::new(CommandLog::new(writer, last).with_feed(feed)));
        let partitions = self.partitions.iter_mut().map(Mutex::get_mut);
        let last_number = partitions.map(|partition| partition.next_number).max();
        for partition in &mut self.partitions {
            let partition = partition.get_mut();
            partition.log = Some(Arc::clone(&log));
            // There may have been other partitions, whose numbers must not come again.
            partition.next_number = last_number.expect("there is a partition");
        }
        self.log = Some(log);
        Ok(())
    }

    /// Runs every call of the log again: the position of the last one.
    fn replay_all(
        &mut self,
        read: &ReadLog,
        mut feed: Option<&mut FeedWriter>,
    ) -> Result<CommitPosition, PrimaryError> {
        let mut last = CommitPosition::ZERO;
        for record in read.records() {
            last = record.position;
            let not_replayed = |reason: String| PrimaryError::NotReplayed {
                position: last.0,
                reason,
            };
            let call = Call {
                procedure: find_procedure(&self.procedures, record.procedure)?,
                parameters: record.parameters,
            };
            let set = self.set_of(call).map_err(|s| not_replayed(s.to_string()))?;
            let named = self.partitions.iter_mut().map(Mutex::get_mut);
            let mut named: Vec<_> = named.filter(|p| set.contains(p.place.number)).collect();
            let before = named.iter().map(|partition| partition.position).max();
            let (first, others) = split(&mut named);
            let position = first
                .replay(others, call, record.circumstances)
                .map_err(|stop| not_replayed(stop.to_string()))?;
            if Some(position) == before {
                return Err(not_replayed("it changed nothing".into()));
            }
            if let Some(feed) = &mut feed {
                let time_us = record.circumstances.time_us;
                feed.push_again(last, time_us, changed_rows(first, others));
            }
            for partition in named {
                if partition.position == position {
                    partition.position = last;
                }
                partition.write_blocks()?;
            }
        }
        Ok(last)
    }

    /// Runs a call, in the thread of one of its partitions. `reply` gets what the procedure answers. The
    /// end of a call that waits comes from [`Self::poll`] of the first partition that it names.
    ///
    /// # Panics
    /// When there is no such procedure.
    pub fn execute(&self, call: Call<'_>, reply: &mut Vec<u8>) -> Outcome {
        let set = match self.set_of(call) {
            Ok(set) => set,
            Err(stop) => return Outcome::Stopped(stop),
        };
        if set.is_single() {
            return self.lock(set.first()).execute(call, reply);
        }
        reply.clear();
        let mut held = self.hold(set);
        for partition in &mut held {
            if let Err(refusal) = partition.admit(call) {
                return Outcome::Refused(refusal);
            }
        }
        let circumstances = next_circumstances(&mut held);
        match attempt(&mut held, call, circumstances, reply, false) {
            Attempt::Ended(result) => held[0].ended(call, result),
            Attempt::Missing if held.iter().any(|partition| partition.is_full) => {
                Outcome::Refused(Refusal::MemoryFull)
            }
            Attempt::Missing => {
                let ticket = held[0].waiting.new_ticket();
                let waiting = SharedCall::new(set, ticket, call, circumstances);
                match self.wait(&mut held, waiting) {
                    Ok(()) => Outcome::Waiting(ticket),
                    Err(stopped) => held[0].ended(call, Err(stopped.1)),
                }
            }
        }
    }

    /// [`Partition::poll`] of a partition; then the calls on several partitions run whose last part has
    /// arrived in this one.
    pub fn poll(
        &self,
        partition: PartitionNumber,
        completed: &mut Vec<Completion>,
    ) -> Result<(), PrimaryError> {
        self.lock(partition).poll(completed)?;
        while let Some((number, part)) = self.next_arrived(partition) {
            let ready = self.waiting.lock().arrive(number, partition, part);
            if let Some(call) = ready {
                self.run_again(call);
            }
        }
        completed.append(&mut self.ended[usize::from(partition.0)].lock());
        Ok(())
    }

    /// A part of a call that has all it needs, unless nothing should be appended to the log.
    fn next_arrived(&self, partition: PartitionNumber) -> Option<(SharedCallNumber, WaitingCall)> {
        let mut held = self.lock(partition);
        if held.is_held_up() {
            return None;
        }
        held.waiting.arrived.pop_front()
    }

    fn run_again(&self, mut waited: SharedCall) {
        let mut held = self.hold(waited.set);
        held[0].counts.restart(waited.call().procedure);
        let mut may_block = false;
        for partition in &mut held {
            may_block |= partition.restart(waited.restarts, waited.fetched_bytes);
        }
        let (mut reply, circumstances) = (Vec::new(), waited.circumstances);
        let attempt = attempt(
            &mut held,
            waited.call(),
            circumstances,
            &mut reply,
            may_block,
        );
        let (waited, result) = match attempt {
            Attempt::Ended(result) => (waited, result),
            Attempt::Missing => {
                waited.restarts += 1;
                match self.wait(&mut held, waited) {
                    Ok(()) => return,
                    Err(stopped) => (stopped.0, Err(stopped.1)),
                }
            }
        };
        let outcome = held[0].ended(waited.call(), result);
        for partition in &mut held {
            let number = partition.place.number;
            let here = waited.pins.iter().filter(|(at, _)| *at == number);
            let pins: Vec<_> = here.map(|(_, pin)| *pin).collect();
            partition.unpin(&pins);
        }
        self.ended[usize::from(waited.set.first().0)]
            .lock()
            .push(Completion {
                ticket: waited.ticket,
                outcome,
                reply,
            });
    }

    /// Has a call wait for what its partitions, which are held, say it wants. Each has a bound of its own on
    /// what it fetches.
    fn wait(
        &self,
        held: &mut [MutexGuard<'_, Partition>],
        call: SharedCall,
    ) -> Result<(), Box<(SharedCall, Stop)>> {
        for partition in held.iter_mut().filter(|p| !p.work.wants.is_empty()) {
            if let Err(stop) = partition.refuse_much(call.fetched_bytes) {
                return Err(Box::new((call, stop)));
            }
        }
        let number: SharedCallNumber = self.waiting.lock().new_number();
        let mut parts = 0;
        for partition in held {
            parts += usize::from(partition.wait_for_part(number, call.circumstances));
        }
        self.waiting.lock().wait(number, call, parts);
        Ok(())
    }

    fn set_of(&self, call: Call<'_>) -> Result<PartitionSet, Stop> {
        let procedure = &self.procedures[usize::from(call.procedure.0)];
        let partitions = self.partitions.len() as u16;
        let set = procedure.partitions(call.parameters, partitions);
        match set.iter().find(|partition| partition.0 >= partitions) {
            Some(partition) => Err(Violation::NoSuchPartition { partition }.into()),
            None => Ok(set),
        }
    }

    fn lock(&self, partition: PartitionNumber) -> MutexGuard<'_, Partition> {
        self.partitions[usize::from(partition.0)].lock()
    }

    fn hold(&self, set: PartitionSet) -> Vec<MutexGuard<'_, Partition>> {
        set.iter().map(|partition| self.lock(partition)).collect()
    }

    /// Looks at a partition while its thread waits.
    pub fn look<R>(&self, partition: PartitionNumber, at: impl FnOnce(&Partition) -> R) -> R {
        at(&self.lock(partition))
    }

    /// Everything up to here would be recovered if the process ended now. Without a log: nothing.
    pub fn durable(&self) -> CommitPosition {
        let log = self.log.as_ref();
        log.map_or(CommitPosition::ZERO, |log| log.lock().durable())
    }

    /// What a replica follows, when the plan has a feed.
    pub fn change_feed(&self) -> Option<Arc<ChangeFeed>> {
        self.partitions[0].lock().change_feed()
    }

    /// What writes the log, when there is one.
    pub fn log_writer(&self) -> Option<Arc<LogWriter>> {
        Some(Arc::clone(&self.log.as_ref()?.lock().writer))
    }

    /// What reads and writes blocks for each partition that has an anti-cache.
    pub fn block_files(&self) -> Vec<Arc<BlockFiles>> {
        let partitions = self.partitions.iter();
        partitions.filter_map(|p| p.lock().block_files()).collect()
    }
}

/// A number and a time that are later than all others of these partitions.
fn next_circumstances(held: &mut [MutexGuard<'_, Partition>]) -> Circumstances {
    let last_number = held.iter().map(|partition| partition.next_number).max();
    let last_number = last_number.expect("a set has a partition");
    let time_us = held.iter().map(|partition| partition.time_us).max();
    let circumstances = Circumstances {
        number: held[0].place.number_after(last_number),
        time_us: time_us.expect("a set has a partition"),
    };
    for partition in held {
        partition.next_number = circumstances.number;
        partition.time_us = circumstances.time_us;
    }
    circumstances
}

fn attempt(
    held: &mut [MutexGuard<'_, Partition>],
    call: Call<'_>,
    circumstances: Circumstances,
    reply: &mut Vec<u8>,
    may_block: bool,
) -> Attempt {
    let mut named: Vec<&mut Partition> = held.iter_mut().map(|guard| &mut **guard).collect();
    let (first, others) = split(&mut named);
    first.attempt(others, call, circumstances, reply, may_block)
}

fn split<'a, 'p>(
    named: &'a mut [&'p mut Partition],
) -> (&'a mut Partition, &'a mut [&'p mut Partition]) {
    let (first, others) = named.split_first_mut().expect("a set has a partition");
    (first, others)
}
