//! The rows that a merge has decided to keep, not copied yet.
//!
//! Merge and filter only name rows: spans of source blocks, in output order, and folded patches
//! in between. Consumers take them in batches, column by column. That keeps the decisions free
//! of column types and copies each kept cell once.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::{Batch, FOLDED, GatherError, Places};
use crate::block::Block;
use crate::error::StoreError;
use crate::fold::Folded;
use crate::gather::Span;

/// Index of a source block within a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceId(u32);

/// A span at least this share of a batch is handed out alone, as a slice that copies nothing.
const WHOLE_SPAN_SHARE: usize = 4;

/// Bytes of rows, as their sources store them but for long texts, after which a batch ends whatever its rows: bounds
/// the memory of a scan or merge of wide rows. Decoded they are a few times as many, and about six batches of a query are on their way
/// from its scan to its client. With 16 MiB a scan of rows of 1 KiB, stored in half of that, had batches of 8 MB, and
/// a process with 256 MiB was ended at its limit.
const BATCH_BYTES: usize = 1 << 20;

/// Kept rows in output order.
pub(crate) struct Selection {
    columns: Vec<usize>,
    sources: Vec<Arc<Block>>,
    folded: Vec<Folded>,
    spans: Vec<Span>,
    rows: usize,
    /// Bytes and rows of all sources: their ratio is the width of a row.
    source_bytes: usize,
    source_rows: usize,
}

impl Selection {
    /// An empty selection of rows of which `columns` are wanted.
    pub fn new(columns: Vec<usize>) -> Self {
        Self {
            columns,
            sources: Vec::new(),
            folded: Vec::new(),
            spans: Vec::new(),
            rows: 0,
            source_bytes: 0,
            source_rows: 0,
        }
    }

    /// The wanted columns.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Kept rows that have not been taken.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Makes a block known as a source.
    pub fn source(&mut self, block: &Arc<Block>) -> SourceId {
        let known = self
            .sources
            .iter()
            .rposition(|source| Arc::ptr_eq(source, block));
        let index = known.unwrap_or_else(|| {
            self.sources.push(Arc::clone(block));
            self.source_bytes += block.bytes_for(&self.columns);
            self.source_rows += block.rows();
            self.sources.len() - 1
        });
        SourceId(u32::try_from(index).expect("a selection has few sources"))
    }

    /// Keeps rows of a source, after all kept so far.
    #[inline]
    pub fn push(&mut self, source: SourceId, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        self.push_span(Span {
            source: source.0,
            start: rows.start as u32,
            rows: rows.len() as u32,
        });
    }

    /// Keeps a folded patch, after all kept so far.
    pub fn push_folded(&mut self, folded: Folded) {
        let start = self.folded.len() as u32;
        self.folded.push(folded);
        self.push_span(Span {
            source: FOLDED,
            start,
            rows: 1,
        });
    }

    #[inline]
    fn push_span(&mut self, span: Span) {
        self.rows += span.rows as usize;
        if let Some(last) = self.spans.last_mut()
            && last.source == span.source
            && last.start + last.rows == span.start
        {
            last.rows += span.rows;
        } else {
            self.spans.push(span);
        }
    }

    /// Whether a batch of `rows_max` rows can be taken that more input would not improve.
    pub fn is_ready(&self, rows_max: usize) -> bool {
        let rows_max = self.within_bytes(rows_max);
        let first = self.spans.first().map_or(0, |span| span.rows as usize);
        self.rows >= rows_max || first * WHOLE_SPAN_SHARE >= rows_max
    }

    /// Copies the next at most `rows_max` rows, of which there must be one, with `copy`, and
    /// forgets them. Where their text or bytes exceed what one array can hold, fewer are taken.
    pub fn take<T>(
        &mut self,
        rows_max: usize,
        copy: impl FnMut(&Batch<'_>) -> Result<T, GatherError>,
    ) -> Result<T, StoreError> {
        let spans = self.next_spans(self.within_bytes(rows_max));
        self.take_spans(spans, copy)
    }

    /// Where to find all kept rows, for [`Self::all`].
    pub fn places(&self) -> Places {
        Places::of(&self.sources, &self.spans)
    }

    /// All kept rows, to copy a column now and another one later. No more may be kept in the meantime.
    pub fn all<'a>(&'a self, places: &'a Places) -> Batch<'a> {
        self.batch(&self.spans, places)
    }

    /// Bytes that the list of kept rows takes.
    pub fn bytes(&self) -> usize {
        self.spans.capacity() * size_of::<Span>()
    }

    fn batch<'a>(&'a self, spans: &'a [Span], places: &'a Places) -> Batch<'a> {
        Batch {
            sources: &self.sources,
            folded: &self.folded,
            columns: &self.columns,
            spans,
            places,
        }
    }

    /// Copies and forgets the rows of `spans`, which are the next ones, or fewer.
    fn take_spans<T>(
        &mut self,
        mut spans: Vec<Span>,
        mut copy: impl FnMut(&Batch<'_>) -> Result<T, GatherError>,
    ) -> Result<T, StoreError> {
        loop {
            let places = Places::of(&self.sources, &spans);
            let batch = self.batch(&spans, &places);
            let rows = batch.rows();
            match copy(&batch) {
                Ok(copied) => {
                    self.consume(rows);
                    return Ok(copied);
                }
                Err(GatherError::Store(error)) => return Err(error),
                Err(GatherError::TooManyBytes) => {
                    assert!(rows > 1, "one row of an array fits an array");
                    spans = first_rows(&spans, rows / 2);
                }
            }
        }
    }

    /// At most `rows_max`, and fewer if rows are wide.
    fn within_bytes(&self, rows_max: usize) -> usize {
        let row_bytes = self.source_bytes / self.source_rows.max(1);
        rows_max.min((BATCH_BYTES / row_bytes.max(1)).max(1))
    }

    /// Spans of the next at most `rows_max` rows. A large span comes alone: it needs no copy. Small ones are left whole:
    /// what is asked of a page, such as which of its rows are in a range, would be asked once more for the rest.
    fn next_spans(&self, rows_max: usize) -> Vec<Span> {
        let is_large = |span: &Span| span.rows as usize * WHOLE_SPAN_SHARE >= rows_max;
        let mut rows = 0;
        let fits = |span: &&Span| {
            rows += span.rows as usize;
            !is_large(span) && rows <= rows_max
        };
        match self.spans.iter().take_while(fits).count() {
            0 => first_rows(&self.spans[..1], rows_max),
            small => self.spans[..small].to_vec(),
        }
    }

    /// Forgets the next `rows` rows: they have been copied.
    fn consume(&mut self, rows: usize) {
        let mut left = rows;
        let mut taken = 0;
        self.rows -= rows;
        while left > 0 {
            let span = &mut self.spans[taken];
            let step = left.min(span.rows as usize);
            left -= step;
            span.start += step as u32;
            span.rows -= step as u32;
            taken += usize::from(span.rows == 0);
        }
        self.spans.drain(..taken);
        self.let_go();
    }

    /// Lets go of what no span names any more. A merge of large runs always has rows left over:
    /// what it has copied must not stay until its end.
    fn let_go(&mut self) {
        let mut named = vec![false; self.sources.len()];
        let mut folded_from = self.folded.len();
        for span in &self.spans {
            match span.source {
                FOLDED => folded_from = folded_from.min(span.start as usize),
                source => named[source as usize] = true,
            }
        }
        let numbers = self.keep_sources(&named);
        self.folded.drain(..folded_from);
        for span in &mut self.spans {
            match span.source {
                FOLDED => span.start -= folded_from as u32,
                source => span.source = numbers[source as usize],
            }
        }
    }

    /// Keeps the sources that are named; the new number of each that was there.
    fn keep_sources(&mut self, named: &[bool]) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(named.len());
        let mut kept = Vec::new();
        for (block, &named) in self.sources.drain(..).zip(named) {
            numbers.push(kept.len() as u32);
            if named {
                kept.push(block);
            } else {
                self.source_bytes -= block.bytes_for(&self.columns);
                self.source_rows -= block.rows();
            }
        }
        self.sources = kept;
        numbers
    }
}

/// The first at most `rows` rows of `spans`.
fn first_rows(spans: &[Span], rows: usize) -> Vec<Span> {
    let mut left = rows;
    let mut first = Vec::new();
    for &span in spans {
        let step = left.min(span.rows as usize);
        first.push(Span {
            rows: step as u32,
            ..span
        });
        left -= step;
        if left == 0 {
            break;
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_rows::Written::Put;
    use crate::test_rows::{layout, run};

    fn block(first_key: i64) -> Arc<Block> {
        let written: Vec<_> = (first_key..first_key + 10)
            .map(|key| Put(key, 1, key, "text"))
            .collect();
        Arc::clone(run(&written).block())
    }

    fn take(kept: &mut Selection, rows: usize) -> Vec<i64> {
        use arrow_array::cast::AsArray;
        use arrow_array::types::Int64Type;
        let columns = kept.take(rows, |batch| batch.columns());
        let columns = columns.expect("memory can be read");
        columns[0].as_primitive::<Int64Type>().values().to_vec()
    }

    /// As in a long merge, where rows are left over after every batch.
    #[test]
    fn blocks_go_when_their_rows_are_taken_though_others_stay() {
        let mut kept = Selection::new(layout().all_columns.clone());
        let blocks: Vec<Arc<Block>> = (0..50).map(|number| block(number * 10)).collect();
        let mut expected = 0;
        for block in &blocks {
            let source = kept.source(block);
            kept.push(source, 0..5);
            kept.push(source, 5..10);
            while kept.rows() > 7 {
                let keys = take(&mut kept, 4);
                assert!(
                    keys.iter()
                        .copied()
                        .eq(expected..expected + keys.len() as i64)
                );
                expected += keys.len() as i64;
            }
            let held = blocks.iter().filter(|block| Arc::strong_count(block) > 1);
            assert!(held.count() <= 2, "rows of at most two blocks are left");
        }
        while kept.rows() > 0 {
            expected += take(&mut kept, 4).len() as i64;
        }
        assert_eq!(expected, 500);
        assert!(kept.sources.is_empty() && kept.source_rows == 0 && kept.source_bytes == 0);
    }
}
