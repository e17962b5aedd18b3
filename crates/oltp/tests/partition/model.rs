//! What the procedure's answers have to be: the same operations on sorted maps.

use std::collections::BTreeMap;

use crate::script::{Kind, Operation, ROWS_MAX, show_row};

/// A table: group and text by id.
pub type Rows = BTreeMap<i64, (i64, Option<Vec<u8>>)>;

/// Both tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub tables: [Rows; 2],
}

impl Model {
    /// Runs a transaction: its answer, or `None` when it stops and nothing changes.
    pub fn run(&mut self, operations: &[Operation]) -> Option<Vec<u8>> {
        let mut tables = self.tables.clone();
        let mut reply = Vec::new();
        for operation in operations {
            run(
                &mut tables[usize::from(operation.table)],
                operation,
                &mut reply,
            )?;
        }
        self.tables = tables;
        Some(reply)
    }

    /// Operations that read every row.
    pub fn reads_of_all(ids: i64) -> Vec<Operation> {
        (0..2)
            .flat_map(|table| {
                (0..ids).map(move |id| Operation {
                    kind: Kind::Get,
                    table,
                    id,
                    group: 0,
                    text: None,
                })
            })
            .collect()
    }
}

fn run(rows: &mut Rows, operation: &Operation, reply: &mut Vec<u8>) -> Option<()> {
    let (id, group) = (operation.id, operation.group);
    match operation.kind {
        Kind::Abort => return None,
        Kind::Get => {
            if let Some((group, text)) = rows.get(&id) {
                show_row(id, *group, text.as_deref(), reply);
            }
            reply.push(b'.');
        }
        Kind::Insert => {
            if rows.contains_key(&id) {
                return None;
            }
            rows.insert(id, (group, operation.row_text()));
            reply.push(1);
        }
        Kind::Update => {
            let row = rows.get_mut(&id);
            reply.push(row.is_some().into());
            if let Some(row) = row {
                *row = (group, operation.row_text());
            }
        }
        Kind::Refill => {
            let row = rows.get_mut(&id);
            reply.push(row.is_some().into());
            if let Some((_, text)) = row {
                *text = operation.refilled(text.as_deref());
            }
        }
        Kind::Rename => {
            let is_there = rows.contains_key(&id);
            if is_there && id != group && rows.contains_key(&group) {
                return None;
            }
            reply.push(is_there.into());
            if let Some(row) = rows.remove(&id) {
                rows.insert(group, row);
            }
        }
        Kind::TakeOut => match rows.remove(&id) {
            Some(_) => reply.extend([1, 0, 0]),
            None => reply.push(0),
        },
        Kind::Delete => reply.push(rows.remove(&id).is_some().into()),
        Kind::Count => {
            let of_group = rows.iter().filter(|(_, row)| row.0 == group);
            let sum: i64 = of_group.clone().map(|(id, _)| *id).sum();
            reply.extend_from_slice(&of_group.count().to_le_bytes());
            reply.extend_from_slice(&sum.to_le_bytes());
        }
        Kind::ScanUp | Kind::ScanDown => {
            let all = rows.iter().map(|(id, (group, text))| (*group, *id, text));
            let within = group..=group + 2;
            let mut found: Vec<_> = all.filter(|row| within.contains(&row.0)).collect();
            found.sort_by_key(|(group, id, _)| (*group, *id));
            if operation.kind == Kind::ScanDown {
                found.reverse();
            }
            for (group, id, text) in found.into_iter().take(ROWS_MAX) {
                show_row(id, group, text.as_deref(), reply);
            }
            reply.push(b'.');
        }
    }
    Some(())
}
