//! How many queries run, and how many rows a batch of the next one has.
//!
//! About six batches of a query are on their way from its scan to its client, and stay there while the client reads
//! slowly: 5.4 MB of a table with short texts, which no budget counts. So the more queries run, the fewer rows has a batch of
//! those that come. Beside 333 clients that hardly read, memory was 2,116 MiB at most, and is 440 (`bench hostile`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many queries have full batches.
const FULL_BATCHES_MAX: usize = 8;
/// With fewer rows a batch costs more than they do.
const BATCH_ROWS_MIN: usize = 256;

/// All queries that run.
#[derive(Clone, Default)]
pub(crate) struct RunningQueries(Arc<AtomicUsize>);

/// One of them, until it is dropped.
pub(crate) struct RunningQuery(Arc<AtomicUsize>);

impl RunningQueries {
    /// One more.
    pub(crate) fn begin(&self) -> RunningQuery {
        self.0.fetch_add(1, Ordering::Relaxed);
        RunningQuery(self.0.clone())
    }

    /// Rows of a batch of the one that has begun last, where a full one has so many.
    pub(crate) fn batch_rows(&self, full: usize) -> usize {
        let running = self.0.load(Ordering::Relaxed).max(1);
        let share = full * FULL_BATCHES_MAX / running;
        share.max(BATCH_ROWS_MIN).min(full)
    }
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_queries_run_the_fewer_rows_has_a_batch() {
        let queries = RunningQueries::default();
        let mut running: Vec<RunningQuery> = (0..8).map(|_| queries.begin()).collect();
        assert_eq!(queries.batch_rows(8_192), 8_192);
        running.extend((0..8).map(|_| queries.begin()));
        assert_eq!(queries.batch_rows(8_192), 4_096);
        running.extend((0..1_000).map(|_| queries.begin()));
        assert_eq!(queries.batch_rows(8_192), BATCH_ROWS_MIN);
        drop(running);
        assert_eq!(queries.batch_rows(8_192), 8_192);
    }
}
