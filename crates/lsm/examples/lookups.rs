//! What point look-ups take: `cargo run --release -p lsm --example lookups [rows]`.
//!
//! Five runs on disk hold readings by (station, minute), interleaved over all keys: the largest
//! six of ten, the others one of ten each. All pages are in the cache before anything is
//! measured. Missing keys are half a minute beside existing ones, so that no fence rules them
//! out. Every figure in time is the median over short rounds, so that whatever else the machine
//! does falls on few of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray, TimestampMicrosecondArray};
use env::Env;
use lsm::{Snapshot, Store, StoreOptions, StoreStats};
use types::{
    Column, ColumnType, CommitPosition, TableId, TableName, TableSchema, Value, VersionKind,
    VersionRows,
};

const TABLE: TableId = TableId(1);
const STATIONS: usize = 1_000;
const RUNS: u64 = 5;
const MINUTE_MICROS: i64 = 60_000_000;
const LOOKUPS: usize = 200_000;
/// Keys of a round, unless a batch is larger.
const ROUND: usize = 500;
/// The wanted columns: temperature, pressure, remark.
const WANTED: [usize; 3] = [2, 3, 4];

fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn schema() -> TableSchema {
    let columns = [
        ("station", ColumnType::Int32),
        ("time", ColumnType::Timestamp),
        ("temperature", ColumnType::Float64),
        ("pressure", ColumnType::Int32),
        ("remark", ColumnType::Text),
    ];
    let column = |&(name, column_type): &(&str, ColumnType)| Column::new(name, column_type);
    TableSchema {
        name: TableName {
            schema: "public".to_owned(),
            name: "reading".to_owned(),
        },
        columns: columns.iter().map(column).collect(),
        key: vec![0, 1],
    }
}

/// A reading's place among all, by station and minute.
#[derive(Clone, Copy)]
struct Reading(usize);

impl Reading {
    fn station(self, rows: usize) -> i32 {
        (self.0 / (rows / STATIONS)) as i32
    }

    fn time(self, rows: usize) -> i64 {
        (self.0 % (rows / STATIONS)) as i64 * MINUTE_MICROS
    }

    /// The run that holds it, the oldest first.
    fn run(self) -> u64 {
        (mix(self.0 as u64) % 10).saturating_sub(5)
    }
}

fn readings(rows: usize, run: u64) -> VersionRows {
    let mine = || {
        (0..rows)
            .map(Reading)
            .filter(|reading| reading.run() == run)
    };
    let temperature = |Reading(number)| 15.0 + (mix(number as u64) % 200) as f64 / 10.0;
    let pressure = |Reading(number)| 100_000 + (mix(number as u64 ^ 1 << 40) % 5_000) as i32;
    let remark = |Reading(number)| match mix(number as u64 ^ 1 << 41) % 4 {
        0 => Some("rain"),
        1 => Some("clear sky"),
        _ => None,
    };
    let times = mine().map(|reading| reading.time(rows));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(
            mine().map(|reading| reading.station(rows)),
        )),
        Arc::new(TimestampMicrosecondArray::from_iter_values(times)),
        Arc::new(Float64Array::from_iter_values(mine().map(temperature))),
        Arc::new(Int32Array::from_iter_values(mine().map(pressure))),
        Arc::new(mine().map(remark).collect::<StringArray>()),
    ];
    let count = columns[0].len();
    VersionRows {
        columns,
        positions: vec![run + 1; count],
        kinds: vec![VersionKind::Put as u8; count],
        unchanged: None,
    }
}

fn fill(directory: &Path, rows: usize) -> Arc<Store> {
    let options = StoreOptions {
        memory_bytes: 2 << 30,
        cache_bytes: 2 << 30,
        ..StoreOptions::default()
    };
    let store = Store::open(Env::real(), directory, options).expect("a new store");
    store.create_table(TABLE, schema()).expect("a new table");
    for run in 0..RUNS {
        let readings = readings(rows, run);
        let count = readings.len();
        store.ingest(TABLE, readings).expect("ingested");
        store.publish(CommitPosition(run + 1), Vec::new());
        let start = Instant::now();
        store.flush().expect("flushed");
        let nanos = start.elapsed().as_nanos() as f64 / count as f64;
        println!("run {run}: {count} rows, flushed in {nanos:.0} ns each");
    }
    store
}

/// Pseudo-random readings.
fn random(rows: usize, count: usize) -> impl Iterator<Item = Reading> {
    (0..count).map(move |number| Reading(mix(number as u64 ^ 1 << 50) as usize % rows))
}

/// Looks keys up one by one; how many there are. `beside` is added to their time.
fn get(snapshot: &Snapshot, rows: usize, readings: &[Reading], beside: i64) -> usize {
    let is_there = |reading: &&Reading| {
        let station = reading.station(rows);
        let time = reading.time(rows) + beside;
        let key = [Value::Int(station.into()), Value::Int(time)];
        let row = snapshot.get(TABLE, &key, &WANTED);
        row.expect("pages are sound").is_some()
    };
    readings.iter().filter(is_there).count()
}

/// Looks keys up at once; how many there are.
fn multi_get(snapshot: &Snapshot, rows: usize, readings: &[Reading]) -> usize {
    let stations = readings.iter().map(|reading| reading.station(rows));
    let times = readings.iter().map(|reading| reading.time(rows));
    let keys: [ArrayRef; 2] = [
        Arc::new(Int32Array::from_iter_values(stations)),
        Arc::new(TimestampMicrosecondArray::from_iter_values(times)),
    ];
    let found = snapshot.multi_get(TABLE, &keys, &WANTED);
    found.expect("pages are sound").found.count_set_bits()
}

/// Prints time and pages a key, in rounds of so many keys. Returns how many there are.
fn measure(
    store: &Store,
    (name, round): (&str, usize),
    readings: &[Reading],
    look_up: impl Fn(&[Reading]) -> usize,
) -> usize {
    let before = store.stats();
    let (mut nanos, mut found) = (Vec::new(), 0);
    for readings in readings.chunks(round) {
        let start = Instant::now();
        found += look_up(readings);
        nanos.push(start.elapsed().as_nanos() as f64 / readings.len() as f64);
    }
    nanos.sort_by(f64::total_cmp);
    let after = store.stats();
    let per_key = |count: fn(&StoreStats) -> u64| {
        (count(&after) - count(&before)) as f64 / (after.lookups - before.lookups) as f64
    };
    println!(
        "{name}: {:.0} ns a key, {:.4} pages, {:.3} filters said no, {:.4} were wrong",
        nanos[nanos.len() / 2],
        per_key(|stats| stats.lookup_pages),
        per_key(|stats| stats.filter_negatives),
        per_key(|stats| stats.filter_errors),
    );
    found
}

fn main() {
    let rows = std::env::args().nth(1);
    let rows = rows.map_or(5_000_000, |rows| rows.parse().expect("a number of rows"));
    let directory = tempfile::tempdir().expect("a folder");
    let store = fill(directory.path(), rows / STATIONS * STATIONS);
    for component in store.table_stats(TABLE).expect("a table").components {
        println!("{component:?}");
    }
    let rows = rows / STATIONS * STATIONS;
    let snapshot = store.pin();
    let readings: Vec<Reading> = random(rows, LOOKUPS).collect();
    get(&snapshot, rows, &readings, 0);
    let found = measure(&store, ("get, existing", ROUND), &readings, |readings| {
        get(&snapshot, rows, readings, 0)
    });
    assert_eq!(found, LOOKUPS);
    let found = measure(&store, ("get, missing", ROUND), &readings, |readings| {
        get(&snapshot, rows, readings, MINUTE_MICROS / 2)
    });
    assert_eq!(found, 0);
    for batch in [10, 500, 10_000] {
        let name = format!("multi_get of {batch}");
        let round = (name.as_str(), batch.max(ROUND));
        let found = measure(&store, round, &readings, |readings| {
            let batches = readings.chunks(batch);
            batches.map(|batch| multi_get(&snapshot, rows, batch)).sum()
        });
        assert_eq!(found, LOOKUPS);
    }
}
