//! Each side at a tiny scale, with the real servers: every answer is checked (`contender::ycsb`), by several
//! clients that change what others read, and the counts tell that the caches are used.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use contender::Arguments;
use contender::ycsb::{Loaded, Task, TaskReport, YcsbArguments};

use crate::innodb_ycsb::{self, Pipeline};
use crate::memcached_ycsb;

const ROWS: u64 = 20_000;

const MEMORY_BYTES: u64 = 96 << 20;

const PIPELINE: Pipeline = Pipeline {
    connections: 4,
    depth: 8,
};

/// Servers are installed one after the other: two at the same time fail now and then.
static TURN: Mutex<()> = Mutex::new(());

/// Loads, and runs each mix for a moment; what came out.
fn run(
    name: &str,
    side: impl FnOnce(&YcsbArguments, &[u8], &mut Vec<u8>) -> Result<()>,
) -> Result<Vec<TaskReport>> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = std::env::temp_dir().join(format!("peers-{name}-{}", std::process::id()));
    let arguments = YcsbArguments {
        common: Arguments {
            folder: folder.clone(),
            memory_bytes: MEMORY_BYTES,
            memory_group: None,
            seconds_max: None,
        },
        rows: ROWS,
    };
    let task = |updates| Task {
        updates,
        skew: 1.0,
        warm_seconds: 0.1,
        windows: 1,
        window_seconds: 0.4,
        seed: 1,
    };
    let mut input = Vec::new();
    for updates in [0.0, 0.1, 0.5] {
        input.extend(serde_json::to_vec(&task(updates))?);
        input.push(b'\n');
    }
    let mut output = Vec::new();
    side(&arguments, &input, &mut output)?;
    std::fs::remove_dir_all(&folder)?;
    let mut lines = output.split(|byte| *byte == b'\n');
    let loaded: Loaded = serde_json::from_slice(lines.next().expect("it is loaded"))?;
    assert!(loaded.bytes_on_disk > ROWS * 1_000, "{loaded:?}");
    let reports = lines.filter(|line| !line.is_empty());
    let reports: Result<Vec<TaskReport>, _> = reports.map(serde_json::from_slice).collect();
    let reports = reports?;
    assert_eq!(reports.len(), 3);
    assert!(
        reports.iter().all(|report| report.rates[0] > 0.0),
        "{reports:?}"
    );
    Ok(reports)
}

#[test]
fn innodb_answers_rightly() -> Result<()> {
    run("innodb", |arguments, input, output| {
        innodb_ycsb::serve(arguments, PIPELINE, input, output)
    })?;
    Ok(())
}

/// Updates are not hidden by what memcached has, and most reads of hot rows come from it.
#[test]
fn innodb_behind_memcached_answers_rightly() -> Result<()> {
    let reports = run("memcached", |arguments, input, output| {
        memcached_ycsb::serve(arguments, PIPELINE, 0.5, input, output)
    })?;
    let hits: Vec<f64> = reports
        .iter()
        .map(|report| report.counts.cache_hits as f64 / report.transactions as f64)
        .collect();
    assert!(hits[0] > 0.5 && hits[2] < hits[0], "{hits:?}");
    Ok(())
}

#[cfg(feature = "rocksdb")]
#[test]
fn rocksdb_answers_rightly() -> Result<()> {
    use crate::rocksdb_ycsb::{self, Threads};

    let threads = Threads {
        threads: 4,
        depth: 8,
    };
    run("rocksdb", |arguments, input, output| {
        rocksdb_ycsb::serve(arguments, threads, input, output)
    })?;
    Ok(())
}
