//! A primary with an anti-cache, a command log and snapshots on the real disk, and the threads that it leaves to
//! its process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use env::Env;
use oltp::{
    AntiCacheOptions, Call, Completion, Outcome, Partition, PartitionPlan, ProcedureNumber,
};

use super::ledger;

/// Threads that read blocks: a solid-state disk serves many reads at once, and they sleep meanwhile.
const FETCHERS: usize = 16;

/// How long a thread waits for work before it looks whether all is over.
const PATIENCE: Duration = Duration::from_millis(5);

/// Pause of the partition's thread when it can only wait for the others.
pub const PAUSE: Duration = Duration::from_micros(50);

/// Pauses after which a call counts as one that never ends.
const PAUSES_MAX: usize = 1_000_000;

/// A partition that has everything in memory and nothing on disk.
pub fn in_memory() -> Result<Partition> {
    let plan = PartitionPlan {
        tables: ledger::tables(),
        procedures: ledger::procedures(),
        anti_cache: None,
        has_log: false,
        feed: None,
    };
    Ok(Partition::open(&Env::real(), Path::new(""), plan)?)
}

/// Runs a call on one.
pub fn run_in_memory(
    partition: &mut Partition,
    procedure: ProcedureNumber,
    parameters: &[u8],
) -> Result<()> {
    let call = Call {
        procedure,
        parameters,
    };
    match partition.execute(call, &mut Vec::new()) {
        Outcome::Committed(_) => Ok(()),
        other => bail!("a call ended with {other:?}"),
    }
}

/// A partition and its threads, which end with it.
pub struct RunningPrimary {
    partition: Partition,
    threads: Vec<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl RunningPrimary {
    /// Opens the folder with the default settings and this much memory.
    pub fn open(folder: &Path, memory_bytes: usize) -> Result<Self> {
        let plan = PartitionPlan {
            tables: ledger::tables(),
            procedures: ledger::procedures(),
            anti_cache: Some(AntiCacheOptions::new(memory_bytes)),
            has_log: true,
            feed: None,
        };
        let partition = Partition::open(&Env::real(), folder, plan)?;
        let mut primary = Self {
            partition,
            threads: Vec::new(),
            is_over: Arc::default(),
        };
        primary.start_threads()?;
        Ok(primary)
    }

    fn start_threads(&mut self) -> Result<()> {
        let log = self.partition.log_writer().expect("it has a log");
        self.start("log", move || {
            // What has failed the partition says to everybody.
            if let Ok(false) = log.write() {
                log.wait(PATIENCE);
            }
        })?;
        let snapshots = self.partition.snapshot_writer().expect("it has a log");
        self.start("snapshots", move || {
            if !snapshots.write().expect("snapshots can be written") {
                snapshots.wait(PATIENCE);
            }
        })?;
        let files = self.partition.block_files().expect("it has an anti-cache");
        for _ in 0..FETCHERS {
            let files = Arc::clone(&files);
            self.start("fetches", move || {
                if !files.fetch() {
                    files.wait_to_fetch(PATIENCE);
                }
            })?;
        }
        self.start("blocks", move || {
            if !files.write().expect("blocks can be written") {
                files.wait_to_write(PATIENCE);
            }
        })
    }

    fn start(&mut self, name: &str, step: impl Fn() + Send + 'static) -> Result<()> {
        let is_over = Arc::clone(&self.is_over);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                step();
            }
        });
        self.threads
            .push(thread.context("could not start a thread")?);
        Ok(())
    }

    /// The partition.
    pub fn partition(&mut self) -> &mut Partition {
        &mut self.partition
    }

    /// Takes what has come from the disk.
    pub fn poll(&mut self, completed: &mut Vec<Completion>) -> Result<()> {
        self.partition.poll(completed).context("the primary failed")
    }

    /// Runs a call to its end: its answer.
    pub fn run(&mut self, procedure: ProcedureNumber, parameters: &[u8]) -> Result<Vec<u8>> {
        let (mut reply, mut completed) = (Vec::new(), Vec::new());
        let call = Call {
            procedure,
            parameters,
        };
        let mut outcome = Some(self.partition.execute(call, &mut reply));
        for _ in 0..PAUSES_MAX {
            match outcome.take() {
                Some(Outcome::Committed(_)) => return Ok(reply),
                Some(Outcome::Stopped(stop)) => bail!("a call was stopped: {stop}"),
                Some(Outcome::Refused(_)) => {
                    self.poll(&mut completed)?;
                    outcome = Some(self.partition.execute(call, &mut reply));
                }
                Some(Outcome::Waiting(_)) | None => self.poll(&mut completed)?,
            }
            if let Some(completion) = completed.pop() {
                (outcome, reply) = (Some(completion.outcome), completion.reply);
            }
            thread::sleep(PAUSE);
        }
        bail!("a call has no end");
    }

    /// Waits until everything that has happened is durable.
    pub fn await_durable(&mut self) -> Result<()> {
        while self.partition.durable() < self.partition.position() {
            self.poll(&mut Vec::new())?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for RunningPrimary {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}
