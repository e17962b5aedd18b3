//! One flipped byte after the other, in all segments: an error that names file and table, or the right
//! answer; never a wrong row. The other tables go on, and the damaged one is copied again by itself.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use postgres::Client;
use testbed::patience::wait_for;
use testbed::tpch::answers::Answer;

use crate::replica::Replica;

/// SQLSTATE of damaged data.
const CORRUPTED: &str = "XX001";
/// How a table is refused that is being copied again.
const BEING_COPIED: &str = "is still being copied";

const QUERIES: [(&str, &str); 2] = [
    ("a", "select id, t, n from a order by id"),
    ("b", "select id, t, n from b order by id"),
];

/// Bytes flipped, one after the other.
const FLIPS: u64 = 8;

#[test]
fn a_flipped_byte_is_named_never_served_and_repaired() -> Result<()> {
    let mut replica = Replica::of(
        "create table a (id int primary key, t text, n numeric(12, 2));
         create table b (id int primary key, t text, n numeric(12, 2));
         insert into a select i, md5(i::text), i / 8.0 from generate_series(1, 30000) i;
         insert into b select i, md5(i::text), i / 8.0 from generate_series(1, 30000) i;",
    )?;
    replica
        .at_source("update a set t = 'changed' where id % 7 = 0; delete from b where id % 5 = 0")?;
    replica.catch_up()?;
    let expected = answers(&mut replica.postgres.connect("postgres")?)?;
    // A stop in good order leaves everything in segments.
    replica.restart()?;
    let mut refused = 0;
    for number in 0..FLIPS {
        replica.hedgerow.stop()?;
        // Tables that were copied again have other segments.
        let segments = segments(replica.hedgerow.data())?;
        ensure!(segments.len() >= 2, "{} segments", segments.len());
        let segment = &segments[number as usize % segments.len()];
        let length = fs::metadata(segment)?.len();
        // A different place each time: beginnings, middles, ends.
        let offset = (length - 1) * (number * 37 % 101) / 100;
        flip(segment, offset)?;
        replica.hedgerow.start_again()?;
        let context = || format!("byte {offset} of {length} of {} flipped", segment.display());
        if number % 2 == 1 {
            check_verdicts(&mut replica).with_context(context)?;
        }
        refused += check_flipped(&mut replica, segment, &expected).with_context(context)?;
        // The table is copied again by itself.
        wait_for("both tables to be whole", || {
            let found = answers(&mut replica.connect()?)?;
            ensure!(found == expected, "another answer");
            Ok(Some(()))
        })
        .with_context(context)?;
    }
    ensure!(refused > 0, "no flip was ever noticed");
    // The last flip may have been in the barrier's table, which nobody has read since.
    wait_for("all tables to be whole", || {
        replica.hedgerow.verify().map(drop).map(Some)
    })
}

/// A table in which the comparison meets damage has its verdict, as the others have.
fn check_verdicts(replica: &mut Replica) -> Result<()> {
    replica.hedgerow.wait_ready()?;
    let output = replica.hedgerow.run(&["verify"])?;
    let verdicts = String::from_utf8_lossy(&output.stdout);
    for table in ["public.a", "public.b"] {
        ensure!(verdicts.contains(table), "none of {table}: {verdicts}");
    }
    Ok(())
}

/// With one segment damaged: how many tables were refused.
fn check_flipped(replica: &mut Replica, segment: &Path, expected: &[Answer; 2]) -> Result<u32> {
    replica.hedgerow.wait_ready()?;
    let name = segment.file_name().and_then(|name| name.to_str());
    let name = name.context("a name")?;
    let mut refused = 0;
    for ((table, query), expected) in QUERIES.iter().zip(expected) {
        let error = match Answer::ask(&mut replica.connect()?, query) {
            Ok(answer) => {
                answer.ensure_equal(expected)?;
                continue;
            }
            Err(error) => error,
        };
        let told = error.downcast_ref::<postgres::Error>();
        let told = told.and_then(postgres::Error::as_db_error);
        let told = told.context("an answer")?;
        let text = format!("{} {}", told.message(), told.detail().unwrap_or_default());
        let table = format!("public.{table}");
        ensure!(text.contains(&table), "the table is not named: {text}");
        let is_named = told.code().code() == CORRUPTED && text.contains(name);
        // Or something else has met the damage before us.
        let is_repaired = text.contains(BEING_COPIED);
        ensure!(is_named || is_repaired, "not named: {text}");
        refused += 1;
    }
    ensure!(
        refused <= 1,
        "one segment belongs to one table, {refused} were refused"
    );
    Ok(refused)
}

fn answers(client: &mut Client) -> Result<[Answer; 2]> {
    let [a, b] = QUERIES.map(|(_, query)| Answer::ask(client, query));
    Ok([a?, b?])
}

/// All segment files, largest first.
fn segments(data: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "seg")
            {
                paths.push(entry.path());
            }
        }
    }
    paths.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).map_or(0, |m| m.len())));
    Ok(paths)
}

fn flip(path: &Path, offset: u64) -> Result<()> {
    let file = fs::File::options().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset)?;
    byte[0] ^= 0x10;
    file.write_all_at(&byte, offset)?;
    Ok(())
}
