//! The source that is built in: Hedgerow's own primary with the same tables, in the process that answers the queries.
//!
//! 1. The schema is PostgreSQL's with `varchar` for `char` and a key for history, and the procedures of `primary.sql`, in
//!    which loops are unrolled.
//! 2. Rows are inserted, some dozen a statement, each statement durable.
//! 3. In the end the consistency conditions of TPC-C's clause 3.3.2 have to hold for what the replica shows
//!    (`conditions.sql`; the figures' transactions keep them).
//!
//! Does not: let anything go to disk: all rows have room in the primary's memory, as they have in PostgreSQL's.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bytes::BytesMut;
use contender::tpcc::Scale as Rows;
use postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Statement};
use testbed::tpch::answers::Answer;
use testbed::{Hedgerow, HedgerowOptions};

use super::load;
use super::postgres_source::TABLE_DEFINITIONS;
use super::writers::WRITERS;

const PROCEDURES: &str = include_str!("primary.sql");
const CONDITIONS: &str = include_str!("conditions.sql");
/// Parameters of a statement: 8 KiB of text are kept compiled.
const STATEMENT_PARAMETERS: usize = 1_200;

/// What results say of it.
pub const SETTINGS_IN_WORDS: &str =
    "the built-in primary, 4 GiB for its rows, every transaction durable before it is answered";

/// Starts and fills it.
pub fn start(rows: Rows, memory: &str, folder: &Path) -> Result<Hedgerow> {
    let path = folder.join("schema.sql");
    std::fs::write(&path, schema()?)?;
    let path = path.to_str().context("a path of UTF-8")?;
    let options = HedgerowOptions::new("primary".to_owned(), &folder.join("hedgerow"))?.with(&[
        "--schema",
        path,
        "--memory",
        memory,
        "--primary-memory",
        "4GiB",
    ]);
    let hedgerow = Hedgerow::start_ready(options)?;
    eprintln!("loading {} warehouses", rows.warehouses);
    fill(&hedgerow, rows)?;
    Ok(hedgerow)
}

fn fill(hedgerow: &Hedgerow, rows: Rows) -> Result<()> {
    let mut loader = Loader {
        client: hedgerow.connect()?,
        payments: 0,
    };
    load::each_part(rows, &mut |table, lines| loader.put(table, lines))?;
    for writer in 0..WRITERS {
        let text = format!("insert into stopwatch values ({writer}, 0)");
        loader.client.batch_execute(&text)?;
    }
    Ok(())
}

struct Loader {
    client: Client,
    /// Payments that have been loaded. Their keys are negative, the writers' positive.
    payments: i64,
}

impl Loader {
    /// Inserts lines, many a statement: each statement is a transaction, and short enough to be kept compiled.
    fn put(&mut self, table: &str, lines: &str) -> Result<()> {
        let rows: Vec<Vec<Cell>> = lines.lines().map(|line| self.row(table, line)).collect();
        let columns = rows.first().map_or(1, Vec::len);
        let rows_max = (STATEMENT_PARAMETERS / columns).max(1);
        let mut prepared: Option<(usize, Statement)> = None;
        for rows in rows.chunks(rows_max) {
            let statement = match prepared.take() {
                Some((count, statement)) if count == rows.len() => statement,
                _ => self.client.prepare(&insert(table, rows.len(), columns))?,
            };
            let parameters = rows.iter().flatten();
            let parameters: Vec<_> = parameters.map(|cell| cell as &(dyn ToSql + Sync)).collect();
            let inserted = self.client.execute(&statement, &parameters);
            inserted.with_context(|| format!("insert into {table}"))?;
            prepared = Some((rows.len(), statement));
        }
        Ok(())
    }

    fn row(&mut self, table: &str, line: &str) -> Vec<Cell> {
        let mut row = Vec::new();
        if table == "history" {
            self.payments += 1;
            row.push(Cell(Some((-self.payments).to_string())));
        }
        let cells = line.split('\t');
        row.extend(cells.map(|cell| Cell((cell != "\\N").then(|| cell.to_owned()))));
        row
    }
}

/// The statement that inserts so many rows.
fn insert(table: &str, rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let numbers = row * columns + 1..=(row + 1) * columns;
        let parameters: Vec<String> = numbers.map(|number| format!("${number}")).collect();
        format!("({})", parameters.join(","))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("insert into {table} values {}", rows.join(","))
}

/// A value as text, whatever its column's type.
#[derive(Debug)]
struct Cell(Option<String>);

impl ToSql for Cell {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Some(text) = &self.0 else {
            return Ok(IsNull::Yes);
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// Tables and procedures.
fn schema() -> Result<String> {
    let tables = TABLE_DEFINITIONS.replace(" char(", " varchar(");
    let keyless = "create table history (";
    ensure!(tables.contains(keyless), "there is no table history");
    let tables = tables.replace(keyless, &format!("{keyless}\n    h_id bigint primary key,"));
    let lines: Vec<&str> = PROCEDURES.lines().collect();
    Ok(tables + &unrolled(&lines)?)
}

/// The lines with each loop's once for each of its numbers.
fn unrolled(lines: &[&str]) -> Result<String> {
    let mut text = String::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(head) = lines[at].trim().strip_prefix("--( ") else {
            writeln!(text, "{}", lines[at])?;
            at += 1;
            continue;
        };
        let [name, "=", from, to] = head.split(' ').collect::<Vec<_>>()[..] else {
            bail!("a loop is \"--( name = from to\", not {head:?}");
        };
        let end = at + loop_lines(&lines[at..]).context("a loop does not end")?;
        let once = unrolled(&lines[at + 1..end])?;
        for number in from.parse::<u32>()?..=to.parse()? {
            text.push_str(&once.replace(&format!("{{{name}}}"), &number.to_string()));
        }
        at = end + 1;
    }
    Ok(text)
}

/// How many lines after its first one a loop ends.
fn loop_lines(lines: &[&str]) -> Option<usize> {
    let mut depth = 0;
    lines.iter().position(|line| {
        match line.trim() {
            "--)" => depth -= 1,
            line if line.starts_with("--( ") => depth += 1,
            _ => {}
        }
        depth == 0
    })
}

/// An error with the first condition that does not hold for what is visible.
pub fn check(hedgerow: &Hedgerow) -> Result<()> {
    eprintln!("checking the consistency conditions");
    let mut client = hedgerow.connect()?;
    let conditions = CONDITIONS.split("\n-- ").skip(1);
    for condition in conditions {
        let (name, query) = condition
            .split_once('\n')
            .context("a condition has a name")?;
        let found = Answer::ask(&mut client, query.trim().trim_end_matches(';'))?;
        ensure!(found.rows.is_empty(), "{name}: {:?}", found.rows[0]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_there_once_for_each_number() {
        let lines = [
            "a",
            "  --( d = 1 2",
            "b{d}",
            "  --( n = 8 9",
            "c{d}{n}",
            "  --)",
            "  --)",
            "e",
        ];
        let text = unrolled(&lines).unwrap();
        assert_eq!(text, "a\nb1\nc18\nc19\nb2\nc28\nc29\ne\n");
        assert!(unrolled(&lines[..6]).is_err(), "the outer loop has no end");
        let schema = schema().unwrap();
        let is_left = |line: &str| line.trim().starts_with("--(") || line.contains("_{");
        assert!(!schema.lines().any(is_left));
        assert!(schema.contains("lines_10 >= 15"));
    }

    #[test]
    fn a_full_statement_is_kept_compiled() {
        assert_eq!(
            insert("t", 2, 3),
            "insert into t values ($1,$2,$3),($4,$5,$6)"
        );
        for columns in 3..=21 {
            let text = insert("order_line", STATEMENT_PARAMETERS / columns, columns);
            assert!(text.len() <= 8 << 10, "{}", text.len());
        }
    }
}
