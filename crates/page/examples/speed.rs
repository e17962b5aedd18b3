//! Size and speed of pages on made-up columns, next to a memory copy of the same bytes in the
//! same run: `cargo run --release -p page --example speed [filter]`.
//!
//! Every figure is the median of several rounds. Bytes count uncompressed.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
};
use page::{Page, PageEncoder, PageIdentity};
use types::ColumnType;

const ROWS: usize = 200_000;
const CAPACITY_BYTES: usize = 32_768;
const ROUNDS: usize = 15;
const IDENTITY: PageIdentity = PageIdentity { file: 1, offset: 0 };

/// Columns to be measured together, made when their turn comes.
struct Workload {
    name: &'static str,
    columns: Box<dyn Fn() -> Vec<(ColumnType, ArrayRef)>>,
}

fn one(name: &'static str, column: impl Fn() -> (ColumnType, ArrayRef) + 'static) -> Workload {
    Workload {
        name,
        columns: Box::new(move || vec![column()]),
    }
}

fn ten(name: &'static str, column: impl Fn(u64) -> (ColumnType, ArrayRef) + 'static) -> Workload {
    Workload {
        name,
        columns: Box::new(move || (0..10).map(&column).collect()),
    }
}

fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A number from 0 to 1.
fn unit(row: usize, seed: u64) -> f64 {
    (mix(row as u64 ^ seed << 32) >> 11) as f64 / (1_u64 << 53) as f64
}

fn int32(cell: impl Fn(usize) -> i32) -> (ColumnType, ArrayRef) {
    let cells: Vec<i32> = (0..ROWS).map(cell).collect();
    (ColumnType::Int32, Arc::new(Int32Array::from(cells)))
}

fn int64(cell: impl Fn(usize) -> i64) -> (ColumnType, ArrayRef) {
    let cells: Vec<i64> = (0..ROWS).map(cell).collect();
    (ColumnType::Int64, Arc::new(Int64Array::from(cells)))
}

fn float64(cell: impl Fn(usize) -> f64) -> (ColumnType, ArrayRef) {
    let cells: Vec<f64> = (0..ROWS).map(cell).collect();
    (ColumnType::Float64, Arc::new(Float64Array::from(cells)))
}

fn float32(cell: impl Fn(usize) -> f32) -> (ColumnType, ArrayRef) {
    let cells: Vec<f32> = (0..ROWS).map(cell).collect();
    (ColumnType::Float32, Arc::new(Float32Array::from(cells)))
}

fn text(cell: impl Fn(usize) -> String) -> (ColumnType, ArrayRef) {
    let cells: Vec<String> = (0..ROWS).map(cell).collect();
    (ColumnType::Text, Arc::new(StringArray::from(cells)))
}

/// Rose's synthetic data: a value that stays with probability 1 - `bump` and else jumps within
/// a byte.
fn bumpy(seed: u64, bump: f64) -> impl Fn(usize) -> u64 {
    let mut cells = Vec::with_capacity(ROWS);
    let mut current = 0;
    for row in 0..ROWS {
        if unit(row, seed) < bump {
            current = mix(row as u64 ^ seed) % 256;
        }
        cells.push(current);
    }
    move |row| cells[row]
}

/// Sum of twelve uniform numbers: close to a normal distribution.
fn normal(row: usize) -> f64 {
    (0..12).map(|seed| unit(row, seed)).sum::<f64>() - 6.0
}

fn walk(row: usize) -> f64 {
    20.0 + 8.0 * (row as f64 / 900.0).sin() + unit(row, 3)
}

fn round(value: f64, decimals: i32) -> f64 {
    let power = 10_f64.powi(decimals);
    (value * power).round() / power
}

fn workloads() -> Vec<Workload> {
    let byte = |seed: u64| move |row: usize| mix(row as u64 ^ seed << 40) % 256;
    let bump = |seed| {
        let cells = bumpy(seed, 0.01);
        int32(move |row| cells(row) as i32)
    };
    vec![
        one("i32 pfor 8 bit", move || int32(|row| byte(1)(row) as i32)),
        one("i64 pfor 8 bit", move || int64(|row| byte(1)(row) as i64)),
        ten("i32 pfor 8 bit x10", move |seed| {
            int32(move |row| byte(seed)(row) as i32)
        }),
        ten("i64 pfor 8 bit x10", move |seed| {
            int64(move |row| byte(seed)(row) as i64)
        }),
        one("i32 bump 0.01", move || bump(1)),
        one("i64 bump 0.01", || {
            let cells = bumpy(1, 0.01);
            int64(move |row| cells(row) as i64)
        }),
        ten("i32 bump 0.01 x10", bump),
        one("i64 13 bit", || {
            int64(|row| (mix(row as u64) % 8000) as i64)
        }),
        one("i64 37 bit", || int64(|row| (mix(row as u64) >> 27) as i64)),
        one("i64 outliers", || int64(outlier)),
        one("i64 key gaps", || {
            int64(|row| (row as i64) * 4 + (mix(row as u64) % 4) as i64)
        }),
        one("i64 serial", || int64(|row| row as i64)),
        one("i64 few far", || {
            int64(|row| mix(mix(row as u64) % 20) as i64)
        }),
        one("i64 noise", || int64(|row| mix(row as u64) as i64)),
        one("f64 prices", || {
            float64(|row| round(5.0 + 995.0 * unit(row, 1), 2))
        }),
        one("f64 sensor", || float64(|row| round(walk(row), 1))),
        one("f64 uniform", || float64(|row| unit(row, 1))),
        one("f64 normal", || float64(normal)),
        one("f64 walk", || float64(walk)),
        one("f64 few prices", || {
            float64(|row| 0.99 + (mix(row as u64) % 30) as f64)
        }),
        one("f32 prices", || {
            float32(|row| round(5.0 + 995.0 * unit(row, 1), 2) as f32)
        }),
        one("f32 sensor", || float32(|row| round(walk(row), 1) as f32)),
        one("f32 normal", || float32(|row| normal(row) as f32)),
        one("text sorted keys", || {
            text(|row| format!("Customer#{:09}", row * 3))
        }),
        one("text sorted paths", || {
            text(|row| format!("/home/user{:04}/photos/{:06}.jpg", row / 700, row * 7))
        }),
        one("text noise", || {
            text(|row| format!("{:x}", mix(row as u64)))
        }),
        one("text words", || text(sentence)),
        one("text few", || {
            text(|row| ["paid", "late", "shipped", "lost"][(mix(row as u64) % 4) as usize].into())
        }),
    ]
}

fn outlier(row: usize) -> i64 {
    let noise = mix(row as u64);
    if noise.is_multiple_of(50) {
        noise as i64
    } else {
        (noise % 900) as i64
    }
}

/// Some words, as in a comment.
fn sentence(row: usize) -> String {
    const WORDS: [&str; 16] = [
        "carefully",
        "final",
        "deposits",
        "sleep",
        "quickly",
        "the",
        "furiously",
        "even",
        "packages",
        "across",
        "ironic",
        "requests",
        "haggle",
        "blithely",
        "pending",
        "accounts",
    ];
    let word = |number: u64| WORDS[(mix(row as u64 * 8 + number) % 16) as usize];
    let count = 2 + mix(row as u64) % 5;
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

fn plain_bytes(columns: &[ArrayRef]) -> usize {
    let bytes = |array: &ArrayRef| -> usize {
        array
            .to_data()
            .buffers()
            .iter()
            .map(|buffer| buffer.len())
            .sum()
    };
    columns.iter().map(bytes).sum()
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn time(mut run: impl FnMut()) -> f64 {
    run();
    median(
        (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                run();
                start.elapsed().as_secs_f64()
            })
            .collect(),
    )
}

/// Encodes all rows; returns where pages end.
fn encode(encoder: &mut PageEncoder, columns: &[ArrayRef], file: &mut Vec<u8>) -> Vec<usize> {
    file.clear();
    let (mut ends, mut start) = (Vec::new(), 0);
    while start < ROWS {
        start += encoder.encode(columns, start, IDENTITY, file);
        ends.push(file.len());
    }
    ends
}

/// Copies the columns a page's worth of rows at a time.
fn copy(columns: &[ArrayRef], pages: usize) {
    for array in columns {
        for buffer in array.to_data().buffers() {
            for piece in buffer.as_slice().chunks(buffer.len().div_ceil(pages)) {
                black_box(piece.to_vec());
            }
        }
    }
}

/// Nanoseconds to read a cell by a random slot of the first page's first column, and to find a
/// cell's value in it (which only means something where cells ascend).
fn look_up(page: &Page) -> (f64, f64) {
    const LOOK_UPS: usize = 20_000;
    let column = page.column(0).expect("intact");
    let mut buffer = Vec::new();
    let slot = |number: usize| mix(number as u64) as usize % page.rows();
    let by_slot = time(|| {
        for number in 0..LOOK_UPS {
            black_box(column.value(slot(number), &mut buffer).expect("intact"));
        }
    });
    let by_value = time(|| {
        for number in 0..LOOK_UPS / 10 {
            let value = column.value(slot(number), &mut buffer).expect("intact");
            black_box(column.find(0..page.rows(), &value).expect("intact"));
        }
    });
    let nanoseconds = 1e9 / LOOK_UPS as f64;
    (by_slot * nanoseconds, by_value * nanoseconds * 10.0)
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    println!(
        "{:20} {:>7} {:>6} {:>9} {:>9} {:>9} {:>7} {:>8} {:>8}",
        "columns",
        "ratio",
        "pages",
        "enc GB/s",
        "dec GB/s",
        "copy GB/s",
        "dec/cpy",
        "slot ns",
        "find ns"
    );
    for workload in workloads() {
        if !workload.name.contains(&filter) {
            continue;
        }
        let (types, columns): (Vec<_>, Vec<_>) = (workload.columns)().into_iter().unzip();
        let plain = plain_bytes(&columns);
        let types: Arc<[ColumnType]> = types.into();
        let mut encoder = PageEncoder::new(&types, CAPACITY_BYTES);
        let mut file = Vec::new();
        let ends = encode(&mut encoder, &columns, &mut file);
        let pages: Vec<Page> = ends
            .iter()
            .scan(0, |begin, &end| Some(std::mem::replace(begin, end)..end))
            .map(|range| Page::open(file[range].into(), &types, IDENTITY).expect("intact"))
            .collect();
        let mut again = Vec::new();
        let encoding = time(|| {
            black_box(encode(&mut encoder, &columns, &mut again));
        });
        let decoding = time(|| {
            for page in &pages {
                for column in 0..types.len() {
                    black_box(page.decode(column).expect("intact"));
                }
            }
        });
        let copying = time(|| copy(&columns, pages.len()));
        let (by_slot, by_value) = look_up(&pages[0]);
        let speed = |seconds: f64| plain as f64 / seconds / 1e9;
        println!(
            "{:20} {:7.2} {:6} {:9.2} {:9.2} {:9.2} {:7.2} {:8.1} {:8.1}",
            workload.name,
            plain as f64 / file.len() as f64,
            pages.len(),
            speed(encoding),
            speed(decoding),
            speed(copying),
            copying / decoding,
            by_slot,
            by_value
        );
    }
}
