//! What a statement reads: when it may begin, and at which snapshot.

use std::sync::Arc;

use lsm::Snapshot;

use super::{Session, State};
use crate::error::SqlError;
use crate::interrupt::Interrupt;

impl Session {
    /// Whether the next statement need not wait before it reads a table.
    pub(super) fn is_readable(&self) -> bool {
        let wait_for = self.shared.state.lock().wait_for();
        self.in_snapshot()
            || (self.engine.is_caught_up() && self.engine.store.visible() >= wait_for)
    }

    /// Waits until the next statement may read a table: the copy has caught up since the start,
    /// and holds the position that the client waits for (`hedgerow.wait_for`), and what the primary has answered it.
    pub(super) async fn wait_until_readable(
        &self,
        interrupt: &mut Interrupt,
    ) -> Result<(), SqlError> {
        if self.is_readable() {
            return Ok(());
        }
        let wait_for = self.shared.state.lock().wait_for();
        let waiting = async {
            self.engine.wait_until_caught_up().await?;
            self.engine.wait_until_visible(wait_for).await
        };
        tokio::select! {
            waited = waiting => waited,
            error = interrupt.raised() => Err(error),
        }
    }

    /// Whether the open transaction has its snapshot.
    fn in_snapshot(&self) -> bool {
        let state = self.shared.state.lock();
        state
            .transaction
            .as_ref()
            .is_some_and(|transaction| transaction.snapshot.is_some())
    }

    /// The snapshot for a statement that reads it; that of the open transaction from then on.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        let mut state = self.shared.state.lock();
        let snapshot = self.pinned(&mut state);
        if let Some(transaction) = &mut state.transaction {
            transaction.snapshot = Some(snapshot.clone());
        }
        snapshot
    }

    /// The snapshot for a statement that reads nothing in it and has waited for nothing. It may be older than what
    /// tables may be read at, so that the open transaction does not keep it.
    pub(super) fn unread_snapshot(&self) -> Arc<Snapshot> {
        self.pinned(&mut self.shared.state.lock())
    }

    /// The open transaction's snapshot, or a new one.
    fn pinned(&self, state: &mut State) -> Arc<Snapshot> {
        if let Some(snapshot) = state.transaction.as_ref().and_then(|t| t.snapshot.clone()) {
            return snapshot;
        }
        let snapshot = Arc::new(self.engine.store.pin());
        assert!(
            snapshot.position() >= state.seen,
            "positions of a session never go back"
        );
        state.seen = snapshot.position();
        snapshot
    }
}
