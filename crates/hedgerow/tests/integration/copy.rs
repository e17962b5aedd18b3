//! The initial copy: cut short by kills, overtaken by changes.

use std::time::Duration;

use anyhow::Result;
use postgres::NoTls;
use tempfile::TempDir;
use testbed::{Hedgerow, HedgerowOptions};

use crate::replica::{DATABASE, source};

#[test]
fn a_copy_that_is_killed_and_overtaken_by_changes_ends_equal() -> Result<()> {
    let postgres = source(
        "create table big (id int primary key, n int, t text);
         create table grown (n int);
         insert into big select i, 0, md5(i::text) from generate_series(1, 400000) i;
         insert into grown select generate_series(1, 100000);",
    )?;
    let folder = TempDir::with_prefix("testbed-copy-")?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("data"))?;
    let mut hedgerow = Hedgerow::start(options)?;
    let mut source = postgres::Client::connect(&postgres.url(DATABASE), NoTls)?;
    for round in 0..4 {
        for change in 0..20 {
            source.batch_execute(&format!(
                "update big set n = n + 1 where id % 1000 = {change};
                 delete from big where id = {round} * 1000 + {change} + 500;
                 insert into grown values ({round})"
            ))?;
        }
        std::thread::sleep(Duration::from_millis(150));
        hedgerow.kill()?;
        hedgerow.start_again()?;
    }
    hedgerow.wait_ready()?;
    source.batch_execute("update testbed_barrier set value = 1")?;
    hedgerow.wait_for_value("select value from testbed_barrier", "1")?;
    hedgerow.verify()?;
    // One replica, one slot: what was begun and given up must not hold the source's log.
    let slots =
        testbed::bank::single_value(&mut source, "select count(*) from pg_replication_slots")?;
    assert_eq!(slots, "1");
    Ok(())
}
