//! Anti-caching: what tracking costs while everything is in memory, and rates with data eight times as
//! large as memory.
//!
//! * [`tracking`]: the chain at alpha 0, 0.01 and 1 (Anti-Caching, section 4.3).
//! * [`larger`]: the last column of the paper's Figure 6: three mixes, skews from 0.5 to 1.5.
//!
//! Memory is the partition's own budget, rows, indexes and all bookkeeping. The operating system's
//! page cache is not limited: blocks may be read from it, so rates with low skews say what the engine
//! can do, not what a disk can. No peers yet.

mod larger;
mod tracking;

use anyhow::Result;

use crate::Scale;
use crate::results::Results;

/// The experiment.
pub fn run(scale: Scale) -> Result<Results> {
    let name = match scale {
        Scale::Quick => "quick",
        Scale::Full => "full",
    };
    let mut results = Results::new("anticache", name);
    tracking::run(scale, &mut results)?;
    larger::run(scale, &mut results)?;
    Ok(results)
}
