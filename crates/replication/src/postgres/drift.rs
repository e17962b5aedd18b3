//! What changes at the source without a word in the log: what the publication has of a table, and the labels of
//! enums.
//!
//! A row filter and a column list change nothing that is in the log until the table is written to, and the
//! rows that we have may be too many, too few or too narrow from then on. A label that is renamed changes the
//! text of rows that nobody writes. So both are remembered as the copy found them and compared now and then (see
//! [`super::changes`]); the table is copied again when they differ.
//!
//! Labels are told apart by their object ids, which stay. One that is new is in no row that we have.

use std::collections::{BTreeMap, HashMap};

use types::TableName;

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

/// The labels of all enums in the columns of the tables of `from`, by the tables' object ids: those that are a
/// column's type, and those inside of its arrays, domains, ranges and composite types.
pub fn read_labels(
    connection: &mut Connection,
    from: &str,
) -> Result<HashMap<u32, Labels>, ConnectionError> {
    let rows = connection.query(&format!(
        "WITH RECURSIVE made_of (type, enum) AS (\
           SELECT oid, oid FROM pg_type WHERE typtype = 'e' \
           UNION SELECT larger.type, made_of.enum FROM made_of JOIN (\
             SELECT oid AS type, typelem AS part FROM pg_type WHERE typelem <> 0 \
             UNION ALL SELECT oid, typbasetype FROM pg_type WHERE typbasetype <> 0 \
             UNION ALL SELECT rngtypid, rngsubtype FROM pg_range \
             UNION ALL SELECT rngmultitypid, rngsubtype FROM pg_range \
             UNION ALL SELECT t.oid, a.atttypid FROM pg_type t \
               JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 \
               WHERE t.typtype = 'c') larger ON larger.part = made_of.type) \
         SELECT DISTINCT c.oid, e.oid, e.enumlabel {from} \
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         JOIN made_of ON made_of.type = a.atttypid \
         JOIN pg_enum e ON e.enumtypid = made_of.enum"
    ))?;
    let mut labels: HashMap<u32, Labels> = HashMap::new();
    for row in rows {
        let of_table = labels.entry(row.parse(0)?).or_default();
        of_table.insert(row.parse(1)?, row.text(2)?.to_owned());
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
