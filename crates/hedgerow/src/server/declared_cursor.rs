//! A cursor that was declared in SQL: the rows of a query, some at a time.
//!
//! Each FETCH is a result of its own, which may itself be sent in portions. So the rows are shared: what
//! one result has not taken the next one gets.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::{StreamExt, stream};
use sql::{RowStream, SqlError};
use tokio::sync::Mutex;

/// A cursor. Clones go through the same rows.
#[derive(Clone)]
pub struct DeclaredCursor {
    /// The rows' columns.
    pub schema: SchemaRef,
    rows: Arc<Mutex<Rest>>,
}

/// The rows that nobody has taken yet.
struct Rest {
    stream: RowStream,
    /// What is left of a batch that has come.
    batch: Option<RecordBatch>,
}

impl DeclaredCursor {
    /// A cursor before its first row.
    pub fn new(schema: SchemaRef, stream: RowStream) -> Self {
        let batch = None;
        let rows = Arc::new(Mutex::new(Rest { stream, batch }));
        Self { schema, rows }
    }

    /// The next rows, at most so many. Those that are not taken from the stream stay for later.
    pub fn fetch(&self, rows_max: u64) -> RowStream {
        let state = (Arc::clone(&self.rows), rows_max);
        let rows = stream::unfold(state, |(rows, left)| async move {
            let batch = rows.lock().await.take(left).await?;
            let taken = batch.as_ref().map_or(left, |batch| batch.num_rows() as u64);
            Some((batch, (rows, left - taken)))
        });
        rows.boxed()
    }

    /// Passes over the next rows, at most so many; over how many.
    pub async fn pass(&self, rows_max: u64) -> Result<u64, SqlError> {
        let mut passed = 0;
        while let Some(batch) = self.rows.lock().await.take(rows_max - passed).await {
            passed += batch?.num_rows() as u64;
        }
        Ok(passed)
    }
}

impl Rest {
    /// Some of the next rows; `None` if there are none, or none are wanted.
    async fn take(&mut self, rows_max: u64) -> Option<Result<RecordBatch, SqlError>> {
        if rows_max == 0 {
            return None;
        }
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => match self.next().await? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            },
        };
        let taken =
            usize::try_from(rows_max).map_or(batch.num_rows(), |max| max.min(batch.num_rows()));
        if taken < batch.num_rows() {
            self.batch = Some(batch.slice(taken, batch.num_rows() - taken));
        }
        Some(Ok(batch.slice(0, taken)))
    }

    /// The next batch that has rows. After the end, and after an error, there is none.
    async fn next(&mut self) -> Option<Result<RecordBatch, SqlError>> {
        loop {
            let next = self.stream.next().await;
            if !matches!(&next, Some(Ok(_))) {
                self.stream = stream::empty().boxed();
            }
            match next {
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                next => return next,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, Int32Array};

    use super::*;

    /// Ten rows, 0 to 9, in batches of 0, 3, 0 and 7.
    fn cursor() -> DeclaredCursor {
        let batch = |numbers: std::ops::Range<i32>| {
            let column: ArrayRef = Arc::new(Int32Array::from_iter_values(numbers));
            RecordBatch::try_from_iter([("n", column)]).expect("one column")
        };
        let batches = [batch(0..0), batch(0..3), batch(0..0), batch(3..10)];
        let schema = batches[0].schema();
        DeclaredCursor::new(schema, stream::iter(batches.map(Ok)).boxed())
    }

    async fn fetched(cursor: &DeclaredCursor, rows_max: u64) -> Vec<i32> {
        let batches: Vec<_> = cursor.fetch(rows_max).collect().await;
        let batches = batches.into_iter().map(|batch| batch.expect("no error"));
        let columns: Vec<ArrayRef> = batches.map(|batch| Arc::clone(batch.column(0))).collect();
        let numbers = columns
            .iter()
            .flat_map(|c| c.as_primitive::<Int32Type>().values());
        numbers.copied().collect()
    }

    #[tokio::test]
    async fn every_row_is_fetched_once_whatever_the_portions() {
        let cursor = cursor();
        assert_eq!(fetched(&cursor, 2).await, [0, 1]);
        assert!(fetched(&cursor, 0).await.is_empty());
        assert_eq!(fetched(&cursor, 3).await, [2, 3, 4]);
        assert_eq!(cursor.pass(2).await.expect("no error"), 2);
        assert_eq!(fetched(&cursor, u64::MAX).await, [7, 8, 9]);
        assert!(fetched(&cursor, 1).await.is_empty());
        assert_eq!(cursor.pass(u64::MAX).await.expect("no error"), 0);
    }

    #[tokio::test]
    async fn a_result_that_is_dropped_half_way_leaves_the_rest() {
        let cursor = cursor();
        let mut half = cursor.fetch(u64::MAX);
        let first = half.next().await.expect("rows").expect("no error");
        drop(half);
        assert_eq!(first.num_rows(), 3);
        assert_eq!(fetched(&cursor, 2).await, [3, 4]);
    }
}
