//! What clients ask of the system catalogs.

use crate::harness::{Fixture, row, run};

fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let table = fixture.table(
        "accounts",
        "id integer key, owner varchar(20), balance numeric(12,2), code char(5), made timestamptz, extra jsonb",
    );
    fixture.write(table, "1|ann|10.00|ab|2020-01-01 00:00:00Z|{}");
    fixture.table("shop.orders", "a bigint key, b date key, note text");
    fixture
}

/// The queries that psql 15 sends for its commands (`psql -E`).
fn psql(command: &str) -> Vec<String> {
    let path = format!("{}/tests/psql15.sql", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the file of queries");
    let queries = text
        .split("-- \\")
        .skip(1)
        .filter_map(|part| part.split_once('\n'));
    queries
        .filter(|(name, _)| command.is_empty() || *name == command)
        .map(|(_, query)| query.to_owned())
        .collect()
}

#[tokio::test]
async fn every_query_of_psql_is_answered() {
    let fixture = fixture();
    let session = fixture.session();
    let oid = row(&session, "select 'accounts'::regclass::oid").await;
    let mut failures = Vec::new();
    for query in psql("") {
        let query = query.replace("{oid}", &oid);
        if let Err(error) = run(&session, &query).await {
            failures.push(format!("{query}\n  => {error:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[tokio::test]
async fn psql_shows_tables_and_their_columns() {
    let fixture = fixture();
    let session = fixture.session();
    let shown = run(&session, &psql("dt")[0]).await.expect("\\dt");
    assert_eq!(
        shown,
        [
            "public|accounts|table|hedgerow",
            "shop|orders|table|hedgerow"
        ]
    );
    let found = run(&session, &psql("d acct")[0])
        .await
        .expect("the table is found");
    let oid = found[0].split('|').next().expect("an id").to_owned();
    let columns = run(&session, &psql("d acct")[2].replace("{oid}", &oid))
        .await
        .expect("its columns");
    assert_eq!(
        columns,
        [
            "id|integer|NULL|true|NULL||",
            "owner|character varying(20)|NULL|false|NULL||",
            "balance|numeric(12,2)|NULL|false|NULL||",
            "code|character(5)|NULL|false|NULL||",
            "made|timestamp with time zone|NULL|false|NULL||",
            "extra|jsonb|NULL|false|NULL||",
        ]
    );
    let indexes = run(&session, &psql("d acct")[3].replace("{oid}", &oid))
        .await
        .expect("its indexes");
    assert_eq!(
        indexes,
        [
            "accounts_pkey|true|true|false|true|CREATE UNIQUE INDEX accounts_pkey ON public.accounts USING btree (id)|\
          PRIMARY KEY (id)|p|false|false|false|0"
        ]
    );
    let schemas = run(&session, &psql("dn")[0]).await.expect("\\dn");
    assert_eq!(
        schemas,
        ["hedgerow|hedgerow", "public|hedgerow", "shop|hedgerow"]
    );
    let databases = run(&session, &psql("l")[0]).await.expect("\\l");
    assert!(
        databases[0].starts_with("hedgerow|hedgerow|UTF"),
        "{databases:?}"
    );
}

/// What drivers send when they connect or prepare.
const DRIVERS: &[&str] = &[
    // tokio-postgres: types it does not know
    "SELECT t.typname, t.typtype, t.typelem, r.rngsubtype, t.typbasetype, n.nspname, t.typrelid \
     FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid \
     INNER JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = 3802",
    "SELECT enumlabel FROM pg_catalog.pg_enum WHERE enumtypid = 3802 ORDER BY enumsortorder",
    "SELECT attname, atttypid FROM pg_catalog.pg_attribute WHERE attrelid = 16386 AND NOT attisdropped \
     AND attnum > 0 ORDER BY attnum",
    // psycopg 3: TypeInfo.fetch
    "SELECT typname AS name, oid, typarray AS array_oid, oid::regtype::text AS regtype, typdelim AS delimiter \
     FROM pg_type t WHERE t.oid = 'jsonb'::regtype ORDER BY t.oid",
    // SQLAlchemy
    "select pg_catalog.version()",
    "select current_schema()",
    "show standard_conforming_strings",
    "show transaction isolation level",
    "SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON \
     pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace WHERE pg_catalog.pg_class.relname = 'accounts' \
     AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'",
    // pgjdbc: DatabaseMetaData.getTables, getPrimaryKeys, and the settings it makes
    "SET extra_float_digits = 3",
    "SET application_name = 'PostgreSQL JDBC Driver'",
    "SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, CASE n.nspname ~ '^pg_' OR \
     n.nspname = 'information_schema' WHEN true THEN 'SYSTEM TABLE' ELSE 'TABLE' END AS TABLE_TYPE, d.description AS \
     REMARKS FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_description d ON \
     (c.oid = d.objoid AND d.objsubid = 0 and d.classoid = 'pg_class'::regclass) WHERE c.relnamespace = n.oid \
     AND c.relname LIKE 'acc%' ORDER BY TABLE_TYPE, TABLE_SCHEM, TABLE_NAME",
    "SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t \
     JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = 3802",
    "SELECT t.typname,t.oid FROM pg_type t JOIN pg_namespace n ON t.typnamespace = n.oid \
     WHERE n.nspname != 'pg_toast'",
    // Grafana, Metabase
    "select quote_ident(table_name) from information_schema.tables where table_schema = 'public' order by table_name",
    "select column_name, data_type from information_schema.columns where table_name = 'accounts' order by ordinal_position",
    "select has_table_privilege('accounts', 'select'), has_schema_privilege('public', 'usage')",
    "select pg_is_in_recovery(), pg_backend_pid(), current_setting('server_version_num')",
    "select oid, typname from pg_type where typname in ('hstore', 'geometry')",
    "select relname, n_live_tup from pg_stat_user_tables",
    "select * from pg_settings where name = 'server_version'",
];

#[tokio::test]
async fn every_query_of_drivers_is_answered() {
    let fixture = fixture();
    let session = fixture.session();
    let mut failures = Vec::new();
    for query in DRIVERS {
        if let Err(error) = run(&session, query).await {
            failures.push(format!("{query}\n  => {error:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[tokio::test]
async fn ids_hold_together() {
    let fixture = fixture();
    let session = fixture.session();
    let joined = "select c.relname, n.nspname, count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace \
                  join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid \
                  where c.relkind = 'r' and n.nspname in ('public', 'shop') group by 1, 2 order by 1";
    assert_eq!(
        run(&session, joined).await.expect("joins"),
        ["accounts|public|6", "orders|shop|3"]
    );
    let keys = "select column_name from information_schema.key_column_usage where table_name = 'orders' \
                order by ordinal_position";
    assert_eq!(run(&session, keys).await.expect("the key"), ["a", "b"]);
}

#[tokio::test]
async fn the_views_tell_of_the_process() {
    let fixture = fixture();
    fixture
        .status
        .register("shop", "postgresql")
        .set_target(types::CommitPosition(1));
    let session = fixture.session();
    for view in [
        "cache",
        "components",
        "memory",
        "merges",
        "snapshots",
        "sources",
        "tables",
    ] {
        let rows = run(&session, &format!("select * from hedgerow.{view}")).await;
        assert!(rows.is_ok_and(|rows| !rows.is_empty()), "{view}");
    }
    let tables = "select schema, name, state, rows from hedgerow.tables order by 2";
    assert_eq!(
        run(&session, tables).await.expect("tables"),
        ["public|accounts|live|1", "shop|orders|live|0"]
    );
}
