//! Hedgerow beside what the source can deliver, for three kinds of change.
//!
//! For each: a table at the publisher is copied by hedgerow, under a memory limit; while it is stopped a backlog
//! is made, which first goes to nowhere (the ceiling), then to hedgerow. Medians of the rounds are compared.
//!
//! * *narrow*: rows of two numbers, updated at random, 100 a transaction.
//! * *wide*: rows of 1 KiB, which do not compress well, the same.
//! * *one transaction*: many more narrow rows than fit in the memory, inserted at once.

use tempfile::TempDir;

use super::ceiling::Ceiling;
use super::hedgerow_side::HedgerowSide;
use super::{Result, backlog, empty_publisher, say};
use crate::Scale;
use crate::limits::memory::MemoryLimit;
use crate::limits::undo::AtEnd;
use crate::results::{Results, median};

/// A kind of change.
struct Load {
    name: &'static str,
    /// Makes the table `changed`, of which a row with `id` 1 gets another `n` at the end of each backlog.
    table: String,
    /// What each round does, and to how many rows.
    backlog: String,
    changes: u64,
    /// What tells the table's contents in one value.
    check: &'static str,
}

/// The procedure that makes random updates: `setter` sets a row's columns.
fn updates(setter: &str) -> String {
    format!(
        "create procedure make_backlog(transactions bigint, updates bigint, rows bigint)
         language plpgsql as $$
         declare
           -- In the statement they would be drawn anew for every row of a table.
           chosen bigint;
           drawn int;
         begin
           for transaction in 1..transactions loop
             for number in 1..updates loop
               chosen := 2 + floor(random() * (rows - 2))::bigint;
               drawn := floor(random() * 10000);
               update changed set {setter} where id = chosen;
             end loop;
             commit;
           end loop;
         end $$;"
    )
}

const UPDATES: u64 = backlog::UPDATES_PER_TRANSACTION;

/// The loads by name.
pub const LOADS: [&str; 3] = ["narrow", "wide", "one-transaction"];

fn loads(scale: Scale) -> [Load; 3] {
    let size = match scale {
        Scale::Quick => 1,
        Scale::Full => 20,
    };
    let (narrow, wide, inserted) = (100_000 * size, 20_000 * size, 500_000 * size);
    let update = |rows: u64, updates: u64| {
        format!(
            "call make_backlog({}, {UPDATES}, {rows})",
            updates / UPDATES
        )
    };
    [
        Load {
            name: LOADS[0],
            table: format!(
                "create table changed (id bigint primary key, n bigint not null);
                 insert into changed select i, i from generate_series(1, {narrow}) i; {}",
                updates("n = floor(random() * 1e9)")
            ),
            backlog: update(narrow, narrow / 2),
            changes: narrow / 2,
            check: "select sum(n * (id % 1000)) from changed",
        },
        Load {
            name: LOADS[1],
            // Random hexadecimal digits: half of their bytes are all that can be saved.
            table: format!(
                "create unlogged table texts as
                   select i, (select string_agg(md5(random()::text || i || j), '')
                              from generate_series(1, 31) j) as t
                   from generate_series(0, 9999) i;
                 alter table texts add primary key (i);
                 create table changed (id bigint primary key, n bigint not null, t text not null);
                 alter table changed alter t set storage plain;
                 insert into changed
                   select s, s, t from generate_series(1, {wide}) s join texts on i = s % 10000; {}",
                updates(
                    "n = floor(random() * 1e9),
                     t = (select t from texts where i = drawn)"
                )
            ),
            // As many as narrow ones: of fewer, what a start and the last flush cost would be a good part.
            backlog: update(wide, narrow / 2),
            changes: narrow / 2,
            check: "select sum(n * (id % 1000) + ascii(t) * 7 + length(t)) from changed",
        },
        Load {
            name: LOADS[2],
            table: "create table changed (id bigint primary key, n bigint not null);
                    insert into changed values (1, 0)"
                .to_owned(),
            backlog: format!(
                "insert into changed
                   select m + i, i from (select max(id) as m from changed) c,
                                        generate_series(1, {inserted}) i"
            ),
            changes: inserted,
            check: "select sum(n * (id % 1000)) from changed",
        },
    ]
}

/// Runs the experiment, with all loads if none is `chosen`.
pub fn run(scale: Scale, chosen: &[String]) -> Result<Results> {
    let (name, memory_bytes, rounds) = match scale {
        Scale::Quick => ("quick", 128 << 20, 1),
        Scale::Full => ("full", 256 << 20, 3),
    };
    let _undone = AtEnd;
    let mut results = Results::new("ceiling", name);
    results.setting("memory limit, bytes", memory_bytes);
    results.setting("updates a transaction", UPDATES);
    results.setting("rounds", rounds);
    let is_chosen = |load: &Load| chosen.is_empty() || chosen.iter().any(|name| name == load.name);
    for load in loads(scale).into_iter().filter(is_chosen) {
        compare(&load, memory_bytes, rounds, &mut results)?;
    }
    Ok(results)
}

fn compare(load: &Load, memory_bytes: u64, rounds: u32, results: &mut Results) -> Result<()> {
    let folder = TempDir::with_prefix("bench-ceiling-")?;
    let publisher = empty_publisher()?;
    publisher.execute(super::DATABASE, &load.table)?;
    publisher.execute(super::DATABASE, "vacuum analyze")?;
    let limit = MemoryLimit::new(load.name, memory_bytes);
    let mut hedgerow =
        HedgerowSide::copy(&publisher, folder.path(), limit, memory_bytes, load.check)?;
    let ceiling = Ceiling::new(&publisher, "changed")?;
    let (mut most, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        say(&format!("{}, round {round}: making the backlog", load.name));
        let last = "update changed set n = n + 1 where id = 1";
        let backlog = backlog::of(&publisher, load.changes, &load.backlog, last)?;
        most.push(ceiling.drain(&publisher, &backlog)?);
        ours.push(hedgerow.drain(&publisher, &backlog)?);
        say(&format!(
            "  ceiling {:.0}, hedgerow {:.0} rows/s",
            most.last().copied().unwrap_or_default(),
            ours.last().copied().unwrap_or_default()
        ));
    }
    let name = load.name;
    results.setting(&format!("{name}, rows a round"), load.changes);
    results.median_figure(&format!("drain, {name}"), &ours, "rows/s", None);
    let peer = Some("pgoutput-to-nowhere");
    results.median_figure(&format!("drain, {name}"), &most, "rows/s", peer);
    let ratio = median(&ours) / median(&most);
    results.figure(&format!("R1c, {name}"), ratio, "ratio", peer);
    hedgerow.note_memory(results, &format!("memory with page cache, most, {name}"))
}
