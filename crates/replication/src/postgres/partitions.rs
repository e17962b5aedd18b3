//! The partitions that a table's rows are in.
//!
//! Under `publish_via_partition_root` the log shows the changes of partitions as the partitioned
//! table's. Where rows come and go with a whole partition it says nothing: one that is attached, detached
//! or dropped, or truncated by its own name. So each table's partitions are remembered as they were in
//! the snapshot that was copied, with the files that hold their rows, and compared now and then; where
//! rows may have come or gone without a word, the table is copied again.
//!
//! A partition that was made as one was empty: what it has came through the log. That it was is seen in
//! the catalog: what makes it a partition is of the same transaction as its system columns, which nothing
//! ever changes. That transaction may have filled it in between, but then the log has shown its rows as
//! its own (see [`super::changes`]).
//!
//! A truncation of the table by its own name gives all partitions new files, and is in the log. Which
//! transaction gave a partition its file is seen in the catalog, too: it wrote the partition's entry, if
//! nothing did since. If the log told that this transaction left the table empty, it has told everything:
//!
//! ```text
//!   log      700: truncate events     701: insert events (1)
//!   catalog  events_1: file 91, entry of 700     events_2: file 94, entry of 702
//!                      told                                not told: emptied by its own name
//! ```
//!
//! (One that wrote rows after the truncation may have emptied a partition after that, in the new file.)
//!
//! Does not: tell a truncation from a `VACUUM FULL`, which writes a new file, too; follow a partition
//! that is attached below another one that had been attached before; remember over a restart which truncations
//! the log told (the table is copied again then).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::connection::{Connection, ConnectionError};
use super::spool::TransactionId;

/// A partition that has rows of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Partition {
    /// Its object id.
    pub relation: u32,
    /// The file that holds its rows.
    pub file: u32,
}

/// A partition as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenPartition {
    /// The partition.
    pub partition: Partition,
    /// Whether it may have had rows before it was a partition.
    pub came_filled: bool,
    /// The transaction that wrote its entry in the catalog.
    pub written_by: TransactionId,
}

/// Partitions by the partitioned table's object id, in the order of theirs. `from` is SQL for the tables
/// (`c`) to look at. Takes no lock on a partition but those that were attached.
pub fn read_partitions(
    connection: &mut Connection,
    from: &str,
) -> Result<HashMap<u32, Vec<SeenPartition>>, ConnectionError> {
    let rows = connection.query(&format!(
        "WITH RECURSIVE tree (root, member) AS (\
           SELECT c.oid, c.oid {from} WHERE c.relkind = 'p' \
           UNION ALL SELECT root, inhrelid FROM tree JOIN pg_inherits ON inhparent = member) \
         SELECT root, m.oid, m.relfilenode, \
           CASE WHEN i.xmin = a.xmin THEN false ELSE pg_relation_size(m.oid) > 0 END, \
           m.xmin \
         FROM tree JOIN pg_class m ON m.oid = member JOIN pg_inherits i ON i.inhrelid = m.oid \
         JOIN pg_attribute a ON a.attrelid = m.oid AND a.attnum = -1 \
         WHERE m.relkind <> 'p' ORDER BY root, m.oid"
    ))?;
    let mut partitions: HashMap<u32, Vec<_>> = HashMap::new();
    for row in rows {
        let seen = SeenPartition {
            partition: Partition {
                relation: row.parse(1)?,
                file: row.parse(2)?,
            },
            came_filled: row.flag(3),
            written_by: TransactionId(row.parse(4)?),
        };
        partitions.entry(row.parse(0)?).or_default().push(seen);
    }
    Ok(partitions)
}

/// Why the log alone does not lead from the partitions that were there to those that are; `None` if it
/// does. `emptied_by` are the transactions that left the table empty, as the log told.
pub fn unlogged_change(
    known: &[Partition],
    now: &[SeenPartition],
    emptied_by: &[TransactionId],
) -> Option<String> {
    let find = |relation| {
        let mut now = now.iter();
        now.find(|seen| seen.partition.relation == relation)
    };
    for partition in known {
        match find(partition.relation) {
            None => return Some("one of its partitions was dropped or detached".to_owned()),
            Some(now)
                if now.partition.file != partition.file
                    && !emptied_by.contains(&now.written_by) =>
            {
                return Some("one of its partitions was emptied or rewritten".to_owned());
            }
            Some(_) => {}
        }
    }
    let is_new = |seen: &&SeenPartition| {
        let mut known = known.iter();
        !known.any(|partition| partition.relation == seen.partition.relation)
    };
    let mut new = now.iter().filter(is_new);
    new.any(|seen| seen.came_filled)
        .then(|| "a table with rows was attached to it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(relation: u32, file: u32) -> Partition {
        Partition { relation, file }
    }

    fn seen(relation: u32, file: u32, came_filled: bool) -> SeenPartition {
        SeenPartition {
            partition: partition(relation, file),
            came_filled,
            written_by: TransactionId(file),
        }
    }

    #[test]
    fn only_what_the_log_does_not_tell_counts() {
        let known = [partition(1, 10), partition(2, 20)];
        let both = [seen(1, 10, true), seen(2, 20, false)];
        let unlogged = |now: &[SeenPartition]| unlogged_change(&known, now, &[TransactionId(700)]);
        assert_eq!(unlogged(&both), None);
        let made = [both[0], both[1], seen(3, 30, false)];
        assert_eq!(unlogged(&made), None);
        let emptied = [seen(1, 700, true), seen(2, 700, false)];
        assert_eq!(unlogged(&emptied), None, "the log told");
        let changed = [
            (vec![both[0]], "dropped"),
            (vec![both[0], seen(2, 21, false)], "emptied"),
            (vec![emptied[0], seen(2, 701, false)], "emptied"),
            (vec![both[0], both[1], seen(3, 30, true)], "attached"),
        ];
        for (now, word) in changed {
            let reason = unlogged(&now).expect("a reason");
            assert!(reason.contains(word), "{reason}");
        }
    }
}
