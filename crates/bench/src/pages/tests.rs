//! Every format gives back what it took, and the whole experiment runs on a few rows.

use anyhow::bail;
use arrow_array::{Array, ArrayRef};

use super::contender::Wanted;
use super::goals::Goal;
use super::measured::{FormatFigures, LookupFigures};
use super::segment_file::SegmentSize;
use super::*;

const PAGE_BYTES: usize = 8 << 10;

fn all_formats() -> Vec<Box<dyn Contender>> {
    let mut formats = Rivals::new().unwrap().all;
    formats.push(Box::new(Multicolumn::new(PAGE_BYTES)));
    formats
}

fn check_round_trip(data: &DataSet) {
    for format in all_formats() {
        let pieces = format.encode(data).unwrap();
        for wanted in [Wanted::All, Wanted::One(0), Wanted::One(data.probe)] {
            let columns = match wanted {
                Wanted::All => (0..data.arrays.len()).collect(),
                Wanted::One(column) => vec![column],
            };
            let mut row = 0;
            let mut check = |arrays: &[ArrayRef]| {
                let rows = arrays[0].len();
                for (array, &column) in arrays.iter().zip(&columns) {
                    let expected = data.arrays[column].slice(row, rows);
                    let name = format.name();
                    assert_eq!(
                        array.to_data(),
                        expected.to_data(),
                        "{name}, column {column}"
                    );
                }
                assert_eq!(arrays.len(), columns.len());
                row += rows;
            };
            format.decode(data, &pieces, wanted, &mut check).unwrap();
            assert_eq!(row, data.rows());
        }
    }
}

#[test]
fn every_format_gives_back_the_paper_s_columns() {
    check_round_trip(&TABLE_3_TEN.data_set(40_000).unwrap());
}

#[test]
fn every_format_gives_back_the_schemas() {
    check_round_trip(&weather::data_set(10_000).unwrap());
    check_round_trip(&orders::data_set(10_000).unwrap());
    check_round_trip(&lineitem::data_set(5_000).unwrap());
}

#[test]
fn look_ups_find_their_rows() {
    let data = weather::data_set(10_000).unwrap();
    let ours = Multicolumn::new(PAGE_BYTES);
    let pages = Multicolumn::open(&data.types(), &ours.encode(&data).unwrap()).unwrap();
    let lookups = lookup::Lookups::new(&data, &pages, 500).unwrap();
    lookups.values_by_slot().unwrap();
    lookups.rows_by_key().unwrap();
}

fn format(name: &str, bytes: usize, encode: f64, decode: f64) -> FormatFigures {
    FormatFigures {
        name: name.to_owned(),
        bytes,
        pieces: 1,
        encode: vec![encode],
        decode: vec![decode],
        one_of_all: 0.125,
    }
}

fn figures(name: &'static str, bytes: usize) -> DataSetFigures {
    DataSetFigures {
        name,
        rows: 250,
        columns: 1,
        uncompressed: 1_000,
        copy: vec![8.0],
        formats: vec![
            format("hedgerow", bytes, 3.0, 4.0),
            format("parquet zstd-3", 100, 0.1, 0.5),
            format("row blocks zstd-3", 250, 0.1, 0.5),
        ],
        lookups: LookupFigures {
            value: vec![10.0],
            row: vec![400.0],
        },
        segment: SegmentSize {
            file: 1_010,
            pages: 1_000,
            filter: 0,
        },
    }
}

#[test]
fn goals_are_ratios_of_what_was_measured() {
    let (paper, weather, lineitem) = (
        figures("paper", 25),
        figures("weather", 90),
        figures("lineitem", 120),
    );
    let subjects = Subjects {
        table_1: &paper,
        one_column: &paper,
        ten_columns: &paper,
        weather: &weather,
        lineitem: &lineitem,
    };
    let reached = subjects.reached();
    let check = |metric: &str, value: f64, is_reached: bool| {
        let figure = reached.iter().find(|r| r.metric == metric).unwrap();
        assert!((figure.value - value).abs() < 1e-9, "{figure:?}");
        assert_eq!(figure.is_reached(), is_reached, "{figure:?}");
    };
    check("P1", 40.0 / 3.96, true);
    check("P2a", 0.5, true);
    check("P3b", 3.0, true);
    // The larger of 0.9 and 1.2: the worse one counts.
    check("P4a", 1.2, false);
    check("P4b", 8.0, true);
    check("P4c", 0.48, true);
    check("P5a", 10.0, true);
    check("P5b", 400.0, false);
    check("one column of ten / all", 0.125, true);
    check("index overhead, table 1", 0.01, false);
    assert_eq!(reached[0].goal, Goal::AtLeast(3.0));
}

/// A run too small to say anything about speed.
const TINY: Plan = Plan {
    name: "test",
    paper: |table| 20_000 / table.columns,
    weather_rows: 4_000,
    orders_rows: 2_000,
    lineitem_rows: 1_000,
    flights_rows: 500,
    lookups: 10,
};

#[test]
fn the_report_has_every_goal_table_and_mark() {
    let report = measure(TINY, || bail!("tests install nothing")).unwrap();
    let json = serde_json::to_value(&report.results).unwrap();
    let figures = json["results"].as_array().unwrap();
    let has = |metric: &str, peer: Option<&str>| {
        figures.iter().any(|figure| {
            figure["metric"] == metric
                && figure["peer"].as_str() == peer
                && figure["value"].is_f64()
        })
    };
    for goal in ["P1", "P2a", "P2b", "P4a", "P4b", "P4c"] {
        assert!(
            figures.iter().any(|figure| figure["metric"] == goal),
            "{goal}"
        );
    }
    assert!(has("P3a", None) && has("P5b", None));
    assert!(has(
        "table 1, 5 columns: ratio",
        Some("rose pfor, published")
    ));
    assert!(has(
        "table 3, 10 columns: decode",
        Some("rose rle, published")
    ));
    assert!(has("weather: copy", Some("memory copy")));
    for peer in [
        "parquet",
        "parquet lz4",
        "parquet zstd-3",
        "row blocks lz4",
        "row blocks zstd-3",
    ] {
        assert!(has("lineitem: decode", Some(peer)), "{peer}");
    }
    let decode = figures
        .iter()
        .find(|figure| figure["metric"] == "orders: decode")
        .unwrap();
    assert_eq!(decode["samples"].as_array().unwrap().len(), stopwatch::RUNS);

    let shown = report.to_string();
    assert!(shown.contains("left out: tests install nothing"));
    assert!(shown.contains("table 2, 100 columns") && shown.contains("Capacity of a page"));
    let folder = tempfile::tempdir().unwrap();
    report.write(&folder.path().join("pages.json")).unwrap();
    let svg = std::fs::read_to_string(folder.path().join("pages.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("lineitem") && svg.contains("row blocks zstd-3"));
}
