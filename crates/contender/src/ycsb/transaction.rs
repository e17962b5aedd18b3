//! Transactions, and how they are drawn.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::row::TEXTS;
use crate::zipf::Zipf;

/// Reads a row, or overwrites one of its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The row.
    pub key: u64,
    /// What is overwritten; `None`: the row is read.
    pub update: Option<Update>,
}

/// A column, and the version of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The column.
    pub column: usize,
    /// The version: no other update has it.
    pub version: u32,
}

/// Draws the transactions of one client.
#[derive(Debug)]
pub struct Draw {
    zipf: Zipf,
    random: SmallRng,
    rows: u64,
    /// The share of updates.
    updates: f64,
    version: u32,
    version_step: u32,
}

impl Draw {
    /// Of client number `client` of `clients`.
    pub fn new(rows: u64, skew: f64, updates: f64, seed: u64, client: u32, clients: u32) -> Self {
        Self {
            zipf: Zipf::new(rows, skew),
            random: SmallRng::seed_from_u64((seed << 16) + u64::from(client)),
            rows,
            updates,
            version: client,
            version_step: clients,
        }
    }

    /// Puts so many new ones in the place of those that are there.
    pub fn fill(&mut self, count: usize, transactions: &mut Vec<Transaction>) {
        transactions.clear();
        transactions.extend((0..count).map(|_| self.draw()));
    }

    fn draw(&mut self) -> Transaction {
        // The newest, which has the highest key, most often.
        let key = self.rows - self.zipf.draw(&mut self.random);
        let is_update = self.updates > 0.0 && self.random.random::<f64>() < self.updates;
        let update = is_update.then(|| {
            self.version = self.version.wrapping_add(self.version_step);
            Update {
                column: self.random.random_range(0..TEXTS),
                version: self.version,
            }
        });
        Transaction { key, update }
    }
}
