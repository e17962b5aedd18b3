//! The seam between the engines and the world: disk and clock.
//!
//! The engines reach files and time only through the traits of this crate, so that exactly the
//! shipped code runs under simulation. Threads are started by the binary, never by an engine:
//! an engine offers steps ("do one piece of background work") that a thread, or a simulation,
//! calls.
//!
//! * [`disk`]: the [`Disk`] trait and its file handles.
//! * [`real_disk`]: the real file system.
//! * [`direct_file`]: files of it that are read and written past the operating system's cache.
//! * [`clock`]: the [`Clock`] trait and the real one.

pub mod clock;
pub mod direct_file;
pub mod disk;
pub mod real_disk;

pub use clock::{Clock, RealClock};
pub use direct_file::DirectFile;
pub use disk::{DIRECT_ALIGNMENT, DirectoryLock, Disk, ReadableFile, WritableFile};
pub use real_disk::RealDisk;

use std::sync::Arc;

/// Everything an engine may reach outside itself.
#[derive(Clone)]
pub struct Env {
    /// Files.
    pub disk: Arc<dyn Disk>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl Env {
    /// The real world.
    pub fn real() -> Self {
        Self {
            disk: Arc::new(RealDisk),
            clock: Arc::new(RealClock::new()),
        }
    }
}
