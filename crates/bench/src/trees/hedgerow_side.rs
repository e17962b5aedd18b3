//! Hedgerow as a reader: snapshots of a store that `weather`'s contender has filled.
//!
//! A look-up takes a snapshot of its own, as RocksDB's does.

use std::io;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::ArrayRef;
use contender::record::{COLUMNS, KEY_COLUMNS, Record};
use contender::{Cells, Contender, LookUp, ReadingArguments, Scan, Wanted, reading};
use env::{Env, RealClock};
use lsm::{KeyRange, ScanRequest, StoreOptions};
use types::Value;

use super::arrays::add_up;
use crate::direct_file::DirectDisk;
use crate::weather::hedgerow_side::{HedgerowSide, TABLE, cells};

/// Rows of a batch: as many as a query engine asks for.
const BATCH_ROWS: usize = 8 << 10;

/// What a look-up asks for.
const VALUE_COLUMNS: [usize; COLUMNS.len() - KEY_COLUMNS] = [3, 4, 5, 6, 7, 8, 9];

/// Reads what it is told to, and prints the report.
pub fn run(arguments: &ReadingArguments, one_run: bool) -> Result<()> {
    arguments.common.enter()?;
    allocator::give_back_early()?;
    if one_run {
        merge_all(arguments)?;
    }
    let mut reader = Reader::start(arguments)?;
    let report = reading::run(&mut reader, arguments, io::stdin().lock())?;
    reader.side.stop();
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Merges all runs into one.
fn merge_all(arguments: &ReadingArguments) -> Result<()> {
    let options = StoreOptions {
        runs_max: 1,
        ..options(arguments)?
    };
    let mut side = HedgerowSide::start(Env::real(), &arguments.common.folder, options)?;
    side.settle()?;
    side.stop();
    Ok(())
}

fn options(arguments: &ReadingArguments) -> Result<StoreOptions> {
    let memory = arguments.common.memory_bytes as usize;
    Ok(StoreOptions {
        memory_bytes: memory / 2,
        cache_bytes: reading::cache_bytes(&arguments.common.folder)? as usize,
        filter_bytes: memory / 8,
        ..StoreOptions::default()
    })
}

struct Reader {
    side: HedgerowSide,
    runs: String,
}

impl Reader {
    fn start(arguments: &ReadingArguments) -> Result<Self> {
        let env = Env {
            disk: Arc::new(DirectDisk),
            clock: Arc::new(RealClock::new()),
        };
        let options = options(arguments)?;
        let mut side = HedgerowSide::start(env, &arguments.common.folder, options)?;
        side.settle()?;
        let runs = runs(&side);
        Ok(Self { side, runs })
    }
}

/// The runs that the tree came to rest with.
fn runs(side: &HedgerowSide) -> String {
    let stats = side.store().table_stats(TABLE);
    let components = stats.into_iter().flat_map(|stats| stats.components);
    let on_disk = components.filter(|component| component.segments > 0);
    let in_words = on_disk.map(|component| {
        let mebibytes = component.bytes >> 20;
        format!(
            "{} of {} in {mebibytes} MiB",
            component.runs, component.name
        )
    });
    in_words.collect::<Vec<_>>().join(", ")
}

impl Scan for Reader {
    fn scan(&self, wanted: Wanted) -> Result<Cells> {
        let request = ScanRequest {
            projection: match wanted {
                Wanted::OneColumn => vec![contender::record::SCANNED_COLUMN],
                Wanted::AllColumns => (0..COLUMNS.len()).collect(),
            },
            range: KeyRange::default(),
            batch_rows: BATCH_ROWS,
        };
        let mut found = Cells::default();
        for batch in self.side.store().pin().scan(TABLE, request)? {
            let batch = batch?;
            found += add_up(batch.num_rows(), batch.columns());
        }
        Ok(found)
    }
}

impl LookUp for Reader {
    fn get(&self, key: &Record) -> Result<Cells> {
        let key = [0, 1, 2].map(|index: usize| Value::Int(COLUMNS[index].cell(key)));
        let row = self.side.store().pin().get(TABLE, &key, &VALUE_COLUMNS)?;
        let mut found = Cells::default();
        if let Some(row) = row {
            found.rows = 1;
            for value in row.values() {
                if let Value::Int(cell) = value {
                    found.sum = found.sum.wrapping_add(cell);
                }
            }
        }
        Ok(found)
    }

    fn multi_get(&self, keys: &[Record]) -> Result<Cells> {
        let columns = COLUMNS[..KEY_COLUMNS].iter();
        let keys: Vec<ArrayRef> = columns.map(|column| cells(column, keys)).collect();
        let rows = self.side.store().pin();
        let rows = rows.multi_get(TABLE, &keys, &VALUE_COLUMNS)?;
        let mut found = Cells::default();
        for batch in &rows.batches {
            found += add_up(batch.num_rows(), batch.columns());
        }
        Ok(found)
    }

    fn reads(&self) -> u64 {
        self.side.store().stats().cache_misses
    }
}

impl Contender for Reader {
    fn folder(&self) -> &std::path::Path {
        self.side.folder()
    }

    fn settings(&self) -> String {
        let filters = self.side.store().stats().filter_bytes;
        format!(
            "{}; runs: {}; filters and the page index outside the cache, filters {:.1} MiB",
            self.side.settings(),
            self.runs,
            filters as f64 / f64::from(1 << 20)
        )
    }

    fn insert(&mut self, records: &[Record]) -> Result<()> {
        self.side.insert(records)
    }

    fn make_durable(&mut self) -> Result<()> {
        self.side.make_durable()
    }

    fn settle(&mut self) -> Result<()> {
        self.side.settle()
    }

    fn bytes_written(&mut self) -> Result<u64> {
        self.side.bytes_written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weather::rows;

    #[test]
    fn what_is_looked_up_is_what_a_record_says_besides_its_key() -> Result<()> {
        let schema = rows::schema()?;
        let others = (0..COLUMNS.len()).filter(|index| !schema.key.contains(index));
        assert_eq!(others.collect::<Vec<_>>(), VALUE_COLUMNS);
        Ok(())
    }
}
