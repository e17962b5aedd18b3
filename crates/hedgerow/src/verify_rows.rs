//! The result of `VERIFY`: a row a table, sent as soon as that table's verdict is known.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use futures::StreamExt;
use sql::{RowStream, SqlError};
use tokio::sync::mpsc;

/// Verdicts that wait for a slow reader.
const VERDICTS_WAITING: usize = 16;

/// What is known of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictRow {
    /// The table's name.
    pub table: String,
    /// Rows compared.
    pub rows: i64,
    /// Whether it equals the source; `None` if that cannot be told.
    pub equal: Option<bool>,
    /// The position at which it was compared.
    pub position: String,
    /// What differs, or why it cannot be told.
    pub detail: Option<String>,
}

/// Where a verification sends its verdicts.
pub type VerdictSender = mpsc::Sender<Result<VerdictRow, SqlError>>;

/// The columns.
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("table", DataType::Utf8, false),
        Field::new("rows", DataType::Int64, false),
        Field::new("equal", DataType::Boolean, true),
        Field::new("position", DataType::Utf8, false),
        Field::new("detail", DataType::Utf8, true),
    ]))
}

/// A stream of rows and the means to fill it. When the stream is dropped, sending fails.
pub fn stream() -> (VerdictSender, RowStream) {
    let (sender, receiver): (VerdictSender, _) = mpsc::channel(VERDICTS_WAITING);
    let verdicts = futures::stream::unfold(receiver, |mut receiver| async move {
        let verdict = receiver.recv().await?;
        Some((verdict.and_then(|row| batch(&row)), receiver))
    });
    (sender, verdicts.boxed())
}

fn batch(row: &VerdictRow) -> Result<RecordBatch, SqlError> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![row.table.as_str()])),
        Arc::new(Int64Array::from(vec![row.rows])),
        Arc::new(BooleanArray::from(vec![row.equal])),
        Arc::new(StringArray::from(vec![row.position.as_str()])),
        Arc::new(StringArray::from(vec![row.detail.as_deref()])),
    ];
    Ok(RecordBatch::try_new(schema(), columns).expect("the columns follow the schema"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn verdicts_arrive_as_rows_and_end_with_their_sender() {
        let (sender, mut rows) = stream();
        let row = VerdictRow {
            table: "public.t".into(),
            rows: 3,
            equal: Some(true),
            position: "0/1".into(),
            detail: None,
        };
        sender.send(Ok(row)).await.expect("somebody listens");
        drop(sender);
        let batch = rows.next().await.expect("a batch").expect("no error");
        assert_eq!(batch.num_rows(), 1);
        assert!(rows.next().await.is_none());
    }
}
