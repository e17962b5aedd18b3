//! Values too large for the row: PostgreSQL does not send them again when they have not changed.

use anyhow::Result;

use crate::replica::Replica;

const TABLE: &str = "create table toasted (id int primary key, n int, big text, doc jsonb);
     alter table toasted alter big set storage external;
     insert into toasted
       select i, 0, string_agg(md5((i * 1000 + j)::text), ''),
              jsonb_build_object('k', string_agg(md5((i * 2000 + j)::text), ''))
       from generate_series(1, 20) i, generate_series(1, 400) j group by i;";

const ALL: &str = "select id, n, length(big), md5(big), md5(doc::text) from toasted order by id";

#[test]
fn an_unchanged_large_value_is_kept_under_the_default_identity() -> Result<()> {
    let mut replica = Replica::of(TABLE)?;
    replica.at_source("update toasted set n = 1 where id <= 10")?;
    replica.ensure_same(ALL)?;
    // One column new, one unchanged; several patches on one row; a patch on a streamed row.
    replica.at_source("update toasted set n = 2, big = 'short now' where id in (1, 2)")?;
    replica.at_source("update toasted set n = 3 where id = 1")?;
    replica.at_source("update toasted set n = n + 1 where id <= 5")?;
    replica.at_source("insert into toasted select 21, 0, big, doc from toasted where id = 20")?;
    replica.at_source("update toasted set n = 1 where id = 21")?;
    replica.ensure_same(ALL)?;
    replica.kill_and_restart()?;
    replica.at_source("update toasted set n = -1 where id > 15")?;
    replica.ensure_same(ALL)?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_new_key_takes_the_large_value_with_it() -> Result<()> {
    let mut replica = Replica::of(TABLE)?;
    replica.at_source("update toasted set id = id + 100 where id <= 3")?;
    replica.ensure_same(ALL)?;
    // Written, patched and moved, twice, in one transaction.
    replica.at_source(
        "begin; insert into toasted select 200, 5, big, doc from toasted where id = 4;
         update toasted set n = 6 where id = 200; update toasted set id = 201 where id = 200;
         update toasted set big = 'x' || big where id = 201; update toasted set id = 202 where id = 201;
         savepoint s; update toasted set id = 203 where id = 202; rollback to s; commit;
         update toasted set id = 300, n = 7 where id = 101;",
    )?;
    replica.ensure_same(ALL)?;
    replica.kill_and_restart()?;
    replica.at_source("update toasted set id = -id")?;
    replica.ensure_same(ALL)?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn an_unchanged_large_value_comes_from_the_old_row_under_full_identity() -> Result<()> {
    let mut replica = Replica::of(&format!(
        "{TABLE} alter table toasted replica identity full;"
    ))?;
    replica
        .at_source("update toasted set n = 1; update toasted set id = id + 100 where id <= 3")?;
    replica.at_source("delete from toasted where id = 7")?;
    replica.ensure_same(ALL)?;
    replica.hedgerow.verify()?;
    Ok(())
}
