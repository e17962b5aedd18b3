//! Whether a tree waits longer for its merges than others: looks at all written trees every 20 ms.
//!
//! * **Runs**: the most that a tree had on disk at a time.
//! * **Wait**: the time for which a tree has had a merge to do and none was under way in it, from
//!   the first look at which that was so until the first at which it was not.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lsm::{MergeState, Store, TableStats};
use types::TableId;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks between two counts of open files: the kernel takes a millisecond to list some thousand.
const COUNTED_EVERY: u32 = 50;

/// What was seen of a tree.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The most runs on disk.
    pub runs_max: usize,
    /// Its longest wait.
    pub wait_max: Duration,
    /// How often it had to wait.
    pub waits: usize,
    waiting_since: Option<Instant>,
}

/// What was seen of all trees.
#[derive(Debug, Default)]
pub struct Watched {
    /// The trees.
    pub trees: BTreeMap<TableId, Seen>,
    /// The most files that were open at a time.
    pub open_files_max: usize,
}

/// Looks at the trees until it is told to stop.
pub fn watch(store: &Arc<Store>, tables: &[TableId], stop: &AtomicBool) -> io::Result<Watched> {
    let mut watched = Watched::default();
    let mut looks = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        for &table in tables {
            let seen = watched.trees.entry(table).or_default();
            if let Some(stats) = store.table_stats(table) {
                seen.look(&stats, Instant::now());
            }
        }
        if looks.is_multiple_of(COUNTED_EVERY) {
            watched.open_files_max = watched.open_files_max.max(open_files()?);
        }
        looks += 1;
        thread::sleep(LOOK_EVERY);
    }
    let end = Instant::now();
    let trees = watched.trees.values_mut();
    trees.for_each(|seen| seen.end_wait(end));
    Ok(watched)
}

fn open_files() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}

impl Seen {
    fn look(&mut self, stats: &TableStats, now: Instant) {
        let on_disk = stats.components.iter().skip(1);
        let runs = on_disk.map(|component| component.runs).sum();
        self.runs_max = self.runs_max.max(runs);
        match (stats.merge, self.waiting_since) {
            (MergeState::Due, None) => self.waiting_since = Some(now),
            (MergeState::Due, Some(_)) => {}
            _ => self.end_wait(now),
        }
    }

    fn end_wait(&mut self, now: Instant) {
        if let Some(since) = self.waiting_since.take() {
            self.waits += 1;
            self.wait_max = self.wait_max.max(now - since);
        }
    }
}

#[cfg(test)]
mod tests {
    use lsm::ComponentStats;

    use super::*;

    #[test]
    fn a_wait_ends_when_the_merge_begins() {
        let stats = |runs, merge| TableStats {
            table: TableId(1),
            components: vec![
                ComponentStats::default(),
                ComponentStats {
                    runs,
                    ..ComponentStats::default()
                },
            ],
            versions: 0,
            bytes_on_disk: 0,
            bytes_in_memory: 0,
            bytes_in_buffers: 0,
            merge,
        };
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut seen = Seen::default();
        seen.look(&stats(3, MergeState::None), at(0));
        seen.look(&stats(4, MergeState::Due), at(1));
        seen.look(&stats(5, MergeState::Due), at(3));
        seen.look(&stats(5, MergeState::UnderWay), at(4));
        seen.look(&stats(1, MergeState::None), at(20));
        seen.look(&stats(4, MergeState::Due), at(21));
        seen.end_wait(at(22));
        assert_eq!((seen.runs_max, seen.waits), (5, 2));
        assert_eq!(seen.wait_max, Duration::from_secs(3));
    }
}
