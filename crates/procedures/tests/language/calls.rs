//! Procedures, called.

use procedures::{Datum, SqlType};

use crate::world::{BANK, World};

fn bank() -> World {
    let mut world = World::new(BANK);
    for account in 1..=3 {
        let call = format!("call open_account({account}, 'owner ' || {account} % 2, 100)");
        assert_eq!(world.changed(&call), 1);
    }
    world
}

#[test]
fn all_of_a_call_happens_or_nothing() {
    let mut world = bank();
    assert_eq!(world.changed("CALL transfer(1, 1, 2, 30);"), 4);
    assert_eq!(world.rows("call balance(1)"), ["70"]);
    assert_eq!(world.rows("call balance(2)"), ["130"]);
    let (code, message) = world.refused("call transfer(2, 2, 1, 131)");
    assert_eq!(code, "23514");
    assert_eq!(
        message,
        "new row for relation \"accounts\" violates check constraint \"accounts_balance_check\""
    );
    // The last statement fails: what the others did does not remain.
    let rejection = world
        .send("call transfer(1, 1, 2, 5)", &[])
        .expect_err("twice");
    assert_eq!(rejection.code, "23505");
    let detail = rejection.detail.as_deref();
    assert_eq!(detail, Some("Key (id, part)=(1, 1) already exists."));
    assert_eq!(world.rows("call balance(1)"), ["70"]);
    assert_eq!(
        world.refused("call transfer(3, 1, 9, 5)"),
        ("45001".to_owned(), "there is no account 9".to_owned())
    );
}

#[test]
fn arguments_are_values_expressions_and_parameters() {
    let mut world = bank();
    let values = [Datum::Int(7), Datum::Int(2), Datum::Int(10)];
    let call = "call transfer($1, 1, $2::bigint, $3 + 5)";
    assert_eq!(world.send(call, &values).expect("committed").0, 4);
    assert_eq!(world.rows("call balance(1)"), ["85"]);
    let prepared = world.application.prepare("call balance($1)", &[]);
    let prepared = prepared.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(prepared.parameters, [SqlType::BigInt]);
    let columns = prepared.answers.expect("it answers rows");
    assert_eq!(
        (columns[0].name.as_str(), columns[0].sql_type),
        ("balance", SqlType::BigInt)
    );
    let null = world.send("call balance($1)", &[Datum::Null]);
    assert_eq!(null.expect("no such row").1.len(), 0);
    let owners = world.rows("call accounts_of('owner 1')");
    assert_eq!(owners, ["1|85", "3|100"]);
}

#[test]
fn a_call_that_does_not_fit_says_what_would() {
    let mut world = bank();
    let (code, message) = world.refused("call transfer(1, 2)");
    assert_eq!(code, "42883");
    assert!(
        message.contains("has 4 parameters, and the call 2"),
        "{message}"
    );
    assert!(
        message.contains("CALL transfer(number bigint, a bigint, b bigint, n bigint)"),
        "{message}"
    );
    let (code, message) = world.refused("call transfr(1)");
    assert_eq!(code, "42883");
    assert!(message.contains("balance(a bigint)"), "{message}");
    assert_eq!(world.refused("call balance('x')").0, "22P02");
    assert_eq!(world.refused("call balance(true)").0, "42804");
    assert_eq!(world.refused("call balance(now())").0, "0A000");
    assert_eq!(world.refused("call balance(1) and").0, "42601");
    assert_eq!(
        world.refused("call balance(9223372036854775808)").0,
        "22003"
    );
}

#[test]
fn the_time_is_that_of_the_transaction() {
    let mut world = World::new(
        "create table moments (id integer primary key, a timestamptz not null, b timestamptz default now(),
                               day date default current_date);
         create procedure note(n integer) as begin atomic
             insert into moments (id, a) values (n, current_timestamp);
             update moments set b = b where id = n and b = now();
             select a = b and a = now() and day = current_date from moments where id = n;
         end",
    );
    assert_eq!(world.rows("call note(1)"), ["true"]);
    assert_eq!(world.changed("call note(2)"), 2);
}

#[test]
fn variables_and_branches() {
    let mut world = World::new(
        "create table counts (name text primary key, n integer not null);
         create procedure grade(name text, points integer) as begin atomic
             declare n integer default 0;
             declare mark text;
             select counts.n into n from counts where counts.name = grade.name;
             if n is null then
                 insert into counts values (grade.name, 1);
                 set n = 1;
             else
                 set n = n + 1;
                 update counts set n = counts.n + 1 where counts.name = grade.name;
             end if;
             if points >= 90 then set mark = 'A';
             elseif points >= 50 then set mark = 'B';
             else set mark = 'C';
             end if;
             select mark, n as times, points / 10;
         end",
    );
    assert_eq!(world.rows("call grade('x', 95)"), ["A|1|9"]);
    assert_eq!(world.rows("call grade('x', 50)"), ["B|2|5"]);
    assert_eq!(world.rows("call grade('y', null)"), ["C|1|NULL"]);
}

#[test]
fn statements_on_their_own_are_transactions() {
    let mut world = bank();
    let insert = "insert into accounts (owner, id) values ($1, $2), ('z', 11)";
    let values = [Datum::text("y"), Datum::Int(10)];
    assert_eq!(world.send(insert, &values).expect("committed").0, 2);
    assert_eq!(world.rows("call balance(10)"), ["0"]);
    let update = "update accounts set balance = balance + $1 where id = $2";
    let values = [Datum::Int(5), Datum::Int(10)];
    assert_eq!(world.send(update, &values).expect("committed").0, 1);
    assert_eq!(world.rows("call balance(10)"), ["5"]);
    assert_eq!(
        world.changed("update accounts set balance = 7 where owner = 'owner 1'"),
        2
    );
    assert_eq!(world.changed("delete from accounts where id = 10"), 1);
    assert_eq!(world.changed("delete from accounts where id = 10"), 0);
    assert_eq!(
        world.refused("insert into accounts values (11, 'a')").0,
        "23505"
    );
    assert_eq!(world.refused("delete from accounts").0, "42601");
    assert_eq!(
        world
            .refused("delete from accounts where id = 1 returning id")
            .0,
        "42601"
    );
    let (code, message) = world.refused("delete from accounts where balance = 1");
    assert_eq!(code, "0A000");
    assert!(
        message.contains("accounts_pkey (id); accounts_by_owner (owner)"),
        "{message}"
    );
    let text = "insert into accounts values ($1, $2, $3)";
    let declared = [None, Some(SqlType::Integer)];
    let refused = world.send_typed(text, &declared, &[]).expect_err("no text");
    assert_eq!(refused.code, "42804");
    assert_eq!(
        world.refused("insert into accounts values ($2, 'x')").0,
        "42P18"
    );
}
