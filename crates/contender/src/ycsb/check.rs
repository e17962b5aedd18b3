//! Whether answers are right.

use std::collections::HashMap;

use anyhow::{Result, ensure};

use super::row::{ROW_BYTES, TEXT_BYTES, TEXTS, check_heads, write_row, write_text};
use super::{Client, Transaction, Update};

/// Rows that are updated and read one at a time.
const CHECKED_ROWS: u64 = 400;

/// Versions that tasks do not come to.
const CHECKED_VERSION: u32 = u32::MAX - 1_000_000;

/// What a client has read while it was measured: every row is one of the key that was asked for.
#[derive(Debug, Default)]
pub struct Checks {
    rows: u64,
}

impl Checks {
    /// Looks at the texts of a row.
    pub fn row<'a>(&mut self, key: u64, texts: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        self.rows += 1;
        check_heads(key, texts)
    }

    /// Looks at the texts of a row that stand one after the other.
    pub fn row_of_bytes(&mut self, key: u64, texts: &[u8]) -> Result<()> {
        self.row(key, texts.chunks(TEXT_BYTES))
    }

    /// Rows that were looked at.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// Updates rows by one client, and reads them by the next.
pub fn check_answers(clients: &mut [impl Client], rows: u64) -> Result<()> {
    let mut written: HashMap<u64, Box<[u8; ROW_BYTES]>> = HashMap::new();
    let clients_count = clients.len();
    let mut checks = Checks::default();
    let step = (rows / CHECKED_ROWS).max(1);
    let keys: Vec<u64> = (0..rows).step_by(step as usize).collect();
    // Twice, so that what was read before an update may be in a cache.
    for (version, key) in (CHECKED_VERSION..).zip(keys.iter().chain(&keys).copied()) {
        let texts = written.entry(key).or_insert_with(|| {
            let mut texts = Box::new([0; ROW_BYTES]);
            write_row(key, &mut texts);
            texts
        });
        let turn = version as usize;
        for reader in [turn, turn + 1] {
            let found = clients[reader % clients_count].read(key)?;
            ensure!(found == texts[..], "row {key} is not what was written");
        }
        let update = Update {
            column: turn % TEXTS,
            version,
        };
        let (columns, _) = texts.as_chunks_mut::<TEXT_BYTES>();
        write_text(key, update.column, version, &mut columns[update.column]);
        let transaction = Transaction {
            key,
            update: Some(update),
        };
        let writer = &mut clients[turn % clients_count];
        let ended = writer.run(&[transaction], &mut checks)? + writer.finish(&mut checks)?;
        ensure!(ended == 1, "{ended} of one transaction have ended");
        for reader in [turn + 1, turn] {
            let found = clients[reader % clients_count].read(key)?;
            ensure!(found == texts[..], "row {key} does not show its update");
        }
    }
    Ok(())
}
