//! The tables that queries are about.

/// Creates and fills the tables, the same every time.
pub fn statements() -> String {
    [TABLES, ROWS].concat()
}

const TABLES: &str = "
    create table t (
        id integer primary key,
        i2 smallint,
        i4 integer,
        i8 bigint,
        n numeric(12,3),
        r real,
        d double precision,
        s text,
        v varchar(10),
        c char(6),
        b boolean,
        day date,
        at timestamp,
        z timestamptz
    );
    create table o (
        k bigint,
        line smallint,
        t_id integer,
        amount numeric(10,2),
        what text,
        due date,
        primary key (k, line)
    );
    create table e (id integer primary key, s text);
    create table j (k integer primary key, d jsonb, t text);
";

/// Every cell but the key's is NULL now and then, with a period of its own.
const ROWS: &str = r#"
    insert into t select
        g,
        case when g % 7 = 3 then null else (g * 37 % 400) - 200 end,
        case when g % 11 = 5 then null else (g * 7919 % 2000) - 1000 end,
        case when g % 13 = 1 then null else g::bigint * 1000000007 % 20000 - 10000 end,
        case when g % 9 = 4 then null else (g * 7717 % 100000) / 1000.0 - 50 end,
        case when g % 10 = 6 then null else (g % 40 - 20) * 0.25 end,
        case when g % 8 = 2 then null else (g % 64 - 32) * 0.5 end,
        case when g % 6 = 1 then null else substr('abcdefghij äöü XYZ%_', 1 + g % 13, g % 7) end,
        case when g % 12 = 7 then null else 'v' || g % 10 end,
        case when g % 14 = 9 then null else 'c' || g % 5 end,
        case when g % 5 = 4 then null else g % 3 = 0 end,
        case when g % 15 = 8 then null else date '2019-12-25' + (g * 5) % 400 end,
        case when g % 16 = 3 then null
             else timestamp '2020-02-27 22:15:30.25' + g * interval '7 hours 13 minutes' end,
        case when g % 17 = 2 then null
             else timestamptz '1999-12-30 00:00:00+00' + g * interval '1 day 1 second' end
    from generate_series(1, 200) g;
    insert into o select
        g / 3, g % 3, case when g % 19 = 0 then null else g * 31 % 250 end,
        case when g % 21 = 0 then null else (g * 677 % 100000) / 100.0 end,
        case when g % 23 = 0 then null else 'w' || g % 20 end,
        case when g % 25 = 0 then null else date '2020-01-01' + g % 90 end
    from generate_series(1, 300) g;
    insert into j values
        (1, '{"a":1,"b":{"c":"x"},"tags":["red","blue"],"n":null,"f":1.50}', 'one'),
        (2, '{"a":2,"b":{"c":"y","d":[1,{"e":true}]},"tags":[]}', 'two'),
        (3, '[10,20,"a"]', 'three'),
        (4, '"text"', null),
        (5, null, '{"z": 1}');
"#;
