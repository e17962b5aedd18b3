//! Conditions that a scan checks itself: the rows are those that the snapshot sees, whatever older
//! versions said, and what is not wanted is not given to anybody.

use std::fmt::Write;

use sql::Session;

use crate::harness::{Fixture, run};

/// `id`, `group`, `amount` and `note`, of which a tenth of the rows change, on disk and in memory.
fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let orders = fixture.table(
        "orders",
        "id bigint key, customer integer, amount numeric(15,2), note text",
    );
    let line = |id: u32, amount: u32| {
        let note = match id % 7 {
            0 => "\\N".to_owned(),
            _ => format!("note {id} of customer {}", id % 100),
        };
        format!("{id}|{}|{amount}.50|{note}\n", id % 100)
    };
    let lines: String = (0..20_000).map(|id| line(id, id % 1_000)).collect();
    fixture.write(orders, &lines);
    fixture.store.flush().expect("the flush works");
    // These had amounts from 0 to 990 and get amounts beyond all others.
    let changed: String = (0..20_000).step_by(10).map(|id| line(id, 5_000)).collect();
    fixture.write(orders, &changed);
    fixture.store.flush().expect("the flush works");
    let mut removed = String::new();
    for id in (5..20_000).step_by(1_000) {
        writeln!(removed, "- {id}|\\N|\\N|\\N").expect("text");
    }
    fixture.write(orders, &removed);
    let customers = fixture.table("customers", "id integer key, name text");
    let lines: String = (0..100).map(|id| format!("{id}|customer {id}\n")).collect();
    fixture.write(customers, &lines);
    fixture
}

/// The lines of a plan that have `word`.
async fn plan(session: &Session, explain: &str, query: &str, word: &str) -> Vec<String> {
    let plan = run(session, &format!("{explain} {query}")).await;
    let lines = plan.expect("a plan").into_iter();
    lines.filter(|line| line.contains(word)).collect()
}

async fn answer(session: &Session, query: &str) -> Vec<String> {
    let rows = run(session, query).await;
    rows.unwrap_or_else(|error| panic!("{query}: {error:?}"))
}

#[tokio::test]
async fn conditions_hold_for_what_rows_are_now() {
    let fixture = fixture();
    let session = fixture.session();
    for (query, expected) in [
        // 2,000 rows changed; none of the old values may be found.
        ("select count(*) from orders where amount = 5000.50", "2000"),
        ("select count(*) from orders where amount = 990.50", "0"),
        ("select count(*) from orders where amount = 7.50", "20"),
        // A deleted row is not there, and NULL is neither true nor false.
        ("select count(*) from orders where amount = 5.50", "0"),
        ("select count(*) from orders where note is null", "2855"),
        (
            "select count(note) from orders where note like 'note 1%'",
            "9515",
        ),
        (
            "select count(*) from orders where not (note like 'note 1%')",
            "7610",
        ),
        (
            "select sum(id) from orders where amount = 7.50 and customer = 7",
            "190140",
        ),
        (
            "select note from orders where amount > 100.00 and id = 22",
            "",
        ),
        (
            "select max(note) from orders where id in (23, 24, 1005)",
            "note 24 of customer 24",
        ),
        ("select count(*) from orders where false", "0"),
    ] {
        assert_eq!(answer(&session, query).await.join(" "), expected, "{query}");
    }
}

#[tokio::test]
async fn columns_that_only_conditions_need_are_not_given() {
    let fixture = fixture();
    let session = fixture.session();
    let query = "select sum(id) from orders where amount = 7.50 and note like '%7'";
    assert_eq!(
        plan(&session, "explain", query, "FilterExec").await,
        [""; 0]
    );
    let scans = plan(&session, "explain", query, "ScanExec").await;
    let [scan] = scans.as_slice() else {
        panic!("{scans:?}")
    };
    assert!(scan.contains("columns=[id]"), "{scan}");
    assert!(scan.contains("where=") && scan.contains("note"), "{scan}");
}

/// The bounds of a timestamp say nothing of times of the day.
#[tokio::test]
async fn casts_that_lose_the_order_rule_nothing_out() {
    let mut fixture = Fixture::new();
    let table = fixture.table("seen", "id integer key, at timestamp");
    let line = |id: u32| {
        format!(
            "{id}|2026-01-{:02}T{:02}:30:00\n",
            1 + id / 24 % 28,
            id % 24
        )
    };
    let lines: String = (0..672).map(line).collect();
    fixture.write(table, &lines);
    fixture.store.flush().expect("the flush works");
    let session = fixture.session();
    for (query, expected) in [
        ("select count(*) from seen where at::time = '23:30'", "28"),
        ("select count(*) from seen where at::time < '01:00'", "28"),
        (
            "select count(*) from seen where at::date = '2026-01-03'",
            "24",
        ),
        (
            "select count(*) from seen where at > '2026-01-28 12:00'",
            "12",
        ),
    ] {
        assert_eq!(answer(&session, query).await, [expected], "{query}");
    }
}

/// The ratio is asked only where there is one.
#[tokio::test]
async fn a_condition_is_not_asked_about_rows_that_another_one_leaves_out() {
    let fixture = fixture();
    let session = fixture.session();
    let query = "select count(*) from orders where customer = 8 and 100 / (customer - 7) > 99";
    assert_eq!(answer(&session, query).await, ["200"]);
}

#[tokio::test]
async fn a_column_may_be_there_twice() {
    let fixture = fixture();
    let session = fixture.session();
    let query = "select x, row_number() over (partition by y order by y) from \
                 (select id as x, id as y from customers) s order by x limit 2";
    assert_eq!(answer(&session, query).await, ["0|1", "1|1"]);
}

#[tokio::test]
async fn a_limit_counts_rows_that_are_wanted() {
    let fixture = fixture();
    let session = fixture.session();
    for (query, expected) in [
        (
            "select id from orders where amount = 7.50 order by id limit 3",
            "7 1007 2007",
        ),
        (
            "select count(*) from (select id from orders where amount = 7.50 limit 7) few",
            "7",
        ),
        (
            "select count(*) from (select customer from orders limit 50) few join customers c on c.id = few.customer",
            "50",
        ),
        (
            "select id from orders order by amount desc, id desc limit 2",
            "19990 19980",
        ),
    ] {
        assert_eq!(answer(&session, query).await.join(" "), expected, "{query}");
    }
}

#[tokio::test]
async fn a_condition_that_fails_fails_the_statement() {
    let fixture = fixture();
    let session = fixture.session();
    let query = "select count(*) from orders where 1 / (customer - 7) > 0";
    let error = run(&session, query).await.expect_err("a division by zero");
    assert_eq!(error.code, "22012", "{error:?}");
    assert_eq!(answer(&session, "select 1").await, ["1"]);
}

/// A row of the next test.
struct Parcel {
    id: u32,
    state: Option<&'static str>,
    weight: Option<u32>,
    day: u32,
}

impl Parcel {
    fn new(id: u32) -> Self {
        let states = [
            None,
            Some("open"),
            Some("sent"),
            Some("lost"),
            Some("sent back"),
        ];
        Self {
            id,
            state: states[id as usize % 5],
            weight: Some(id % 11 * 10).filter(|&weight| weight > 0),
            day: id % 31 + 1,
        }
    }

    fn line(&self) -> String {
        let state = self.state.unwrap_or("\\N");
        let weight = self
            .weight
            .map_or("\\N".to_owned(), |weight| weight.to_string());
        format!("{}|{state}|{weight}|2024-01-{:02}\n", self.id, self.day)
    }
}

type Holds = fn(&Parcel) -> bool;

/// Conditions, and whether they hold.
const PARCELS: &[(&str, Holds)] = &[
    ("state = 'sent'", |parcel| parcel.state == Some("sent")),
    ("state in ('sent', 'lost')", |parcel| {
        matches!(parcel.state, Some("sent" | "lost"))
    }),
    ("state is null", |parcel| parcel.state.is_none()),
    ("state is distinct from 'open'", |parcel| {
        parcel.state != Some("open")
    }),
    ("not state like 'sent%'", |parcel| {
        parcel.state.is_some_and(|state| !state.starts_with("sent"))
    }),
    ("state like 'sent%' and weight > 90", |parcel| {
        parcel.weight > Some(90) && parcel.state.is_some_and(|state| state.starts_with("sent"))
    }),
    (
        "weight between 30 and 50 and sent < date '2024-01-11'",
        |parcel| {
            parcel.day <= 10
                && parcel
                    .weight
                    .is_some_and(|weight| (30..=50).contains(&weight))
        },
    ),
    ("weight = 40 and id * 2 <> 8", |parcel| {
        parcel.weight == Some(40) && parcel.id != 4
    }),
    ("weight = 40 and state = 'nobody'", |_| false),
    ("weight > 20 and weight > 50 and 70 >= weight", |parcel| {
        parcel
            .weight
            .is_some_and(|weight| (51..=70).contains(&weight))
    }),
    ("state < 'open'", |parcel| {
        parcel.state.is_some_and(|state| state < "open")
    }),
    // What is left of these has no column.
    ("state = 'open' and (null::boolean)", |_| false),
    ("not (state = state)", |_| false),
];

async fn check_parcels(session: &Session, parcels: &[Parcel]) {
    for (condition, holds) in PARCELS {
        let wanted = parcels.iter().filter(|parcel| holds(parcel));
        let (rows, ids) = wanted.fold((0_u64, 0_u64), |(rows, ids), parcel| {
            (rows + 1, ids + u64::from(parcel.id))
        });
        let query = format!("select count(*), coalesce(sum(id), 0) from parcels where {condition}");
        let found = answer(session, &query).await;
        assert_eq!(found, [format!("{rows}|{ids}")], "{condition}");
    }
}

/// Texts of a page are asked about once each, and numbers as they are packed: with changes in memory and
/// on disk, NULLs, and conditions that have no column at all.
#[tokio::test]
async fn conditions_on_encoded_cells_hold_for_what_rows_are_now() {
    let mut fixture = Fixture::new();
    let table = fixture.table(
        "parcels",
        "id bigint key, state text, weight integer, sent date",
    );
    let mut parcels: Vec<Parcel> = (0..20_000).map(Parcel::new).collect();
    let lines: String = parcels.iter().map(Parcel::line).collect();
    fixture.write(table, &lines);
    fixture.store.flush().expect("the flush works");
    check_parcels(&fixture.session(), &parcels).await;
    let changed = parcels.iter_mut().step_by(6).map(|parcel| {
        parcel.state = Some("sent");
        parcel.line()
    });
    let lines: String = changed.collect();
    fixture.write(table, &lines);
    check_parcels(&fixture.session(), &parcels).await;
    fixture.store.flush().expect("the flush works");
    check_parcels(&fixture.session(), &parcels).await;
}
