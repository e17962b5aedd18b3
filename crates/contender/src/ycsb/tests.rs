//! A contender that is right passes, and one that is wrong does not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;

use super::row::{ROW_BYTES, TEXT_BYTES, write_row, write_text};
use super::*;

type Rows = HashMap<u64, Vec<u8>>;

/// Rows in a map; `forgets` every so many updates.
struct MapClient {
    rows: Arc<Mutex<Rows>>,
    updates: u64,
    forgets: Option<u64>,
    /// Transactions that end in a later call.
    under_way: u64,
}

impl Client for MapClient {
    fn run(&mut self, transactions: &[Transaction], checks: &mut Checks) -> Result<u64> {
        let mut rows = self.rows.lock().unwrap();
        for transaction in transactions {
            let row = rows.get_mut(&transaction.key).expect("it was loaded");
            let Some(update) = transaction.update else {
                checks.row_of_bytes(transaction.key, row)?;
                continue;
            };
            self.updates += 1;
            if self.forgets != Some(self.updates) {
                let (texts, _) = row.as_chunks_mut::<TEXT_BYTES>();
                let text = &mut texts[update.column];
                write_text(transaction.key, update.column, update.version, text);
            }
        }
        let ended = std::mem::replace(&mut self.under_way, transactions.len() as u64);
        Ok(ended)
    }

    fn finish(&mut self, _: &mut Checks) -> Result<u64> {
        Ok(std::mem::take(&mut self.under_way))
    }

    fn read(&mut self, key: u64) -> Result<Vec<u8>> {
        Ok(self.rows.lock().unwrap()[&key].clone())
    }
}

struct MapSide(Vec<MapClient>);

impl MapSide {
    fn new(rows: u64, forgets: Option<u64>) -> Self {
        let row = |key| {
            let mut row = [0; ROW_BYTES];
            write_row(key, &mut row);
            (key, row.to_vec())
        };
        let map = Arc::new(Mutex::new((0..rows).map(row).collect::<Rows>()));
        let client = |_| MapClient {
            rows: Arc::clone(&map),
            updates: 0,
            forgets,
            under_way: 0,
        };
        Self((0..2).map(client).collect())
    }
}

impl YcsbSide for MapSide {
    type Client = MapClient;

    fn clients(&mut self) -> &mut [MapClient] {
        &mut self.0
    }

    fn batch(&self) -> usize {
        16
    }

    fn counts(&mut self) -> Result<Counts> {
        Ok(Counts::default())
    }

    fn settings(&self) -> String {
        "a map".to_owned()
    }
}

fn serve_tasks(side: &mut MapSide, rows: u64, tasks: &[Task]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let arguments = YcsbArguments {
        common: Arguments {
            folder: folder.path().to_owned(),
            memory_bytes: 1 << 30,
            memory_group: None,
            seconds_max: None,
        },
        rows,
    };
    let lines: Vec<String> = tasks
        .iter()
        .map(|t| serde_json::to_string(t).unwrap())
        .collect();
    let mut output = Vec::new();
    serve(side, &arguments, lines.join("\n").as_bytes(), &mut output)?;
    Ok(String::from_utf8(output)?)
}

/// Each task is answered by a line with the rates of its windows.
#[test]
fn tasks_are_answered_in_order() -> Result<()> {
    let task = |updates, windows| Task {
        updates,
        skew: 1.0,
        warm_seconds: 0.01,
        windows,
        window_seconds: 0.02,
        seed: 1,
    };
    let mut side = MapSide::new(1_000, None);
    let output = serve_tasks(&mut side, 1_000, &[task(0.0, 3), task(0.5, 2)])?;
    let mut lines = output.lines();
    let loaded: Loaded = serde_json::from_str(lines.next().expect("it is loaded"))?;
    assert_eq!(loaded.settings, "a map");
    for windows in [3, 2] {
        let report: TaskReport = serde_json::from_str(lines.next().expect("an answer"))?;
        assert_eq!(report.rates.len(), windows);
        assert!(report.rates.iter().all(|rate| *rate > 0.0), "{report:?}");
        assert!(report.transactions > 0);
    }
    assert!(lines.next().is_none());
    Ok(())
}

#[test]
fn a_lost_update_is_found() {
    let error = serve_tasks(&mut MapSide::new(1_000, Some(300)), 1_000, &[]).unwrap_err();
    assert!(error.to_string().contains("update"), "{error}");
}
