//! A stream that lets others have its thread from time to time.
//!
//! Statements share a few threads ([`crate::engine`]), and a task keeps its thread until it has to wait. A
//! scan never has to: an aggregate above one would read a whole table before anything else has its turn,
//! short statements and the end of a cancelled one among them. DataFusion counts batches
//! (`CooperativeExec`), which tells little: one costs microseconds, another one milliseconds in the joins
//! above it, and what a join or an aggregate takes within one task is not counted. So time is looked at.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::Stream;

/// How long a scan keeps its thread. A statement that comes while others run needs some turns of theirs, so
/// it is short; to let go costs microseconds.
const TURN: Duration = Duration::from_millis(2);

/// The items of an iterator, in turns.
pub(crate) struct InTurns<I> {
    items: I,
    /// When this turn began.
    since: Option<Instant>,
}

impl<I> InTurns<I> {
    pub(crate) fn new(items: I) -> Self {
        Self { items, since: None }
    }
}

impl<I: Iterator + Unpin> Stream for InTurns<I> {
    type Item = I::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<I::Item>> {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if now - since >= TURN {
            self.since = None;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.items.next())
    }
}
