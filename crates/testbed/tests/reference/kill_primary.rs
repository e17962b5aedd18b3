//! A few of the kills that `cargo xtask kill-primary` does by the hundred.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use testbed::kill_primary::{KillOptions, run};

/// Nothing that a process with a primary has acknowledged is lost when it is killed, and no transfer is half there.
#[test]
fn a_killed_primary_has_all_that_it_acknowledged() -> Result<()> {
    let options = KillOptions {
        kills: 5,
        accounts: 10_000,
        memory_bytes: 3 << 20,
        long_life_one_in: u32::MAX,
        long_life: Duration::ZERO,
        short_life: Duration::from_millis(500),
        rows_read_one_in: 5,
        seed: 7,
    };
    let program = Path::new(env!("CARGO_BIN_EXE_kill_primary"));
    let report = run(program, &options, &|line| println!("{line}"))?;
    assert_eq!((report.kills, report.read_in_full), (5, 1));
    assert!(
        report.transfers > 0 && report.data_by_memory > 1.0,
        "{report}"
    );
    Ok(())
}
