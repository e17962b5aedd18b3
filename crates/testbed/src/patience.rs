//! Waiting for what another process will do, with a limit.
//!
//! Limits are generous: they exist so that a hang becomes a failure with a name, never to
//! assert speed.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long anything that should happen may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until `probe` gives a value. Its last error, or `what`, becomes the failure.
pub fn wait_for<T>(what: &str, mut probe: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    wait_at_most(PATIENCE, what, &mut probe)
}

/// [`wait_for`] with a limit of the caller's.
pub fn wait_at_most<T>(
    limit: Duration,
    what: &str,
    mut probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        let outcome = probe();
        if let Ok(Some(value)) = outcome {
            return Ok(value);
        }
        if Instant::now() > deadline {
            match outcome {
                Err(error) => return Err(error.context(format!("waited {limit:?} for {what}"))),
                Ok(_) => bail!("waited {limit:?} for {what}"),
            }
        }
        thread::sleep(PAUSE);
    }
}
