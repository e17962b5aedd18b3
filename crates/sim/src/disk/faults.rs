//! What goes wrong, and when.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crash {
    /// The process alone: the operating system still has every byte and name.
    Kill,
    /// The machine: every sector and every change of a name that was not synced is kept with
    /// this probability, independently of all others.
    PowerCut {
        /// 0 keeps only what was synced, 1 keeps everything.
        keep: f64,
    },
}

/// How one operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An input/output error. A write may have happened in part or whole; after a failed sync the bytes
    /// stay readable, are never written, and the next sync reports success.
    Error,
    /// No space is left. A write may have happened in part.
    DiskFull,
    /// A sync does nothing and reports success; other operations happen.
    Lie,
}

impl Fault {
    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Error | Self::Lie => io::Error::other("simulated input/output error"),
            Self::DiskFull => io::Error::new(ErrorKind::StorageFull, "simulated full disk"),
        }
    }
}

/// The plan for a disk. Numbers count from the disk's making, over all its processes.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The process ends in the middle of this changing operation.
    pub crash_at: Option<u64>,
    /// Changing operations that fail.
    pub changes: BTreeMap<u64, Fault>,
    /// Reads that fail.
    pub reads: BTreeMap<u64, Fault>,
    /// Bytes that the disk has room for; files take whole blocks of 4 KiB.
    pub capacity_bytes: Option<u64>,
}
