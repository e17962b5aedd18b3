//! Procedures on rows that are on disk: the answers are the same.

use tempfile::TempDir;

use crate::world::{World, application};

const SCHEMA: &str = "
    create table items (id integer primary key, shelf integer not null, n bigint not null, note text not null);
    create index items_by_shelf on items (shelf);
    create procedure add(i integer, t text) as begin atomic insert into items values (i, i / 10, 0, t); end;
    create procedure move(a integer, b integer, n bigint) as begin atomic
        update items set n = items.n - move.n where id = a;
        update items set n = items.n + move.n, note = note where id = b;
    end;
    create procedure shelf(s integer) as begin atomic select id, n from items where shelf = s; end;
    create procedure clear(s integer) as begin atomic delete from items where shelf = s and n < 0; end;
    create procedure read(i integer) as begin atomic select n, length(note) from items where id = i; end;
";

#[test]
fn answers_are_the_same_with_rows_on_disk() {
    let folder = TempDir::new().expect("a folder");
    let mut world = World::open(folder.path(), application(SCHEMA), Some(1 << 20), false);
    let note = "x".repeat(900);
    let rows = 2_000;
    for item in 0..rows {
        world.changed(&format!("call add({item}, '{note}')"));
        world.settle();
    }
    let evicted = world.partition.table_statistics()[0].rows_evicted;
    assert!(evicted > 500, "{evicted} rows on disk");
    for item in 0..rows / 2 {
        let call = format!("call move({item}, {}, {item})", rows - 1 - item);
        assert_eq!(world.changed(&call), 2);
        world.settle();
    }
    assert_eq!(world.rows("call read(7)"), ["-7|900"]);
    let read = format!("call read({})", rows - 8);
    assert_eq!(world.rows(&read), ["7|900"]);
    assert_eq!(world.rows("call shelf(3)").len(), 10);
    assert_eq!(world.changed("call clear(3)"), 10);
    assert_eq!(world.rows("call shelf(3)").len(), 0);
    assert_eq!(world.changed("call clear(199)"), 0);
    assert_eq!(world.rows("call read(30)").len(), 0);
}
