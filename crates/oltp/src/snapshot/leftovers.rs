//! Files that no kept snapshot needs.

use std::path::Path;

use env::Disk;

use super::manifest::{NEW_FILE_NAME, SnapshotRecord};
use super::{KEPT_MAX, SnapshotNumber};
use crate::command_log::SegmentNumber;

const DATA_PREFIX: &str = "snapshot-";
const DATA_SUFFIX: &str = ".data";

/// Name of the data file of a snapshot.
pub(super) fn data_name(number: SnapshotNumber) -> String {
    format!("{DATA_PREFIX}{:010}{DATA_SUFFIX}", number.0)
}

/// The first segment of the log that may be needed. As long as there are fewer snapshots than are
/// kept, the empty partition counts as one.
fn first_segment(kept: &[SnapshotRecord]) -> SegmentNumber {
    match kept {
        [oldest, ..] if kept.len() >= KEPT_MAX => oldest.segment,
        _ => SegmentNumber(0),
    }
}

/// Removes data files that are not of a kept snapshot, segments of the log before those that any needs,
/// and manifests that were never finished. What fails is left for the next time.
pub(crate) fn remove_leftovers(disk: &dyn Disk, folder: &Path, kept: &[SnapshotRecord]) {
    let first = first_segment(kept);
    let is_leftover = |name: &str| {
        let number = name
            .strip_prefix(DATA_PREFIX)
            .and_then(|name| name.strip_suffix(DATA_SUFFIX))
            .and_then(|number| number.parse().ok());
        match (number.map(SnapshotNumber), SegmentNumber::of_name(name)) {
            (Some(number), _) => kept.iter().all(|snapshot| snapshot.number != number),
            (None, Some(segment)) => segment < first,
            (None, None) => name == NEW_FILE_NAME,
        }
    };
    for path in disk.list(folder).unwrap_or_default() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_leftover(&name) {
            let _ = disk.remove(&path);
        }
    }
}
