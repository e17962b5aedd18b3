//! The manifest: one append-only, checksummed log of edits for all trees.
//!
//! What the manifest names exists and is durable; what it does not name does not exist. So one
//! appended record changes any number of trees together, and recovery is reading one file.
//!
//! 1. Opening reads `CURRENT`, which names the log in use, and adds up the log's edits.
//! 2. It then writes the state as the first record of a new log and switches to it: what was
//!    read may be in the operating system's memory only, and stay there, when the last sync of
//!    the process before failed. (A full disk is the one reason to go on with the old log, if it
//!    is marked as synced to its end.)
//! 3. A commit syncs the folder of the segments that it names, appends one record and syncs it.
//! 4. When the log has outgrown the state, 2. is done again.
//!
//! Invariants: a commit that returned is what recovery finds, whole; after a failed sync nothing
//! is committed any more; an error other than [`StoreError::Poisoned`] changed nothing.
//!
//! Does not: write or delete segment files, or lock the directory. `docs/format/manifest.md`
//! gives every byte.

mod append_file;
mod current;
mod edit;
mod header;
mod log;
mod schema_fields;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use env::Env;
use types::{CommitPosition, TableId};

pub use edit::{Change, Edit};
pub use state::{ManifestState, RunId, RunState, TableState};

use crate::disk_error::{damaged, io_failed, sync_failed};
use crate::error::StoreError;
use crate::museum::{self, Exhibit};
use crate::segment::SegmentId;
use log::{Log, LogNumber, ReadLog};

/// The folder of a data directory that holds the segment files.
pub const SEGMENTS_DIRECTORY: &str = "segments";

/// A log is not rewritten before it has this length: small states change often.
const LOG_BYTES_MIN: u64 = 1 << 20;

/// A log is rewritten when it is this many times as long as the state: writing states then costs
/// at most a third more than writing edits.
const LOG_TO_STATE_MAX: u64 = 4;

/// The manifest of an open data directory. One thread at a time commits.
pub struct Manifest {
    env: Env,
    directory: PathBuf,
    log: Log,
    state: ManifestState,
    /// Length at which the log is rewritten.
    rotate_at: u64,
    /// Why nothing can be committed any more.
    poisoned: Option<String>,
}

impl Manifest {
    /// Reads the manifest of `directory`, or creates it (and the folder of segments) where there
    /// is none. The caller holds the directory's lock.
    pub fn open(env: &Env, directory: &Path) -> Result<(Self, ManifestState), StoreError> {
        create_directories(env, directory)?;
        let (state, read) = if is_new(env, directory)? {
            (ManifestState::default(), None)
        } else {
            // The process before may have ended between a rename and its sync: names of further
            // files must not become durable before those that they follow.
            sync_directory(env, directory)?;
            let read = ReadLog::read(env, directory, current::read(env, directory)?)?;
            (replay(directory, &read)?, Some(read))
        };
        let log = match (start_log(env, directory, &state, read.as_ref()), read) {
            // A full disk must not keep a store from being read.
            (Err(StoreError::DiskFull { .. }), Some(read)) if read.is_marked() => {
                Log::resume(env, directory, &read)?
            }
            (started, _) => started?,
        };
        remove_other_logs(env, directory, log.number());
        let rotate_at = rotate_at(log.length());
        let directory = directory.to_owned();
        let state_read = state.clone();
        let manifest = Self {
            env: env.clone(),
            directory,
            log,
            state,
            rotate_at,
            poisoned: None,
        };
        Ok((manifest, state_read))
    }

    /// Makes `edit` durable, as a whole or not at all; also the names of the segments in it,
    /// whose content the caller has synced.
    ///
    /// [`StoreError::DiskFull`] and [`StoreError::Io`] leave the manifest as it was, to be tried
    /// again. After a failed sync this and every later call gives [`StoreError::Poisoned`].
    ///
    /// # Panics
    /// When the edit contradicts the state (an unknown table or segment, overlapping segments in
    /// one run).
    pub fn commit(&mut self, edit: &Edit) -> Result<(), StoreError> {
        if let Some(reason) = &self.poisoned {
            return Err(StoreError::Poisoned(reason.clone()));
        }
        let mut state = self.state.clone();
        if let Err(contradiction) = state.apply(edit) {
            panic!("an edit that contradicts the manifest: {contradiction}");
        }
        let committed = self.write(edit);
        self.note_poison(&committed);
        committed?;
        self.state = state;
        self.rotate_if_long();
        Ok(())
    }

    /// The state after the last commit.
    pub fn state(&self) -> &ManifestState {
        &self.state
    }

    /// The change that forgets a table's truncations up to `idle`; `None` if it knows none of
    /// them.
    pub fn forgets(&self, table: TableId, idle: Option<u64>) -> Option<Change> {
        let position = CommitPosition(idle?);
        let known = &self.state.tables.get(&table)?.truncations;
        let any = known.iter().any(|&known| known <= position);
        any.then_some(Change::ForgetTruncations { table, position })
    }

    fn write(&mut self, edit: &Edit) -> Result<(), StoreError> {
        if edit.adds_segments() && !museum::shows(Exhibit::SegmentNameUnsynced) {
            sync_directory(&self.env, &self.directory.join(SEGMENTS_DIRECTORY))?;
        }
        self.log.commit(&edit.encode())
    }

    fn note_poison(&mut self, result: &Result<(), StoreError>) {
        if let Err(StoreError::Poisoned(reason)) = result {
            self.poisoned = Some(reason.clone());
        }
    }

    /// The commit before is durable whatever happens here: a failed sync shows at the next one,
    /// a full disk only lets the log grow further.
    fn rotate_if_long(&mut self) {
        if self.log.length() < self.rotate_at {
            return;
        }
        let rotated = self.rotate();
        self.note_poison(&rotated);
        self.rotate_at = match rotated {
            Ok(()) => rotate_at(self.log.length()),
            Err(error) => {
                tracing::warn!(%error, "the manifest's log could not be rewritten yet");
                self.log.length().saturating_mul(2)
            }
        };
    }

    fn rotate(&mut self) -> Result<(), StoreError> {
        let number = self.log.next_number();
        let sequence = self.log.next_sequence();
        self.log = write_log(&self.env, &self.directory, number, sequence, &self.state)?;
        remove_other_logs(&self.env, &self.directory, number);
        Ok(())
    }
}

/// Length at which a log is rewritten whose first record, the state, ends at `state_length`.
fn rotate_at(state_length: u64) -> u64 {
    LOG_BYTES_MIN.max(state_length.saturating_mul(LOG_TO_STATE_MAX))
}

fn sync_directory(env: &Env, directory: &Path) -> Result<(), StoreError> {
    env.disk
        .sync_directory(directory)
        .map_err(|error| sync_failed(directory, &error))
}

fn create_directories(env: &Env, directory: &Path) -> Result<(), StoreError> {
    let segments = directory.join(SEGMENTS_DIRECTORY);
    env.disk
        .create_directories(&segments)
        .map_err(|error| io_failed("create", &segments, &error))
}

/// The file names in a directory; names that are not text are none of ours.
fn file_names(env: &Env, directory: &Path) -> Result<Vec<String>, StoreError> {
    let paths = env
        .disk
        .list(directory)
        .map_err(|error| io_failed("list", directory, &error))?;
    let name = |path: PathBuf| path.file_name()?.to_str().map(str::to_owned);
    Ok(paths.into_iter().filter_map(name).collect())
}

/// Whether nothing was ever committed in `directory`. A crash while the first log was created
/// leaves files, but none that only an existing manifest could have led to.
fn is_new(env: &Env, directory: &Path) -> Result<bool, StoreError> {
    let current = current::path(directory);
    let names = file_names(env, directory)?;
    if names.iter().any(|name| directory.join(name) == current) {
        return Ok(false);
    }
    let numbers = names
        .iter()
        .filter_map(|name| LogNumber::from_file_name(name));
    let segments = file_names(env, &directory.join(SEGMENTS_DIRECTORY))?;
    let has_segments = segments
        .iter()
        .any(|name| SegmentId::from_file_name(name).is_some());
    let has_later_logs = numbers.into_iter().any(|number| number != LogNumber::FIRST);
    let first = ReadLog::read(env, directory, LogNumber::FIRST);
    let has_commits = first.is_ok_and(|log| log.payloads.len() > 1);
    if has_segments || has_later_logs || has_commits {
        return Err(damaged(&current, 0, None, "the file is missing".to_owned()));
    }
    Ok(true)
}

/// Adds up the edits of a log.
fn replay(directory: &Path, read: &ReadLog) -> Result<ManifestState, StoreError> {
    let mut state = ManifestState::default();
    for (at, payload) in &read.payloads {
        let applied = Edit::decode(payload)
            .map_err(|error| error.to_string())
            .and_then(|edit| state.apply(&edit).map_err(|error| error.to_string()));
        let path = read.number().log_path(directory);
        applied.map_err(|detail| damaged(&path, *at, None, detail))?;
    }
    Ok(state)
}

/// Starts the log that follows the one that was read, or the first.
fn start_log(
    env: &Env,
    directory: &Path,
    state: &ManifestState,
    read: Option<&ReadLog>,
) -> Result<Log, StoreError> {
    let (number, sequence) = read.map_or((LogNumber::FIRST, 0), |read| {
        (read.next_number(), read.next_sequence())
    });
    write_log(env, directory, number, sequence, state)
}

/// Writes `state` as the first record of log `number` and switches to that log.
fn write_log(
    env: &Env,
    directory: &Path,
    number: LogNumber,
    sequence: u64,
    state: &ManifestState,
) -> Result<Log, StoreError> {
    let payload = Edit::from_state(state).encode();
    let switched = Log::create(env, directory, number, sequence, &payload)
        .and_then(|log| current::switch(env, directory, number).map(|()| log));
    if !matches!(switched, Ok(_) | Err(StoreError::Poisoned(_))) {
        // `CURRENT` does not name the new log; on a full disk its space is needed.
        remove_log(env, directory, number);
    }
    switched
}

fn remove_log(env: &Env, directory: &Path, number: LogNumber) {
    for path in [number.log_path(directory), number.marks_path(directory)] {
        let removed = env.disk.remove(&path);
        tracing::debug!(path = %path.display(), ?removed, "manifest log deleted");
    }
}

/// Deletes logs that are not in use. What cannot be deleted now is found at the next opening.
fn remove_other_logs(env: &Env, directory: &Path, number: LogNumber) {
    let names = file_names(env, directory).unwrap_or_default();
    let numbers = names
        .iter()
        .filter_map(|name| LogNumber::from_file_name(name));
    let others: BTreeSet<LogNumber> = numbers.filter(|&other| other != number).collect();
    others
        .into_iter()
        .for_each(|other| remove_log(env, directory, other));
}
