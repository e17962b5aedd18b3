//! COPY TO STDOUT gives PostgreSQL's bytes.

use std::io::Read;

use anyhow::Result;
use postgres::Client;
use testbed::differential::data;

use crate::replica::{Replica, refusal};

fn copied(client: &mut Client, statement: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    client.copy_out(statement)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn every_form_has_the_bytes_of_postgresql() -> Result<()> {
    let replica = Replica::of(&data::statements())?;
    let mut source = replica.postgres.connect("postgres")?;
    source.batch_execute("set timezone = 'UTC'")?;
    let mut client = replica.connect()?;
    for statement in [
        "copy (select * from t order by id) to stdout",
        "copy (select * from t order by id) to stdout csv header",
        "copy (select * from o order by k, line) to stdout \
         (format csv, null 'x', force_quote (what), delimiter ';')",
        "copy (select * from t order by id) to stdout binary",
        "copy (select E'x\\t\\\\y\\n\"z' as c, '' as d) to stdout",
        "copy (select E'x\\t\\\\y\\n\"z' as c, '' as d) to stdout (format csv)",
        "copy e (s, id) to stdout csv header",
    ] {
        let expected = copied(&mut source, statement)?;
        assert_eq!(copied(&mut client, statement)?, expected, "{statement}");
    }
    assert_eq!(refusal(&mut client, "copy t from stdin")?.0, "25006");
    Ok(())
}
