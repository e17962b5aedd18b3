//! A store of a few rows in memory is put through all of it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use super::*;
use crate::Arguments;
use crate::record::KEY_BYTES;

/// Rows by the bytes of their keys.
struct MapStore {
    folder: PathBuf,
    rows: BTreeMap<[u8; KEY_BYTES], Record>,
    batches: Mutex<Vec<usize>>,
    /// Answers as if there were no such row.
    forgets: Option<Record>,
}

fn key(record: &Record) -> [u8; KEY_BYTES] {
    *record.first_chunk().unwrap()
}

fn record(number: i32) -> Record {
    let mut record = [0; RECORD_BYTES];
    record[..4].copy_from_slice(&number.to_le_bytes());
    record[28..32].copy_from_slice(&(number * 10).to_le_bytes());
    record
}

impl Scan for MapStore {
    fn scan(&self, wanted: Wanted) -> Result<Cells> {
        let mut cells = Cells::default();
        let rows = self.rows.values();
        rows.for_each(|row| cells += Cells::scanned(row, wanted));
        Ok(cells)
    }
}

impl LookUp for MapStore {
    fn get(&self, record: &Record) -> Result<Cells> {
        if self.forgets == Some(*record) {
            return Ok(Cells::default());
        }
        let row = self.rows.get(&key(record));
        Ok(row.map_or(Cells::default(), Cells::looked_up))
    }

    fn multi_get(&self, records: &[Record]) -> Result<Cells> {
        self.batches.lock().unwrap().push(records.len());
        let mut cells = Cells::default();
        for record in records {
            cells += self.get(record)?;
        }
        Ok(cells)
    }

    fn reads(&self) -> u64 {
        0
    }
}

impl Contender for MapStore {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn settings(&self) -> String {
        String::new()
    }

    fn insert(&mut self, records: &[Record]) -> Result<()> {
        self.rows.extend(records.iter().map(|row| (key(row), *row)));
        Ok(())
    }

    fn make_durable(&mut self) -> Result<()> {
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn bytes_written(&mut self) -> Result<u64> {
        Ok(0)
    }
}

/// A store of the rows 0 to 9, and what it is told.
fn store() -> (MapStore, ReadingArguments) {
    let folder = tempfile::tempdir().unwrap();
    let store = MapStore {
        folder: folder.path().to_owned(),
        rows: (0..10).map(|n| (key(&record(n)), record(n))).collect(),
        batches: Mutex::new(Vec::new()),
        forgets: None,
    };
    let arguments = ReadingArguments {
        common: Arguments {
            folder: store.folder.clone(),
            memory_bytes: 0,
            memory_group: None,
            seconds_max: None,
        },
        keys: 3,
        sample_ms: 1,
        overwrite: true,
    };
    // Kept: the store's size is asked for.
    let _ = folder.keep();
    (store, arguments)
}

/// Keys of three rows and of three that are not, and the first row with another reading.
fn input() -> Vec<u8> {
    let mut other = record(0);
    other[28] = 5;
    let rows = [1, 2, 3, 11, 12, 13].map(record);
    [rows.as_flattened(), &other].concat()
}

#[test]
fn keys_are_looked_up_then_rows_scanned_then_overwritten_and_scanned() {
    let (mut store, arguments) = store();
    let report = run(&mut store, &arguments, &input()[..]).unwrap();
    std::fs::remove_dir(&store.folder).unwrap();
    assert_eq!(report.look_ups.len(), 8);
    assert!(report.look_ups.iter().all(|l| l.rates.len() == SAMPLES));
    let kinds = report.look_ups.iter().map(|l| l.present);
    assert_eq!(kinds.filter(|&p| p == Present::Missing).count(), 4);
    assert!(store.batches.lock().unwrap().iter().all(|&keys| keys == 3));
    let sums = |scans: &[Scans]| -> Vec<i64> { scans.iter().map(|s| s.cells.sum).collect() };
    assert_eq!(sums(&report.scans), [450, 495]);
    assert_eq!(sums(&report.fresh_scans), [455, 500]);
    assert_eq!(report.scans[0].seconds.len(), SAMPLES);
}

#[test]
fn a_wrong_answer_ends_it() {
    let (mut store, arguments) = store();
    store.forgets = Some(record(2));
    assert!(run(&mut store, &arguments, &input()[..]).is_err());
    std::fs::remove_dir(&store.folder).unwrap();
}

#[test]
fn scans_take_turns() {
    struct Turns(Cell<Vec<Wanted>>);
    impl Scan for Turns {
        fn scan(&self, wanted: Wanted) -> Result<Cells> {
            let mut turns = self.0.take();
            turns.push(wanted);
            self.0.set(turns);
            Ok(Cells::default())
        }
    }
    let turns = Turns(Cell::new(Vec::new()));
    scan(&turns).unwrap();
    let expected = [Wanted::OneColumn, Wanted::AllColumns].repeat(SAMPLES);
    assert_eq!(turns.0.take(), expected);
}
