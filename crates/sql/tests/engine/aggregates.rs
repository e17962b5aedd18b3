//! Aggregates that are computed where a table is scanned: what they give is what a model adds up, with
//! rows in memory and on disk, NULLs, numbers that do not fit in 64 bits, and more groups than expected.

use std::collections::BTreeMap;

use sql::Session;

use crate::harness::{Fixture, run};

/// Enough for a scan by two threads, which find few groups for long.
const SALES: i64 = 160_000;
/// From here on each row is a group of its own, by `batch`.
const FEW_BATCHES: i64 = 72_000;

/// A row. Prices and weights are in hundredths.
struct Sale {
    id: i64,
    shop: Option<&'static str>,
    kind: Option<i64>,
    /// Three values at first, then as many as rows.
    batch: i64,
    /// Three values at first, then ever more: over 1,024 in all, but not among the first 65,536 rows that a
    /// thread reads, and few in each page.
    pallet: i64,
    price: Option<i128>,
    weight: i128,
}

impl Sale {
    fn new(id: i64) -> Self {
        let shops = [
            Some("Ulm"),
            None,
            Some("Ghent"),
            Some("Ulm"),
            Some("Bergen"),
        ];
        let weight = i128::from(id % 300) - 150;
        Self {
            id,
            shop: shops[id as usize % 5],
            kind: Some(id % 7).filter(|&kind| kind > 0),
            batch: if id < FEW_BATCHES { id % 3 } else { id },
            pallet: if id < FEW_BATCHES { id % 3 } else { id / 70 },
            price: Some(i128::from(id * 37 % 100_003) - 20_000).filter(|price| price % 9 != 0),
            // Beyond 64 bits in some pages.
            weight: if id % 4_001 == 17 {
                weight << 70
            } else {
                weight
            },
        }
    }

    fn line(&self) -> String {
        let shop = self.shop.unwrap_or("\\N");
        let kind = self.kind.map_or("\\N".to_owned(), |kind| kind.to_string());
        let price = self.price.map_or("\\N".to_owned(), hundredths);
        let (id, batch, pallet) = (self.id, self.batch, self.pallet);
        let weight = hundredths(self.weight);
        format!(
            "{id}|{shop}|{kind}|{batch}|{pallet}|{price}|0.{:02}|{weight}\n",
            id % 10
        )
    }
}

fn hundredths(number: i128) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let number = number.unsigned_abs();
    format!("{sign}{}.{:02}", number / 100, number % 100)
}

fn cell(number: Option<String>) -> String {
    number.unwrap_or_else(|| "NULL".to_owned())
}

/// What the model gives for [`COLUMNS`].
fn summary<'a>(sales: impl Iterator<Item = &'a Sale> + Clone) -> String {
    let count = sales.clone().count();
    let prices = sales.clone().filter_map(|sale| sale.price);
    let sum = prices.clone().reduce(|a, b| a + b).map(hundredths);
    let reduced = sales.clone().filter_map(|sale| {
        // price * (1 - rebate), in ten thousandths
        Some(sale.price? * i128::from(100 - sale.id % 10))
    });
    let reduced = reduced.reduce(|a, b| a + b).map(|sum| {
        let sign = if sum < 0 { "-" } else { "" };
        format!("{sign}{}.{:04}", sum.abs() / 10_000, sum.abs() % 10_000)
    });
    let weight = sales.clone().map(|sale| sale.weight).reduce(|a, b| a + b);
    let kinds = sales.clone().filter_map(|sale| sale.kind);
    let largest = kinds.clone().max().map(|kind| kind.to_string());
    let of_kinds = kinds
        .clone()
        .reduce(|a, b| a + b)
        .map(|sum| sum.to_string());
    [
        count.to_string(),
        prices.count().to_string(),
        cell(sum),
        cell(reduced),
        cell(weight.map(hundredths)),
        cell(largest),
        cell(of_kinds),
        kinds.count().to_string(),
    ]
    .join("|")
}

const COLUMNS: &str = "count(*), count(price), sum(price), sum(price * (1 - rebate)), sum(weight), \
                       max(kind), sum(kind), count(kind)";

async fn rows(session: &Session, query: &str) -> Vec<String> {
    let rows = run(session, query).await;
    rows.unwrap_or_else(|error| panic!("{query}: {error:?}"))
}

async fn is_encoded(session: &Session, query: &str) -> bool {
    let plan = rows(session, &format!("explain {query}")).await;
    plan.iter()
        .any(|line| line.contains("EncodedAggregateExec"))
}

/// Groups by a key that is written before the aggregates.
async fn check_groups<K: Ord>(
    session: &Session,
    sales: &[Sale],
    column: &str,
    key: impl Fn(&Sale) -> (K, String),
) {
    let mut groups: BTreeMap<K, (String, Vec<&Sale>)> = BTreeMap::new();
    for sale in sales {
        let (key, text) = key(sale);
        groups.entry(key).or_insert((text, Vec::new())).1.push(sale);
    }
    let expected = groups
        .into_values()
        .map(|(text, sales)| format!("{text}|{}", summary(sales.iter().copied())));
    let expected: Vec<String> = expected.collect();
    let query =
        format!("select {column}, {COLUMNS} from sales group by {column} order by {column}");
    assert_eq!(rows(session, &query).await, expected, "{query}");
}

async fn check(session: &Session, sales: &[Sale]) {
    let all = format!("select {COLUMNS} from sales");
    assert_eq!(rows(session, &all).await, [summary(sales.iter())]);
    let some = format!("{all} where kind = 3 and shop in ('Ulm', 'Ghent')");
    let wanted = sales
        .iter()
        .filter(|sale| sale.kind == Some(3) && matches!(sale.shop, Some("Ulm" | "Ghent")));
    assert_eq!(rows(session, &some).await, [summary(wanted)]);
    let none = format!("{all} where kind = 99");
    assert_eq!(
        rows(session, &none).await,
        ["0|0|NULL|NULL|NULL|NULL|NULL|0"]
    );
    // NULLs come last.
    check_groups(session, sales, "shop", |sale| {
        (
            (sale.shop.is_none(), sale.shop),
            sale.shop.unwrap_or("NULL").to_owned(),
        )
    })
    .await;
    check_groups(session, sales, "kind, shop", |sale| {
        let kind = sale.kind.map_or("NULL".to_owned(), |kind| kind.to_string());
        let text = format!("{kind}|{}", sale.shop.unwrap_or("NULL"));
        (
            (
                sale.kind.is_none(),
                sale.kind,
                sale.shop.is_none(),
                sale.shop,
            ),
            text,
        )
    })
    .await;
    // Too many groups: in one part late, in the other one from its beginning.
    check_groups(session, sales, "batch", |sale| {
        (sale.batch, sale.batch.to_string())
    })
    .await;
    check_groups(session, sales, "pallet", |sale| {
        (sale.pallet, sale.pallet.to_string())
    })
    .await;
    let averages = "select count(*) from (select shop, avg(price) as a, sum(price) / count(price) as b \
                    from sales group by shop) s where abs(a - b) > 0.0000001";
    assert_eq!(rows(session, averages).await, ["0"]);
}

#[tokio::test]
async fn aggregates_over_few_and_many_groups_are_those_of_the_model() {
    let mut fixture = Fixture::new();
    let table = fixture.table(
        "sales",
        "id bigint key, shop text, kind integer, batch bigint, pallet bigint, price numeric(12,2), \
         rebate numeric(4,2), weight numeric(30,2)",
    );
    let mut sales: Vec<Sale> = (0..SALES).map(Sale::new).collect();
    let lines: String = sales.iter().map(Sale::line).collect();
    fixture.write(table, &lines);
    for query in [
        format!("select {COLUMNS} from sales"),
        format!("select shop, {COLUMNS} from sales group by shop"),
        format!("select batch, {COLUMNS} from sales where kind > 2 group by batch"),
    ] {
        assert!(is_encoded(&fixture.session(), &query).await, "{query}");
    }
    check(&fixture.session(), &sales).await;
    fixture.store.flush().expect("the flush works");
    check(&fixture.session(), &sales).await;
    let changed = sales.iter_mut().step_by(7).map(|sale| {
        sale.shop = Some("Ghent");
        sale.price = Some(1);
        sale.line()
    });
    let lines: String = changed.collect();
    fixture.write(table, &lines);
    check(&fixture.session(), &sales).await;
    fixture.store.flush().expect("the flush works");
    check(&fixture.session(), &sales).await;
}
