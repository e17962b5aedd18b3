//! Reads that some threads do ahead, where a direct read would keep its caller waiting: the page
//! cache does the same for files that are read through it.
//!
//! 1. [`ReadsAhead::start`] hands a read to the threads.
//! 2. [`ReadsAhead::take`] waits for a read that was started, and gives its bytes away.
//!
//! What nobody comes for is forgotten when there is too much of it.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// As many as the requests that keep a disk of our time busy.
const THREADS: usize = 8;

/// Reads of a file that have been started and not taken, at most.
const STARTED_MAX: usize = 1 << 10;

/// Reads of one file, by their offsets.
#[derive(Debug, Default)]
pub struct ReadsAhead {
    started: Mutex<HashMap<u64, Arc<Read>>>,
}

/// A read under way.
#[derive(Debug, Default)]
struct Read {
    bytes: Mutex<Option<io::Result<Vec<u8>>>>,
    is_done: Condvar,
}

type Work = Box<dyn FnOnce() + Send>;

impl ReadsAhead {
    /// Has the bytes at `offset` read by `read`.
    pub fn start(&self, offset: u64, read: impl FnOnce() -> io::Result<Vec<u8>> + Send + 'static) {
        let begun = Arc::new(Read::default());
        let mut started = lock(&self.started);
        if started.len() >= STARTED_MAX {
            started.clear();
        }
        started.insert(offset, Arc::clone(&begun));
        drop(started);
        let work = move || {
            let bytes = read();
            *lock(&begun.bytes) = Some(bytes);
            begun.is_done.notify_one();
        };
        queue().send(Box::new(work)).expect("the threads never end");
    }

    /// The bytes at `offset`, if a read of them was started.
    pub fn take(&self, offset: u64) -> Option<io::Result<Vec<u8>>> {
        let read = lock(&self.started).remove(&offset)?;
        let mut bytes = lock(&read.bytes);
        loop {
            if let Some(bytes) = bytes.take() {
                return Some(bytes);
            }
            let waited = read.is_done.wait(bytes);
            bytes = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the threads get their work from. They are started with the first read.
fn queue() -> &'static Sender<Work> {
    static QUEUE: OnceLock<Sender<Work>> = OnceLock::new();
    QUEUE.get_or_init(|| {
        let (sender, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..THREADS {
            let receiver = Arc::clone(&receiver);
            let thread = thread::Builder::new().name("read-ahead".to_owned());
            let started = thread.spawn(move || while work(&receiver) {});
            started.expect("a process may have a few threads");
        }
        sender
    })
}

/// Does one piece of work; false when there will be no more.
fn work(receiver: &Mutex<Receiver<Work>>) -> bool {
    let next = lock(receiver).recv();
    next.map(|work| work()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_taken_once() -> io::Result<()> {
        let reads = ReadsAhead::default();
        for offset in 0..100 {
            reads.start(offset, move || Ok(vec![offset as u8; 10]));
        }
        for offset in (0..100).rev() {
            let bytes = reads.take(offset).expect("it was started")?;
            assert_eq!(bytes, [offset as u8; 10]);
            assert!(reads.take(offset).is_none());
        }
        Ok(())
    }

    #[test]
    fn an_error_is_the_takers() {
        let reads = ReadsAhead::default();
        reads.start(0, || Err(io::ErrorKind::UnexpectedEof.into()));
        let error = reads.take(0).and_then(Result::err);
        assert_eq!(error.map(|e| e.kind()), Some(io::ErrorKind::UnexpectedEof));
    }
}
