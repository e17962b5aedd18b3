//! The soak: a bank and lists under load, readers that check every answer, and a hand that kills.
//!
//! 1. A PostgreSQL with default durability gets a bank in eight tables and eight tables of lists; `hedgerow
//!    serve` copies them, over a link that can be cut.
//! 2. Sessions move money and append to lists ([`load`]).
//! 3. Readers look at all sums and some lists at one position ([`reader`]): no money may be missing, and the
//!    position must never go back, across all restarts.
//! 4. Meanwhile hedgerow is killed and stopped, PostgreSQL made to crash, the link cut and the slot dropped, at seeded
//!    moments spread over the run ([`disruptions`]). Nobody helps either of them. Memory, disk and lag are
//!    written down ([`timeline`]).
//! 5. The run has rounds. At the end of each the load rests, hedgerow catches up, `verify` compares all
//!    tables, and what readers saw of the lists is held against the order of commits that follows from them
//!    ([`list_append`](crate::list_append)). Then the lists are emptied.

mod disruptions;
mod load;
mod reader;
mod timeline;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tempfile::TempDir;

use self::disruptions::Plan;
use self::load::{Elements, Load};
use self::reader::{Endpoint, Reader, Readings};
use self::timeline::Timeline;
use crate::bank::{Bank, Sums};
use crate::cut_link::CutLink;
use crate::list_append::checker::Checker;
use crate::list_append::{Lists, Session};
use crate::patience::{PATIENCE, wait_at_most, wait_for};
use crate::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

pub use self::disruptions::Disruption;
pub use self::timeline::{Moment, read_timeline};

/// The source's database.
const DATABASE: &str = "postgres";
/// Sessions of the load.
const SESSIONS: u64 = 6;
/// Readers of the replica.
const READERS: u64 = 2;

/// What kind of soak.
#[derive(Clone, Debug)]
pub struct SoakOptions {
    /// How long the load runs.
    pub seconds: u64,
    /// After so long it rests, and everything is compared.
    pub round_seconds: u64,
    /// Transactions a second, at most.
    pub rate: u32,
    /// Accounts in each of the bank's tables.
    pub accounts: u32,
    /// How often hedgerow is killed.
    pub kills: u32,
    /// How often PostgreSQL crashes.
    pub crashes: u32,
    /// How often the link between them is cut.
    pub cuts: u32,
    /// How often the slot is dropped.
    pub slot_drops: u32,
    /// How often hedgerow is stopped.
    pub stops: u32,
    /// For how long it is.
    pub stop_length: Duration,
    /// Decides the moments of all disruptions, and all transactions.
    pub seed: u64,
    /// Where memory, disk and lag are written.
    pub timeline: Option<PathBuf>,
    /// How often they are.
    pub timeline_pace: Duration,
}

impl Default for SoakOptions {
    fn default() -> Self {
        Self {
            seconds: 120,
            round_seconds: 300,
            rate: 400,
            accounts: 10_000,
            kills: 20,
            crashes: 4,
            cuts: 8,
            slot_drops: 1,
            stops: 0,
            stop_length: Duration::from_secs(10),
            seed: 1,
            timeline: None,
            timeline_pace: Duration::from_secs(5),
        }
    }
}

/// What a soak found.
#[derive(Debug, Default)]
pub struct SoakReport {
    /// Looks at the replica in which no money was missing.
    pub answers: u64,
    /// Looks whose lists were held against the order of commits.
    pub snapshots: usize,
    /// Transactions that were committed and appended to lists.
    pub transactions: usize,
    /// Disruptions that were survived.
    pub disruptions: Vec<Disruption>,
    /// Rounds at whose end all tables were equal.
    pub rounds: u32,
    /// Everything that should not have happened.
    pub anomalies: Vec<String>,
    /// Memory, disk and lag over time.
    pub moments: Vec<Moment>,
}

impl fmt::Display for SoakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |wanted| self.disruptions.iter().filter(|d| **d == wanted).count();
        writeln!(f, "transactions  {}", self.transactions)?;
        writeln!(
            f,
            "looks         {} without missing money, {} of them held against the order of commits",
            self.answers, self.snapshots
        )?;
        for disruption in [
            Disruption::Kill,
            Disruption::Stop,
            Disruption::Crash,
            Disruption::Cut,
            Disruption::SlotDrop,
        ] {
            writeln!(f, "{:<4}          {disruption}", count(disruption))?;
        }
        writeln!(
            f,
            "rounds        {}, all tables equal after each",
            self.rounds
        )?;
        let most = |figure: fn(&Moment) -> u64| self.moments.iter().map(figure).max().unwrap_or(0);
        writeln!(
            f,
            "at most       {} bytes resident, {} on disk",
            most(|moment| moment.resident_bytes),
            most(|moment| moment.disk_bytes),
        )?;
        write!(f, "anomalies     {}", self.anomalies.len())?;
        for anomaly in &self.anomalies {
            write!(f, "\n  {anomaly}")?;
        }
        Ok(())
    }
}

/// The servers, and what is between them.
pub struct Stage {
    // Ended in this order: the replica, the source, then their files.
    hedgerow: Hedgerow,
    link: CutLink,
    postgres: PostgresServer,
    _folder: TempDir,
}

impl Stage {
    fn set(bank: Bank, say: &dyn Fn(&str)) -> Result<Self> {
        say("starting PostgreSQL and filling it");
        let folder = TempDir::with_prefix("testbed-soak-")?;
        let postgres = PostgresServer::start(PostgresOptions {
            fsync: true,
            ..PostgresOptions::default()
        })?;
        postgres.execute(DATABASE, &bank.setup())?;
        postgres.execute(DATABASE, &load::setup())?;
        let link = CutLink::to(postgres.port())?;
        say("copying");
        let url = postgres.url_through(link.port(), DATABASE);
        let options = HedgerowOptions::new(url, &folder.path().join("data"))?
            .with(&["--on-gap", "copy-again"]);
        Ok(Self {
            hedgerow: Hedgerow::start_ready(options)?,
            link,
            postgres,
            _folder: folder,
        })
    }

    fn ensure_running(&mut self) -> Result<()> {
        if let Some(status) = self.hedgerow.ended()? {
            let log = self.hedgerow.log_tail();
            bail!("hedgerow ended by itself with {status}: {log}");
        }
        Ok(())
    }
}

/// Runs a soak. An anomaly is part of the report; an error means that the run could not be
/// carried to its end.
pub fn run(options: &SoakOptions, say: &(dyn Fn(&str) + Sync)) -> Result<SoakReport> {
    let bank = Bank {
        accounts: options.accounts,
    };
    let stage = Stage::set(bank, say)?;
    let mut random = StdRng::seed_from_u64(options.seed);
    let mut soak = Soak {
        plan: disruptions::plan(options, &mut random),
        timeline: Timeline::begin(options.timeline.as_deref(), options.timeline_pace)?,
        report: SoakReport::default(),
        elements: Elements::default(),
        begun: Instant::now(),
        options,
        bank,
        stage,
        random,
        say,
    };
    say("load and disruptions");
    let mut until = Duration::ZERO;
    let end = Duration::from_secs(options.seconds);
    while until < end && soak.report.anomalies.is_empty() {
        until = end.min(until + Duration::from_secs(options.round_seconds));
        soak.round(until)?;
    }
    soak.report.moments = soak.timeline.moments().to_vec();
    Ok(soak.report)
}

/// A soak under way.
struct Soak<'a> {
    options: &'a SoakOptions,
    bank: Bank,
    stage: Stage,
    /// What is still to come.
    plan: Plan,
    random: StdRng,
    elements: Elements,
    timeline: Timeline,
    report: SoakReport,
    begun: Instant,
    say: &'a (dyn Fn(&str) + Sync),
}

impl Soak<'_> {
    /// Load, readers and disruptions until this moment of the run; then everything is compared.
    fn round(&mut self, until: Duration) -> Result<()> {
        let (sessions, readings) = self.disturbed_load(until)?;
        let lists = {
            let mut source = self.stage.postgres.connect(DATABASE)?;
            let total = Sums::ask(&mut source)?.total();
            ensure!(total == self.bank.total(), "PostgreSQL itself has {total}");
            load::all_lists(&mut source)?
        };
        self.wait_for_lists(&lists)?;
        self.stage.hedgerow.verify()?;
        let checker = Checker::new(&sessions, lists)?;
        self.report.transactions += checker.transactions();
        for mut readings in readings {
            self.report.answers += readings.answers;
            self.report.snapshots += readings.snapshots.len();
            let anomalies = checker.check(&mut readings.snapshots);
            self.report.anomalies.extend(anomalies);
            self.report.anomalies.extend(readings.anomalies);
        }
        self.report.rounds += 1;
        self.tell(&format!(
            "all tables are equal; {} transactions and {} looks until here, {} anomalies",
            self.report.transactions,
            self.report.answers,
            self.report.anomalies.len()
        ));
        load::empty_lists(&mut self.stage.postgres.connect(DATABASE)?)?;
        self.wait_for_lists(&Lists::new())
    }

    fn wait_for_lists(&self, lists: &Lists) -> Result<()> {
        wait_for("hedgerow to catch up", || {
            let found = load::all_lists(&mut self.stage.hedgerow.connect()?)?;
            ensure!(found == *lists, "the lists are not yet the source's");
            Ok(Some(()))
        })
    }

    fn tell(&self, what: &str) {
        (self.say)(&format!(
            "{:>7.1} s  {what}",
            self.begun.elapsed().as_secs_f64()
        ));
    }

    fn disturbed_load(&mut self, until: Duration) -> Result<(Vec<Session>, Vec<Readings>)> {
        let elements = std::mem::take(&mut self.elements);
        let (load, readers) = (self.load(&elements), self.readers(&elements)?);
        let (load_over, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let outcome = thread::scope(|scope| {
            let sessions: Vec<_> = (0..SESSIONS)
                .map(|session| {
                    let (load, over) = (&load, &load_over);
                    scope.spawn(move || load.run(session, over))
                })
                .collect();
            let ticking = scope.spawn(|| load::tick(&load.url, &load_over));
            let reading: Vec<_> = readers
                .iter()
                .map(|reader| scope.spawn(|| reader.run(&over)))
                .collect();
            let disrupted = self.disrupt(until);
            load_over.store(true, Ordering::SeqCst);
            let sessions = sessions.into_iter().map(join).collect::<Result<_>>();
            let ticked = join(ticking);
            // The readers see the end of the load, too.
            let settled = self.stage.hedgerow.wait_ready_at_most(PATIENCE);
            over.store(true, Ordering::SeqCst);
            let readings = reading.into_iter().map(join).collect::<Result<_>>();
            disrupted.and(settled).and(ticked)?;
            Ok((sessions?, readings?))
        });
        self.elements = elements;
        outcome
    }

    fn load<'b>(&self, elements: &'b Elements) -> Load<'b> {
        Load {
            url: self.stage.postgres.url(DATABASE),
            bank: self.bank,
            pause: Duration::from_secs(SESSIONS) / self.options.rate,
            seed: self.options.seed ^ u64::from(self.report.rounds) << 32,
            elements,
        }
    }

    fn readers<'b>(&self, elements: &'b Elements) -> Result<Vec<Reader<'b>>> {
        let endpoint = Endpoint::of(&self.stage.hedgerow)?;
        let reader = |seed| Reader {
            endpoint: endpoint.clone(),
            bank: self.bank,
            elements,
            seed,
        };
        Ok((0..READERS).map(reader).collect())
    }

    /// Carries out what is planned until this moment of the run, and looks at memory, disk and lag.
    fn disrupt(&mut self, until: Duration) -> Result<()> {
        loop {
            let starts = self.report.disruptions.iter();
            let is_start = |d: &&Disruption| matches!(d, Disruption::Kill | Disruption::Stop);
            let starts = starts.filter(is_start).count();
            self.timeline
                .look(&self.stage.hedgerow, u32::try_from(starts)? + 1)?;
            let next = self.plan.first().map_or(until, |(moment, _)| *moment);
            let now = self.begun.elapsed();
            if now >= until {
                return self.stage.ensure_running();
            }
            if now < next {
                let pause = until.min(next) - now;
                let look = self
                    .timeline
                    .next()
                    .saturating_duration_since(Instant::now());
                thread::sleep(pause.min(look));
                continue;
            }
            let (_, disruption) = self.plan.remove(0);
            self.tell(&disruption.to_string());
            let (stage, random) = (&mut self.stage, &mut self.random);
            disruptions::carry_out(disruption, stage, self.options, random)?;
            self.report.disruptions.push(disruption);
        }
    }
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> Result<T> {
    let joined = handle.join();
    joined.map_err(|_| anyhow::anyhow!("a thread of the soak panicked"))
}

/// Bytes on disk once they have stayed the same for a while.
pub fn settled_bytes(hedgerow: &Hedgerow) -> Result<u64> {
    const STILL: Duration = Duration::from_secs(5);
    const LIMIT: Duration = Duration::from_secs(300);
    let mut last = (hedgerow.bytes_on_disk()?, Instant::now());
    wait_at_most(LIMIT, "the data directory to keep its size", || {
        let bytes = hedgerow.bytes_on_disk()?;
        if bytes != last.0 {
            last = (bytes, Instant::now());
        }
        Ok((last.1.elapsed() > STILL).then_some(bytes))
    })
}
