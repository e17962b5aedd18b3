//! One flipped byte in each segment in turn: an error that names file and table, or the right
//! answer; never a wrong row. The other tables go on.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use postgres::Client;
use testbed::tpch::answers::Answer;

use crate::replica::{Replica, refusal};

/// SQLSTATE of damaged data.
const CORRUPTED: &str = "XX001";

const QUERIES: [(&str, &str); 2] = [
    ("a", "select id, t, n from a order by id"),
    ("b", "select id, t, n from b order by id"),
];

#[test]
fn a_flipped_byte_is_named_and_never_served() -> Result<()> {
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
    replica.hedgerow.stop()?;
    let segments = segments(replica.hedgerow.data())?;
    ensure!(segments.len() >= 2, "{} segments", segments.len());
    let mut refused = 0;
    for (number, segment) in segments.iter().enumerate() {
        let name = segment
            .file_name()
            .and_then(|name| name.to_str())
            .context("a name")?;
        let length = fs::metadata(segment)?.len();
        // A different place each time: beginnings, middles, ends.
        let offset = (length - 1) * (number as u64 * 37 % 101) / 100;
        flip(segment, offset)?;
        replica.hedgerow.start_again()?;
        refused += check_flipped(&mut replica, name, &expected)
            .with_context(|| format!("byte {offset} of {length} of {name} flipped"))?;
        replica.hedgerow.stop()?;
        // The same flip again mends it, if the file is still there.
        if segment.exists() {
            flip(segment, offset)?;
        }
    }
    ensure!(refused > 0, "no flip was ever noticed");
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    let healed = answers(&mut replica.connect()?)?;
    assert_eq!(healed, expected);
    Ok(())
}

/// With one segment damaged: 1 when a table was refused or the start was.
fn check_flipped(replica: &mut Replica, name: &str, expected: &[Answer; 2]) -> Result<u32> {
    if let Err(error) = replica.hedgerow.wait_ready() {
        // A damaged footer may be found before anything is served; it must be named.
        ensure!(format!("{error:#}").contains(name), "not named: {error:#}");
        replica.hedgerow.start_again()?;
        return Ok(1);
    }
    let mut refused = 0;
    for ((table, query), expected) in QUERIES.iter().zip(expected) {
        let mut client = replica.connect()?;
        match Answer::ask(&mut client, query) {
            Ok(answer) => answer.ensure_equal(expected)?,
            Err(_) => {
                let (code, texts) = refusal(&mut replica.connect()?, query)?;
                ensure!(code == CORRUPTED, "{code}: {texts}");
                ensure!(texts.contains(name), "the file is not named: {texts}");
                ensure!(texts.contains(table), "the table is not named: {texts}");
                refused += 1;
            }
        }
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
