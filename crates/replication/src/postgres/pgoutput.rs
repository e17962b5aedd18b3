//! Decoder of logical replication: the stream's wrappers and `pgoutput`'s messages, protocol
//! version 2. [`decode_streamed`] looks at what belongs to transactions in progress; the messages
//! inside are then ordinary ones.
//!
//! Decoded messages borrow from the buffer. Every length is checked before it is used: any
//! bytes at all give a message or an error, never a panic. `docs/format/postgres-stream.md`
//! lists what is read and what is ignored.

use types::TableName;

use super::spool::TransactionId;

/// Bytes that are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message is shorter than it should be.
    #[error("a replication message ends before its {0}")]
    Short(&'static str),
    /// The message is longer than it should be.
    #[error("a replication message of kind {kind:?} has {extra} bytes too many")]
    Long {
        /// The kind.
        kind: char,
        /// The number of bytes.
        extra: usize,
    },
    /// A kind, a flag or a cell that does not exist in the protocol version that we asked for.
    #[error("a replication message has the unknown {what} {found:?}")]
    Unknown {
        /// What it should have been.
        what: &'static str,
        /// What was found.
        found: char,
    },
    /// A name that is not UTF-8.
    #[error("a replication message has a name that is not UTF-8")]
    NotUtf8,
}

/// What the server sends on the replication stream.
#[derive(Debug, PartialEq)]
pub enum Wrapper<'a> {
    /// A message of the output plugin.
    Data {
        /// Where in the log it comes from.
        position: u64,
        /// The message, for [`decode`].
        payload: &'a [u8],
    },
    /// Nothing new, or a request to answer.
    Keepalive {
        /// Everything committed before this has been sent.
        wal_end: u64,
        /// Whether an answer is due at once.
        reply: bool,
    },
}

/// A message of the output plugin.
#[derive(Debug, PartialEq)]
pub enum Message<'a> {
    /// A transaction begins.
    Begin {
        /// The position of its commit record.
        commit_position: u64,
        /// When it committed, microseconds since 2000-01-01 UTC.
        commit_time: i64,
        /// The transaction.
        transaction: TransactionId,
    },
    /// A transaction ends.
    Commit {
        /// The position of its commit record.
        commit_position: u64,
        /// The end of its commit record: where to continue after it.
        end: u64,
        /// When it committed, microseconds since 2000-01-01 UTC.
        commit_time: i64,
    },
    /// The shape of a table, before its first change and after every change of it.
    Relation(Relation),
    /// A row was inserted.
    Insert {
        /// The table.
        relation: u32,
        /// The row.
        new: Tuple<'a>,
    },
    /// A row was updated.
    Update {
        /// The table.
        relation: u32,
        /// What is told of the old row.
        old: Option<OldTuple<'a>>,
        /// The new row.
        new: Tuple<'a>,
    },
    /// A row was deleted.
    Delete {
        /// The table.
        relation: u32,
        /// What is told of the old row.
        old: OldTuple<'a>,
    },
    /// Tables were emptied.
    Truncate {
        /// The tables.
        relations: Vec<u32>,
    },
    /// A kind that does not matter to us: origin, type, logical message.
    Ignored,
}

/// What a message has to do with transactions in progress.
#[derive(Debug, PartialEq, Eq)]
pub enum Streamed<'a> {
    /// Nothing: it is for [`decode`].
    Ordinary,
    /// A block of a transaction begins.
    Start {
        /// The transaction.
        transaction: TransactionId,
    },
    /// The block ends.
    Stop,
    /// Inside a block: where the transaction comes from.
    Origin,
    /// A message inside a block.
    Part {
        /// The transaction or subtransaction that it belongs to.
        part: TransactionId,
        /// The message's kind.
        kind: u8,
        /// What follows the kind in the ordinary message.
        content: &'a [u8],
    },
    /// A transaction commits.
    Commit {
        /// The transaction.
        transaction: TransactionId,
        /// The position of its commit record.
        commit_position: u64,
        /// The end of its commit record.
        end: u64,
        /// When it committed, microseconds since 2000-01-01 UTC.
        commit_time: i64,
    },
    /// A part of a transaction is rolled back.
    Abort {
        /// The transaction.
        transaction: TransactionId,
        /// The part; the transaction itself for all of it.
        part: TransactionId,
    },
}

/// The shape of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The table's object id.
    pub id: u32,
    /// The table's name.
    pub name: TableName,
    /// Replica identity: `d`efault, `n`othing, `f`ull or `i`ndex.
    pub identity: u8,
    /// The published columns.
    pub columns: Vec<RelationColumn>,
}

/// A column of a [`Relation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationColumn {
    /// Whether it is part of the replica identity.
    pub identity: bool,
    /// The column's name.
    pub name: String,
    /// The type's object id.
    pub type_oid: u32,
    /// The type's modifier, -1 for none.
    pub modifier: i32,
}

/// What is told of a row before its change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OldTuple<'a> {
    /// The replica identity's columns; others are NULL.
    Key(Tuple<'a>),
    /// All columns.
    Row(Tuple<'a>),
}

impl<'a> OldTuple<'a> {
    /// The cells.
    pub fn tuple(self) -> Tuple<'a> {
        match self {
            Self::Key(tuple) | Self::Row(tuple) => tuple,
        }
    }
}

/// A row whose cells are still encoded; all lengths in it have been checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuple<'a> {
    columns: u16,
    cells: &'a [u8],
}

/// A cell of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// NULL
    Null,
    /// A large value that the update did not touch, and that is not in the log.
    Unchanged,
    /// The value's text form.
    Text(&'a [u8]),
}

impl<'a> Tuple<'a> {
    /// The number of cells.
    pub fn columns(&self) -> usize {
        usize::from(self.columns)
    }

    /// The cells in column order.
    pub fn cells(&self) -> Cells<'a> {
        Cells { rest: self.cells }
    }
}

/// Iterator over the cells of a [`Tuple`].
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    #[inline]
    fn next(&mut self) -> Option<Cell<'a>> {
        let (&kind, rest) = self.rest.split_first()?;
        match kind {
            b't' => {
                let (length, rest) = rest.split_first_chunk().expect("checked by `tuple`");
                let (text, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
                self.rest = rest;
                Some(Cell::Text(text))
            }
            kind => {
                self.rest = rest;
                Some(if kind == b'n' {
                    Cell::Null
                } else {
                    Cell::Unchanged
                })
            }
        }
    }
}

/// Reads from the front of a message.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(DecodeError::Short(what))?;
        self.rest = rest;
        Ok(*head)
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        self.array(what).map(|[byte]| byte)
    }

    fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        self.array(what).map(u16::from_be_bytes)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        self.array(what).map(u32::from_be_bytes)
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        self.array(what).map(u64::from_be_bytes)
    }

    fn name(&mut self, what: &'static str) -> Result<String, DecodeError> {
        let end = memchr::memchr(0, self.rest).ok_or(DecodeError::Short(what))?;
        let name = str::from_utf8(&self.rest[..end]).map_err(|_| DecodeError::NotUtf8)?;
        self.rest = &self.rest[end + 1..];
        Ok(name.to_owned())
    }

    /// A row; walks over its cells to check them.
    fn tuple(&mut self) -> Result<Tuple<'a>, DecodeError> {
        let columns = self.u16("number of columns")?;
        let cells = self.rest;
        for _ in 0..columns {
            match self.u8("cell")? {
                b'n' | b'u' => {}
                b't' => {
                    let length = self.u32("cell length")? as usize;
                    self.rest = self.rest.get(length..).ok_or(DecodeError::Short("cell"))?;
                }
                kind => return Err(unknown("kind of cell", kind)),
            }
        }
        let cells = &cells[..cells.len() - self.rest.len()];
        Ok(Tuple { columns, cells })
    }

    fn old_tuple(&mut self, kind: u8) -> Result<OldTuple<'a>, DecodeError> {
        match kind {
            b'K' => self.tuple().map(OldTuple::Key),
            b'O' => self.tuple().map(OldTuple::Row),
            kind => Err(unknown("kind of old row", kind)),
        }
    }

    fn new_tuple(&mut self) -> Result<Tuple<'a>, DecodeError> {
        match self.u8("kind of new row")? {
            b'N' => self.tuple(),
            kind => Err(unknown("kind of new row", kind)),
        }
    }

    /// The message must end here.
    fn end(&self, kind: u8) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            extra => Err(DecodeError::Long {
                kind: char::from(kind),
                extra,
            }),
        }
    }
}

fn unknown(what: &'static str, found: u8) -> DecodeError {
    DecodeError::Unknown {
        what,
        found: char::from(found),
    }
}

/// Decodes what came in one piece of the stream.
pub fn unwrap(data: &[u8]) -> Result<Wrapper<'_>, DecodeError> {
    let mut reader = Reader { rest: data };
    match reader.u8("kind")? {
        b'w' => {
            let position = reader.u64("position")?;
            reader.u64("end of the log")?;
            reader.u64("time")?;
            Ok(Wrapper::Data {
                position,
                payload: reader.rest,
            })
        }
        b'k' => {
            let wal_end = reader.u64("end of the log")?;
            reader.u64("time")?;
            let reply = reader.u8("reply flag")? != 0;
            reader.end(b'k')?;
            Ok(Wrapper::Keepalive { wal_end, reply })
        }
        kind => Err(unknown("kind of stream data", kind)),
    }
}

/// Decodes one message of the output plugin.
pub fn decode(payload: &[u8]) -> Result<Message<'_>, DecodeError> {
    let mut reader = Reader { rest: payload };
    let kind = reader.u8("kind")?;
    let message = match kind {
        b'I' => {
            let relation = reader.u32("table")?;
            Message::Insert {
                relation,
                new: reader.new_tuple()?,
            }
        }
        b'U' => update(&mut reader)?,
        b'D' => {
            let relation = reader.u32("table")?;
            let old_kind = reader.u8("kind of old row")?;
            Message::Delete {
                relation,
                old: reader.old_tuple(old_kind)?,
            }
        }
        b'B' => {
            let commit_position = reader.u64("commit position")?;
            let commit_time = reader.u64("commit time")? as i64;
            let transaction = TransactionId(reader.u32("transaction id")?);
            Message::Begin {
                commit_position,
                commit_time,
                transaction,
            }
        }
        b'C' => {
            reader.u8("flags")?;
            let commit_position = reader.u64("commit position")?;
            let end = reader.u64("end position")?;
            let commit_time = reader.u64("commit time")? as i64;
            Message::Commit {
                commit_position,
                end,
                commit_time,
            }
        }
        b'R' => Message::Relation(relation(&mut reader)?),
        b'T' => {
            let count = reader.u32("number of tables")?;
            reader.u8("flags")?;
            let relations = (0..count)
                .map(|_| reader.u32("table"))
                .collect::<Result<_, _>>()?;
            Message::Truncate { relations }
        }
        b'O' | b'Y' | b'M' => return Ok(Message::Ignored),
        kind => return Err(unknown("kind of message", kind)),
    };
    reader.end(kind)?;
    Ok(message)
}

/// Tells what a message has to do with transactions in progress; `in_block`: a block has begun
/// and not ended.
pub fn decode_streamed(payload: &[u8], in_block: bool) -> Result<Streamed<'_>, DecodeError> {
    let mut reader = Reader { rest: payload };
    let kind = reader.u8("kind")?;
    let streamed = match kind {
        b'S' => {
            let transaction = TransactionId(reader.u32("transaction id")?);
            reader.u8("first block flag")?;
            Streamed::Start { transaction }
        }
        b'E' => Streamed::Stop,
        b'c' => {
            let transaction = TransactionId(reader.u32("transaction id")?);
            reader.u8("flags")?;
            Streamed::Commit {
                transaction,
                commit_position: reader.u64("commit position")?,
                end: reader.u64("end position")?,
                commit_time: reader.u64("commit time")? as i64,
            }
        }
        b'A' => Streamed::Abort {
            transaction: TransactionId(reader.u32("transaction id")?),
            part: TransactionId(reader.u32("subtransaction id")?),
        },
        b'I' | b'U' | b'D' | b'T' | b'R' | b'Y' | b'M' if in_block => {
            let part = TransactionId(reader.u32("transaction id")?);
            let content = reader.rest;
            return Ok(Streamed::Part {
                part,
                kind,
                content,
            });
        }
        // Where the transaction comes from, which nobody asks for: the only kind without an id here.
        b'O' if in_block => return Ok(Streamed::Origin),
        _ => return Ok(Streamed::Ordinary),
    };
    reader.end(kind)?;
    Ok(streamed)
}

fn update<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, DecodeError> {
    let relation = reader.u32("table")?;
    let (old, new) = match reader.u8("kind of row")? {
        b'N' => (None, reader.tuple()?),
        kind => {
            let old = reader.old_tuple(kind)?;
            (Some(old), reader.new_tuple()?)
        }
    };
    Ok(Message::Update { relation, old, new })
}

fn relation(reader: &mut Reader<'_>) -> Result<Relation, DecodeError> {
    let id = reader.u32("table")?;
    let mut schema = reader.name("schema name")?;
    if schema.is_empty() {
        "pg_catalog".clone_into(&mut schema);
    }
    let name = TableName {
        schema,
        name: reader.name("table name")?,
    };
    let identity = reader.u8("replica identity")?;
    if !matches!(identity, b'd' | b'n' | b'f' | b'i') {
        return Err(unknown("replica identity", identity));
    }
    let count = reader.u16("number of columns")?;
    let mut columns = Vec::new();
    for _ in 0..count {
        columns.push(RelationColumn {
            identity: reader.u8("column flags")? & 1 != 0,
            name: reader.name("column name")?,
            type_oid: reader.u32("column type")?,
            modifier: reader.u32("type modifier")? as i32,
        });
    }
    Ok(Relation {
        id,
        name,
        identity,
        columns,
    })
}

/// A status update: what has been received, made durable and made visible.
pub fn status_update(written: u64, flushed: u64, applied: u64, time: i64, reply: bool) -> [u8; 34] {
    let mut message = [0; 34];
    message[0] = b'r';
    message[1..9].copy_from_slice(&written.to_be_bytes());
    message[9..17].copy_from_slice(&flushed.to_be_bytes());
    message[17..25].copy_from_slice(&applied.to_be_bytes());
    message[25..33].copy_from_slice(&time.to_be_bytes());
    message[33] = u8::from(reply);
    message
}

#[cfg(test)]
mod tests;
