//! Lines of PostgreSQL's output plugin `test_decoding`, read.
//!
//! ```text
//! BEGIN 734
//! table public.t: INSERT: id[bigint]:1 note[text]:'it''s' flags[bit]:B'01' rest[int[]]:null
//! table public.t: UPDATE: old-key: id[bigint]:1 new-tuple: id[bigint]:2 note[text]:unchanged-toast-datum
//! table public.t: DELETE: id[bigint]:2
//! table public.t, public.u: TRUNCATE: (no-flags)
//! COMMIT 734
//! ```
//!
//! Values are texts, as the type's output function gives them. Names of tables and columns are such that
//! PostgreSQL does not quote them, and all tables are in the schema `public`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Context, Result, bail};

/// Columns by name. A value that an update leaves as it is, out of line, is not there.
pub type Row = BTreeMap<String, Option<String>>;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Begin,
    Commit,
    Insert(String, Row),
    Update {
        table: String,
        /// What identifies the row, where that changes or is the whole row. NULLs are left out.
        old: Option<Row>,
        new: Row,
    },
    /// What identifies the row; NULLs are left out.
    Delete(String, Row),
    Truncate(Vec<String>),
}

/// Texts that are longer are kept by their beginning, length and hash.
const TEXT_BYTES_MAX: usize = 64;

/// A value as it is kept: equal for equal texts, and short.
pub fn brief(text: &str) -> Cow<'_, str> {
    if text.len() <= TEXT_BYTES_MAX {
        return text.into();
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let beginning: String = text.chars().take(16).collect();
    format!("{beginning}… {} bytes {:x}", text.len(), hasher.finish()).into()
}

impl Change {
    /// Reads a line.
    pub fn read(line: &str) -> Result<Self> {
        if line.starts_with("BEGIN ") {
            return Ok(Self::Begin);
        }
        if line.starts_with("COMMIT ") {
            return Ok(Self::Commit);
        }
        Self::read_change(line).with_context(|| brief(line).into_owned())
    }

    fn read_change(line: &str) -> Result<Self> {
        let line = line.strip_prefix("table ").context("not a change")?;
        let (tables, rest) = line.split_once(": ").context("no table")?;
        let mut tables = tables
            .split(", ")
            .map(|table| table.trim_start_matches("public.").to_owned());
        let (kind, rest) = rest.split_once(':').context("no kind of change")?;
        if kind == "TRUNCATE" {
            return Ok(Self::Truncate(tables.collect()));
        }
        let table = tables.next().context("no table")?;
        let (first, rest) = read_row(rest.strip_prefix(" old-key:").unwrap_or(rest))?;
        match (kind, rest.strip_prefix(" new-tuple:")) {
            ("INSERT", None) => Ok(Self::Insert(table, first)),
            ("DELETE", None) => Ok(Self::Delete(table, first)),
            ("UPDATE", None) => Ok(Self::Update {
                table,
                old: None,
                new: first,
            }),
            ("UPDATE", Some(new)) => Ok(Self::Update {
                table,
                old: Some(first),
                new: read_row(new)?.0,
            }),
            _ => bail!("a change of kind {kind:?}"),
        }
    }
}

/// Columns, each with a space before it, and what comes after them.
fn read_row(mut text: &str) -> Result<(Row, &str)> {
    let mut row = Row::new();
    while let Some(column) = text.strip_prefix(' ') {
        if column.starts_with("new-tuple:") {
            break;
        }
        let (name, rest) = column.split_once('[').context("no column name")?;
        let (data_type, rest) = rest.split_once("]:").context("no type")?;
        let (value, rest) = read_value(data_type, rest)?;
        if let Some(value) = value {
            row.insert(name.to_owned(), value);
        }
        text = rest;
    }
    Ok((row, text))
}

/// A value, unless it is one that stays as it is, and what comes after it.
fn read_value<'a>(data_type: &str, text: &'a str) -> Result<(Option<Option<String>>, &'a str)> {
    let quoted = text.strip_prefix("B'").or_else(|| text.strip_prefix('\''));
    if let Some(quoted) = quoted {
        let (value, rest) = read_quoted(quoted)?;
        return Ok((Some(Some(brief(&value).into_owned())), rest));
    }
    let (bare, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
    let value = match bare {
        "null" => Some(None),
        "unchanged-toast-datum" => None,
        // Booleans are the one type whose text is not that of its output function.
        "true" | "false" if data_type == "boolean" => Some(Some(bare[..1].to_owned())),
        _ => Some(Some(bare.to_owned())),
    };
    Ok((value, rest))
}

/// A text up to its closing quote, and what comes after that. Quotes inside are doubled.
fn read_quoted(text: &str) -> Result<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('\'').context("no closing quote")?;
        value.push_str(part);
        match after.strip_prefix('\'') {
            Some(after) => {
                value.push('\'');
                rest = after;
            }
            None => return Ok((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<const N: usize>(columns: [(&str, Option<&str>); N]) -> Row {
        columns
            .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
            .into()
    }

    #[test]
    fn lines_are_read() -> Result<()> {
        let line = "table public.t: INSERT: id[bigint]:1 c[text]:'it''s: [a]:b ''' \
                    f[bit]:B'01' r[integer[]]:null b[boolean]:true n[\"char\"]:'x'";
        let columns = row([
            ("id", Some("1")),
            ("c", Some("it's: [a]:b '")),
            ("f", Some("01")),
            ("r", None),
            ("b", Some("t")),
            ("n", Some("x")),
        ]);
        assert_eq!(Change::read(line)?, Change::Insert("t".into(), columns));

        let line = "table public.t: UPDATE: old-key: id[bigint]:1 new-tuple: id[bigint]:2 \
                    c[text]:unchanged-toast-datum";
        let update = Change::Update {
            table: "t".into(),
            old: Some(row([("id", Some("1"))])),
            new: row([("id", Some("2"))]),
        };
        assert_eq!(Change::read(line)?, update);

        let line = "table public.t, public.u_0: TRUNCATE: (no-flags)";
        let truncation = Change::Truncate(vec!["t".into(), "u_0".into()]);
        assert_eq!(Change::read(line)?, truncation);

        let line = "table public.t: DELETE: id[bigint]:7";
        let deletion = Change::Delete("t".into(), row([("id", Some("7"))]));
        assert_eq!(Change::read(line)?, deletion);
        Ok(())
    }

    #[test]
    fn what_is_no_line_is_refused() {
        for line in [
            "",
            "table t",
            "table public.t: INSERT: id[bigint]:'1",
            "table public.t: MERGE: id[bigint]:1",
        ] {
            assert!(Change::read(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn long_texts_are_told_apart() {
        let (long, other) = ("é".repeat(100), format!("{}e", "é".repeat(99)));
        assert_eq!(brief(&long), brief(&"é".repeat(100)));
        assert_ne!(brief(&long), brief(&other));
        assert_eq!(brief("short"), "short");
    }
}
