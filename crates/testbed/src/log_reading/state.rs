//! Tables as the log tells them.
//!
//! Every table has a column `id`, by which rows are found. It is unique but in tables without a key, whose
//! changes always tell the whole old row; of equal rows any will do.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, ensure};

use super::change::{Change, Row};

/// The rows of one table, by `id`.
type Rows = HashMap<String, Vec<Kept>>;

/// A row, and [its text](text_of), which is asked for more often than a row changes.
#[derive(Debug)]
struct Kept {
    row: Row,
    text: String,
}

/// Tables by name; partitions are tables of their own.
#[derive(Debug, Default)]
pub struct State {
    tables: BTreeMap<String, Rows>,
    /// Partitions, and the tables that they belong to.
    partitions: HashMap<String, String>,
}

impl State {
    /// These tables without rows, and their partitions. What the log says of others is passed over.
    pub fn of(tables: &[String], partitions: HashMap<String, String>) -> Self {
        let parts = partitions.keys();
        Self {
            tables: tables
                .iter()
                .chain(parts)
                .map(|table| (table.clone(), Rows::new()))
                .collect(),
            partitions,
        }
    }

    /// Carries a change out.
    pub fn apply(&mut self, change: Change) -> Result<()> {
        match change {
            Change::Insert(table, _) | Change::Update { table, .. } | Change::Delete(table, _)
                if !self.tables.contains_key(&table) =>
            {
                Ok(())
            }
            Change::Begin | Change::Commit => Ok(()),
            Change::Insert(table, row) => self.insert(table, row),
            Change::Update { table, old, new } => {
                let (whole, identity) = match old {
                    Some(old) => (true, old),
                    None => (false, new.clone()),
                };
                let mut row = self.remove(&table, &identity, whole)?;
                row.extend(new);
                self.insert(table, row)
            }
            Change::Delete(table, old) => self.remove(&table, &old, true).map(drop),
            Change::Truncate(tables) => {
                for table in tables {
                    self.tables.entry(table).and_modify(Rows::clear);
                }
                Ok(())
            }
        }
    }

    /// Adds a row.
    pub fn insert(&mut self, table: String, row: Row) -> Result<()> {
        let id = id_of(&row)?.to_owned();
        let rows = self.tables.entry(table).or_default();
        let columns = row.iter().map(|(name, value)| (&**name, value.as_deref()));
        let text = text_of(columns);
        rows.entry(id).or_default().push(Kept { row, text });
        Ok(())
    }

    /// Takes the row out that has this `id` and, if `whole`, these values; one whose other columns are all
    /// NULL, if there is one.
    fn remove(&mut self, table: &str, identity: &Row, whole: bool) -> Result<Row> {
        let id = id_of(identity)?;
        let rows = self
            .tables
            .get_mut(table)
            .with_context(|| format!("no table {table}"))?;
        let found = rows.get_mut(id);
        let found = found.with_context(|| format!("no row of {table} has id {id}"))?;
        let has_values = |kept: &Kept| {
            let mut values = identity.iter();
            !whole || values.all(|(name, value)| kept.row.get(name) == Some(value))
        };
        let is_all = |kept: &Kept| {
            let mut columns = kept.row.iter();
            columns.all(|(name, value)| value.is_none() || identity.contains_key(name))
        };
        let place = found
            .iter()
            .position(|kept| has_values(kept) && is_all(kept))
            .or_else(|| found.iter().position(has_values))
            .with_context(|| format!("no row of {table} is {identity:?}, but {found:?}"))?;
        Ok(found.swap_remove(place).row)
    }

    /// A table's rows, those of its partitions among them, as [`text_of`] shows them, in order.
    pub fn rows(&self, table: &str) -> Vec<&str> {
        let belongs = |name: &String| self.partitions.get(name).unwrap_or(name) == table;
        let tables = self.tables.iter();
        let mut rows: Vec<&str> = tables
            .filter(|(name, _)| belongs(name))
            .flat_map(|(_, rows)| rows.values().flatten())
            .map(|kept| kept.text.as_str())
            .collect();
        rows.sort_unstable();
        rows
    }
}

fn id_of(row: &Row) -> Result<&str> {
    let id = row.get("id").and_then(Option::as_deref);
    let id = id.context("a row without id")?;
    ensure!(!id.is_empty(), "a row with an empty id");
    Ok(id)
}

/// Between the columns of a text; no value of a history has it.
const SEPARATOR: char = '\u{1f}';

/// A row as a text, from columns in the order of their names: `name=value`, for NULL the name alone.
pub fn text_of<'a>(columns: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let mut text = String::new();
    for (name, value) in columns {
        if !text.is_empty() {
            text.push(SEPARATOR);
        }
        text.push_str(name);
        if let Some(value) = value {
            text.push('=');
            text.push_str(value);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> Result<State> {
        let partitions = ["t_0", "t_1"].map(|part| (part.to_owned(), "t".to_owned()));
        let mut state = State::of(&["t".to_owned()], partitions.into());
        for line in lines {
            state.apply(Change::read(line)?)?;
        }
        Ok(state)
    }

    #[test]
    fn rows_are_what_the_log_tells() -> Result<()> {
        let state = told(&[
            "BEGIN 1",
            "table public.t: INSERT: id[bigint]:1 a[text]:'x' b[text]:'long'",
            "table public.t_0: INSERT: id[bigint]:2 a[text]:'y' b[text]:null",
            "table public.t_1: INSERT: id[bigint]:3 a[text]:'z' b[text]:null",
            "table public.t: UPDATE: old-key: id[bigint]:1 new-tuple: id[bigint]:5 a[text]:'w' \
             b[text]:unchanged-toast-datum",
            "table public.t_1: DELETE: id[bigint]:3",
            "table public.other: DELETE: id[bigint]:3",
            "COMMIT 1",
        ])?;
        let rows = ["a=w\u{1f}b=long\u{1f}id=5", "a=y\u{1f}b\u{1f}id=2"];
        assert_eq!(state.rows("t"), rows);
        assert_eq!(state.rows("u"), Vec::<&str>::new());
        Ok(())
    }

    #[test]
    fn of_rows_with_one_id_the_told_one_goes() -> Result<()> {
        let state = told(&[
            "table public.t: INSERT: id[bigint]:1 a[text]:'x' b[text]:'y'",
            "table public.t: INSERT: id[bigint]:1 a[text]:'x' b[text]:null",
            "table public.t: DELETE: id[bigint]:1 a[text]:'x'",
        ])?;
        assert_eq!(state.rows("t"), ["a=x\u{1f}b=y\u{1f}id=1"]);
        assert!(told(&["table public.t: DELETE: id[bigint]:1"]).is_err());
        Ok(())
    }
}
