//! SIGKILLs of a process with a primary under load: nothing that it acknowledged is lost, no transfer is half there.
//!
//! 1. Accounts are opened in a folder, several times the memory that the primary has.
//! 2. A process opens the folder and makes transfers ([`load`]); what is durable it says through a pipe. At a moment of
//!    chance it is killed: some processes while they recover, the others some time later, a few after a long time.
//! 3. The folder is opened here. Each client has made as many transfers as were acknowledged, or the one more that was
//!    under way; every row of every table is what these transfers leave ([`ledger`]): by the digests of the tables,
//!    which those of a second primary have to equal that has all in memory, and after some kills row by row.
//! 4. Then comes the next process, in the same folder.
//!
//! [`primary`] is the primary with its threads.

pub mod ledger;
pub mod load;
mod primary;

use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use oltp::Partition;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::process::Signal;

use crate::owned_process::OwnedProcess;
use crate::patience::wait_for;
use ledger::{CLIENTS, Ledger, OPEN, OPENED_AT_ONCE, SHOW, TRANSFER, TransferCall, show};
use load::{IS_OPEN, LINE_BYTES};
use primary::RunningPrimary;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct KillOptions {
    /// Kills.
    pub kills: u32,
    /// Accounts; each takes about 350 bytes.
    pub accounts: u64,
    /// The primary's memory.
    pub memory_bytes: usize,
    /// One process in so many lives long, so that its log grows to what the settings allow.
    pub long_life_one_in: u32,
    /// How long those live.
    pub long_life: Duration,
    /// The others live so long at most after they are open.
    pub short_life: Duration,
    /// All rows are read after one kill in so many.
    pub rows_read_one_in: u32,
    /// Decides all moments.
    pub seed: u64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct KillReport {
    /// Kills.
    pub kills: u32,
    /// Those of a process that was not open yet.
    pub kills_in_recovery: u32,
    /// Transfers that were acknowledged, or were there though they were not.
    pub transfers: u64,
    /// Bytes of rows on disk, by those of the memory.
    pub data_by_memory: f64,
    /// Transfers that ran again in a recovery, at most.
    pub replayed_max: u64,
    /// Recoveries that began with a snapshot.
    pub from_snapshots: u32,
    /// The longest recovery.
    pub recovery_max: Duration,
    /// The longest one without the time for which others had the processor.
    pub recovery_alone_max: Duration,
    /// All recoveries together.
    pub recovery_all: Duration,
    /// Kills after which all rows were read.
    pub read_in_full: u32,
}

impl fmt::Display for KillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let average = self.recovery_all / self.kills.max(1);
        writeln!(
            f,
            "kills        {} ({} in recovery)",
            self.kills, self.kills_in_recovery
        )?;
        writeln!(f, "transfers    {}", self.transfers)?;
        writeln!(f, "data         {:.1} x memory", self.data_by_memory)?;
        writeln!(
            f,
            "recoveries   {} from snapshots, {} transfers replayed at most",
            self.from_snapshots, self.replayed_max
        )?;
        writeln!(
            f,
            "recovery     {} ms on average, {} ms the longest ({} ms without waiting for a processor)",
            average.as_millis(),
            self.recovery_max.as_millis(),
            self.recovery_alone_max.as_millis()
        )?;
        write!(f, "read in full {} times", self.read_in_full)
    }
}

/// Runs it. `program load FOLDER MEMORY_BYTES ACCOUNTS SNAPSHOT_EVERY_MS SEED` has to call [`load::run`].
pub fn run(program: &Path, options: &KillOptions, show_line: &dyn Fn(&str)) -> Result<KillReport> {
    let folder = tempfile::tempdir_in(program.parent().context("a program is in a folder")?)?;
    let mut kills = Kills::begin(program, folder.path(), options)?;
    let mut shown = Instant::now();
    while kills.report.kills < options.kills {
        kills
            .one()
            .with_context(|| format!("kill {} of seed {}", kills.report.kills, options.seed))?;
        if shown.elapsed() > Duration::from_secs(10) {
            shown = Instant::now();
            let KillReport {
                kills,
                transfers,
                recovery_max,
                ..
            } = &kills.report;
            let longest = recovery_max.as_millis();
            show_line(&format!(
                "{kills} kills, {transfers} transfers, longest recovery {longest} ms"
            ));
        }
    }
    Ok(kills.report)
}

/// What is under way.
struct Kills<'o> {
    program: PathBuf,
    folder: PathBuf,
    options: &'o KillOptions,
    random: StdRng,
    ledger: Ledger,
    /// The same transfers on a primary that has all in memory.
    model: Partition,
    report: KillReport,
}

impl<'o> Kills<'o> {
    /// Opens the accounts.
    fn begin(program: &Path, folder: &Path, options: &'o KillOptions) -> Result<Self> {
        let mut kills = Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            options,
            random: StdRng::seed_from_u64(options.seed),
            ledger: Ledger::new(options.accounts),
            model: primary::in_memory()?,
            report: KillReport::default(),
        };
        let mut primary = RunningPrimary::open(folder, options.memory_bytes)?;
        for first in (0..options.accounts).step_by(OPENED_AT_ONCE as usize) {
            let end = (first + OPENED_AT_ONCE).min(options.accounts);
            let parameters = [first.to_le_bytes(), end.to_le_bytes()].concat();
            primary.run(OPEN, &parameters)?;
            primary::run_in_memory(&mut kills.model, OPEN, &parameters)?;
        }
        primary.await_durable()?;
        Ok(kills)
    }

    /// One process, its end, and the check.
    fn one(&mut self) -> Result<()> {
        let acknowledged = self.live_and_die()?;
        let (begun, waited) = (Instant::now(), time_without_processor());
        let mut primary = RunningPrimary::open(&self.folder, self.options.memory_bytes)?;
        let took = begun.elapsed();
        let alone = took.saturating_sub(time_without_processor().saturating_sub(waited));
        self.note_recovery(took, alone, primary.partition());
        self.take_transfers(&mut primary, &acknowledged)?;
        let (found, expected) = (primary.partition().digests(), self.model.digests());
        ensure!(found == expected, "digests are {found:?}, not {expected:?}");
        if self
            .report
            .kills
            .is_multiple_of(self.options.rows_read_one_in)
        {
            self.read_rows(&mut primary)?;
            self.report.read_in_full += 1;
        }
        self.report.kills += 1;
        Ok(())
    }

    fn note_recovery(&mut self, took: Duration, alone: Duration, partition: &Partition) {
        let (recovery, report) = (partition.recovery(), &mut self.report);
        report.recovery_max = report.recovery_max.max(took);
        report.recovery_alone_max = report.recovery_alone_max.max(alone);
        report.recovery_all += took;
        report.replayed_max = report.replayed_max.max(recovery.replayed);
        report.from_snapshots += u32::from(recovery.snapshot.is_some());
        let tables = partition.table_statistics();
        let evicted: u64 = tables.iter().map(|table| table.evicted_bytes).sum();
        let data = evicted as f64 + partition.memory().live_bytes as f64;
        report.data_by_memory = data / self.options.memory_bytes as f64;
    }

    /// Runs a process and kills it: the transfers of each client that it acknowledged.
    fn live_and_die(&mut self) -> Result<Vec<u64>> {
        let dies_in_recovery = self.random.random_ratio(1, 4);
        let is_long = self.random.random_ratio(1, self.options.long_life_one_in);
        let life = match is_long {
            true => self.options.long_life,
            false => self.options.short_life.mul_f64(self.random.random()),
        };
        let snapshot_every = self
            .random
            .random::<bool>()
            .then(|| self.random.random_range(50..500));
        let mut command = Command::new(&self.program);
        command.arg("load").arg(&self.folder);
        let options = self.options;
        for number in [
            options.memory_bytes as u64,
            options.accounts,
            snapshot_every.unwrap_or(0),
            self.random.random(),
        ] {
            command.arg(number.to_string());
        }
        command.stdout(Stdio::piped());
        let mut process = OwnedProcess::start("primary", &mut command, Signal::KILL)?;
        let heard = Heard::from(process.take_stdout().context("it was asked to be a pipe")?)?;
        if dies_in_recovery {
            let recovery = self.report.recovery_all / self.report.kills.max(1);
            thread::sleep(recovery.mul_f64(self.random.random()));
        } else {
            wait_for("the primary to be open", || {
                Ok(heard.is_open().then_some(()))
            })?;
            thread::sleep(life);
        }
        ensure!(
            process.ended()?.is_none(),
            "the process has ended by itself"
        );
        process.end_with(Signal::KILL)?;
        let (is_open, acknowledged) = heard.finish()?;
        self.report.kills_in_recovery += u32::from(!is_open);
        Ok(acknowledged)
    }

    /// Takes over what the clients have made: all that was acknowledged, and at most the one more that was under way.
    fn take_transfers(&mut self, primary: &mut RunningPrimary, acknowledged: &[u64]) -> Result<()> {
        let rows = primary.run(SHOW, &show(2, 0, CLIENTS.into()))?;
        let mut made = vec![0; CLIENTS.into()];
        for row in rows.chunks_exact(24) {
            let int = |at: usize| u64::from_le_bytes(row[at..at + 8].try_into().expect("8 bytes"));
            made[int(0) as usize] = int(8);
        }
        for (client, (made, acknowledged)) in (0..).zip(made.into_iter().zip(acknowledged)) {
            let before = self.ledger.made(client);
            let least = before.max(*acknowledged);
            ensure!(
                (least..=least + 1).contains(&made),
                "client {client} has made {made} transfers, {least} were acknowledged"
            );
            for number in before + 1..=made {
                let call = TransferCall {
                    client,
                    number,
                    accounts: self.options.accounts,
                    gives_up: false,
                };
                primary::run_in_memory(&mut self.model, TRANSFER, &call.encode())?;
            }
            self.ledger.advance(client, made);
            self.report.transfers += made - before;
        }
        Ok(())
    }

    /// Compares all rows.
    fn read_rows(&self, primary: &mut RunningPrimary) -> Result<()> {
        let accounts = (0..self.options.accounts).step_by(OPENED_AT_ONCE as usize);
        let of_accounts = accounts.map(|first| (0, first, first + OPENED_AT_ONCE - 1));
        let of_clients =
            (0..u64::from(CLIENTS)).flat_map(|client| [(1, client, client), (2, client, client)]);
        for (table, first, last) in of_accounts.chain(of_clients) {
            let last = if table == 0 {
                last.min(self.options.accounts - 1)
            } else {
                last
            };
            let found = primary.run(SHOW, &show(table, first, last))?;
            let expected = self.ledger.show(table, first, last);
            ensure!(
                found == expected,
                "rows {first} to {last} of table {table} differ"
            );
        }
        Ok(())
    }
}

/// For how long this thread could have run while others had the processor; none where the system does not say.
fn time_without_processor() -> Duration {
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited_ns = counts
        .split_whitespace()
        .nth(1)
        .and_then(|ns| ns.parse().ok());
    Duration::from_nanos(waited_ns.unwrap_or(0))
}

/// What a process has said so far.
struct Heard {
    said: Arc<Mutex<(bool, Vec<u64>)>>,
    reader: JoinHandle<Result<()>>,
}

impl Heard {
    /// Listens until the other end is closed.
    fn from(mut pipe: ChildStdout) -> Result<Self> {
        let said = Arc::new(Mutex::new((false, vec![0; CLIENTS.into()])));
        let heard = Arc::clone(&said);
        let reader = thread::Builder::new()
            .name("listener".into())
            .spawn(move || {
                let mut line = [0; LINE_BYTES];
                loop {
                    match pipe.read_exact(&mut line) {
                        // A line that the kill has cut was not said.
                        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                        read => read.context("could not read from the process")?,
                    }
                    let int = |at: usize| {
                        u64::from_le_bytes(line[at..at + 8].try_into().expect("8 bytes"))
                    };
                    let (client, made) = (int(0), int(8));
                    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                    match client {
                        IS_OPEN => heard.0 = true,
                        client => heard.1[client as usize] = made,
                    }
                }
            });
        let reader = reader.context("could not start a thread")?;
        Ok(Self { said, reader })
    }

    fn is_open(&self) -> bool {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// All that it has said, after its end.
    fn finish(self) -> Result<(bool, Vec<u64>)> {
        let Ok(read) = self.reader.join() else {
            anyhow::bail!("the reader has panicked");
        };
        read?;
        Ok(self
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone())
    }
}
