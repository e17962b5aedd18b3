//! What filtered scans take: `cargo run --release -p lsm --example scans [rows]`.
//!
//! One run on disk holds order lines like those of TPC-H, by (order, line). A scan wants those of a year,
//! of some discounts and of small quantities, one in fifty or so, and takes two numbers of each, as query
//! 6 does. All pages are in the cache before anything is measured. Every figure is the median of all
//! rounds, so that whatever else the machine does falls on few of them.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, StringArray};
use arrow_buffer::BooleanBuffer;
use env::Env;
use lsm::{
    EncodedRows, Form, FragmentCells, KeyRange, RowTest, ScanRequest, Sifted, Snapshot, Store,
    StoreError, StoreOptions, ZoneFilter, Zones,
};
use types::{
    Column, ColumnType, CommitPosition, TableId, TableName, TableSchema, Value, ValueRange,
    VersionKind, VersionRows,
};

const TABLE: TableId = TableId(1);
const ROUNDS: usize = 200;
/// Rows that are ingested at once.
const PIECE: usize = 100_000;
const LINES_AN_ORDER: usize = 4;
const BATCH_ROWS: usize = 8192;

const PRICE: usize = 3;
const DISCOUNT: usize = 4;
const QUANTITY: usize = 2;
const SHIP_DATE: usize = 6;
/// The columns that a scan looks at, in this order.
const LOOKED_AT: [usize; 3] = [SHIP_DATE, DISCOUNT, QUANTITY];

const DECIMAL: ColumnType = ColumnType::Decimal {
    precision: 15,
    scale: 2,
};

fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn schema() -> TableSchema {
    let columns = [
        ("order", ColumnType::Int32),
        ("line", ColumnType::Int32),
        ("quantity", DECIMAL),
        ("price", DECIMAL),
        ("discount", DECIMAL),
        ("tax", DECIMAL),
        ("ship_date", ColumnType::Date),
        ("comment", ColumnType::Text),
    ];
    let column = |&(name, column_type): &(&str, ColumnType)| Column::new(name, column_type);
    TableSchema {
        name: TableName {
            schema: "public".to_owned(),
            name: "order_line".to_owned(),
        },
        columns: columns.iter().map(column).collect(),
        key: vec![0, 1],
    }
}

/// The number of a line and of a column make a pseudo-random number below a limit.
fn drawn(line: usize, column: usize, limit: u64) -> u64 {
    mix(line as u64 | (column as u64) << 40) % limit
}

fn lines(first: usize, count: usize) -> VersionRows {
    let all = || first..first + count;
    let decimal = |column: usize, least: i128, step: i128, limit: u64| -> ArrayRef {
        let cells = all().map(|line| least + step * i128::from(drawn(line, column, limit)));
        let cells = Decimal128Array::from_iter_values(cells);
        Arc::new(cells.with_precision_and_scale(15, 2).expect("it fits"))
    };
    let integer = |cell: &dyn Fn(usize) -> usize| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(
            all().map(|line| cell(line) as i32),
        ))
    };
    let dates = all().map(|line| 8_036 + drawn(line, SHIP_DATE, 2_526) as i32);
    let comments = all().map(|line| format!("{:x}", drawn(line, 7, u64::MAX)));
    let columns: Vec<ArrayRef> = vec![
        integer(&|line| line / LINES_AN_ORDER),
        integer(&|line| line % LINES_AN_ORDER),
        decimal(QUANTITY, 100, 100, 50),
        decimal(PRICE, 90_000, 1, 10_000_000),
        decimal(DISCOUNT, 0, 1, 11),
        decimal(5, 0, 1, 9),
        Arc::new(Date32Array::from_iter_values(dates)),
        Arc::new(StringArray::from_iter_values(comments)),
    ];
    VersionRows {
        columns,
        positions: vec![1; count],
        kinds: vec![VersionKind::Put as u8; count],
        unchanged: None,
    }
}

fn fill(directory: &Path, rows: usize) -> Arc<Store> {
    let options = StoreOptions {
        memory_bytes: 2 << 30,
        cache_bytes: 2 << 30,
        ..StoreOptions::default()
    };
    let store = Store::open(Env::real(), directory, options).expect("a new store");
    store.create_table(TABLE, schema()).expect("a new table");
    for first in (0..rows).step_by(PIECE) {
        let lines = lines(first, PIECE.min(rows - first));
        store.ingest(TABLE, lines).expect("ingested");
    }
    store.publish(CommitPosition(1), Vec::new());
    store.flush().expect("flushed");
    store
}

/// Query 6: a year, three of eleven discounts, about half of the quantities.
struct Query6;

impl Query6 {
    fn ranges() -> [ValueRange<'static>; 3] {
        let between = |low, high| ValueRange {
            low: Bound::Included(low),
            high: Bound::Included(high),
        };
        [
            between(Value::Int(8_766), Value::Int(9_130)),
            between(Value::Decimal(5), Value::Decimal(7)),
            ValueRange {
                low: Bound::Unbounded,
                high: Bound::Excluded(Value::Decimal(2_400)),
            },
        ]
    }

    /// How many lines it wants of so many.
    fn wanted(rows: usize) -> usize {
        let is_wanted = |&line: &usize| {
            (730..=1_094).contains(&drawn(line, SHIP_DATE, 2_526))
                && (5..=7).contains(&drawn(line, DISCOUNT, 11))
                && drawn(line, QUANTITY, 50) < 23
        };
        (0..rows).filter(is_wanted).count()
    }
}

impl RowTest for Query6 {
    type Error = StoreError;

    fn sift(&mut self, rows: &EncodedRows<'_>) -> Result<Sifted, StoreError> {
        let [first, others @ ..] = Self::ranges();
        let mut wanted = rows.in_range(0, first)?;
        for (index, range) in (1..).zip(others) {
            wanted = &wanted & &rows.in_range(index, range)?;
        }
        Ok(Sifted {
            rows: Some(wanted),
            checked: Vec::new(),
        })
    }

    fn check(&mut self, _: &[ArrayRef], _: usize) -> Result<BooleanBuffer, StoreError> {
        panic!("nothing is left to be checked")
    }
}

struct AnyZone;

impl ZoneFilter for AnyZone {
    fn may_have_wanted(&self, _: &Zones) -> Vec<bool> {
        Vec::new()
    }
}

fn request() -> ScanRequest {
    ScanRequest {
        projection: vec![PRICE, DISCOUNT],
        range: KeyRange::default(),
        batch_rows: BATCH_ROWS,
    }
}

/// The wanted lines, source by source, as numbers: how many.
fn fragments(snapshot: &Snapshot) -> usize {
    let zones: Arc<dyn ZoneFilter> = Arc::new(AnyZone);
    let scan = snapshot.scan_wanted(TABLE, request(), &LOOKED_AT, &zones);
    let mut scan = scan.expect("the table is there");
    let mut rows = 0;
    while let Some(fragments) = scan
        .next_fragments(&mut Query6, &[Form::Integers; 2])
        .expect("pages are sound")
    {
        for fragment in fragments {
            assert!(matches!(fragment.columns[0], FragmentCells::Integers(_)));
            rows += fragment.rows;
        }
    }
    rows
}

/// The wanted lines as batches, by key: how many.
fn batches(snapshot: &Snapshot) -> usize {
    let zones: Arc<dyn ZoneFilter> = Arc::new(AnyZone);
    let scan = snapshot.scan_wanted(TABLE, request(), &LOOKED_AT, &zones);
    let mut scan = scan.expect("the table is there");
    let mut rows = 0;
    while let Some(batch) = scan.next_wanted(&mut Query6).expect("pages are sound") {
        rows += batch.num_rows();
    }
    rows
}

fn measure(name: &str, rows: usize, wanted: usize, scan: impl Fn() -> usize) {
    assert_eq!(scan(), wanted, "{name}");
    let mut nanos: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            assert_eq!(scan(), wanted, "{name}");
            start.elapsed().as_nanos() as f64 / rows as f64
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    println!(
        "{name}: {:.2} ns a row, {:.2} at best",
        nanos[nanos.len() / 2],
        nanos[0],
    );
}

fn main() {
    let rows = std::env::args().nth(1);
    let rows = rows.map_or(6_000_000, |rows| rows.parse().expect("a number of rows"));
    let directory = tempfile::tempdir().expect("a folder");
    let store = fill(directory.path(), rows);
    for component in store.table_stats(TABLE).expect("a table").components {
        println!("{component:?}");
    }
    let snapshot = store.pin();
    let wanted = Query6::wanted(rows);
    measure("in fragments", rows, wanted, || fragments(&snapshot));
    measure("by key", rows, wanted, || batches(&snapshot));
}
