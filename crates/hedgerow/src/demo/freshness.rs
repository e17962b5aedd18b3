//! Measures how soon an order can be asked for: from the moment when its commit at the primary is answered to
//! the moment when readers see it.

use std::sync::Arc;
use std::time::Duration;

use env::Clock;
use lsm::Store;
use parking_lot::Mutex;
use replication::orders::OrderProgress;
use types::CommitPosition;

use super::meter::LatencyMeter;

/// How often to look; also how exact the measure is.
const LOOK: Duration = Duration::from_millis(1);

/// Measures until the task is dropped. Of batches that follow each other faster than readers
/// see them, not every one is measured.
pub(super) async fn measure_forever(
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    progress: Arc<Mutex<OrderProgress>>,
    freshness: &Mutex<LatencyMeter>,
) {
    let mut measured = CommitPosition::ZERO;
    loop {
        let OrderProgress {
            position,
            answered_at,
            ..
        } = *progress.lock();
        if position > measured {
            // What a restart found visible already was not placed by this run.
            let is_new = store.visible() < position;
            while store.visible() < position {
                tokio::time::sleep(LOOK).await;
            }
            if is_new {
                freshness
                    .lock()
                    .note(clock.monotonic().saturating_sub(answered_at));
            }
            measured = position;
        }
        tokio::time::sleep(LOOK).await;
    }
}
