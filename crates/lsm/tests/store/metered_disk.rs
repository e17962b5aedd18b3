//! The real disk with a meter: how many bytes files have together, and a call at each new file.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{DirectoryLock, Disk, ReadableFile, RealDisk, WritableFile};
use parking_lot::Mutex;

/// Bytes now and at most.
#[derive(Default)]
struct Meter {
    files: HashMap<PathBuf, u64>,
    bytes: u64,
    bytes_max: u64,
}

impl Meter {
    fn append(&mut self, path: &Path, bytes: u64) {
        *self.files.entry(path.to_owned()).or_default() += bytes;
        self.bytes += bytes;
        self.bytes_max = self.bytes_max.max(self.bytes);
    }

    fn remove(&mut self, path: &Path) {
        self.bytes -= self.files.remove(path).unwrap_or(0);
    }
}

type OnCreate = Arc<dyn Fn(&Path) -> io::Result<()> + Send + Sync>;

/// See the module.
#[derive(Default)]
pub struct MeteredDisk {
    meter: Arc<Mutex<Meter>>,
    on_create: Mutex<Option<OnCreate>>,
}

impl MeteredDisk {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.meter.lock().bytes
    }

    /// The most bytes that there were since the last call.
    pub fn take_bytes_max(&self) -> u64 {
        let mut meter = self.meter.lock();
        let now = meter.bytes;
        std::mem::replace(&mut meter.bytes_max, now)
    }

    /// Has `call` be called before each file is created; what it fails with, the creation does.
    pub fn on_create(&self, call: impl Fn(&Path) -> io::Result<()> + Send + Sync + 'static) {
        *self.on_create.lock() = Some(Arc::new(call));
    }

    fn metered(&self, path: &Path, file: Box<dyn WritableFile>) -> Box<dyn WritableFile> {
        Box::new(MeteredFile {
            path: path.to_owned(),
            file,
            meter: Arc::clone(&self.meter),
        })
    }
}

struct MeteredFile {
    path: PathBuf,
    file: Box<dyn WritableFile>,
    meter: Arc<Mutex<Meter>>,
}

impl WritableFile for MeteredFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.meter.lock().append(&self.path, bytes.len() as u64);
        self.file.append(bytes)
    }

    fn reserve(&mut self, bytes: usize) {
        self.file.reserve(bytes);
    }

    fn will_sync(&mut self) {
        self.file.will_sync();
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

impl Disk for MeteredDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        // Not under the lock: what is called may create files itself.
        let call = self.on_create.lock().clone();
        if let Some(call) = call {
            call(path)?;
        }
        Ok(self.metered(path, RealDisk.create(path)?))
    }

    fn open_append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WritableFile>> {
        Ok(self.metered(path, RealDisk.open_append(path, length)?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadableFile>> {
        RealDisk.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.meter.lock().remove(path);
        RealDisk.remove(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        RealDisk.list(directory)
    }

    fn create_directories(&self, directory: &Path) -> io::Result<()> {
        RealDisk.create_directories(directory)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        RealDisk.sync_directory(directory)
    }

    fn lock(&self, directory: &Path) -> io::Result<Box<dyn DirectoryLock>> {
        RealDisk.lock(directory)
    }
}
