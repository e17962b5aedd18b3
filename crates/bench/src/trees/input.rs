//! What readers are fed: keys that exist, keys that do not, rows that overwrite others.

use std::io::{self, Write};

use contender::record::{COLUMNS, KEY_COLUMNS, Record, SCANNED_COLUMN};
use contender::{Cells, Wanted};

use crate::pages::draw::Draw;
use crate::weather::rows::{ShuffledRows, write_records};

/// One row of so many is overwritten.
const OVERWRITTEN_SHARE: usize = 10;

/// A degree Fahrenheit, nearly: what a corrected reading is warmer.
const CORRECTION: i32 = 90;

/// See the module.
pub struct Input {
    keys: usize,
    existing: Vec<Record>,
    missing: Vec<Record>,
    corrected: Vec<Record>,
    all: [Cells; 2],
    all_corrected: [Cells; 2],
}

/// The kinds of scans, in the order of an input's sums.
const SCANS: [Wanted; 2] = [Wanted::OneColumn, Wanted::AllColumns];

impl Input {
    /// So many keys of each kind, drawn out of all rows alike. The rows come in random order:
    /// those that are overwritten are the first ones.
    pub fn draw(rows: &ShuffledRows, keys: usize) -> Self {
        let records = rows.records();
        let mut draw = Draw::new(4);
        let mut some = || -> Vec<Record> {
            let any = |_| records[draw.below(records.len() as u32) as usize];
            (0..keys).map(any).collect()
        };
        let existing = some();
        let missing = some().iter().map(missing).collect();
        let overwritten = records.len() / OVERWRITTEN_SHARE;
        let corrected: Vec<Record> = records[..overwritten].iter().map(corrected).collect();
        let all_corrected = || corrected.iter().chain(&records[overwritten..]);
        Self {
            keys,
            existing,
            missing,
            all: SCANS.map(|wanted| sum(records.iter(), wanted)),
            all_corrected: SCANS.map(|wanted| sum(all_corrected(), wanted)),
            corrected,
        }
    }

    /// Keys of each kind.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// How many rows are overwritten.
    pub fn overwritten(&self) -> usize {
        self.corrected.len()
    }

    /// What a scan finds in all rows, before some are overwritten or after.
    pub fn scanned(&self, wanted: Wanted, after: bool) -> Cells {
        let sums = if after { self.all_corrected } else { self.all };
        sums[usize::from(wanted == Wanted::AllColumns)]
    }

    /// Writes the keys and, if wanted, what overwrites.
    pub fn write(&self, overwrite: bool, mut out: impl Write) -> io::Result<()> {
        write_records(&self.existing, &mut out)?;
        write_records(&self.missing, &mut out)?;
        match overwrite {
            true => write_records(&self.corrected, out),
            false => Ok(()),
        }
    }
}

fn sum<'a>(records: impl Iterator<Item = &'a Record>, wanted: Wanted) -> Cells {
    let mut cells = Cells::default();
    records.for_each(|record| cells += Cells::scanned(record, wanted));
    cells
}

/// The same station half a minute later: readings are of whole minutes.
fn missing(record: &Record) -> Record {
    add(record, KEY_COLUMNS - 1, 30)
}

fn corrected(record: &Record) -> Record {
    add(record, SCANNED_COLUMN, CORRECTION)
}

fn add(record: &Record, column: usize, more: i32) -> Record {
    let mut record = *record;
    let column = COLUMNS[column];
    let cell = i32::from_le_bytes(column.cell_bytes(&record));
    record[column.at..column.at + column.bytes].copy_from_slice(&(cell + more).to_le_bytes());
    record
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use anyhow::Result;
    use contender::record::{KEY_BYTES, RECORD_BYTES};

    use super::*;
    use crate::pages::weather;

    #[test]
    fn keys_are_those_of_rows_or_of_none_and_corrections_keep_theirs() -> Result<()> {
        let rows = ShuffledRows::of(&weather::data_set(5_000)?);
        let key = |record: &Record| -> [u8; KEY_BYTES] { *record.first_chunk().unwrap() };
        let present: HashSet<_> = rows.records().iter().map(key).collect();
        let input = Input::draw(&rows, 1_000);
        let exists = |record: &Record| present.contains(&key(record));
        assert!(input.existing.iter().all(exists));
        assert!(!input.missing.iter().any(exists));
        assert!(input.corrected.iter().all(exists));
        let degrees = CORRECTION as i64 * input.overwritten() as i64;
        for wanted in SCANS {
            let (before, after) = (input.scanned(wanted, false), input.scanned(wanted, true));
            assert_eq!((after.rows, after.sum), (before.rows, before.sum + degrees));
        }
        let mut bytes = Vec::new();
        input.write(true, &mut bytes)?;
        assert_eq!(bytes.len(), (2_000 + rows.count() / 10) * RECORD_BYTES);
        Ok(())
    }
}
