//! A cut connection to the source: no gap, no duplicate, nobody has to help.

use anyhow::Result;
use tempfile::TempDir;
use testbed::bank::single_value;
use testbed::cut_link::CutLink;
use testbed::{Hedgerow, HedgerowOptions};

use crate::replica::{DATABASE, source};

#[test]
fn a_cut_connection_mends_itself_without_gap_or_duplicate() -> Result<()> {
    let postgres = source(
        "create table counted (id int primary key, n int);
         create table grown (n int);
         insert into counted select i, 0 from generate_series(1, 1000) i;",
    )?;
    let link = CutLink::to(postgres.port())?;
    let folder = TempDir::with_prefix("testbed-cut-")?;
    let url = postgres.url_through(link.port(), DATABASE);
    let hedgerow = Hedgerow::start_ready(HedgerowOptions::new(url, &folder.path().join("data"))?)?;
    let mut source = postgres.connect(DATABASE)?;
    for round in 1..=200 {
        source.batch_execute(&format!(
            "begin; update counted set n = n + 1 where id % 10 = {round} % 10;
             insert into grown select {round} from generate_series(1, 50); commit"
        ))?;
        if round % 20 == 0 {
            link.break_once();
        }
    }
    let sums = "select (select sum(n) from counted) * 1000000 + (select count(*) from grown)";
    hedgerow.wait_for_value(sums, "20000010000")?;

    // Longer without a link: the last state is served, and what was missed arrives afterwards.
    link.cut();
    source.batch_execute("update counted set n = n + 1")?;
    assert_eq!(single_value(&mut hedgerow.connect()?, sums)?, "20000010000");
    let status = single_value(
        &mut hedgerow.connect()?,
        "select state || reason from hedgerow.sources",
    )?;
    println!("state while cut: {status}");
    link.mend();
    hedgerow.wait_for_value(sums, "21000010000")?;
    hedgerow.verify()?;
    Ok(())
}
