//! The 22 TPC-H queries beside PostgreSQL, DuckDB and DataFusion on Parquet (S1a to S1d).
//!
//! 1. A PostgreSQL is filled with dbgen's rows and copied by hedgerow; beside that DuckDB loads the same rows
//!    into tables of its own, DataFusion into Parquet files with zstd.
//! 2. After the copy's merges have ended, all sides answer query by query in turns, and once more as
//!    often as rounds are asked for; the first round only warms up, medians count. Hedgerow and
//!    PostgreSQL are asked over the wire and their answers are compared cell by cell; of the others
//!    the number of rows is.
//! 3. *From disk*: before each query all sides let go of what they have in memory, the servers by starting anew,
//!    and the kernel of what it has of their files. The answers are compared as before; nothing warms up.
//! 4. *Fresh*: a tenth of all line items and of all orders, drawn by a hash of their keys, are
//!    changed at PostgreSQL. As soon as hedgerow shows that, all answer again. The peers keep the rows
//!    they have, as Parquet files do not change.
//!
//! At a large scale PostgreSQL takes minutes for a query and has most of its tables on disk anyway: it does not
//! warm up, and from disk the others are compared with what it has answered before.
//!
//! Of query 21 PostgreSQL is kept from a plan that takes it most of an hour at that scale ([`MISTAKEN`]).
//!
//! Each side has as many threads as there are processors. At scale factor 1 everything fits in memory.

mod peer;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use postgres::Client;
use tempfile::TempDir;
use testbed::patience::wait_at_most;
use testbed::postgres_server::Shutdown;
use testbed::soak::settled_bytes;
use testbed::tpch::answers::Answer;
use testbed::tpch::{queries, tables};
use testbed::{Hedgerow, HedgerowOptions, PostgresServer};

use crate::Scale;
use crate::results::{Results, median};

use peer::{Engine, Peer};

const DATABASE: &str = "postgres";
/// What results call the source.
const POSTGRES: &str = "postgresql";
/// How long copies and catching up may take.
const LIMIT: Duration = Duration::from_secs(3600);
/// A tenth of the rows gets another value in a column that queries add up or show.
const CHANGES: &str = "
    update lineitem set l_quantity = l_quantity + 1
        where hashint8(l_orderkey * 8 + l_linenumber) % 10 = 0;
    update orders set o_totalprice = o_totalprice + 1 where hashint8(o_orderkey) % 10 = 0;";
/// Tells that the changes have arrived.
const CHANGED: &str = "select (select sum(l_quantity) from lineitem), \
                              (select sum(o_totalprice) from orders)";

/// The query of which PostgreSQL expects one row where millions come, and goes through them for each of 4,000 suppliers: at scale
/// factor 10 that took 44 minutes, and 98 s without nested loops.
const MISTAKEN: u8 = 21;

/// Queries of nothing but a scan.
const SCANS: [u8; 2] = [1, 6];

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    scale_factor: f64,
    rounds: usize,
    memory: &'static str,
    /// Whether PostgreSQL is asked whenever the others are, or only where its answer is not known.
    postgres_joins_in: bool,
}

/// From this scale factor on, a run is one round: it takes long enough to be little disturbed.
const LARGE_SCALE_FACTOR: f64 = 3.0;

impl Plan {
    fn of(scale: Scale, scale_factor: Option<f64>) -> Self {
        let plan = match scale {
            Scale::Quick => Self {
                name: "quick",
                scale_factor: 0.1,
                rounds: 1,
                memory: "1GiB",
                postgres_joins_in: true,
            },
            Scale::Full => Self {
                name: "full",
                scale_factor: 1.0,
                rounds: 3,
                memory: "4GiB",
                postgres_joins_in: true,
            },
        };
        match scale_factor {
            None => plan,
            Some(scale_factor) if scale_factor < LARGE_SCALE_FACTOR => Self {
                scale_factor,
                ..plan
            },
            Some(scale_factor) => Self {
                scale_factor,
                rounds: 1,
                memory: "8GiB",
                postgres_joins_in: false,
                ..plan
            },
        }
    }
}

/// The sides that answer, all with the same rows.
struct Sides {
    postgres: PostgresServer,
    source: Client,
    hedgerow: Hedgerow,
    replica: Client,
    peers: [(Engine, Peer); 2],
    /// PostgreSQL's answers to queries of the rows as they are.
    expected: BTreeMap<u8, Answer>,
    is_large: bool,
}

/// What the peers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peers {
    /// The rows that the servers have.
    AsServers,
    /// Those from before the changes.
    AsBefore,
}

/// A side, ours is `None`, and its milliseconds.
type Sample = (Option<&'static str>, f64);

fn shown(samples: &[Sample]) -> String {
    let shown = |(side, sample): &Sample| format!("{} {sample:.0}", side.unwrap_or("hedgerow"));
    samples.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Milliseconds of each round, by query.
#[derive(Debug, Default)]
struct Times(BTreeMap<u8, Vec<f64>>);

impl Times {
    /// The sum of the queries' medians.
    fn total(&self) -> f64 {
        self.0.values().map(|samples| median(samples)).sum()
    }

    fn of_query(&self, number: u8) -> &[f64] {
        &self.0[&number]
    }
}

/// The times of all sides, ours under `None`.
#[derive(Debug, Default)]
struct Measured(BTreeMap<Option<&'static str>, Times>);

impl Measured {
    fn note(&mut self, side: Option<&'static str>, query: u8, sample: f64) {
        let times = self.0.entry(side).or_default();
        times.0.entry(query).or_default().push(sample);
    }

    fn of(&self, side: Option<&str>) -> &Times {
        let (_, times) = self
            .0
            .iter()
            .find(|(known, _)| **known == side)
            .expect("all sides have answered");
        times
    }
}

/// Whether a query finds anything in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Warm,
    Cold,
}

/// Runs the experiment, with another scale factor than the scale's if one is given.
pub fn run(scale: Scale, scale_factor: Option<f64>) -> Result<Results> {
    let plan = Plan::of(scale, scale_factor);
    let threads = thread::available_parallelism()?.get();
    let folder = TempDir::with_prefix("bench-tpch-")?;
    let mut sides = Sides::start(plan, threads, folder.path())?;
    let mut results = Results::new("tpch", plan.name);
    results.setting("scale factor", plan.scale_factor);
    results.setting("threads", threads);
    results.setting("rounds", plan.rounds);
    results.setting("memory of hedgerow", plan.memory);
    for (engine, peer) in &sides.peers {
        results.setting(engine.name(), peer.version());
    }
    sides.note_sizes(&mut results)?;
    let merged = sides.answer(plan, Memory::Warm, Peers::AsServers)?;
    note(&mut results, "", &merged);
    let from_disk = sides.answer(plan, Memory::Cold, Peers::AsServers)?;
    note(&mut results, "from disk, ", &from_disk);
    sides.change()?;
    let fresh = sides.answer(plan, Memory::Warm, Peers::AsBefore)?;
    note(&mut results, "fresh, ", &fresh);
    let mut ratio = |metric: &str, times: &Measured, peer: &str| {
        let ratio = times.of(None).total() / times.of(Some(peer)).total();
        results.figure(metric, ratio, "", Some(peer));
    };
    ratio("S1a", &merged, Engine::DataFusion.name());
    ratio("S1b", &fresh, Engine::DataFusion.name());
    ratio("S1c", &merged, Engine::DuckDb.name());
    for peer in [Engine::DataFusion, Engine::DuckDb] {
        ratio("from disk, all queries", &from_disk, peer.name());
    }
    for query in SCANS {
        let of = |side| median(merged.of(side).of_query(query));
        let times = of(Some(POSTGRES)) / of(None);
        let metric = format!("query {query}, times as fast");
        results.figure(&metric, times, "times", Some(POSTGRES));
    }
    Ok(results)
}

fn note(results: &mut Results, prefix: &str, measured: &Measured) {
    for (side, times) in &measured.0 {
        for number in queries::NUMBERS {
            let metric = format!("{prefix}query {number}");
            results.median_figure(&metric, times.of_query(number), "ms", *side);
        }
        results.figure(&format!("{prefix}all queries"), times.total(), "ms", *side);
    }
}

impl Sides {
    fn start(plan: Plan, threads: usize, folder: &Path) -> Result<Self> {
        let (peers, reference) = thread::scope(|scope| {
            let reference = scope.spawn(|| start_reference(plan.scale_factor));
            let peers = start_peers(plan.scale_factor, threads, folder);
            (peers, reference.join().expect("loading does not panic"))
        });
        let (peers, (postgres, mut source)) = (peers?, reference?);
        let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.join("hedgerow"))?
            .with(&["--memory", plan.memory]);
        let mut hedgerow = Hedgerow::start(options)?;
        hedgerow.wait_ready_at_most(LIMIT)?;
        settled_bytes(&hedgerow)?;
        tables::add_reference_indexes(&mut source)?;
        Ok(Self {
            replica: hedgerow.connect()?,
            postgres,
            source,
            hedgerow,
            peers,
            expected: BTreeMap::new(),
            is_large: plan.scale_factor >= LARGE_SCALE_FACTOR,
        })
    }

    /// Bytes of the largest table.
    fn note_sizes(&self, results: &mut Results) -> Result<()> {
        let table = "lineitem";
        let bytes = self.hedgerow.connect()?.query_one(
            "select bytes from hedgerow.tables where name = $1",
            &[&table],
        )?;
        let bytes: i64 = bytes.get(0);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let ratio =
            |peer: &Peer| -> Result<f64> { Ok(bytes as f64 / peer.table_bytes(table)? as f64) };
        results.setting("bytes of lineitem", bytes);
        for (engine, peer) in &self.peers {
            let bytes = peer.table_bytes(table)?;
            results.setting(&format!("bytes of lineitem, {}", engine.name()), bytes);
        }
        let [(_, duckdb), _] = &self.peers;
        results.figure("S1d", ratio(duckdb)?, "", Some("duckdb"));
        Ok(())
    }

    /// Has each query answered by all sides in turns, as often as the plan has rounds, after warming up if
    /// memory is to be warm.
    fn answer(&mut self, plan: Plan, memory: Memory, peers: Peers) -> Result<Measured> {
        let mut measured = Measured::default();
        if memory == Memory::Warm {
            for number in queries::NUMBERS {
                self.ask(number, peers, plan.postgres_joins_in)?;
            }
        }
        for round in 1..=plan.rounds {
            for number in queries::NUMBERS {
                if memory == Memory::Cold {
                    self.forget()?;
                }
                let is_known = self.expected.contains_key(&number);
                let samples = self.ask(number, peers, plan.postgres_joins_in || !is_known)?;
                eprintln!(
                    "{memory:?}, {peers:?}, round {round}, query {number}, ms: {}",
                    shown(&samples)
                );
                let each = samples.into_iter();
                each.for_each(|(side, sample)| measured.note(side, number, sample));
            }
        }
        Ok(measured)
    }

    /// Has one query answered by all sides, one after the other; milliseconds of each. Without
    /// PostgreSQL the answer should be the one that it has given before, if any.
    fn ask(&mut self, number: u8, peers: Peers, postgres: bool) -> Result<Vec<Sample>> {
        let query = queries::text(number)?;
        let (answer, ours) = timed(&mut self.replica, &query)?;
        let mut samples = vec![(None, ours)];
        if postgres {
            let nested_loops = match number == MISTAKEN && self.is_large {
                true => "off",
                false => "on",
            };
            self.source
                .batch_execute(&format!("set enable_nestloop = {nested_loops}"))?;
            let (expected, theirs) = timed(&mut self.source, &query)?;
            self.expected.insert(number, expected);
            samples.push((Some(POSTGRES), theirs));
        }
        if let Some(expected) = self.expected.get(&number) {
            answer
                .ensure_same(expected, number)
                .with_context(|| format!("query {number}"))?;
        }
        for (engine, peer) in &mut self.peers {
            let answered = peer.ask(&query)?;
            ensure!(
                peers == Peers::AsBefore || answered.rows == answer.rows.len(),
                "query {number}: {} rows from {engine:?}",
                answered.rows
            );
            samples.push((Some(engine.name()), answered.milliseconds));
        }
        Ok(samples)
    }

    /// Has all sides and the kernel let go of what they have in memory.
    fn forget(&mut self) -> Result<()> {
        self.hedgerow.stop()?;
        self.postgres.restart(Shutdown::Fast)?;
        self.hedgerow.start_again()?;
        self.hedgerow.wait_ready()?;
        self.source = self.postgres.connect(DATABASE)?;
        self.replica = self.hedgerow.connect()?;
        for (_, peer) in &mut self.peers {
            peer.forget()?;
        }
        rustix::fs::sync();
        fs::write("/proc/sys/vm/drop_caches", "3").context("only root can drop the page cache")?;
        // The program is not what is to be read: the peers' processes go on, and have theirs in memory.
        let server = self.hedgerow.process_id().context("hedgerow runs")?;
        fs::read(format!("/proc/{server}/exe"))?;
        Ok(())
    }

    /// Changes a tenth of the rows and waits until hedgerow shows it.
    fn change(&mut self) -> Result<()> {
        self.expected.clear();
        self.source.batch_execute(CHANGES)?;
        // What PostgreSQL would do in the background, so that it does not do it meanwhile.
        self.source.batch_execute("vacuum analyze")?;
        let wanted = Answer::ask(&mut self.source, CHANGED)?;
        let replica = &mut self.replica;
        wait_at_most(LIMIT, "the changes to be visible", || {
            let shown = Answer::ask(replica, CHANGED)?;
            ensure!(shown.rows == wanted.rows, "sums {:?}", shown.rows);
            Ok(Some(()))
        })
    }
}

/// A PostgreSQL with the rows, and a connection to it.
fn start_reference(scale_factor: f64) -> Result<(PostgresServer, Client)> {
    let postgres = PostgresServer::start(tables::reference_options())?;
    let mut source = postgres.connect(DATABASE)?;
    tables::load(&mut source, scale_factor)?;
    Ok((postgres, source))
}

/// The peers with the same rows.
fn start_peers(scale_factor: f64, threads: usize, folder: &Path) -> Result<[(Engine, Peer); 2]> {
    let rows = folder.join("rows");
    fs::create_dir(&rows)?;
    tables::write_files(&rows, scale_factor)?;
    let peer = |engine| -> Result<_> { Ok((engine, Peer::start(engine, &rows, threads)?)) };
    let peers = [peer(Engine::DuckDb)?, peer(Engine::DataFusion)?];
    // They have files of their own now, and at scale factor 10 these are 11 GB.
    tables::remove_files(&rows)?;
    Ok(peers)
}

fn timed(client: &mut Client, query: &str) -> Result<(Answer, f64)> {
    let start = Instant::now();
    let answer = Answer::ask(client, query)?;
    Ok((answer, start.elapsed().as_secs_f64() * 1e3))
}
