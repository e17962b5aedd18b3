//! Joins, in whatever order the engine takes them: the rows are those of the joins as written.

use std::fmt::Write;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sql::{EngineOptions, Session};

use crate::harness::{Fixture, run};

/// Tables `t0` to `t4` with a key `k` and columns `a` and `b`, which have few values and NULLs.
const TABLES: usize = 5;
const COLUMNS: [&str; 3] = ["k", "a", "b"];

type Row = [Option<i32>; COLUMNS.len()];
/// A column of a table of the `from` list.
type Place = (usize, usize);

/// A query over the first tables; the last one is asked whether it has a match.
#[derive(Clone, Debug)]
struct Query {
    joined: usize,
    equal: Vec<(Place, Place)>,
    less: Vec<(Place, Place)>,
    filters: Vec<(Place, i32)>,
    matched: Option<Matched>,
    /// The last of the joined tables is joined by `left join`.
    outer: Option<(Place, usize)>,
}

/// `[not] exists (select … from the last table where …)`.
#[derive(Clone, Debug)]
struct Matched {
    negated: bool,
    equal: (Place, usize),
    differs: Option<(Place, usize)>,
}

fn cell() -> impl Strategy<Value = Option<i32>> {
    proptest::option::weighted(0.9, 0..6)
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (cell(), cell());
    proptest::collection::vec(row, 0..14).prop_map(|rows| {
        let keyed = rows.into_iter().zip(0..);
        keyed.map(|((a, b), k)| [Some(k), a, b]).collect()
    })
}

fn place(tables: usize) -> impl Strategy<Value = Place> {
    (0..tables, 0..COLUMNS.len())
}

fn query() -> impl Strategy<Value = Query> {
    (2..TABLES - 1).prop_flat_map(|joined| {
        let two = move || (place(joined), place(joined));
        let matched = (any::<bool>(), place(joined), 0..COLUMNS.len());
        let differs = proptest::option::of((place(joined), 0..COLUMNS.len()));
        let matched = (matched, differs).prop_map(|((negated, rows, of_match), differs)| Matched {
            negated,
            equal: (rows, of_match),
            differs,
        });
        let parts = (
            proptest::collection::vec(two(), 1..5),
            proptest::collection::vec(two(), 0..2),
            proptest::collection::vec((place(joined), 0..6), 0..2),
            proptest::option::of(matched),
            proptest::option::weighted(0.3, (place(joined), 0..COLUMNS.len())),
        );
        parts.prop_map(move |(equal, less, filters, matched, outer)| Query {
            joined,
            equal,
            less,
            filters,
            matched,
            outer,
        })
    })
}

impl Query {
    fn text(&self) -> String {
        let name = |(table, column): Place| format!("t{table}.{}", COLUMNS[column]);
        let mut tables: Vec<String> = (0..self.joined).map(|table| format!("t{table}")).collect();
        if let Some((of_rows, column)) = self.outer {
            let (first, column) = (tables.join(" cross join "), COLUMNS[column]);
            let on = format!("{} = t{}.{column}", name(of_rows), self.joined);
            tables = vec![format!("{first} left join t{} on {on}", self.joined)];
        }
        let mut conditions = vec!["true".to_owned()];
        let equal = self.equal.iter();
        conditions.extend(equal.map(|(left, right)| format!("{} = {}", name(*left), name(*right))));
        let less = self.less.iter();
        conditions.extend(less.map(|(left, right)| format!("{} < {}", name(*left), name(*right))));
        let filters = self.filters.iter();
        conditions.extend(filters.map(|(column, value)| format!("{} <= {value}", name(*column))));
        if let Some(matched) = &self.matched {
            let last = TABLES - 1;
            let (rows, column) = matched.equal;
            let mut inner = format!("t{last}.{} = {}", COLUMNS[column], name(rows));
            if let Some((rows, column)) = matched.differs {
                write!(inner, " and t{last}.{} <> {}", COLUMNS[column], name(rows)).expect("text");
            }
            let not = if matched.negated { "not " } else { "" };
            conditions.push(format!("{not}exists (select 1 from t{last} where {inner})"));
        }
        let wanted: Vec<String> = (0..self.tables())
            .flat_map(|table| (0..COLUMNS.len()).map(move |column| name((table, column))))
            .collect();
        format!(
            "select {} from {} where {}",
            wanted.join(", "),
            tables.join(", "),
            conditions.join(" and ")
        )
    }

    /// How many tables the rows have cells of.
    fn tables(&self) -> usize {
        self.joined + usize::from(self.outer.is_some())
    }

    /// The rows as the text says, combination by combination.
    fn rows(&self, tables: &[Vec<Row>]) -> Vec<String> {
        let mut combinations: Vec<Vec<Row>> = vec![Vec::new()];
        for table in &tables[..self.joined] {
            combinations = combinations
                .iter()
                .flat_map(|rows| table.iter().map(|row| [rows.as_slice(), &[*row]].concat()))
                .collect();
        }
        combinations.retain(|rows| self.holds(rows, &tables[TABLES - 1]));
        if let Some((of_rows, column)) = self.outer {
            combinations = combinations
                .into_iter()
                .flat_map(|rows| {
                    let wanted = at(&rows, of_rows);
                    let others = tables[self.joined].iter();
                    let found = others.filter(|row| wanted.is_some() && row[column] == wanted);
                    let mut found: Vec<Row> = found.copied().collect();
                    if found.is_empty() {
                        found.push([None; COLUMNS.len()]);
                    }
                    found
                        .into_iter()
                        .map(move |row| [rows.as_slice(), &[row]].concat())
                })
                .collect();
        }
        let shown = |cell: &Option<i32>| cell.map_or("NULL".to_owned(), |cell| cell.to_string());
        let line = |rows: Vec<Row>| {
            let cells: Vec<String> = rows.iter().flatten().map(shown).collect();
            cells.join("|")
        };
        combinations.into_iter().map(line).collect()
    }

    fn holds(&self, rows: &[Row], last: &[Row]) -> bool {
        let equal = |(left, right): &(Place, Place)| {
            at(rows, *left).is_some() && at(rows, *left) == at(rows, *right)
        };
        let less = |(left, right): &(Place, Place)| {
            let both = at(rows, *left).zip(at(rows, *right));
            both.is_some_and(|(left, right)| left < right)
        };
        let filter =
            |(column, value): &(Place, i32)| at(rows, *column).is_some_and(|cell| cell <= *value);
        let matched = |matched: &Matched| {
            let (row, column) = matched.equal;
            let is_match = |other: &Row| {
                let differs = matched.differs.is_none_or(|(row, column)| {
                    let both = at(rows, row).zip(other[column]);
                    both.is_some_and(|(left, right)| left != right)
                });
                at(rows, row).is_some() && at(rows, row) == other[column] && differs
            };
            last.iter().any(is_match) != matched.negated
        };
        self.equal.iter().all(equal)
            && self.less.iter().all(less)
            && self.filters.iter().all(filter)
            && self.matched.iter().all(matched)
    }
}

fn at(rows: &[Row], (table, column): Place) -> Option<i32> {
    rows[table][column]
}

fn fixture(tables: &[Vec<Row>]) -> Fixture {
    let mut fixture = Fixture::new();
    for (number, rows) in tables.iter().enumerate() {
        let table = fixture.table(&format!("t{number}"), "k integer key, a integer, b integer");
        let shown = |cell: &Option<i32>| cell.map_or("\\N".to_owned(), |cell| cell.to_string());
        let line = |row: &Row| row.iter().map(shown).collect::<Vec<_>>().join("|") + "\n";
        fixture.write(table, &rows.iter().map(line).collect::<String>());
    }
    fixture
}

#[test]
fn any_joins_give_the_rows_that_their_text_asks_for() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let tables = proptest::collection::vec(rows(), TABLES);
    let queries = proptest::collection::vec(query(), 8);
    let mut runner = TestRunner::new(Config::with_cases(40));
    let checked = runner.run(&(tables, queries), |(tables, queries)| {
        let fixture = fixture(&tables);
        let session = fixture.session();
        for query in queries {
            let text = query.text();
            let mut expected = query.rows(&tables);
            let rows = runtime.block_on(run(&session, &text));
            let mut rows =
                rows.map_err(|error| TestCaseError::fail(format!("{text}: {error:?}")))?;
            expected.sort();
            rows.sort();
            prop_assert_eq!(rows, expected, "{}", text);
        }
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
}

/// Creates a table and writes so many rows into it, each its line of a number.
fn fill(fixture: &mut Fixture, name: &str, columns: &str, rows: i32, line: &dyn Fn(i32) -> String) {
    let table = fixture.table(name, columns);
    fixture.write(table, &(0..rows).map(line).collect::<String>());
}

/// A star: sales with a product and a shop each, shops in regions.
fn star(threads: usize) -> Fixture {
    let mut fixture = Fixture::with_options(EngineOptions {
        threads,
        ..EngineOptions::default()
    });
    let sales = fixture.table("sales", "id integer key, shop integer, product integer");
    let lines = (0..40_000).map(|id| format!("{id}|{}|{}\n", id % 500, id % 2_000));
    fixture.write(sales, &lines.collect::<String>());
    let shops = fixture.table("shops", "id integer key, region integer, name text");
    let lines = (0..500).map(|id| format!("{id}|{}|shop {id}\n", id % 10));
    fixture.write(shops, &lines.collect::<String>());
    let regions = fixture.table("regions", "id integer key, name text");
    let lines = (0..10).map(|id| format!("{id}|region {id}\n"));
    fixture.write(regions, &lines.collect::<String>());
    let products = fixture.table("products", "id integer key, name text");
    let lines = (0..2_000).map(|id| format!("{id}|product {id}\n"));
    fixture.write(products, &lines.collect::<String>());
    fixture.store.flush().expect("the flush works");
    fixture
}

/// The tables of a plan, from its first line on.
async fn tables_of(session: &Session, query: &str) -> Vec<String> {
    let plan = run(session, &format!("explain {query}")).await;
    let plan = plan.expect("a plan").join("\n");
    let scans = plan.split("table=public.").skip(1);
    let name = |scan: &str| scan.split(',').next().expect("a name").to_owned();
    scans.map(name).collect()
}

#[tokio::test]
async fn joins_begin_where_few_rows_are_left_and_put_them_first() {
    let fixture = star(2);
    let session = fixture.session();
    let query = "select count(*) from sales, products, shops, regions
        where sales.product = products.id and sales.shop = shops.id
            and shops.region = regions.id and regions.name = 'region 3'";
    // One region, its 50 shops, their 4,000 sales, and only then 2,000 products.
    let expected = ["products", "regions", "shops", "sales"];
    assert_eq!(tables_of(&session, query).await, expected);
    assert_eq!(run(&session, query).await.expect("a count"), ["4000"]);
}

/// One region's shops and one product are few, and all of them may be joined before any sale is.
#[tokio::test]
async fn tables_that_are_equal_to_a_third_are_joined_without_it() {
    let fixture = star(2);
    let session = fixture.session();
    let query = "select count(*) from sales, shops, products
        where sales.shop = shops.id and sales.shop = products.id and products.name = 'product 7'";
    let expected = ["products", "shops", "sales"];
    assert_eq!(tables_of(&session, query).await, expected);
    assert_eq!(run(&session, query).await.expect("a count"), ["80"]);
}

/// A region's shops are the fewest rows that a first join can leave, but then all of their lines are joined with all
/// orders. A region's buyers leave a tenth of the orders, and of their lines.
#[tokio::test]
async fn joins_begin_so_that_few_rows_are_joined_in_all() {
    let mut fixture = Fixture::new();
    let mut fill = |name, columns, rows, line| fill(&mut fixture, name, columns, rows, line);
    let regional = |id: i32| format!("{id}|{}\n", id % 10);
    fill("regions", "id integer key, name text", 10, &|id| {
        format!("{id}|region {id}\n")
    });
    fill("shops", "id integer key, region integer", 500, &regional);
    fill("buyers", "id integer key, region integer", 5_000, &regional);
    let order = |id: i32| format!("{id}|{}\n", id * 7 % 5_000);
    fill("orders", "id integer key, buyer integer", 20_000, &order);
    let line = |id: i32| format!("{id}|{}|{}\n", id / 2, id * 11 % 500);
    fill(
        "lines",
        "id integer key, ordered integer, shop integer",
        40_000,
        &line,
    );
    let session = fixture.session();
    let query = "select count(*) from buyers, orders, lines, shops, regions
        where buyers.id = orders.buyer and lines.ordered = orders.id and lines.shop = shops.id
            and buyers.region = shops.region and shops.region = regions.id
            and regions.name = 'region 3'";
    let expected = ["shops", "regions", "buyers", "orders", "lines"];
    assert_eq!(tables_of(&session, query).await, expected);
    let lines = (0..40_000).filter(|id| id / 2 * 7 % 10 == 3 && id * 11 % 10 == 3);
    let rows = run(&session, query).await.expect("a count");
    assert_eq!(rows, [lines.count().to_string()]);
}

/// More tables than all orders are tried of.
#[tokio::test]
async fn many_tables_are_joined_as_few_are() {
    let fixture = star(2);
    let names = (0..12).map(|place| format!("shops s{place}"));
    let equal = (1..12).map(|place| format!("s{}.id = s{place}.id", place / 2));
    let query = format!(
        "select count(*) from {} where s7.region = 3 and {}",
        names.collect::<Vec<_>>().join(", "),
        equal.collect::<Vec<_>>().join(" and ")
    );
    let rows = run(&fixture.session(), &query).await.expect("a count");
    assert_eq!(rows, ["50"]);
}

#[tokio::test]
async fn a_semi_join_that_leaves_few_rows_comes_before_joins_that_keep_them() {
    let fixture = star(2);
    let session = fixture.session();
    let query = "select count(*) from sales, shops
        where sales.shop = shops.id
            and shops.id in (select region from shops where name like 'shop 1_')";
    assert_eq!(
        tables_of(&session, query).await,
        ["shops", "shops", "sales"]
    );
    assert_eq!(run(&session, query).await.expect("a count"), ["800"]);
}

#[tokio::test]
async fn the_smaller_side_of_an_outer_join_comes_first() {
    let fixture = star(2);
    let session = fixture.session();
    let query = "select count(*), count(regions.id) from shops
        left join regions on shops.region = regions.id and regions.name = 'region 3'";
    assert_eq!(tables_of(&session, query).await, ["regions", "shops"]);
    assert_eq!(run(&session, query).await.expect("counts"), ["500|50"]);
}

/// Parts of the outer join have nothing on their first side, and never ask the inner join for
/// rows: a filter that waits for all parts of it would be waited for without end.
#[tokio::test]
async fn a_join_below_parts_that_nobody_asks_does_not_wait_for_them() {
    let fixture = star(8);
    let session = fixture.session();
    let query = "select count(*) from
        (select id from shops where name = 'shop 7') one
        join (select product, count(*) as sales from sales group by product) sold
            on one.id = sold.product
        join products on products.id = sold.product";
    let answer = tokio::time::timeout(Duration::from_secs(60), run(&session, query)).await;
    let rows = answer.expect("the query ends").expect("a count");
    assert_eq!(rows, ["1"]);
}

/// A join that tells the scans below it which keys it looks for must not be misunderstood where two tables
/// have columns of one name.
#[tokio::test]
async fn joins_of_tables_with_the_same_names_of_columns_lose_no_rows() {
    let row = |k, a, b| [Some(k), a, b];
    let tables = [
        vec![row(0, None, None), row(1, Some(1), Some(0))],
        vec![row(0, Some(0), Some(1))],
        vec![row(0, None, None)],
        vec![],
        vec![row(0, None, Some(1))],
    ];
    let fixture = fixture(&tables);
    let text = "select t0.k, t1.k, t2.k from t0 cross join t1 left join t2 on t0.a = t2.a
        where t0.b = t1.a and t0.k = t0.a and t1.a < t0.a
        and exists (select 1 from t4 where t4.b = t1.b and t4.b <> t1.k)";
    let rows = run(&fixture.session(), text).await.expect("rows");
    assert_eq!(rows, ["1|0|NULL"]);
}

/// Few rows and many, to be joined by columns of any width: `small` repeats, `far` is a range far longer than
/// there are rows, some cells are NULL.
fn few_and_many() -> Fixture {
    let mut fixture = Fixture::new();
    let columns = "id integer key, small smallint, wide bigint, far bigint";
    let line = |id: i64| match id % 11 {
        0 => format!("{id}|\\N|\\N|\\N\n"),
        _ => format!("{id}|{}|{}|{}\n", id % 7, (1_i64 << 40) - id, id << 40),
    };
    for (name, step, rows) in [("few", 3, 500), ("many", 1, 30_000)] {
        let table = fixture.table(name, columns);
        fixture.write(
            table,
            &(0..rows).map(|row| line(row * step)).collect::<String>(),
        );
    }
    fixture.store.flush().expect("the flush works");
    fixture
}

/// A join tells the scan of its second side which keys it looks for, unless that side's key is not a column.
#[tokio::test]
async fn rows_whose_keys_no_join_looks_for_are_the_only_ones_left_out() {
    let fixture = few_and_many();
    let session = fixture.session();
    let keys = [
        &["id"][..],
        &["small"],
        &["wide"],
        &["far"],
        &["id", "wide"],
        &["far", "small"],
    ];
    for key in keys {
        let query = |plus: &str| {
            let equal = key
                .iter()
                .map(|name| format!("few.{name} = many.{name}{plus}"));
            let equal: Vec<String> = equal.collect();
            format!(
                "select count(*), sum(many.id), sum(few.id) from few join many on {}
                    where few.id between 60 and 1200 and many.small is distinct from 5",
                equal.join(" and ")
            )
        };
        let plan = run(&session, &format!("explain {}", query(""))).await;
        let plan = plan.expect("a plan").join("\n");
        let noted = format!("JoinKeysExec: columns=[{}]", key.join(", "));
        assert!(plan.contains(&noted), "{plan}");
        let expected = run(&session, &query(" + 0")).await.expect("an answer");
        assert!(!expected[0].starts_with("0|"), "{key:?}");
        let answer = run(&session, &query("")).await.expect("an answer");
        assert_eq!(answer, expected, "{key:?}");
    }
}

/// Each step of a recursive query looks for other keys.
#[tokio::test]
async fn a_step_of_a_recursive_query_finds_what_the_one_before_did_not_look_for() {
    let fixture = few_and_many();
    let query = "with recursive steps (id) as (
            select id from few where id = 3
            union all
            select many.id from steps join many on many.id = steps.id * 2)
        select count(*), max(id) from steps";
    let rows = run(&fixture.session(), query).await.expect("an answer");
    assert_eq!(rows, ["14|24576"]);
}

/// An anti join and an outer join that keep what has no key.
#[tokio::test]
async fn rows_without_a_key_are_kept_where_they_count() {
    let fixture = few_and_many();
    let session = fixture.session();
    let outer = "select count(*), count(few.id) from few right join many
        on few.wide = many.wide and few.id < 300";
    let rows = run(&session, outer).await.expect("counts");
    assert_eq!(rows, ["30000|90"]);
    let distinct = "select count(*) from few join many
        on many.id < 110 and few.far is not distinct from many.far where few.id < 60";
    let rows = run(&session, distinct).await.expect("a count");
    // 18 keys, and two rows without one here that have ten there.
    assert_eq!(rows, ["38"]);
    let not_in = "select count(*) from many where small not in (select small from few)";
    assert_eq!(run(&session, not_in).await.expect("a count"), ["0"]);
}

/// A region's buyers and a few lines have shops in common, and hardly a line has one of these buyers.
#[tokio::test]
async fn tables_that_have_part_of_a_key_in_common_are_joined_by_the_whole() {
    let mut fixture = Fixture::new();
    let mut fill = |name, columns, rows, line| fill(&mut fixture, name, columns, rows, line);
    let buyer = |id: i32| format!("{}|{id}|buyer {id}\n", id % 2);
    let buyers = "shop integer key, id integer key, name text";
    fill("buyers", buyers, 5_000, &buyer);
    let order = |id: i32| format!("{}|{id}|{}\n", id % 2, id % 5_000);
    let orders = "shop integer key, id integer key, buyer integer";
    fill("orders", orders, 10_000, &order);
    let line = |id: i32| format!("{}|{}|{}|{id}\n", id / 3 % 2, id / 3, id % 3);
    let lines = "shop integer key, ordered integer key, number integer key, amount integer";
    fill("lines", lines, 30_000, &line);
    fill("regions", "id integer key, name text", 50, &|id| {
        format!("{id}|region {id}\n")
    });
    let session = fixture.session();
    let query = "select count(*) from lines, orders, buyers, regions
        where lines.shop = orders.shop and lines.ordered = orders.id
            and orders.shop = buyers.shop and orders.buyer = buyers.id
            and buyers.id % 50 = regions.id and regions.name = 'region 7' and lines.amount < 30";
    let expected = ["regions", "buyers", "orders", "lines"];
    assert_eq!(tables_of(&session, query).await, expected);
    assert_eq!(run(&session, query).await.expect("a count"), ["3"]);
}
