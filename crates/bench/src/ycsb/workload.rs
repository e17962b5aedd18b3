//! YCSB's table and transactions: rows of ten texts of 100 bytes, read and updated one at a time, the
//! newest most often.

use std::sync::Arc;

use anyhow::{Result, bail};
use contender::zipf::Zipf;
use oltp::random::Random;
use oltp::{
    Call, ColumnDefinition, Columns, DeclaredKeys, IndexId, IndexKind, Outcome, Partition,
    Procedure, ProcedureNumber, Stop, TableDefinition, TableNumber, Transaction,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use types::{ColumnType, Value};

/// Text columns, and bytes of each.
const TEXTS: usize = 10;
const TEXT_BYTES: usize = 100;

/// A row's texts.
pub const ROW_BYTES: usize = TEXTS * TEXT_BYTES;

/// Bytes of an update's parameters: the key, the column, the text.
const UPDATE_BYTES: usize = 8 + 1 + TEXT_BYTES;

const TABLE: TableNumber = TableNumber(0);
const KEY: IndexId = IndexId::new(0, 0);

/// Reads the row of a key.
pub const READ: ProcedureNumber = ProcedureNumber(0);
/// Overwrites a text: key, column (a byte), text.
pub const UPDATE: ProcedureNumber = ProcedureNumber(1);
const INSERT: ProcedureNumber = ProcedureNumber(2);

/// The table.
pub fn tables() -> Vec<TableDefinition> {
    let mut columns = vec![ColumnDefinition::new("key", ColumnType::Int64)];
    let names = (0..TEXTS).map(|number| format!("field{number}"));
    columns.extend(names.map(|name| ColumnDefinition::new(&name, ColumnType::Bytes)));
    vec![TableDefinition::new("usertable", columns).index(IndexKind::Hash, true, &[0])]
}

/// The transactions.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    let one_row = |name, adds, declares, run| OneRow {
        name,
        adds,
        declares,
        run,
    };
    vec![
        Arc::new(one_row("read", false, false, read)),
        Arc::new(one_row("update", false, true, update)),
        Arc::new(one_row("insert", true, false, insert)),
    ]
}

fn key_of(parameters: &[u8]) -> i64 {
    i64::from_le_bytes(parameters[..8].try_into().expect("a key"))
}

/// What a transaction does, with its parameters; the reply.
type Run = fn(&mut Transaction<'_>, &[u8], &mut Vec<u8>) -> Result<(), Stop>;

/// A transaction on one row, whose key its parameters begin with.
struct OneRow {
    name: &'static str,
    /// Whether it adds the row; otherwise it is one that is there.
    adds: bool,
    /// Whether an evicted row is fetched before it runs.
    declares: bool,
    run: Run,
}

impl Procedure for OneRow {
    fn name(&self) -> &str {
        self.name
    }

    fn may_grow(&self) -> bool {
        self.adds
    }

    fn declare(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        if self.declares {
            self.expect(parameters, keys)?;
        }
        Ok(())
    }

    fn expect(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        keys.key(KEY, &[Value::Int(key_of(parameters))])?;
        Ok(())
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        (self.run)(transaction, parameters, reply)
    }
}

/// Answers with all of a row.
fn read(
    transaction: &mut Transaction<'_>,
    parameters: &[u8],
    reply: &mut Vec<u8>,
) -> Result<(), Stop> {
    let get = transaction.get(KEY, &[Value::Int(key_of(parameters))], Columns::All)?;
    if let Some(row) = transaction.execute()?.row(get) {
        reply.extend_from_slice(row.texts()?);
    }
    Ok(())
}

/// Another text in one column.
fn update(
    transaction: &mut Transaction<'_>,
    parameters: &[u8],
    reply: &mut Vec<u8>,
) -> Result<(), Stop> {
    let column = 1 + usize::from(parameters[8]);
    let change = (column, Value::Bytes(&parameters[9..]));
    let key = [Value::Int(key_of(parameters))];
    let update = transaction.update(KEY, &key, &[change])?;
    reply.push(transaction.execute()?.count(update) as u8);
    Ok(())
}

/// A new row.
fn insert(
    transaction: &mut Transaction<'_>,
    parameters: &[u8],
    _: &mut Vec<u8>,
) -> Result<(), Stop> {
    let mut values = [Value::Null; 1 + TEXTS];
    values[0] = Value::Int(key_of(parameters));
    let texts = parameters[8..].chunks_exact(TEXT_BYTES);
    for (value, text) in values[1..].iter_mut().zip(texts) {
        *value = Value::Bytes(text);
    }
    transaction.insert(TABLE, &values)?;
    transaction.execute()?;
    Ok(())
}

/// Adds rows with rising keys and random texts; `between` is called after each.
pub fn load(
    partition: &mut Partition,
    rows: u64,
    between: impl FnMut(&mut Partition) -> Result<()>,
) -> Result<()> {
    let mut random = Random::new(1);
    let texts = |_, texts: &mut [u8; ROW_BYTES]| {
        for word in texts.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next_u64().to_le_bytes());
        }
    };
    load_with(partition, rows, texts, between)
}

/// Adds rows with rising keys; `texts` writes those of a key, `between` is called after each row.
pub fn load_with(
    partition: &mut Partition,
    rows: u64,
    mut texts: impl FnMut(u64, &mut [u8; ROW_BYTES]),
    mut between: impl FnMut(&mut Partition) -> Result<()>,
) -> Result<()> {
    let mut reply = Vec::new();
    let mut parameters = vec![0; 8 + ROW_BYTES];
    for key in 0..rows {
        let (in_key, in_texts) = parameters
            .split_first_chunk_mut()
            .expect("a key begins them");
        *in_key = key.to_le_bytes();
        texts(key, in_texts.first_chunk_mut().expect("texts follow"));
        let call = Call {
            procedure: INSERT,
            parameters: &parameters,
        };
        loop {
            match partition.execute(call, &mut reply) {
                Outcome::Committed(_) => break,
                Outcome::Refused(_) => {}
                other => bail!("a row was not added: {other:?}"),
            }
            between(partition)?;
        }
        between(partition)?;
    }
    Ok(())
}

/// Calls that are drawn while no clock runs.
pub struct Calls {
    zipf: Zipf,
    random: SmallRng,
    rows: u64,
    /// The share of updates.
    updates: f64,
    /// The keys, and whether each is updated.
    drawn: Vec<(u32, bool)>,
    parameters: [u8; UPDATE_BYTES],
    expected_parameters: [u8; 8],
    next: usize,
}

impl Calls {
    /// So many calls on rows that were loaded, a share of them updates.
    pub fn draw(calls: usize, rows: u64, skew: f64, updates: f64) -> Self {
        let mut calls = Self {
            zipf: Zipf::new(rows, skew),
            random: SmallRng::seed_from_u64(2),
            rows,
            updates,
            drawn: vec![(0, false); calls],
            parameters: [b'u'; UPDATE_BYTES],
            expected_parameters: [0; 8],
            next: 0,
        };
        calls.redraw();
        calls
    }

    /// As many calls as before, others. Were the same to come again, all that they use would soon be in
    /// memory.
    pub fn redraw(&mut self) {
        for (key, is_update) in &mut self.drawn {
            let newest_first = self.rows - self.zipf.draw(&mut self.random);
            *key = newest_first as u32;
            *is_update = self.random.random::<f64>() < self.updates;
        }
        self.next = 0;
    }

    /// The next call, after the partition has been told of one that comes some calls later: the calls stand
    /// in a queue.
    ///
    /// # Panics
    /// When none is left.
    #[inline]
    pub fn following(&mut self, partition: &mut Partition) -> Call<'_> {
        self.expect(partition);
        let (key, is_update) = self.drawn[self.next];
        self.next += 1;
        self.parameters[..8].copy_from_slice(&u64::from(key).to_le_bytes());
        if !is_update {
            return Call {
                procedure: READ,
                parameters: &self.parameters[..8],
            };
        }
        self.parameters[8] = (self.next % TEXTS) as u8;
        Call {
            procedure: UPDATE,
            parameters: &self.parameters,
        }
    }

    #[inline]
    fn expect(&mut self, partition: &mut Partition) {
        let Some((key, is_update)) = self.drawn.get(self.next + Partition::EXPECTED_AHEAD) else {
            return;
        };
        self.expected_parameters = u64::from(*key).to_le_bytes();
        partition.expect(Call {
            procedure: if *is_update { UPDATE } else { READ },
            parameters: &self.expected_parameters,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use env::Env;
    use oltp::PartitionPlan;

    use super::*;

    /// Reads answer with whole rows, of which updates have changed a text.
    #[test]
    fn reads_see_updates() -> Result<()> {
        let plan = PartitionPlan {
            tables: tables(),
            procedures: procedures(),
            anti_cache: None,
            has_log: false,
            feed: None,
        };
        let mut partition = Partition::open(&Env::real(), Path::new(""), plan)?;
        load(&mut partition, 100, |_| Ok(()))?;
        let mut calls = Calls::draw(5_000, 100, 0.5, 0.5);
        let (mut reply, mut updated) = (Vec::new(), 0);
        for _ in 0..5_000 {
            let call = calls.following(&mut partition);
            let is_read = call.procedure == READ;
            assert!(matches!(
                partition.execute(call, &mut reply),
                Outcome::Committed(_)
            ));
            assert_eq!(reply.len(), if is_read { ROW_BYTES } else { 1 });
            updated += usize::from(is_read && reply.contains(&b'u'));
        }
        assert!(updated > 1_000, "{updated}");
        Ok(())
    }
}
