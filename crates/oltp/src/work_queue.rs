//! Work that a partition hands to other threads, and what comes back.
//!
//! The partition submits jobs and looks now and then for what is done; it never waits. Whoever has a
//! thread to spare takes a job, does it, and puts the result back. The engine starts no threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Jobs and results, each in order.
pub(crate) struct WorkQueue<Job, Done> {
    jobs: Mutex<VecDeque<Job>>,
    is_submitted: Condvar,
    done: Mutex<Vec<Done>>,
    has_done: AtomicBool,
}

impl<Job, Done> WorkQueue<Job, Done> {
    /// No jobs.
    pub(crate) fn new() -> Self {
        Self {
            jobs: Mutex::default(),
            is_submitted: Condvar::new(),
            done: Mutex::default(),
            has_done: AtomicBool::new(false),
        }
    }

    /// Adds a job behind all others.
    pub(crate) fn submit(&self, job: Job) {
        self.jobs.lock().push_back(job);
        self.is_submitted.notify_one();
    }

    /// Puts jobs that could not be done back in front of all others, in their order.
    pub(crate) fn give_back(&self, jobs: impl DoubleEndedIterator<Item = Job>) {
        let mut queue = self.jobs.lock();
        jobs.rev().for_each(|job| queue.push_front(job));
    }

    /// The first jobs, up to so many, as long as `goes_with` says of one that it goes with the one
    /// before.
    pub(crate) fn take(&self, most: usize, goes_with: impl Fn(&Job, &Job) -> bool) -> Vec<Job> {
        let mut queue = self.jobs.lock();
        let mut jobs: Vec<Job> = Vec::new();
        while jobs.len() < most
            && queue
                .front()
                .is_some_and(|next| jobs.last().is_none_or(|last| goes_with(last, next)))
        {
            jobs.extend(queue.pop_front());
        }
        jobs
    }

    /// Waits until there may be a job, but not longer than this.
    pub(crate) fn wait(&self, most: Duration) {
        let mut queue = self.jobs.lock();
        if queue.is_empty() {
            self.is_submitted.wait_for(&mut queue, most);
        }
    }

    /// A result.
    pub(crate) fn finish(&self, done: Done) {
        self.done.lock().push(done);
        self.has_done.store(true, Ordering::Release);
    }

    /// The results since the last call. Costs next to nothing when there are none.
    pub(crate) fn take_done(&self) -> Vec<Done> {
        if !self.has_done.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        std::mem::take(&mut *self.done.lock())
    }
}
