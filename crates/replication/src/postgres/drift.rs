//! What changes at the source without a word in the log: what the publication has of a table, and the labels of
//! enums.
//!
//! A row filter and a column list change nothing that is in the log until the table is written to, and the
//! rows that we have may be too many, too few or too narrow from then on. A label that is renamed changes the
//! text of rows that nobody writes. So both are remembered as the copy found them and compared now and then (see
//! [`super::changes`]); the table is copied again when they differ.
//!
//! Labels are told apart by their object ids, which stay. One that is new is in no row that we have.
//!
//! A table that gets a column of an enum has rows with its labels before we ask for their names, if we are behind:
//!
//! ```text
//!   ADD COLUMN m mood   insert 'ok'   rename 'ok' to 'fine'   we read ADD COLUMN, and ask ─ 'fine'
//! ```
//!
//! The log still tells 'ok', and nothing would tell it from a label 'fine' that always had that name. So such a table is copied
//! again if one of the labels is younger than what the slot keeps: if a transaction that is not wholly before our place in the log
//! has written its row in the catalog, and it is not the one that made the type. A label that is added counts, too.
//!
//! Does not: find a label that was added to an enum which a table already has, used, and renamed between two looks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use types::{ColumnOrigin, TableName};

use super::catalog::{PublishedColumn, PublishedTable};
use super::connection::{Connection, ConnectionError, Row};
use super::state::WireTable;

/// Labels by their object ids, of all enums that a table's columns are made of.
pub type Labels = BTreeMap<u32, String>;

/// A table as the publication has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTable {
    /// The table's object id.
    pub relation: u32,
    /// The table's name.
    pub name: TableName,
    /// The row filter.
    pub row_filter: Option<String>,
    /// The numbers of the columns that are named in it; `None` for all.
    pub column_list: Option<Vec<i16>>,
    /// The labels of its columns' enums.
    pub labels: Labels,
}

/// Reads the tables of `from`, which is SQL with tables (`c`) in schemas (`n`) and what their publication has
/// of them (`p`, `l`).
pub fn read_listed(
    connection: &mut Connection,
    from: &str,
) -> Result<Vec<ListedTable>, ConnectionError> {
    let rows = connection.query(&format!(
        "SELECT c.oid, n.nspname, c.relname, p.rowfilter, l.columnlist {from}"
    ))?;
    let mut labels = read_labels(connection, from)?;
    let table = |row: &Row| {
        let relation = row.parse(0)?;
        Ok(ListedTable {
            relation,
            name: TableName {
                schema: row.text(1)?.to_owned(),
                name: row.text(2)?.to_owned(),
            },
            row_filter: row.get(3).map(str::to_owned),
            column_list: column_list(row.get(4))?,
            labels: labels.remove(&relation).unwrap_or_default(),
        })
    };
    rows.iter().map(table).collect()
}

/// The numbers in the text form of an `int2vector`.
pub fn column_list(text: Option<&str>) -> Result<Option<Vec<i16>>, ConnectionError> {
    let numbers = |text: &str| text.split_whitespace().map(str::parse).collect();
    let list: Option<Result<_, _>> = text.map(numbers);
    list.transpose()
        .map_err(|_| ConnectionError::Protocol("a column list".to_owned()))
}

/// The first object id that a server gives to what its users make (`FirstNormalObjectId`).
const FIRST_OWN_OID: u32 = 16_384;

/// Types (`type`) and the enums that they are made of (`enum`).
const MADE_OF_ENUMS: &str = "\
    WITH RECURSIVE made_of (type, enum) AS (\
       SELECT oid, oid FROM pg_type WHERE typtype = 'e' \
       UNION SELECT larger.type, made_of.enum FROM made_of JOIN (\
         SELECT oid AS type, typelem AS part FROM pg_type WHERE typelem <> 0 \
         UNION ALL SELECT oid, typbasetype FROM pg_type WHERE typbasetype <> 0 \
         UNION ALL SELECT rngtypid, rngsubtype FROM pg_range \
         UNION ALL SELECT rngmultitypid, rngsubtype FROM pg_range \
         UNION ALL SELECT t.oid, a.atttypid FROM pg_type t \
           JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 \
           WHERE t.typtype = 'c') larger ON larger.part = made_of.type)";

/// Joins the labels (`e`) of tables (`c`).
const WITH_LABELS: &str = "\
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
    JOIN made_of ON made_of.type = a.atttypid \
    JOIN pg_enum e ON e.enumtypid = made_of.enum";

/// The labels of all enums in the columns of the tables of `from`, by the tables' object ids: those that are a
/// column's type, and those inside of its arrays, domains, ranges and composite types.
pub fn read_labels(
    connection: &mut Connection,
    from: &str,
) -> Result<HashMap<u32, Labels>, ConnectionError> {
    let rows = connection.query(&format!(
        "{MADE_OF_ENUMS} SELECT DISTINCT c.oid, e.oid, e.enumlabel {from} {WITH_LABELS}"
    ))?;
    let mut labels: HashMap<u32, Labels> = HashMap::new();
    for row in rows {
        let of_table = labels.entry(row.parse(0)?).or_default();
        of_table.insert(row.parse(1)?, row.text(2)?.to_owned());
    }
    Ok(labels)
}

/// Those labels that may have another name in what is still to be read of the log. The slots of the database keep what they
/// need of the catalog; whatever was committed behind the place of one of them is at least as young.
pub fn read_young_labels(
    connection: &mut Connection,
    from: &str,
) -> Result<HashMap<u32, BTreeSet<u32>>, ConnectionError> {
    let rows = connection.query(&format!(
        "{MADE_OF_ENUMS} SELECT DISTINCT c.oid, e.oid {from} {WITH_LABELS} \
         JOIN pg_type made ON made.oid = e.enumtypid \
         WHERE e.xmin::text <> made.xmin::text \
         AND age(e.xmin) <= (SELECT max(age(catalog_xmin)) FROM pg_replication_slots \
                             WHERE database = current_database())"
    ))?;
    let mut labels: HashMap<u32, BTreeSet<u32>> = HashMap::new();
    for row in rows {
        labels
            .entry(row.parse(0)?)
            .or_default()
            .insert(row.parse(1)?);
    }
    Ok(labels)
}

/// Why the rows that we have of a table are not those that the publication has; `None` if they are.
pub fn unlogged_change(known: &WireTable, now: &ListedTable) -> Option<&'static str> {
    if known.row_filter != now.row_filter {
        return Some("the publication's row filter changed");
    }
    if known.column_list != now.column_list {
        return Some("the publication's column list changed");
    }
    has_renamed_label(known, now).then_some("a label of an enum was renamed")
}

/// Whether a label that rows of ours may have has another name.
pub fn has_renamed_label(known: &WireTable, now: &ListedTable) -> bool {
    let is_renamed = |(label, name): (&u32, &String)| {
        let name_now = now.labels.get(label);
        name_now.is_some_and(|name_now| name_now != name)
    };
    known.labels.iter().flatten().any(is_renamed)
}

/// Whether a table gets a column in which rows of the log may have labels under other names than the catalog.
pub fn may_bring_old_labels(origins: &[ColumnOrigin], described: &PublishedTable) -> bool {
    let mut columns = origins.iter().zip(&described.columns);
    let is_of_enum = |(origin, column): (&ColumnOrigin, &PublishedColumn)| {
        matches!(origin, ColumnOrigin::Constant(_)) && column.wire_oid >= FIRST_OWN_OID
    };
    !described.young_labels.is_empty() && columns.any(is_of_enum)
}

/// What is known of labels, some of which may have been renamed since: the names that our rows have, and those
/// of labels that none of them has.
pub fn labels_of_rows(known: Option<&Labels>, now: &Labels) -> Labels {
    let mut labels = now.clone();
    labels.extend(
        known
            .into_iter()
            .flatten()
            .map(|(id, name)| (*id, name.clone())),
    );
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> WireTable {
        WireTable {
            row_filter: Some("(a > 1)".into()),
            column_list: Some(vec![1, 2]),
            labels: Some(Labels::from([(7, "sad".into()), (8, "ok".into())])),
            ..WireTable::default()
        }
    }

    fn listed() -> ListedTable {
        let WireTable {
            row_filter,
            column_list,
            labels,
            ..
        } = known();
        let name = TableName {
            schema: "public".into(),
            name: "t".into(),
        };
        ListedTable {
            relation: 1,
            name,
            row_filter,
            column_list,
            labels: labels.unwrap_or_default(),
        }
    }

    #[test]
    fn what_the_log_does_not_tell_is_found() {
        assert_eq!(unlogged_change(&known(), &listed()), None);
        let renamed = Labels::from([(7, "sad".into()), (8, "fine".into())]);
        let (row_filter, column_list) = (None, None);
        let changes = [
            (
                ListedTable {
                    row_filter,
                    ..listed()
                },
                "row filter",
            ),
            (
                ListedTable {
                    column_list,
                    ..listed()
                },
                "column list",
            ),
            (
                ListedTable {
                    column_list: Some(vec![1]),
                    ..listed()
                },
                "column list",
            ),
            (
                ListedTable {
                    labels: renamed,
                    ..listed()
                },
                "label",
            ),
        ];
        for (now, word) in changes {
            let reason = unlogged_change(&known(), &now).expect("a reason");
            assert!(reason.contains(word), "{reason}");
        }
    }

    #[test]
    fn a_label_more_changes_nothing_and_is_remembered() {
        let (known, mut now) = (known(), listed());
        now.labels.insert(9, "happy".into());
        now.labels.insert(8, "fine".into());
        let remembered = labels_of_rows(known.labels.as_ref(), &now.labels);
        let names: Vec<_> = remembered.values().map(String::as_str).collect();
        assert_eq!(names, ["sad", "ok", "happy"]);
        now.labels.insert(8, "ok".into());
        assert_eq!(unlogged_change(&known, &now), None);
    }
}
