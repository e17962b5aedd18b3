//! What the command log runs again: calls of every version, and statements on their own.

use procedures::{Application, StoredSchema};
use tempfile::TempDir;

use crate::world::World;

fn reopened(folder: &TempDir, schema: &StoredSchema) -> World {
    let application = Application::of_stored(schema).unwrap_or_else(|fault| panic!("{fault}"));
    World::open(folder.path(), application, None, true)
}

fn schema(step: &str, more: &str) -> StoredSchema {
    let text = format!(
        "create table counters (id integer primary key, n bigint not null, at timestamptz default now());
         create procedure step(c integer) as begin atomic
             update counters set n = n {step} where id = c;
         end;
         create procedure read(c integer) as begin atomic select n from counters where id = c; end;
         {more}"
    );
    StoredSchema::of_file(&text).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn the_log_runs_each_call_as_the_version_that_it_was() {
    let folder = TempDir::new().expect("a folder");
    let first = schema("+ 1", "");
    let mut world = reopened(&folder, &first);
    world.changed("insert into counters values (1, 10), (2, 20)");
    world.changed("call step(1)");
    world.settle();
    drop(world);
    let second = first.followed_by(&schema("* 2", ""));
    let second = second.unwrap_or_else(|fault| panic!("{fault}"));
    let mut world = reopened(&folder, &second);
    assert_eq!(world.rows("call read(1)"), ["11"]);
    world.changed("call step(1)");
    world.changed("update counters set n = n + 100 where id = 2");
    world.settle();
    let digests = world.partition.digests();
    drop(world);
    // With a table that was added since, and without the procedure.
    let third = "create table counters (id integer primary key, n bigint not null, at timestamptz default now());
                 create table others (id integer primary key);
                 create procedure read(c integer) as begin atomic select n from counters where id = c; end";
    let third = StoredSchema::of_file(third).unwrap_or_else(|fault| panic!("{fault}"));
    let third = second.followed_by(&third);
    let third = third.unwrap_or_else(|fault| panic!("{fault}"));
    let mut world = reopened(&folder, &third);
    assert_eq!(world.partition.digests()[..1], digests[..]);
    assert_eq!(world.rows("call read(1)"), ["22"]);
    assert_eq!(world.rows("call read(2)"), ["120"]);
    assert_eq!(world.changed("insert into others values (1)"), 1);
}

#[test]
fn a_table_may_be_added_behind_a_snapshot() {
    let folder = TempDir::new().expect("a folder");
    let first = schema("+ 1", "");
    let mut world = reopened(&folder, &first);
    world.changed("insert into counters values (1, 10)");
    world.settle();
    assert!(world.partition.begin_snapshot());
    for _ in 0..1_000 {
        world.settle();
    }
    assert_eq!(world.partition.snapshot_statistics().completed, 1);
    drop(world);
    let second = schema("+ 1", "create table others (id integer primary key)");
    let second = first.followed_by(&second);
    let second = second.unwrap_or_else(|fault| panic!("{fault}"));
    let mut world = reopened(&folder, &second);
    assert!(world.partition.recovery().snapshot.is_some());
    assert_eq!(world.rows("call read(1)"), ["10"]);
    world.changed("insert into others values (1)");
    world.settle();
    drop(world);
    let mut world = reopened(&folder, &second);
    assert_eq!(world.refused("insert into others values (1)").0, "23505");
}
