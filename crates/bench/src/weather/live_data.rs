//! What the rows take that are there so far, if nothing else were on the disk.
//!
//! Rows come in random order. The fewer of them there are, the further apart lie their keys, the
//! more a cell differs from the one before it, and the more bytes a row takes however well it is
//! packed: half of the rows take more than half of what all take. So prefixes are sorted and
//! written as one segment, a slice of the key space of each, and what lies between two prefixes is
//! interpolated. Of that only the ratio to all rows counts: what all take is seen in the end.

use anyhow::Result;
use contender::record::{COLUMNS, KEY_COLUMNS, Record};

use super::hedgerow_side::cells;
use super::rows::ShuffledRows;
use crate::pages::segment_file::SegmentSize;
use crate::pages::weather;

/// Prefixes that are measured.
const PREFIXES: usize = 16;

/// Rows that a slice of all rows has, about. Stations are spread evenly over longitudes.
const SLICE_ROWS: usize = 1_000_000;

/// Bytes of a row in prefixes of all rows.
#[derive(Debug)]
pub struct LiveData {
    /// Of each prefix, the shortest first: its rows, and bytes for each.
    prefixes: Vec<(usize, f64)>,
}

impl LiveData {
    /// Measures them.
    pub fn measure(rows: &ShuffledRows, page_bytes: usize) -> Result<Self> {
        let records = rows.records();
        let mut longitudes: Vec<i64> = records.iter().map(longitude).step_by(1 << 10).collect();
        longitudes.sort_unstable();
        let share = SLICE_ROWS as f64 / records.len() as f64;
        let end = (longitudes.len() as f64 * share) as usize;
        let end = longitudes.get(end).copied().unwrap_or(i64::MAX);
        let measure = |prefix: usize| {
            let rows = records.len() * prefix / PREFIXES;
            let slice = records[..rows]
                .iter()
                .filter(|record| longitude(record) < end);
            Ok((rows, bytes_a_row(slice.copied().collect(), page_bytes)?))
        };
        Ok(Self {
            prefixes: (1..=PREFIXES).map(measure).collect::<Result<_>>()?,
        })
    }

    #[cfg(test)]
    pub fn of_prefixes(prefixes: Vec<(usize, f64)>) -> Self {
        Self { prefixes }
    }

    /// Bytes of a row of the first `rows`, a row of all having 1.
    pub fn relative(&self, rows: usize) -> f64 {
        let after = self.prefixes.partition_point(|&(prefix, _)| prefix < rows);
        let last = self.prefixes.len() - 1;
        let (end, end_bytes) = self.prefixes[after.min(last)];
        let (begin, begin_bytes) = self.prefixes[after.min(last).saturating_sub(1)];
        let bytes = match end > begin {
            true => {
                let share = (rows.clamp(begin, end) - begin) as f64 / (end - begin) as f64;
                begin_bytes + share * (end_bytes - begin_bytes)
            }
            false => end_bytes,
        };
        bytes / self.prefixes[last].1
    }
}

fn longitude(record: &Record) -> i64 {
    COLUMNS[0].cell(record)
}

/// Bytes of a row in a segment of these records.
fn bytes_a_row(mut records: Vec<Record>, page_bytes: usize) -> Result<f64> {
    let key = |record: &Record| [0, 1, 2].map(|column: usize| COLUMNS[column].cell(record));
    const { assert!(KEY_COLUMNS == 3) };
    records.sort_unstable_by_key(key);
    let arrays = COLUMNS.iter().map(|column| cells(column, &records));
    let data = weather::table_of(arrays.collect())?;
    let size = SegmentSize::measure(&data, page_bytes)?;
    Ok(size.file as f64 / records.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_two_prefixes_is_interpolated() {
        let live = LiveData::of_prefixes(vec![(100, 8.0), (200, 6.0), (400, 4.0)]);
        let relative = |rows| live.relative(rows);
        assert_eq!([50, 100, 150].map(relative), [2.0, 2.0, 1.75]);
        assert_eq!([200, 300, 400].map(relative), [1.5, 1.25, 1.0]);
        assert_eq!(relative(500), 1.0);
    }

    #[test]
    fn fewer_rows_take_more_bytes_each() -> Result<()> {
        let rows = ShuffledRows::of(&weather::data_set(60_000)?);
        let live = LiveData::measure(&rows, 32 << 10)?;
        let relative: Vec<f64> = (1..=4)
            .map(|quarter| live.relative(rows.count() * quarter / 4))
            .collect();
        assert!(
            relative.is_sorted_by(|less, more| less > more),
            "{relative:?}"
        );
        assert_eq!(relative[3], 1.0);
        Ok(())
    }
}
