//! The primary as a contender: one partition with its command log, on data larger than memory.
//!
//! * Of the limit a tenth, and [`OWN_BYTES`], are left for what the budget does not count: the program, what
//!   the allocator keeps, and the page cache that the log and snapshots are written through.
//! * A snapshot begins whenever the log has grown by twice the memory, as large as InnoDB's log is, so that
//!   older segments of the log can go.
//! * A transaction has ended when the log is durable up to what it has seen.
//!
//! A *step* is some calls and a look at what came from disk. How long the looks took at which rows were evicted or came
//! back, with the calls that had waited for them, is an upper bound of the stall by eviction.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use contender::ycsb::row::{TEXT_BYTES, write_row, write_text};
use contender::ycsb::{self, Checks, Client, Counts, Transaction, YcsbArguments, YcsbSide};
use env::Env;
use oltp::{
    AntiCacheOptions, Call, Completion, Outcome, Partition, PartitionPlan, Refusal,
    SnapshotOptions, Ticket,
};
use types::CommitPosition;

use crate::primary_threads::{beside, beside_snapshots};
use crate::ycsb::workload::{self, READ, UPDATE};

/// What the program takes beside the partition.
const OWN_BYTES: u64 = 12 << 20;

/// Calls between two looks at what came from disk.
const STEP_CALLS: usize = 32;

/// Calls that are handed over at once.
const BATCH: usize = 1_024;

/// Commits that may wait for the log, which holds them in memory meanwhile: 2.3 MB of updates, 4 MB of rows
/// that are loaded.
const UNACKNOWLEDGED_MAX: u64 = 1 << 14;
const LOADED_UNACKNOWLEDGED_MAX: u64 = 1 << 12;

/// Loads, and does the tasks of standard input.
pub fn run(arguments: &YcsbArguments) -> Result<()> {
    arguments.common.enter()?;
    allocator::give_back_early()?;
    serve(arguments, io::stdin().lock(), io::stdout().lock())
}

/// The same with any input and output.
pub fn serve(
    arguments: &YcsbArguments,
    input: impl io::BufRead,
    output: impl io::Write,
) -> Result<()> {
    let memory_bytes = arguments.common.memory_bytes;
    let budget = (memory_bytes.saturating_sub(OWN_BYTES) * 9 / 10) as usize;
    let mut partition = open(&arguments.common.folder, budget, memory_bytes)?;
    let files: Vec<_> = partition.block_files().into_iter().collect();
    let log = partition.log_writer();
    let snapshots = partition.snapshot_writer().context("it has a log")?;
    beside(log, &files, || {
        beside_snapshots(&snapshots, || {
            load(&mut partition, arguments.rows)?;
            let mut side = HedgerowYcsb {
                clients: [HedgerowClient::new(&mut partition)],
                budget,
            };
            ycsb::serve(&mut side, arguments, input, output)
        })
    })
}

fn open(folder: &Path, budget: usize, memory_bytes: u64) -> Result<Partition> {
    let plan = PartitionPlan {
        tables: workload::tables(),
        procedures: workload::procedures(),
        anti_cache: Some(AntiCacheOptions::new(budget)),
        has_log: true,
        feed: None,
    };
    let mut partition = Partition::open(&Env::real(), folder, plan)?;
    partition.set_snapshot_options(SnapshotOptions {
        log_bytes: Some(2 * memory_bytes),
        ..SnapshotOptions::default()
    })?;
    Ok(partition)
}

fn load(partition: &mut Partition, rows: u64) -> Result<()> {
    let mut completed = Vec::new();
    let mut calls = 0;
    workload::load_with(partition, rows, write_row, |partition| {
        calls += 1;
        if calls % STEP_CALLS != 0 {
            return Ok(());
        }
        partition.poll(&mut completed)?;
        while partition.position().0 - partition.durable().0 > LOADED_UNACKNOWLEDGED_MAX {
            thread::yield_now();
            partition.poll(&mut completed)?;
        }
        Ok(())
    })
}

/// The one client.
struct HedgerowClient<'a> {
    partition: &'a mut Partition,
    /// Transactions that have run and seen what is not durable yet: up to where, and how many.
    unacknowledged: VecDeque<(CommitPosition, u64)>,
    /// What waits for blocks.
    waiting: HashMap<Ticket, Transaction>,
    completed: Vec<Completion>,
    reply: Vec<u8>,
    ended: u64,
    marks: Marks,
}

/// What is noted for a task.
#[derive(Default)]
struct Marks {
    /// Looks at which rows were evicted or came back.
    looks: Vec<Duration>,
    calls: u64,
    missed: u64,
    memory_max: usize,
}

impl<'a> HedgerowClient<'a> {
    fn new(partition: &'a mut Partition) -> Self {
        Self {
            partition,
            unacknowledged: VecDeque::new(),
            waiting: HashMap::new(),
            completed: Vec::new(),
            reply: Vec::new(),
            ended: 0,
            marks: Marks::default(),
        }
    }

    /// Calls of a step, and those that come after them.
    fn step(
        &mut self,
        transactions: &[Transaction],
        calls: usize,
        checks: &mut Checks,
    ) -> Result<()> {
        for (number, transaction) in transactions.iter().take(calls).enumerate() {
            if let Some(next) = transactions.get(number + Partition::EXPECTED_AHEAD) {
                self.expect(next);
            }
            self.call(transaction, checks)?;
        }
        self.poll(checks)?;
        let memory = self.partition.memory().held_bytes;
        self.marks.memory_max = self.marks.memory_max.max(memory);
        Ok(())
    }

    /// The partition is told of a call that comes some calls later: the calls stand in a queue.
    fn expect(&mut self, transaction: &Transaction) {
        self.partition.expect(Call {
            procedure: match transaction.update {
                Some(_) => UPDATE,
                None => READ,
            },
            parameters: &transaction.key.to_le_bytes(),
        });
    }

    fn call(&mut self, transaction: &Transaction, checks: &mut Checks) -> Result<()> {
        self.marks.calls += 1;
        loop {
            match execute(self.partition, transaction, &mut self.reply) {
                Outcome::Committed(position) => {
                    check_reply(transaction, &self.reply, checks)?;
                    self.acknowledge_at(position);
                    return Ok(());
                }
                Outcome::Waiting(ticket) => {
                    self.marks.missed += 1;
                    self.waiting.insert(ticket, *transaction);
                    return Ok(());
                }
                Outcome::Refused(Refusal::Poisoned) => bail!(Refusal::Poisoned),
                Outcome::Refused(_) => {
                    thread::yield_now();
                    self.poll(checks)?;
                }
                Outcome::Stopped(stop) => bail!(stop),
            }
        }
    }

    /// Takes what has come from disk, and acknowledges what is durable.
    fn poll(&mut self, checks: &mut Checks) -> Result<()> {
        let (moved, before) = (self.moved_rows(), Instant::now());
        self.partition.poll(&mut self.completed)?;
        if self.moved_rows() != moved {
            self.marks.looks.push(before.elapsed());
        }
        for completion in std::mem::take(&mut self.completed) {
            let waited = self.waiting.remove(&completion.ticket);
            let transaction = waited.context("nobody waits for this")?;
            let Outcome::Committed(position) = completion.outcome else {
                bail!("a call that waited ended with {:?}", completion.outcome);
            };
            check_reply(&transaction, &completion.reply, checks)?;
            self.acknowledge_at(position);
        }
        let durable = self.partition.durable();
        while let Some((position, count)) = self.unacknowledged.front()
            && *position <= durable
        {
            self.ended += count;
            self.unacknowledged.pop_front();
        }
        Ok(())
    }

    fn acknowledge_at(&mut self, position: CommitPosition) {
        match self.unacknowledged.back_mut() {
            Some((last, count)) if *last >= position => *count += 1,
            _ => self.unacknowledged.push_back((position, 1)),
        }
    }

    /// Rows that went to disk or came back.
    fn moved_rows(&self) -> u64 {
        let statistics = self.partition.anti_cache_statistics();
        statistics.evicted_rows + statistics.returned_rows
    }

    fn is_log_behind(&self) -> bool {
        self.partition.position().0 - self.partition.durable().0 > UNACKNOWLEDGED_MAX
    }
}

fn execute(partition: &mut Partition, transaction: &Transaction, reply: &mut Vec<u8>) -> Outcome {
    let key = transaction.key.to_le_bytes();
    let Some(update) = transaction.update else {
        let call = Call {
            procedure: READ,
            parameters: &key,
        };
        return partition.execute(call, reply);
    };
    let mut parameters = [0; 8 + 1 + TEXT_BYTES];
    parameters[..8].copy_from_slice(&key);
    parameters[8] = update.column as u8;
    let text = parameters[9..]
        .first_chunk_mut()
        .expect("it has room for a text");
    write_text(transaction.key, update.column, update.version, text);
    let call = Call {
        procedure: UPDATE,
        parameters: &parameters,
    };
    partition.execute(call, reply)
}

fn check_reply(transaction: &Transaction, reply: &[u8], checks: &mut Checks) -> Result<()> {
    match transaction.update {
        None => checks.row_of_bytes(transaction.key, reply),
        Some(_) => {
            ensure!(
                reply == [1],
                "an update of row {} found none",
                transaction.key
            );
            Ok(())
        }
    }
}

impl Client for HedgerowClient<'_> {
    fn run(&mut self, mut transactions: &[Transaction], checks: &mut Checks) -> Result<u64> {
        while !transactions.is_empty() {
            let calls = STEP_CALLS.min(transactions.len());
            self.step(transactions, calls, checks)?;
            transactions = &transactions[calls..];
            while self.is_log_behind() {
                thread::yield_now();
                self.poll(checks)?;
            }
        }
        Ok(std::mem::take(&mut self.ended))
    }

    fn finish(&mut self, checks: &mut Checks) -> Result<u64> {
        self.poll(checks)?;
        while !(self.waiting.is_empty() && self.unacknowledged.is_empty()) {
            thread::yield_now();
            self.poll(checks)?;
        }
        Ok(std::mem::take(&mut self.ended))
    }

    fn read(&mut self, key: u64) -> Result<Vec<u8>> {
        let transaction = Transaction { key, update: None };
        loop {
            match execute(self.partition, &transaction, &mut self.reply) {
                Outcome::Committed(_) => return Ok(self.reply.clone()),
                Outcome::Waiting(_) => break,
                Outcome::Refused(_) => self.partition.poll(&mut self.completed)?,
                Outcome::Stopped(stop) => bail!(stop),
            }
        }
        loop {
            self.partition.poll(&mut self.completed)?;
            if let Some(completion) = self.completed.pop() {
                return Ok(completion.reply);
            }
            thread::yield_now();
        }
    }
}

/// The partition with its client.
struct HedgerowYcsb<'a> {
    clients: [HedgerowClient<'a>; 1],
    budget: usize,
}

impl<'a> YcsbSide for HedgerowYcsb<'a> {
    type Client = HedgerowClient<'a>;

    fn clients(&mut self) -> &mut [HedgerowClient<'a>] {
        &mut self.clients
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn counts(&mut self) -> Result<Counts> {
        let statistics = self.clients[0].partition.anti_cache_statistics();
        Ok(Counts {
            disk_reads: statistics.read_blocks + statistics.blocking_fetches,
            cache_hits: 0,
        })
    }

    fn marks(&mut self) -> Vec<(String, f64)> {
        let mut marks = std::mem::take(&mut self.clients[0].marks);
        marks.looks.sort_unstable();
        let ms = |at: usize| {
            marks
                .looks
                .get(at)
                .map_or(0.0, |look| look.as_secs_f64() * 1e3)
        };
        let looks = marks.looks.len();
        let share = |part: f64, whole: f64| part / whole.max(1.0);
        let named = [
            (
                "calls that missed, by all",
                share(marks.missed as f64, marks.calls as f64),
            ),
            (
                "looks that evict or fetch, p99.9, ms",
                ms(looks * 999 / 1_000),
            ),
            ("longest such look, ms", ms(looks.saturating_sub(1))),
            (
                "memory by budget, at most",
                share(marks.memory_max as f64, self.budget as f64),
            ),
        ];
        named.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn settings(&self) -> String {
        let options = AntiCacheOptions::new(self.budget);
        format!(
            "one partition in process, budget {} MiB, blocks of {} KiB, {:?}, tuple-merge; command log \
             synced in groups, a snapshot for each stretch of the log as long as twice the limit",
            self.budget >> 20,
            options.block_bytes >> 10,
            options.sampling
        )
    }
}
