//! TPC-C on one partition: the full mix with a durable command log, then with data that grows beyond
//! memory.
//!
//! * [`database`]: a loaded database; [`in_memory`]: rate and latencies; [`growing`]: beyond memory.
//!
//! One partition has all warehouses, so remote ones are in it, too: the figures are those of a core.
//! Transactions are drawn before the clock runs. A transaction counts when it is durable, or rolled back as
//! the specification wants it. Afterwards the twelve consistency conditions are checked.

mod database;
mod growing;
mod in_memory;

use anyhow::Result;

use crate::Scale;
use crate::results::Results;

/// The experiment.
pub fn run(scale: Scale) -> Result<Results> {
    let name = match scale {
        Scale::Quick => "quick",
        Scale::Full => "full",
    };
    let mut results = Results::new("tpcc", name);
    results.setting("partitions", 1);
    results.setting("log", "one file, a sync (fdatasync) a group");
    results.setting("keying and thinking", "none");
    in_memory::run(scale, &mut results)?;
    growing::run(scale, &mut results)?;
    Ok(results)
}
