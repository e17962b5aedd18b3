//! Bytes on disk below a folder, looked at again and again while rows are inserted.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the disk is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Rows inserted, and bytes on disk then.
pub type Sample = (usize, u64);

/// A thread that samples.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    rows: Arc<AtomicUsize>,
    thread: JoinHandle<Vec<Sample>>,
}

impl Sampler {
    /// Samples until it is told to stop.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let rows = Arc::new(AtomicUsize::new(0));
        let thread = {
            let (folder, stop, rows) = (folder.to_owned(), Arc::clone(&stop), Arc::clone(&rows));
            thread::Builder::new()
                .name("sampler".to_owned())
                .spawn(move || sample(&folder, &rows, &stop))?
        };
        Ok(Self { stop, rows, thread })
    }

    /// So many rows are in now.
    pub fn note_rows(&self, rows: usize) {
        self.rows.store(rows, Ordering::Relaxed);
    }

    /// All samples.
    pub fn stop(self) -> Vec<Sample> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the sampler does not panic")
    }
}

fn sample(folder: &Path, rows: &AtomicUsize, stop: &AtomicBool) -> Vec<Sample> {
    let mut samples = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        // A file may go while it is looked at: then the next sample tells.
        if let Ok(bytes) = bytes_on_disk(folder) {
            samples.push((rows.load(Ordering::Relaxed), bytes));
        }
        thread::sleep(SAMPLE_EVERY);
    }
    samples
}

/// Bytes of all files below a folder, as the file system allots them.
pub fn bytes_on_disk(folder: &Path) -> io::Result<u64> {
    const BLOCK_BYTES: u64 = 512; // The unit of `st_blocks`, whatever the file system.
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += match metadata.is_dir() {
            true => bytes_on_disk(&entry.path())?,
            false => metadata.blocks() * BLOCK_BYTES,
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_folders_count_with_what_is_allotted() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(bytes_on_disk(folder.path()).unwrap(), 0);
        std::fs::create_dir(folder.path().join("below")).unwrap();
        for name in ["file", "below/file"] {
            std::fs::write(folder.path().join(name), [1; 5_000]).unwrap();
        }
        assert!(bytes_on_disk(folder.path()).unwrap() >= 10_000);
    }
}
