//! Builds the peers' program, which is a workspace of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What Debian's packages must have installed; also for the message when the build fails.
const PREREQUISITES: &str = "g++, libclang-dev and mariadb-server-core";

/// Builds it beside this program's own build; where it is.
pub fn build() -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/Cargo.toml");
    let own = std::env::current_exe()?;
    let target = own
        .ancestors()
        .nth(2)
        .context("this program lies in a build folder")?
        .join("peers");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    eprintln!("building the peers (RocksDB takes long, the first time)");
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet"])
        .arg("--manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target)
        // RocksDB finds out when it is compiled, not when it runs, what the processor can do.
        .env("RUSTFLAGS", "-Ctarget-cpu=native")
        .status()
        .context("could not start cargo")?;
    ensure!(
        status.success(),
        "the peers cannot be built; they need {PREREQUISITES}"
    );
    Ok(target.join("release/peers"))
}
