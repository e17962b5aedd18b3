//! The figures of the grid: each cell's own, the ratios that have a goal, and the tables for people.

use std::fmt;

use super::grid::{Cell, Mix};
use super::run::Run;
use super::sides::Side;
use crate::limits::disk::DiskProfile;
use crate::results::{Results, median};

/// Data by memory, and skews, of the figures of `goals.md`.
const GOAL_TIMES: u64 = 8;
const GOAL_SKEWS: [f64; 2] = [1.25, 1.5];

/// A figure of `goals.md`: how much faster ours is than a peer.
struct Goal {
    id: &'static str,
    mix: Mix,
    peer: Peer,
    /// What the paper says of its own system.
    paper: &'static str,
}

/// Who ours is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Innodb,
    /// With whichever share of the memory does best.
    Memcached,
    Rocksdb,
}

const GOALS: [Goal; 6] = [
    goal("A4a", Mix::ReadOnly, Peer::Innodb, "9 x MySQL"),
    goal("A4b", Mix::ReadHeavy, Peer::Innodb, "18 x MySQL"),
    goal("A4c", Mix::WriteHeavy, Peer::Innodb, "10 x MySQL"),
    goal(
        "A4d",
        Mix::ReadOnly,
        Peer::Memcached,
        "2 x MySQL behind Memcached",
    ),
    goal(
        "A4e",
        Mix::ReadHeavy,
        Peer::Memcached,
        "4 x MySQL behind Memcached",
    ),
    goal(
        "A4f",
        Mix::WriteHeavy,
        Peer::Memcached,
        "9 x MySQL behind Memcached",
    ),
];

const fn goal(id: &'static str, mix: Mix, peer: Peer, paper: &'static str) -> Goal {
    Goal {
        id,
        mix,
        peer,
        paper,
    }
}

impl Peer {
    const ALL: [Self; 3] = [Self::Innodb, Self::Memcached, Self::Rocksdb];

    fn name(self) -> &'static str {
        match self {
            Self::Innodb => "innodb",
            Self::Memcached => "innodb-memcached",
            Self::Rocksdb => "rocksdb",
        }
    }

    fn has(self, side: Side) -> bool {
        match self {
            Self::Innodb => side == Side::Innodb,
            Self::Memcached => side.memcached_share().is_some(),
            Self::Rocksdb => side == Side::Rocksdb,
        }
    }

    /// The best rate of a cell.
    fn rate(self, runs: &[Run], times: u64, cell: &Cell) -> Option<f64> {
        let rates = in_cell(runs, times, cell).filter(|run| self.has(run.side));
        rates.map(rate).max_by(f64::total_cmp)
    }
}

fn in_cell<'a>(runs: &'a [Run], times: u64, cell: &Cell) -> impl Iterator<Item = &'a Run> {
    let cell = *cell;
    runs.iter()
        .filter(move |run| run.times == times && run.cell == cell)
}

fn rate(run: &Run) -> f64 {
    median(&run.report.rates)
}

fn our_rate(runs: &[Run], times: u64, cell: &Cell) -> Option<f64> {
    in_cell(runs, times, cell)
        .find(|run| run.side == Side::Hedgerow)
        .map(rate)
}

fn ratio(runs: &[Run], times: u64, cell: &Cell, peer: Peer) -> Option<f64> {
    Some(our_rate(runs, times, cell)? / peer.rate(runs, times, cell)?)
}

/// Notes all figures.
pub fn note(results: &mut Results, runs: &[Run]) {
    for goal in &GOALS {
        if let Some(worst) = worst_ratio(runs, goal) {
            results.figure(goal.id, worst, "x", Some(goal.peer.name()));
        }
    }
    for run in runs {
        note_run(results, run);
    }
    for (times, cell) in cells(runs) {
        for peer in Peer::ALL {
            if let Some(ratio) = ratio(runs, times, &cell, peer) {
                let metric = format!("{times} x memory, {cell}: ours by theirs");
                results.figure(&metric, ratio, "x", Some(peer.name()));
            }
        }
    }
}

fn note_run(results: &mut Results, run: &Run) {
    let peer = run.side.peer();
    let peer = peer.as_deref();
    let name = |what: &str| format!("{} x memory, {}: {what}", run.times, run.cell);
    results.median_figure(&name("rate"), &run.report.rates, "1/s", peer);
    let reads = run.report.disk_reads_a_transaction();
    results.figure(&name("disk reads a transaction"), reads, "", peer);
    if run.side.memcached_share().is_some() {
        let hits = run.report.counts.cache_hits as f64 / run.report.transactions.max(1) as f64;
        results.figure(&name("memcached's hits a transaction"), hits, "", peer);
    }
    if let Some(resident) = run.resident {
        results.figure(&name("resident by limit"), resident, "", peer);
    }
    for (mark, value) in &run.report.marks {
        results.figure(&name(mark), *value, "", peer);
    }
    let setting = format!("{}, {} x memory", run.side, run.times);
    results.setting(&setting, &run.loaded.settings);
}

/// The smallest ratio of all skews and disk profiles; `None` while one is missing.
fn worst_ratio(runs: &[Run], goal: &Goal) -> Option<f64> {
    let mut worst: Option<f64> = None;
    for profile in profiles(runs) {
        for skew in GOAL_SKEWS {
            let mix = goal.mix;
            let ratio = ratio(runs, GOAL_TIMES, &Cell { profile, mix, skew }, goal.peer)?;
            worst = Some(worst.map_or(ratio, |worst| worst.min(ratio)));
        }
    }
    worst
}

fn profiles(runs: &[Run]) -> Vec<DiskProfile> {
    let has = |profile: &DiskProfile| runs.iter().any(|run| run.cell.profile == *profile);
    [DiskProfile::Native, DiskProfile::Cloud]
        .into_iter()
        .filter(has)
        .collect()
}

/// Sizes and cells that somebody has done, in the order in which they were.
fn cells(runs: &[Run]) -> Vec<(u64, Cell)> {
    let mut cells: Vec<(u64, Cell)> = Vec::new();
    for run in runs {
        if !cells.contains(&(run.times, run.cell)) {
            cells.push((run.times, run.cell));
        }
    }
    cells
}

/// Writes a table for each disk profile and mix, and what the paper says.
pub fn write_tables(f: &mut fmt::Formatter<'_>, runs: &[Run]) -> fmt::Result {
    let mut sides: Vec<Side> = Vec::new();
    for run in runs {
        if !sides.contains(&run.side) {
            sides.push(run.side);
        }
    }
    for profile in profiles(runs) {
        for mix in Mix::ALL {
            write!(
                f,
                "\ndisk profile {profile}, {mix}: transactions a second\n{:>6} {:>5}",
                "memory", "skew"
            )?;
            for side in &sides {
                write!(f, " {:>19}", side.to_string())?;
            }
            writeln!(f)?;
            let is_in = |(_, cell): &(u64, Cell)| (cell.profile, cell.mix) == (profile, mix);
            for (times, cell) in cells(runs).into_iter().filter(is_in) {
                write!(f, "{:>4} x {:>5}", times, cell.skew)?;
                for side in &sides {
                    let run = in_cell(runs, times, &cell).find(|run| run.side == *side);
                    match run {
                        Some(run) => write!(f, " {:>19.0}", rate(run))?,
                        None => write!(f, " {:>19}", "")?,
                    }
                }
                writeln!(f)?;
            }
        }
    }
    writeln!(f)?;
    for goal in &GOALS {
        let (id, mix, peer, paper) = (goal.id, goal.mix, goal.peer.name(), goal.paper);
        let what = format!("{id}: {mix}, 8 x memory, skews 1.25 and 1.5, at least");
        match worst_ratio(runs, goal) {
            Some(worst) => writeln!(f, "{what} {worst:.1} x {peer} (the paper's: {paper})")?,
            None => writeln!(f, "{what}: not all of it was run (the paper's: {paper})")?,
        }
    }
    Ok(())
}
