//! Schema files with faults: where they are and what is possible instead.

use procedures::Application;

fn fault(schema: &str) -> String {
    match Application::of_file(schema) {
        Ok(_) => "fine".to_owned(),
        Err(fault) => format!("{} {fault}", fault.code),
    }
}

/// Of a procedure with this body, on two tables.
fn body(body: &str) -> String {
    fault(&format!(
        "create table t (id integer primary key, a integer, b text not null);\n\
         create table h (id integer primary key) with (primary_index = hash);\n\
         create procedure p(x integer, y text) as begin atomic\n{body}\nend"
    ))
}

#[test]
fn declarations() {
    for (schema, expected) in [
        ("", "fine"),
        (";;", "fine"),
        (
            "drop table t",
            "42601 line 1, column 1: expected CREATE TABLE, CREATE [UNIQUE] INDEX or CREATE PROCEDURE, found \"drop\"",
        ),
        (
            "create table t (\n  id integer primary\n)",
            "42601 line 2, column 14: expected NOT NULL, DEFAULT, PRIMARY KEY, UNIQUE, CHECK, \",\" or \")\", found \"primary\"",
        ),
        (
            "create table t (id integer)",
            "42P16 line 1, column 14: table \"t\" has no primary key. Add PRIMARY KEY (columns)",
        ),
        (
            "create table t (id integer primary key, primary key (id))",
            "42P16 line 1, column 41: multiple primary keys for table \"t\" are not allowed",
        ),
        (
            "create table t (id integer primary key, id text)",
            "42701 line 1, column 41: column \"id\" is there twice",
        ),
        (
            "create table t (id integer, primary key (ida))",
            "42703 line 1, column 42: column \"ida\" of relation \"t\" does not exist. Columns: id",
        ),
        (
            "create table t (id real primary key)",
            "42P16 line 1, column 14: table t: an index has a column of floats",
        ),
        (
            "create table t (id integer primary key, n numeric)",
            "0A000 line 1, column 43: a column of type numeric needs its digits. Write numeric(precision, scale), \
             such as numeric(15, 2)",
        ),
        (
            "create table t (id integer primary key, foreign key (id) references u)",
            "42601 line 1, column 41: expected PRIMARY KEY, UNIQUE or CHECK, found \"foreign\"",
        ),
        (
            "create table t (id integer primary key, a integer unique)",
            "0A000 line 1, column 41: column \"a\" of a unique index may be NULL. Declare the column NOT NULL, or the \
             index without UNIQUE",
        ),
        (
            "create table t (id integer primary key, check (id))",
            "42804 line 1, column 48: this must be of type boolean, not type integer",
        ),
        (
            "create table t (id integer primary key, d date check (d < now()))",
            "0A000 line 1, column 59: now is not possible here. Ask for the time inside the procedure: there it is the \
             transaction's",
        ),
        (
            "create table t (id integer primary key, a integer default 'x')",
            "22P02 line 1, column 59: invalid input syntax for type integer: \"x\"",
        ),
        (
            "create table t (id integer primary key) with (fillfactor = many)",
            "42P16 line 1, column 47: option fillfactor = many is not known. Options are primary_index = btree or hash \
             and evictable = true or false",
        ),
        (
            "create table t (id integer primary key); create table t (id integer primary key)",
            "42P07 line 1, column 55: relation \"t\" already exists",
        ),
        (
            "create index on t (id)",
            "42P01 line 1, column 17: relation \"t\" does not exist. Tables: none",
        ),
        (
            "create table t (id integer primary key); create index i on t using gin (id)",
            "42601 line 1, column 68: expected HASH or BTREE, found \"gin\"",
        ),
        (
            "create table app.t (id integer primary key)",
            "0A000 line 1, column 14: schema \"app\" is not there. All tables and procedures are in schema public",
        ),
        (
            "create table t (id integer primary key,",
            "42601 line 1, column 40: expected a column, PRIMARY KEY, UNIQUE or CHECK, found the end of the text",
        ),
    ] {
        assert_eq!(fault(schema), expected, "{schema}");
    }
    let unknown = fault("create table t (id integer primary key, a interval)");
    assert!(
        unknown.starts_with("0A000 line 1, column 43: type interval is not supported. Types are")
    );
}

#[test]
fn bodies() {
    for (text, expected) in [
        ("", "fine"),
        ("select 1;", "fine"),
        (
            "vacuum;",
            "42601 line 4, column 1: expected INSERT, UPDATE, DELETE, SELECT, SET, IF, SIGNAL or END, found \"vacuum\"",
        ),
        (
            "select 1",
            "42601 line 5, column 1: expected \";\", found \"end\"",
        ),
        (
            "delete from t where a = 1;",
            "0A000 line 4, column 21: the condition does not lead to the rows of table \"t\" by a key. Compare all columns \
             of one of its keys, or the first ones of one that is not a hash index, with values: t_pkey (id)",
        ),
        (
            "select * from t;",
            "0A000 line 4, column 16: the condition does not lead to the rows of table \"t\" by a key. Compare all columns \
             of one of its keys, or the first ones of one that is not a hash index, with values: t_pkey (id)",
        ),
        (
            "select id from h where id > 1;",
            "0A000 line 4, column 24: the condition does not lead to the rows of table \"h\" by a key. Compare all columns \
             of one of its keys, or the first ones of one that is not a hash index, with values: h_pkey (id)",
        ),
        (
            "update t set a = a + 1 where id = z;",
            "42703 line 4, column 35: column \"z\" does not exist. Columns of t: id, a, b. Parameters and variables: x, y",
        ),
        (
            "update t set c = 1 where id = 1;",
            "42703 line 4, column 14: column \"c\" of relation \"t\" does not exist. Columns: id, a, b",
        ),
        (
            "update t set a = y where id = 1;",
            "42804 line 4, column 18: column \"a\" is of type integer but expression is of type text. Rewrite or cast the \
             expression",
        ),
        (
            "update t set a = 1, a = 2 where id = 1;",
            "42701 line 4, column 21: column \"a\" is named twice",
        ),
        (
            "insert into t (id, a) values (1);",
            "42601 line 4, column 30: INSERT has 1 values for 2 columns of table \"t\"",
        ),
        (
            "insert into t values (1, 2, 'x', 4);",
            "42601 line 4, column 22: INSERT has 4 values for 3 columns of table \"t\"",
        ),
        (
            "insert into u values (1);",
            "42P01 line 4, column 13: relation \"u\" does not exist. Tables: t, h",
        ),
        (
            "insert into t values (1) on conflict do nothing;",
            "42601 line 4, column 26: expected \";\", found \"on\"",
        ),
        (
            "select id from t where id = 1; select 1;",
            "0A000 line 4, column 32: a procedure answers with one SELECT, and this is the second one. SELECT … INTO \
             variables answers nothing",
        ),
        (
            "select id into x from t where id = 1;",
            "42601 line 4, column 16: \"x\" is not a known variable. It is a parameter, and parameters do not change",
        ),
        (
            "set z = 1;",
            "42601 line 4, column 5: \"z\" is not a known variable. Declare it at the beginning: DECLARE name type;",
        ),
        (
            "declare z date; set z = x;",
            "42804 line 4, column 25: variable \"z\" is of type date but expression is of type integer. Rewrite or cast the \
             expression",
        ),
        (
            "declare x integer;",
            "42601 line 4, column 9: the name \"x\" is there twice",
        ),
        (
            "select 1; declare z integer;",
            "42601 line 4, column 11: expected INSERT, UPDATE, DELETE, SELECT, SET, IF, SIGNAL or END, found \"declare\". \
             Variables are declared before the first statement",
        ),
        (
            "if x then select 1; end if;",
            "42804 line 4, column 4: this must be of type boolean, not type integer",
        ),
        (
            "if true then select 1; else; end;",
            "42601 line 5, column 1: expected INSERT, UPDATE, DELETE, SELECT, SET, IF, SIGNAL or END IF, found \"end\"",
        ),
        (
            "signal sqlstate '4500';",
            "42601 line 4, column 17: \"4500\" is not an SQLSTATE of an error. It has five digits or capital letters, such \
             as '45000'",
        ),
        (
            "select $3;",
            "42P02 line 4, column 8: there is no parameter $3",
        ),
        (
            "select *;",
            "42601 line 4, column 8: SELECT * with no tables specified is not valid",
        ),
    ] {
        let found = body(text);
        if text == "if true then select 1; else; end;" {
            assert!(found.starts_with("42601"), "{found}");
            continue;
        }
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_name_that_may_be_two_things_is_refused() {
    let found = fault(
        "create table t (id integer primary key);
         create procedure p(id integer) as begin atomic delete from t where id = id; end",
    );
    assert_eq!(
        found,
        "42702 line 2, column 77: column reference \"id\" is ambiguous. Write t.id for the column, p.id for the parameter \
         or variable"
    );
    let twice = fault(
        "create procedure p() begin atomic end; create procedure p(a integer) begin atomic end",
    );
    assert_eq!(
        twice,
        "42723 line 1, column 57: procedure \"p\" is there twice. Procedures are told apart by their names alone"
    );
}
