//! Writes replication messages, for tests.

/// A cell to write.
#[derive(Clone, Copy, Debug)]
pub enum WrittenCell<'a> {
    /// NULL
    Null,
    /// Unchanged.
    Unchanged,
    /// Text.
    Text(&'a str),
}

pub use WrittenCell::{Null, Text, Unchanged};

/// A row's cells.
pub fn tuple(cells: &[WrittenCell<'_>]) -> Vec<u8> {
    let mut out = (cells.len() as u16).to_be_bytes().to_vec();
    for cell in cells {
        match cell {
            Null => out.push(b'n'),
            Unchanged => out.push(b'u'),
            Text(text) => {
                out.push(b't');
                out.extend((text.len() as u32).to_be_bytes());
                out.extend(text.as_bytes());
            }
        }
    }
    out
}

/// `Begin` of the transaction that commits at `position`.
pub fn begin(position: u64) -> Vec<u8> {
    let mut out = vec![b'B'];
    out.extend(position.to_be_bytes());
    out.extend(1_000_000_u64.to_be_bytes());
    out.extend(7_u32.to_be_bytes());
    out
}

/// `Commit` of the transaction at `position`.
pub fn commit(position: u64) -> Vec<u8> {
    let mut out = vec![b'C', 0];
    out.extend(position.to_be_bytes());
    out.extend((position + 8).to_be_bytes());
    out.extend(1_000_000_u64.to_be_bytes());
    out
}

/// `Relation` of a table in schema `public`; columns are identity flag, name, type oid.
pub fn relation(id: u32, name: &str, identity: u8, columns: &[(bool, &str, u32)]) -> Vec<u8> {
    let mut out = vec![b'R'];
    out.extend(id.to_be_bytes());
    out.extend(b"public\0");
    out.extend(name.as_bytes());
    out.extend([0, identity]);
    out.extend((columns.len() as u16).to_be_bytes());
    for (key, name, oid) in columns {
        out.push(u8::from(*key));
        out.extend(name.as_bytes());
        out.push(0);
        out.extend(oid.to_be_bytes());
        out.extend((-1_i32).to_be_bytes());
    }
    out
}

/// `Insert` of a row.
pub fn insert(relation: u32, cells: &[WrittenCell<'_>]) -> Vec<u8> {
    row_change(b'I', relation, &[(b'N', cells)])
}

/// `Update` or `Delete`: the kinds and cells of its rows.
pub fn row_change(kind: u8, relation: u32, rows: &[(u8, &[WrittenCell<'_>])]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend(relation.to_be_bytes());
    for (kind, cells) in rows {
        out.push(*kind);
        out.extend(tuple(cells));
    }
    out
}

/// `Truncate` of tables.
pub fn truncate(relations: &[u32]) -> Vec<u8> {
    let mut out = vec![b'T'];
    out.extend((relations.len() as u32).to_be_bytes());
    out.push(0);
    for relation in relations {
        out.extend(relation.to_be_bytes());
    }
    out
}
