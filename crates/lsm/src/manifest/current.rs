//! `CURRENT`: names the log in use. Replaced as a whole, by rename.

use std::path::{Path, PathBuf};

use env::Env;

use super::append_file::AppendFile;
use super::header::{CURRENT_MAGIC, HEADER_BYTES, Header};
use super::log::{LogNumber, header_error, read_file};
use crate::disk_error::{damaged, sync_failed};
use crate::error::StoreError;
use crate::museum::{self, Exhibit};

const CURRENT: &str = "CURRENT";
const CURRENT_NEW: &str = "CURRENT.new";

/// The path of `CURRENT` in `directory`.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join(CURRENT)
}

/// The log that `CURRENT` names.
pub(super) fn read(env: &Env, directory: &Path) -> Result<LogNumber, StoreError> {
    let path = path(directory);
    let bytes = read_file(&env.disk, &path)?;
    let (header, _) =
        Header::decode(&bytes, CURRENT_MAGIC).map_err(|error| header_error(&path, error))?;
    if bytes.len() != HEADER_BYTES {
        let detail = format!("{} bytes long, expected {HEADER_BYTES}", bytes.len());
        return Err(damaged(&path, HEADER_BYTES as u64, None, detail));
    }
    Ok(LogNumber(header.number))
}

/// Makes `CURRENT` name `log`, durably. The log's own bytes are durable already; its name
/// becomes so before the switch.
///
/// Before the rename an error leaves everything as it was; from the rename on nobody knows which
/// log a restart would find, so an error is [`StoreError::Poisoned`].
pub(super) fn switch(env: &Env, directory: &Path, log: LogNumber) -> Result<(), StoreError> {
    let new = directory.join(CURRENT_NEW);
    let (bytes, _) = Header { number: log.0 }.encode(CURRENT_MAGIC);
    let mut file = AppendFile::create(&env.disk, new.clone())?;
    file.append(&bytes)?;
    if !museum::shows(Exhibit::CurrentUnsynced) {
        file.sync()?;
    }
    let sync_names = || {
        let synced = env.disk.sync_directory(directory);
        synced.map_err(|error| sync_failed(directory, &error))
    };
    if !museum::shows(Exhibit::LogNameUnsynced) {
        sync_names()?;
    }
    let path = path(directory);
    env.disk
        .rename(&new, &path)
        .map_err(|error| sync_failed(&path, &error))?;
    sync_names()
}
