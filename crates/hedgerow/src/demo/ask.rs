//! Asks the engine and collects whole answers.

use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::SchemaRef;
use futures::TryStreamExt;
use sql::{Outcome, ScalarValue, Session, SqlError, Statement};
use types::CommitPosition;

use crate::aligned_table;

/// A statement's whole result.
pub(super) struct Answer {
    /// The position that it is true for.
    pub(super) position: CommitPosition,
    /// The names of its columns.
    pub(super) columns: Vec<String>,
    /// Its rows, each cell as text; NULL as an empty one.
    pub(super) rows: Vec<Vec<String>>,
    /// From asking to the last row.
    pub(super) latency: Duration,
}

/// The demonstration's statements are its own: one each, and they give rows.
const STATIC_STATEMENT: &str = "the demonstration's statements are valid";

/// Parses one of the demonstration's statements.
pub(super) fn statement(text: &str) -> Statement {
    let mut statements = sql::parse(text).expect(STATIC_STATEMENT);
    statements.pop().expect(STATIC_STATEMENT)
}

/// Runs a statement that gives rows and collects them.
pub(super) async fn ask(
    session: &Session,
    statement: &Statement,
    parameters: Vec<ScalarValue>,
) -> Result<Answer, SqlError> {
    let start = Instant::now();
    let outcome = session.execute(statement, parameters).await?;
    let Outcome::Rows {
        position,
        schema,
        stream,
        ..
    } = outcome
    else {
        unreachable!("{STATIC_STATEMENT}");
    };
    let batches: Vec<RecordBatch> = stream.try_collect().await?;
    let latency = start.elapsed();
    let columns = schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    Ok(Answer {
        position,
        columns,
        rows: rows(&schema, &batches),
        latency,
    })
}

fn rows(schema: &SchemaRef, batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let options = FormatOptions::new();
    let mut rows = Vec::new();
    for batch in batches {
        let cells: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect::<Result<_, _>>()
            .expect("every column type of the workload has a text form");
        debug_assert_eq!(cells.len(), schema.fields().len());
        rows.extend((0..batch.num_rows()).map(|row| {
            cells
                .iter()
                .map(|cells| cells.value(row).to_string())
                .collect::<Vec<_>>()
        }));
    }
    rows
}

impl Answer {
    /// The answer as psql prints it, each line indented by `indent`.
    pub(super) fn table(&self, indent: &str) -> String {
        let shown = |row: &Vec<String>| row.iter().cloned().map(Some).collect();
        let rows: Vec<Vec<Option<String>>> = self.rows.iter().map(shown).collect();
        let table = aligned_table::render(&self.columns, &rows, true);
        table
            .lines()
            .map(|line| format!("{indent}{line}\n"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_indented() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let answer = Answer {
            position: CommitPosition(1),
            columns: row(["name", "sum"]),
            rows: vec![row(["Malmö", "1.50"]), row(["a", "10.25"])],
            latency: Duration::ZERO,
        };
        let table = answer.table("| ");
        assert_eq!(table.lines().count(), 4);
        assert!(table.lines().all(|line| line.starts_with("| ")));
        assert!(table.contains("Malmö"));
    }
}
