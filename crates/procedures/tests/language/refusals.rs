//! What a row may not be, and what is too large.

use procedures::{Datum, SqlType};

use crate::world::World;

fn world() -> World {
    World::new(
        "create table things (
            id integer primary key,
            tag varchar(3) not null unique,
            price numeric(6, 2) check (price > 0),
            small smallint,
            low integer, high integer,
            constraint in_order check (low <= high),
            check (low <> 13)
         ) with (primary_index = hash)",
    )
}

fn insert(world: &mut World, values: &str) -> String {
    match world.send(&format!("insert into things values ({values})"), &[]) {
        Ok(_) => "fine".to_owned(),
        Err(rejection) => format!("{} {}", rejection.code, rejection.message),
    }
}

#[test]
fn each_rule_has_its_sqlstate_and_its_words() {
    let mut world = world();
    for (values, expected) in [
        ("1, 'abc', 1.5, 1, 1, 2", "fine"),
        ("2, 'b', null, null, null, null", "fine"),
        (
            "1, 'c'",
            "23505 duplicate key value violates unique constraint \"things_pkey\"",
        ),
        (
            "3, 'abc'",
            "23505 duplicate key value violates unique constraint \"things_tag_key\"",
        ),
        (
            "3, null",
            "23502 null value in column \"tag\" of relation \"things\" violates not-null constraint",
        ),
        (
            "null, 'x'",
            "23502 null value in column \"id\" of relation \"things\" violates not-null constraint",
        ),
        (
            "3, 'ab' || 'cd'",
            "22001 value too long for type character varying(3)",
        ),
        (
            "3, 'x', 0",
            "23514 new row for relation \"things\" violates check constraint \"things_price_check\"",
        ),
        ("3, 'x', 99999", "22003 numeric field overflow"),
        ("3, 'x', 1, 32768", "22003 smallint out of range"),
        (
            "3, 'x', 1, 1, 2, 1",
            "23514 new row for relation \"things\" violates check constraint \"in_order\"",
        ),
        (
            "3, 'x', 1, 1, 13, 14",
            "23514 new row for relation \"things\" violates check constraint \"things_low_check\"",
        ),
        ("3, 'x', 1 / 0", "22012 division by zero"),
        ("2147483647 + 1, 'x'", "22003 integer out of range"),
    ] {
        assert_eq!(insert(&mut world, values), expected, "{values}");
    }
    assert_eq!(
        world.refused("update things set high = 0 where id = 1").0,
        "23514"
    );
    assert_eq!(
        world.refused("update things set tag = 'b' where id = 1").0,
        "23505"
    );
    assert_eq!(
        world.refused("update things set tag = null where id = 1").0,
        "23502"
    );
    assert_eq!(
        world.refused("update things set id = 2 where id = 1").0,
        "23505"
    );
    assert_eq!(
        world.changed("update things set id = 9, small = small + 1 where id = 1"),
        1
    );
    assert_eq!(world.changed("delete from things where id = 9"), 1);
    assert_eq!(world.changed("delete from things where tag = 'abc'"), 0);
}

#[test]
fn a_row_that_is_too_long_is_refused() {
    let mut world = World::new("create table texts (id integer primary key, t text)");
    let text = Datum::text("x".repeat(70_000));
    let result = world.send_typed(
        "insert into texts values (1, $1)",
        &[Some(SqlType::Text)],
        &[text],
    );
    assert_eq!(result.expect_err("refused").code, "54000");
}
