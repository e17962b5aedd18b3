//! A child process that ends when its handle is dropped, also by a panic.
//!
//! It is signalled by its own process id only.
//!
//! Does not: end with a program that is killed; that leaves its children behind.

use std::process::{Child, ChildStdout, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

/// How long a process may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// A running child and the signal that ends it in good order.
#[derive(Debug)]
pub struct OwnedProcess {
    child: Child,
    name: String,
    ending: Signal,
}

impl OwnedProcess {
    /// Starts `command`; dropping the handle sends `ending` and waits.
    pub fn start(name: &str, command: &mut Command, ending: Signal) -> Result<Self> {
        let child = command
            .spawn()
            .with_context(|| format!("could not start {name}"))?;
        Ok(Self {
            child,
            name: name.to_owned(),
            ending,
        })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output, once, when that is a pipe.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The exit status, if the process has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child
            .try_wait()
            .with_context(|| format!("could not look at {}", self.name))
    }

    /// Sends `signal`, unless the process has ended.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.ended()?.is_none() {
            let id = Pid::from_child(&self.child);
            kill_process(id, signal)
                .with_context(|| format!("could not signal {} ({})", self.name, self.id()))?;
        }
        Ok(())
    }

    /// Sends `signal` and waits for the end.
    pub fn end_with(&mut self, signal: Signal) -> Result<ExitStatus> {
        self.signal(signal)?;
        self.child
            .wait()
            .with_context(|| format!("could not wait for {}", self.name))
    }

    /// Waits for the process to end by itself; `None` when it has not within `limit`.
    pub fn wait_at_most(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.ended()?;
            if status.is_some() || Instant::now() > deadline {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for OwnedProcess {
    fn drop(&mut self) {
        // Nothing better can be done about a failure here than to go on to the kill.
        let _ = self.signal(self.ending);
        if !matches!(self.wait_at_most(GRACE), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
