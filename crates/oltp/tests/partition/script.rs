//! A procedure that does what its parameters say: a list of operations.

use oltp::{
    ColumnDefinition, Columns, DeclaredKeys, Direction, IndexId, IndexKind, Procedure, Row,
    RowHandle, Scan, Stop, TableDefinition, TableNumber, Transaction,
};
use rand::Rng;
use rand::rngs::StdRng;
use types::{ColumnType, Value};

/// The one group that bounds scans.
pub const GROUPS: i64 = 20;

/// One operation. All have the same fields; each uses some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub kind: Kind,
    pub table: u8,
    pub id: i64,
    pub group: i64,
    /// The text of a row; `None` is NULL.
    pub text: Option<(u8, u16)>,
}

/// About a row of the evictable table, whose number tells its cells.
pub fn operation(kind: Kind, id: i64) -> Operation {
    Operation {
        kind,
        table: 0,
        id,
        group: id % GROUPS,
        text: Some((id as u8, 300)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Get,
    Insert,
    Update,
    Delete,
    /// A row that was found gets another text, as long as the one it has.
    Refill,
    /// A row that was found goes; then it cannot be changed.
    TakeOut,
    /// A row gets `group` as its id.
    Rename,
    ScanUp,
    ScanDown,
    Count,
    Abort,
}

const KINDS: [Kind; 11] = [
    Kind::Get,
    Kind::Insert,
    Kind::Update,
    Kind::Delete,
    Kind::Refill,
    Kind::TakeOut,
    Kind::Rename,
    Kind::ScanUp,
    Kind::ScanDown,
    Kind::Count,
    Kind::Abort,
];

/// Rows that a scan shows at most.
pub const ROWS_MAX: usize = 7;

impl Operation {
    fn encode(&self, out: &mut Vec<u8>) {
        let kind = KINDS.iter().position(|kind| *kind == self.kind);
        out.push(kind.expect("all kinds are listed") as u8);
        out.push(self.table);
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.group.to_le_bytes());
        let (byte, length) = self.text.unwrap_or((0, u16::MAX));
        out.push(byte);
        out.extend_from_slice(&length.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Self {
        let int = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let length = u16::from_le_bytes([bytes[19], bytes[20]]);
        Self {
            kind: KINDS[usize::from(bytes[0])],
            table: bytes[1],
            id: int(2),
            group: int(10),
            text: (length != u16::MAX).then_some((bytes[18], length)),
        }
    }

    /// The text of a row that has this one: as long, if it has one.
    pub fn refilled(&self, text: Option<&[u8]>) -> Option<Vec<u8>> {
        let (byte, length) = self.text?;
        Some(vec![byte; text.map_or(length.into(), <[u8]>::len)])
    }

    /// The text of the row.
    pub fn row_text(&self) -> Option<Vec<u8>> {
        self.text.map(|(byte, length)| vec![byte; length.into()])
    }
}

const OPERATION_BYTES: usize = 21;

/// Parameters of the procedure.
pub fn encode(operations: &[Operation]) -> Vec<u8> {
    let mut out = Vec::new();
    operations
        .iter()
        .for_each(|operation| operation.encode(&mut out));
    out
}

/// A transaction of a few operations on a few rows of two tables.
pub fn some_transaction(random: &mut StdRng, ids: i64) -> Vec<Operation> {
    (0..random.random_range(1..5))
        .map(|_| Operation {
            kind: match random.random_range(0..100) {
                0..25 => Kind::Get,
                25..60 => Kind::Insert,
                60..68 => Kind::Update,
                68..76 => Kind::Refill,
                76..80 => Kind::Delete,
                80..82 => Kind::TakeOut,
                82..88 => Kind::ScanUp,
                88..92 => Kind::ScanDown,
                92..95 => Kind::Count,
                95..97 => Kind::Rename,
                _ => Kind::Abort,
            },
            table: random.random_range(0..2),
            id: random.random_range(0..ids),
            group: random.random_range(0..GROUPS),
            text: random
                .random_ratio(9, 10)
                .then(|| (random.random(), random.random_range(0..400))),
        })
        .collect()
}

/// Two tables of (id, group, text), the second of which is never evicted.
pub fn tables() -> Vec<TableDefinition> {
    let table = |name: &str, kind| {
        let columns = vec![
            ColumnDefinition::new("id", ColumnType::Int64),
            ColumnDefinition::new("group", ColumnType::Int32),
            ColumnDefinition::new("text", ColumnType::Bytes).nullable(),
        ];
        TableDefinition::new(name, columns)
            .index(kind, true, &[0])
            .index(IndexKind::Ordered, false, &[1])
            .index(IndexKind::Hash, false, &[1])
    };
    vec![
        table("cold", IndexKind::Hash),
        table("warm", IndexKind::Ordered).never_evicted(),
    ]
}

/// See the module.
pub struct Script;

impl Procedure for Script {
    fn name(&self) -> &str {
        "script"
    }

    /// Keys of rows that are there or not, of each kind of index.
    fn expect(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        for bytes in parameters.chunks_exact(OPERATION_BYTES) {
            let operation = Operation::decode(bytes);
            let table = operation.table.into();
            keys.key(IndexId::new(table, 0), &[Value::Int(operation.id)])?;
            for index in [1, 2] {
                keys.key(IndexId::new(table, index), &[Value::Int(operation.group)])?;
            }
        }
        Ok(())
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        parameters
            .chunks_exact(OPERATION_BYTES)
            .try_for_each(|bytes| run(transaction, Operation::decode(bytes), reply))
    }
}

fn run(
    transaction: &mut Transaction<'_>,
    operation: Operation,
    reply: &mut Vec<u8>,
) -> Result<(), Stop> {
    let by_id = IndexId::new(operation.table.into(), 0);
    let by_group = IndexId::new(operation.table.into(), 1);
    let id = [Value::Int(operation.id)];
    let group = [Value::Int(operation.group)];
    let text = operation.row_text();
    let text = text.as_deref().map_or(Value::Null, Value::Bytes);
    let changed = match operation.kind {
        Kind::Abort => return Err(Stop::Abort("as asked".into())),
        Kind::Get => {
            let get = transaction.get(by_id, &id, Columns::All)?;
            return show(transaction.execute()?.rows(get), reply);
        }
        Kind::ScanUp | Kind::ScanDown => {
            let options = Scan {
                direction: if operation.kind == Kind::ScanUp {
                    Direction::Ascending
                } else {
                    Direction::Descending
                },
                rows_max: ROWS_MAX,
                ..Scan::default()
            };
            let to = [Value::Int(operation.group + 2)];
            let scan = transaction.scan(by_group, &group, &to, options)?;
            return show(transaction.execute()?.rows(scan), reply);
        }
        Kind::Count => {
            let hashed = IndexId::new(operation.table.into(), 2);
            let get = transaction.get(hashed, &group, Columns::OfKey)?;
            let batch = transaction.execute()?;
            // The primary key is there without the row.
            let ids = batch.rows(get).map(|row| row.int(0));
            let sum = ids.sum::<Result<i64, Stop>>()?;
            let rows = batch.count(get);
            reply.extend_from_slice(&rows.to_le_bytes());
            reply.extend_from_slice(&sum.to_le_bytes());
            return Ok(());
        }
        Kind::Insert => {
            let table = TableNumber(operation.table.into());
            transaction.insert(table, &[id[0], group[0], text])?
        }
        Kind::Update => transaction.update(by_id, &id, &[(1, group[0]), (2, text)])?,
        Kind::Rename => transaction.update(by_id, &id, &[(0, group[0])])?,
        Kind::Delete => transaction.delete(by_id, &id)?,
        Kind::Refill | Kind::TakeOut => {
            let get = transaction.get(by_id, &id, Columns::All)?;
            let Some(row) = transaction.execute()?.row(get) else {
                reply.push(0);
                return Ok(());
            };
            let refilled = operation.refilled(row_text(&row)?);
            let (row, text) = (row.handle()?, refilled.as_deref());
            return match operation.kind {
                Kind::Refill => refill(transaction, row, text, reply),
                _ => take_out(transaction, row, text, reply),
            };
        }
    };
    let rows = transaction.execute()?.count(changed);
    reply.push(rows as u8);
    Ok(())
}

fn refill(
    transaction: &mut Transaction<'_>,
    row: RowHandle,
    text: Option<&[u8]>,
    reply: &mut Vec<u8>,
) -> Result<(), Stop> {
    let text = text.map_or(Value::Null, Value::Bytes);
    let update = transaction.update_row(row, &[(2, text)])?;
    reply.push(transaction.execute()?.count(update) as u8);
    Ok(())
}

fn take_out(
    transaction: &mut Transaction<'_>,
    row: RowHandle,
    text: Option<&[u8]>,
    reply: &mut Vec<u8>,
) -> Result<(), Stop> {
    let text = text.map_or(Value::Null, Value::Bytes);
    let delete = transaction.delete_row(row)?;
    let update = transaction.update_row(row, &[(2, text)])?;
    let again = transaction.delete_row(row)?;
    let batch = transaction.execute()?;
    reply.extend([delete, update, again].map(|statement| batch.count(statement) as u8));
    Ok(())
}

fn row_text<'t>(row: &Row<'t>) -> Result<Option<&'t [u8]>, Stop> {
    Ok(match row.value(2)? {
        Value::Bytes(text) => Some(text),
        _ => None,
    })
}

fn show<'t>(rows: impl Iterator<Item = Row<'t>>, reply: &mut Vec<u8>) -> Result<(), Stop> {
    for row in rows {
        show_row(row.int(0)?, row.int(1)?, row_text(&row)?, reply);
    }
    reply.push(b'.');
    Ok(())
}

/// A row in a reply.
pub fn show_row(id: i64, group: i64, text: Option<&[u8]>, reply: &mut Vec<u8>) {
    reply.extend_from_slice(&id.to_le_bytes());
    reply.extend_from_slice(&group.to_le_bytes());
    reply.extend_from_slice(
        &text
            .map_or(u64::MAX, |text| text.len() as u64)
            .to_le_bytes(),
    );
    reply.extend_from_slice(text.unwrap_or_default());
}
