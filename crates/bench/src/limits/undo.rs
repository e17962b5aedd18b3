//! Undoing what an experiment did to the machine, also after an error or an interrupt.
//!
//! Each change registers its undoing before it is made. They run last first.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;

/// Undoes one change; failures are shown, because nothing better can be done about them.
type Undo = Box<dyn FnOnce() -> Result<()> + Send>;

/// What this process has changed.
static CHANGES: Changes = Changes(Mutex::new(Vec::new()));

/// Changes to undo, oldest first.
struct Changes(Mutex<Vec<Undo>>);

impl Changes {
    fn register(&self, undo: Undo) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(undo);
    }

    fn undo_all(&self) {
        loop {
            // Unlocked again before it runs: undoing may take long, and may be asked for twice.
            let undo = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(undo) = undo else { return };
            if let Err(error) = undo() {
                eprintln!("could not undo: {error:#}");
            }
        }
    }
}

/// Registers the undoing of a change that is about to be made.
pub fn register(undo: impl FnOnce() -> Result<()> + Send + 'static) {
    CHANGES.register(Box::new(undo));
}

/// Undoes everything when it goes out of scope.
pub struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        CHANGES.undo_all();
    }
}

/// From now on an interrupt (Ctrl-C) undoes everything and ends the process.
pub fn on_interrupt() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || {
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                // The servers got the interrupt, too; they end by themselves.
                std::thread::sleep(Duration::from_secs(2));
                CHANGES.undo_all();
                std::process::exit(130);
            }
        })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_last_change_is_undone_first_and_a_failure_stops_nothing() {
        let changes = Changes(Mutex::new(Vec::new()));
        let order = Arc::new(AtomicU32::new(0));
        for expected in [2, 1, 0] {
            let order = Arc::clone(&order);
            changes.register(Box::new(move || {
                assert_eq!(order.fetch_add(1, Ordering::SeqCst), expected);
                anyhow::ensure!(expected != 1, "this one cannot be undone");
                Ok(())
            }));
        }
        changes.undo_all();
        assert_eq!(order.load(Ordering::SeqCst), 3);
    }
}
