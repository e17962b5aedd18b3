//! Builds the peers' program, which is a workspace of its own, and installs what it starts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// What a contender of the peers' program needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// RocksDB is compiled in.
    Rocksdb,
    /// MariaDB's server is installed.
    Mariadb,
    /// memcached is installed.
    Memcached,
}

/// A program, and Debian's packages that have it and all that it calls.
struct Installed {
    program: &'static str,
    packages: &'static [&'static str],
}

impl Needs {
    fn installed(self) -> Installed {
        let (program, packages): (_, &[_]) = match self {
            Self::Rocksdb => ("g++", &["g++", "libclang-dev"]),
            Self::Mariadb => ("mariadbd", &["mariadb-server-core", "mariadb-client-core"]),
            Self::Memcached => ("memcached", &["memcached"]),
        };
        Installed { program, packages }
    }
}

/// Builds it beside this program's own build, with what is needed; where it is.
pub fn build(needs: &[Needs]) -> Result<PathBuf> {
    for needed in needs {
        install(&needed.installed())?;
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/Cargo.toml");
    let own = std::env::current_exe()?;
    let target = own
        .ancestors()
        .nth(2)
        .context("this program lies in a build folder")?
        .join("peers");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--release", "--locked", "--quiet"])
        .arg("--manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target)
        // RocksDB finds out when it is compiled, not when it runs, what the processor can do.
        .env("RUSTFLAGS", "-Ctarget-cpu=native");
    if needs.contains(&Needs::Rocksdb) {
        eprintln!("building the peers (RocksDB takes long, the first time)");
    } else {
        eprintln!("building the peers, without RocksDB");
        command.arg("--no-default-features");
    }
    let status = command.status().context("could not start cargo")?;
    ensure!(status.success(), "the peers cannot be built");
    Ok(target.join("release/peers"))
}

/// Installs packages whose program is missing, where Debian's tools can.
fn install(wanted: &Installed) -> Result<()> {
    let answers = || {
        Command::new(wanted.program)
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if answers() {
        return Ok(());
    }
    let names = wanted.packages.join(" ");
    eprintln!("installing {names}");
    let install = [&["install", "--no-install-recommends"], wanted.packages].concat();
    // The package lists are renewed only when it does not go without.
    let is_installed = apt_get(&install) || (apt_get(&["update"]) && apt_get(&install));
    ensure!(
        is_installed,
        "could not install {names}: please do it by hand"
    );
    ensure!(
        answers(),
        "{names} are installed, but there is no {}",
        wanted.program
    );
    Ok(())
}

fn apt_get(arguments: &[&str]) -> bool {
    let status = Command::new("apt-get")
        .args(["-y", "-q"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
