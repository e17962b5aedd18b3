//! All TPC-H queries can be planned and run, over tables with a row each.

use crate::harness::{Fixture, run};

/// The tables of `tests/tpch/schema.sql` in the harness's form.
const TABLES: &[(&str, &str)] = &[
    (
        "region",
        "r_regionkey integer key, r_name char(25), r_comment varchar(152)",
    ),
    (
        "nation",
        "n_nationkey integer key, n_name char(25), n_regionkey integer, n_comment varchar(152)",
    ),
    (
        "part",
        "p_partkey integer key, p_name varchar(55), p_mfgr char(25), p_brand char(10), p_type varchar(25), \
         p_size integer, p_container char(10), p_retailprice numeric(15,2), p_comment varchar(23)",
    ),
    (
        "supplier",
        "s_suppkey integer key, s_name char(25), s_address varchar(40), s_nationkey integer, s_phone char(15), \
         s_acctbal numeric(15,2), s_comment varchar(101)",
    ),
    (
        "partsupp",
        "ps_partkey integer key, ps_suppkey integer key, ps_availqty integer, ps_supplycost numeric(15,2), \
         ps_comment varchar(199)",
    ),
    (
        "customer",
        "c_custkey integer key, c_name varchar(25), c_address varchar(40), c_nationkey integer, c_phone char(15), \
         c_acctbal numeric(15,2), c_mktsegment char(10), c_comment varchar(117)",
    ),
    (
        "orders",
        "o_orderkey bigint key, o_custkey integer, o_orderstatus char(1), o_totalprice numeric(15,2), \
         o_orderdate date, o_orderpriority char(15), o_clerk char(15), o_shippriority integer, o_comment varchar(79)",
    ),
    (
        "lineitem",
        "l_orderkey bigint key, l_partkey integer, l_suppkey integer, l_linenumber integer key, \
         l_quantity numeric(15,2), l_extendedprice numeric(15,2), l_discount numeric(15,2), l_tax numeric(15,2), \
         l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date, \
         l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44)",
    ),
];

const LINES: &[(&str, &str)] = &[
    ("region", "1|AMERICA|r"),
    ("nation", "1|BRAZIL|1|n"),
    ("part", "1|forest green|m|Brand#12|ECONOMY ANODIZED STEEL|5|SM BOX|901.00|p"),
    ("supplier", "1|Supplier#1|a|1|11-1|5755.94|s"),
    ("partsupp", "1|1|3325|771.64|ps"),
    ("customer", "1|Customer#1|a|1|11-1|711.56|BUILDING|c"),
    ("orders", "1|1|F|173665.47|1995-01-02|5-LOW|Clerk#1|0|o"),
    (
        "lineitem",
        "1|1|1|1|17.00|21168.23|0.04|0.02|N|O|1995-03-13|1995-02-12|1995-03-22|DELIVER IN PERSON|AIR|l
         1|1|1|2|36.00|45983.16|0.09|0.06|N|O|1995-04-12|1995-02-28|1995-04-20|TAKE BACK RETURN|MAIL|l",
    ),
];

fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    for (name, columns) in TABLES {
        let id = fixture.table(name, columns);
        let lines = LINES
            .iter()
            .find(|(table, _)| table == name)
            .expect("a line a table")
            .1;
        fixture.write(id, lines);
    }
    fixture
}

fn query(number: usize) -> String {
    let path = format!("{}/tests/tpch/q{number:02}.sql", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the query's file")
}

#[tokio::test]
async fn every_query_runs() {
    let fixture = fixture();
    let session = fixture.session();
    for number in 1..=22 {
        let result = run(&session, &query(number)).await;
        assert!(result.is_ok(), "query {number}: {result:?}");
    }
}

/// The values are PostgreSQL's for the same rows.
#[tokio::test]
async fn answers_are_those_of_postgresql() {
    let fixture = fixture();
    let session = fixture.session();
    let rows = run(&session, &query(1)).await.expect("query 1");
    assert_eq!(
        rows,
        [
            "N|O|53.00|67151.39|62166.1764|65083.286952|26.50000000000000000000|\
          33575.69500000000000000000|0.06500000000000000000|2"
        ]
    );
    let rows = run(&session, &query(8)).await.expect("query 8");
    assert_eq!(rows, ["1995|1.00000000000000000000"]);
}
