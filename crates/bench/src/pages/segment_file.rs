//! The rows as a tree stores them: one segment file, with system columns, index and footer.
//!
//! Tells what the index costs (page index, footer and alignment, over the pages' bytes), as the
//! paper's "+ tree" rows do, and what the filter does, which Rose had none of.

use anyhow::{Context, Result};
use env::Env;
use lsm::segment::{FilterMemory, Segment, SegmentId, SegmentWriter, page_encoder};
use page::Experience;
use tempfile::TempDir;
use types::{SortKeys, TableId, VersionKind, VersionRows};

use super::data_set::DataSet;

/// Rows handed over at once.
const BATCH_ROWS: usize = 64 << 10;

/// A segment file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSize {
    /// All of it.
    pub file: u64,
    /// Its pages alone.
    pub pages: u64,
    /// Its filter alone.
    pub filter: u64,
}

impl SegmentSize {
    /// Writes the data set as one segment, every row a put that all snapshots see.
    pub fn measure(data: &DataSet, page_bytes: usize) -> Result<Self> {
        let folder = TempDir::with_prefix("bench-pages-")?;
        let env = Env::real();
        let mut writer = SegmentWriter::create(
            &env,
            folder.path(),
            SegmentId(1),
            TableId(1),
            &data.schema,
            page_encoder(&data.schema, page_bytes, &Experience::default()),
            true,
        )?;
        for start in (0..data.rows()).step_by(BATCH_ROWS) {
            let rows = BATCH_ROWS.min(data.rows() - start);
            let slice = |array: &arrow_array::ArrayRef| array.slice(start, rows);
            let keys: Vec<_> = data.key_arrays().iter().map(slice).collect();
            let versions = VersionRows {
                columns: data.arrays.iter().map(slice).collect(),
                positions: vec![0; rows],
                kinds: vec![VersionKind::Put as u8; rows],
                unchanged: None,
            };
            let keys = SortKeys::compute(&keys, &data.key_types());
            writer.append(&versions, &keys, &mut |_| {})?;
        }
        let info = writer.finish(&mut |_| {})?.info;
        let no_filters = FilterMemory::new(0);
        let segment = Segment::open(&env, folder.path(), &info, &data.schema, &no_filters)
            .context("the segment that was just written")?;
        let pages = segment.pages().iter().map(|page| u64::from(page.length));
        Ok(Self {
            file: info.bytes,
            pages: pages.sum(),
            filter: segment.filter_bytes(),
        })
    }

    /// Everything but the pages and the filter, over the pages.
    pub fn index_overhead(&self) -> f64 {
        (self.file - self.pages - self.filter) as f64 / self.pages as f64
    }

    /// The filter over the pages.
    pub fn filter_overhead(&self) -> f64 {
        self.filter as f64 / self.pages as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_what_is_not_pages() {
        let size = SegmentSize {
            file: 1_120,
            pages: 1_000,
            filter: 100,
        };
        assert!((size.index_overhead() - 0.02).abs() < 1e-12);
        assert!((size.filter_overhead() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_segment_is_little_more_than_its_pages() -> Result<()> {
        let data = super::super::orders::data_set(20_000)?;
        let size = SegmentSize::measure(&data, 32 << 10)?;
        assert!(size.pages < data.bytes() as u64);
        assert!((0.0..0.05).contains(&size.index_overhead()));
        Ok(())
    }
}
