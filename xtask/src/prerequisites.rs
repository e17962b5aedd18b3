//! What the tests need besides Rust, from Debian's packages.
//!
//! Only what is missing is installed. The package lists are renewed only when an install fails
//! without it, as in a fresh container.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::step::run;

/// Something the tests need, and Debian's package that has it.
struct Prerequisite {
    package: &'static str,
    present: fn() -> bool,
}

const PREREQUISITES: [Prerequisite; 7] = [
    // The server, initdb and pgbench; each test starts one of its own.
    Prerequisite {
        package: "postgresql",
        present: has_postgres,
    },
    Prerequisite {
        package: "postgresql-client",
        present: || answers("psql", &["--version"]),
    },
    // Drivers that must be able to connect.
    Prerequisite {
        package: "python3-psycopg",
        present: has_psycopg,
    },
    Prerequisite {
        package: "python3-psycopg2",
        present: || answers("/usr/bin/python3", &["-c", "import psycopg2"]),
    },
    Prerequisite {
        package: "python3-sqlalchemy",
        present: || answers("/usr/bin/python3", &["-c", "import sqlalchemy"]),
    },
    Prerequisite {
        package: "libpostgresql-jdbc-java",
        present: has_jdbc,
    },
    Prerequisite {
        package: "default-jdk-headless",
        present: || answers("javac", &["-version"]),
    },
];

/// Installs what is missing.
pub fn install() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("the tests need {}", missing.join(", "));
    ensure!(
        answers("apt-get", &["--version"]),
        "this is not Debian: install by hand what these packages have: {}",
        missing.join(", ")
    );
    if apt_get_install(&missing).is_err() {
        run(apt_get().arg("update")).context("could not renew the package lists")?;
        apt_get_install(&missing)?;
    }
    let missing = self::missing();
    ensure!(
        missing.is_empty(),
        "installed, but still not usable: {}",
        missing.join(", ")
    );
    Ok(())
}

fn missing() -> Vec<&'static str> {
    PREREQUISITES
        .iter()
        .filter(|wanted| !(wanted.present)())
        .map(|p| p.package)
        .collect()
}

fn apt_get_install(packages: &[&str]) -> Result<()> {
    run(apt_get()
        .args(["install", "-y", "--no-install-recommends"])
        .args(packages))
}

fn apt_get() -> Command {
    let mut command = if is_root() {
        Command::new("apt-get")
    } else {
        let mut command = Command::new("sudo");
        command.args(["--preserve-env=DEBIAN_FRONTEND", "apt-get"]);
        command
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn has_postgres() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let in_version = versions.map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    in_version.chain(std::env::split_paths(&path)).any(|bin| {
        ["postgres", "initdb", "pgbench"]
            .iter()
            .all(|name| bin.join(name).exists())
    })
}

/// Debian's interpreter, which is not always the first in the path.
fn has_psycopg() -> bool {
    answers("/usr/bin/python3", &["-c", "import psycopg"])
}

fn has_jdbc() -> bool {
    Path::new("/usr/share/java/postgresql.jar").exists()
}

fn answers(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
