//! What may change of a schema whose data folder is there already.

use procedures::{Application, Fault, StoredSchema, StoredSchemaError};

use crate::world::BANK;

fn stored(text: &str) -> StoredSchema {
    StoredSchema::of_file(text).unwrap_or_else(|fault| panic!("{fault}"))
}

fn follow(before: &StoredSchema, text: &str) -> Result<StoredSchema, Fault> {
    before.followed_by(&stored(text))
}

#[test]
fn it_comes_back_as_it_was_kept() {
    let schema = stored(BANK);
    let bytes = schema.to_bytes();
    assert_eq!(StoredSchema::from_bytes(&bytes), Ok(schema.clone()));
    let application = Application::of_stored(&schema).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(application.tables().len(), 2);
    let names: Vec<&str> = application.current().map(|p| p.name.as_str()).collect();
    assert_eq!(
        names,
        ["open_account", "transfer", "balance", "accounts_of"]
    );
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 4;
        assert!(StoredSchema::from_bytes(&damaged).is_err(), "byte {place}");
    }
    let newer = b"hedgerow-schema 2 00000000\n";
    let too_new = StoredSchemaError::VersionTooNew { found: 2 };
    assert_eq!(StoredSchema::from_bytes(newer), Err(too_new));
}

/// The example of `docs/format/primary-schema.md`.
#[test]
fn it_is_kept_as_documented() {
    let document = include_str!("../../../../docs/format/primary-schema.md");
    let example = document.split("```\n").nth(1).expect("it has an example");
    let schema = StoredSchema::from_bytes(example.as_bytes()).expect("it is read");
    assert_eq!(schema.to_bytes(), example.as_bytes());
    let declared = "CREATE TABLE t (id integer PRIMARY KEY, n bigint); create index on t(n);
                    create procedure put(i integer) as begin atomic insert into t values (i, 0); end";
    assert_eq!(schema, stored(declared));
}

#[test]
fn blanks_comments_and_the_order_of_declarations_mean_nothing() {
    let before = stored(
        "create table t (id integer primary key, a integer); create table u (id integer primary key);",
    );
    let same = "-- a comment\nCREATE TABLE u (ID integer PRIMARY KEY);
                create table t (\n id integer primary key, /* here */ a integer\n)";
    assert_eq!(follow(&before, same).as_ref(), Ok(&before));
}

#[test]
fn tables_are_added_behind_those_that_there_are() {
    let before = stored("create table t (id integer primary key)");
    let more = "create table a (id integer primary key); create index on a (id); create table t (id integer primary key)";
    let after = follow(&before, more).unwrap_or_else(|fault| panic!("{fault}"));
    let application = Application::of_stored(&after).unwrap_or_else(|fault| panic!("{fault}"));
    let names: Vec<&str> = application.tables().iter().map(|t| t.name()).collect();
    assert_eq!(names, ["t", "a"]);
}

#[test]
fn a_changed_table_is_refused_with_what_to_do() {
    let before = stored("create table t (id integer primary key, a integer)");
    for changed in [
        "create table t (id integer primary key, a bigint)",
        "create table t (id integer primary key, a integer check (a > 0))",
        "create table t (id integer primary key, a integer); create index on t (a)",
    ] {
        let fault = follow(&before, changed).expect_err("refused").to_string();
        assert!(
            fault.contains("table \"t\" is declared otherwise"),
            "{fault}"
        );
        assert!(fault.contains("set the declaration back"), "{fault}");
    }
    let fault = follow(&before, "").expect_err("refused").to_string();
    assert_eq!(
        fault,
        "table \"t\" is in the data folder, and not in the schema file. Tables stay. Put its declaration back: \
         create table t ( id integer primary key , a integer )"
    );
}

#[test]
fn a_changed_procedure_is_a_new_version_and_the_old_one_stays_for_the_log() {
    let with = |body: &str| {
        format!(
            "create table t (id integer primary key);
             create procedure p(n integer) as begin atomic {body} end"
        )
    };
    let names = |schema: &StoredSchema| -> Vec<String> {
        let application = Application::of_stored(schema).unwrap_or_else(|fault| panic!("{fault}"));
        let procedures = application.procedures();
        procedures.iter().map(|p| p.name().to_owned()).collect()
    };
    let (one, two) = (
        with("insert into t values (n);"),
        with("delete from t where id = n;"),
    );
    let before = stored(&one);
    assert_eq!(
        names(&before),
        ["sql1:statement", "sql1:deletion", "sql1.p.1"]
    );
    let after = follow(&before, &two).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(
        names(&after),
        ["sql1:statement", "sql1:deletion", "sql1.p.1", "sql1.p.2"]
    );
    let application = Application::of_stored(&after).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(application.current().count(), 1);
    // The first body again is the first version.
    let back = follow(&after, &one).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(names(&back), names(&after));
    // A procedure that is gone cannot be called, and can be run again.
    let gone = follow(&back, "create table t (id integer primary key)");
    let gone = gone.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(names(&gone), names(&after));
    let application = Application::of_stored(&gone).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(application.prepare("call p(1)", &[]).is_err());
    assert_eq!(StoredSchema::from_bytes(&gone.to_bytes()), Ok(gone));
}
