//! DuckDB and DataFusion with the same rows, each in a Python process of its own (`peer.py`).
//!
//! Both come from the Python package index, in the versions named here, into the target directory.
//! Python is not in what is measured: it hands over the query's text and counts batches.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

const SCRIPT: &str = include_str!("peer.py");
const PACKAGES: [&str; 2] = ["duckdb==2.0.0", "datafusion==55.0.0"];

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Its native tables.
    DuckDb,
    /// Parquet files that it writes itself, compressed by zstd.
    DataFusion,
}

impl Engine {
    /// What results call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::DataFusion => "datafusion",
        }
    }
}

/// A running peer with all rows.
#[derive(Debug)]
pub struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    loaded: Loaded,
}

#[derive(Debug, Deserialize)]
struct Loaded {
    version: String,
    bytes: BTreeMap<String, u64>,
}

/// An answered query.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Answered {
    /// How long it took until all rows were there.
    pub milliseconds: f64,
    /// How many.
    pub rows: usize,
}

impl Peer {
    /// Starts one that loads the files of `rows`, which `testbed::tpch::tables` wrote, into its
    /// own format in `folder`.
    pub fn start(engine: Engine, rows: &Path, threads: usize) -> Result<Self> {
        let packages = install()?;
        let script = rows.join("peer.py");
        fs::write(&script, SCRIPT)?;
        let mut process = Command::new("python3")
            .arg(&script)
            .arg(engine.name())
            .arg(rows)
            .arg(threads.to_string())
            .env("PYTHONPATH", packages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("python3 cannot be run")?;
        let input = process.stdin.take().context("its input is piped")?;
        let output = process.stdout.take().context("its output is piped")?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let loaded = serde_json::from_str(&line)
            .with_context(|| format!("{} did not load the rows", engine.name()))?;
        Ok(Self {
            process,
            input,
            output,
            loaded,
        })
    }

    /// Its version, as it says.
    pub fn version(&self) -> &str {
        &self.loaded.version
    }

    /// Bytes that a table takes on its disk.
    pub fn table_bytes(&self, table: &str) -> Result<u64> {
        let bytes = self.loaded.bytes.get(table);
        bytes.copied().with_context(|| format!("no table {table}"))
    }

    /// Asks one query.
    pub fn ask(&mut self, query: &str) -> Result<Answered> {
        let line = self.told(&serde_json::to_string(query)?)?;
        serde_json::from_str(&line).context("the peer did not answer")
    }

    /// Has it let go of what it has in memory of its tables.
    pub fn forget(&mut self) -> Result<()> {
        let line = self.told("null")?;
        ensure!(line.trim() == "null", "the peer did not forget: {line}");
        Ok(())
    }

    /// The line that it answers to one.
    fn told(&mut self, line: &str) -> Result<String> {
        writeln!(self.input, "{line}")?;
        self.input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself; it has no children.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Installs what is missing; the folder that has it.
fn install() -> Result<PathBuf> {
    let target = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"));
    let folder = target.join("python-packages");
    if !folder.join("duckdb").exists() || !folder.join("datafusion").exists() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--target"]);
        let status = pip.arg(&folder).args(PACKAGES).status()?;
        ensure!(
            status.success(),
            "pip could not install {}",
            PACKAGES.join(" and ")
        );
    }
    Ok(folder)
}
