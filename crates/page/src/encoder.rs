//! Filling pages: as many rows as the capacity holds, with few attempts.
//!
//! 1. Guess the number of rows from the bytes that a row took in the last page.
//! 2. Encode all columns of that many rows into a draft.
//! 3. Keep the draft if it fits and is full enough; otherwise guess again, between the largest
//!    draft that fitted and the smallest that did not.
//! 4. Write the best draft behind its header.
//!
//! Invariants: a page has at least one row, and at most [`ROWS_MAX`]; only a page of one row
//! exceeds the capacity. The same rows give the same bytes after the same pages.

use arrow_array::ArrayRef;
use types::ColumnType;

use crate::column_encoder::{ColumnEncoder, Rows, Scratch, text_ends};
use crate::experience::Experience;
use crate::header::{self, Entry, PageIdentity};
use crate::limits::{CAPACITY_BYTES_MIN, ROWS_MAX, decoded_text_bytes_max};
use crate::text::TextRests;
use crate::words::Sink;

/// A guess aims at this share of the capacity: what is above is for the ups and downs of data.
const FILL_TARGET: f64 = 0.985;

/// A draft that is as full as this is good enough.
const FILL_ENOUGH: f64 = 0.95;

/// Drafts of a page at most, once one has fitted.
const ATTEMPTS_MAX: usize = 4;

/// The first guess of an encoder: a row of so many bytes.
const ROW_BYTES_GUESS: f64 = 48.0;

/// Encodes pages of one schema; remembers what the last page was like as the next guess.
#[derive(Debug)]
pub struct PageEncoder {
    capacity_bytes: usize,
    columns: Vec<ColumnEncoder>,
    row_bytes: f64,
    scratch: Scratch,
    draft: Draft,
    best: Draft,
}

/// A page without its header.
#[derive(Debug, Default)]
struct Draft {
    rows: usize,
    entries: Vec<Entry>,
    segments: Vec<u8>,
    section: Vec<u8>,
}

impl Draft {
    fn page_bytes(&self) -> usize {
        header::page_bytes(self.entries.len(), self.segments.len() + self.section.len())
    }

    fn clear(&mut self) {
        self.rows = 0;
        self.entries.clear();
        self.segments.clear();
        self.section.clear();
    }
}

/// A number of rows and the size of their page.
#[derive(Clone, Copy, Debug)]
struct Tried {
    rows: usize,
    bytes: usize,
}

impl PageEncoder {
    /// An encoder for tables of these columns.
    ///
    /// # Panics
    /// When there is no column, or the capacity is below [`CAPACITY_BYTES_MIN`].
    pub fn new(types: &[ColumnType], capacity_bytes: usize) -> Self {
        Self::experienced(types, capacity_bytes, &Experience::default())
    }

    /// The same, knowing what an encoder of the same table knew.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn experienced(
        types: &[ColumnType],
        capacity_bytes: usize,
        experience: &Experience,
    ) -> Self {
        assert!(!types.is_empty(), "a table has at least one column");
        assert!(
            capacity_bytes >= CAPACITY_BYTES_MIN,
            "a page has at least {CAPACITY_BYTES_MIN} B"
        );
        let rests = experience.rests.iter().copied();
        let columns = types
            .iter()
            .zip(rests.chain(std::iter::repeat_with(TextRests::default)));
        Self {
            capacity_bytes,
            columns: columns
                .map(|(&column_type, rests)| ColumnEncoder::new(column_type, rests))
                .collect(),
            row_bytes: experience.row_bytes.unwrap_or(ROW_BYTES_GUESS),
            scratch: Scratch::default(),
            draft: Draft::default(),
            best: Draft::default(),
        }
    }

    /// What the pages so far have taught.
    pub fn experience(&self) -> Experience {
        Experience {
            row_bytes: Some(self.row_bytes),
            rests: self.columns.iter().map(ColumnEncoder::text_rests).collect(),
        }
    }

    /// Encodes the longest run of rows from `start` that fits the capacity, at least one row (a
    /// single row larger than the capacity gets a larger page of its own). Appends exactly one
    /// page to `out` and returns its number of rows.
    ///
    /// # Panics
    /// When the columns are not those of the schema, differ in length or end before `start`, or a
    /// single row takes 4 GiB (rows of [`ROW_TEXT_BYTES_MAX`](crate::ROW_TEXT_BYTES_MAX) never do).
    pub fn encode(
        &mut self,
        columns: &[ArrayRef],
        start: usize,
        identity: PageIdentity,
        out: &mut Vec<u8>,
    ) -> usize {
        assert_eq!(columns.len(), self.columns.len(), "one array a column");
        let len = columns[0].len();
        assert!(
            columns.iter().all(|array| array.len() == len),
            "columns have one length"
        );
        assert!(start < len, "there is a row to encode");
        let rows_max = self.rows_max(columns, start);
        self.fill(columns, start, rows_max);
        self.remember(rows_max);
        let page = &self.best;
        header::write(
            &page.entries,
            page.rows,
            &page.segments,
            &page.section,
            identity,
            out,
        );
        page.rows
    }

    /// Whether the page that [`encode`](Self::encode) would make is the same whatever rows were
    /// appended to the columns. Who encodes only such pages, and the others when no rows follow,
    /// gets the same pages in whatever batches the rows come.
    pub fn is_settled(&self, columns: &[ArrayRef], start: usize) -> bool {
        let remaining = columns[0].len() - start;
        remaining >= ROWS_MAX || self.rows_max(columns, start) < remaining
    }

    /// Rows that a page could hold whatever the codecs make of them, which is how far the encoder
    /// looks: no column may hold more text than a full page is allowed to unfold to.
    fn rows_max(&self, columns: &[ArrayRef], start: usize) -> usize {
        let rows_max = (columns[0].len() - start).min(ROWS_MAX);
        let columns = self.columns.iter().zip(columns);
        columns.fold(rows_max, |len, (encoder, array)| {
            let rows = Rows { array, start, len };
            text_rows_max(rows, encoder.column_type(), self.capacity_bytes)
        })
    }

    /// Leaves the best draft in `best`.
    fn fill(&mut self, columns: &[ArrayRef], start: usize, rows_max: usize) {
        let (mut fitted, mut exceeded): (Option<Tried>, Option<Tried>) = (None, None);
        let mut rows = self.rows_for(self.row_bytes).clamp(1, rows_max);
        self.best.clear();
        for attempt in 1.. {
            self.encode_draft(columns, start, rows);
            let tried = Tried {
                rows,
                bytes: self.draft.page_bytes(),
            };
            if tried.bytes <= self.capacity_bytes || rows == 1 {
                std::mem::swap(&mut self.draft, &mut self.best);
                fitted = Some(tried);
            } else {
                exceeded = Some(tried);
            }
            rows = match (fitted, exceeded) {
                (Some(fitted), _) if self.is_enough(fitted, exceeded, attempt, rows_max) => break,
                (Some(fitted), Some(exceeded)) => self.between(fitted, exceeded),
                (Some(fitted), None) => self.scaled(fitted).clamp(fitted.rows + 1, rows_max),
                (None, Some(exceeded)) if attempt == 1 => {
                    self.scaled(exceeded).clamp(1, exceeded.rows - 1)
                }
                // Rows are not what fills the page: it may be a directory that nearly does.
                (None, Some(exceeded)) => self.scaled(exceeded).min(exceeded.rows / 2).max(1),
                (None, None) => unreachable!("a draft fits or does not"),
            };
        }
    }

    fn encode_draft(&mut self, columns: &[ArrayRef], start: usize, len: usize) {
        let draft = &mut self.draft;
        draft.clear();
        draft.rows = len;
        for (encoder, array) in self.columns.iter_mut().zip(columns) {
            let mut sink = Sink {
                segment: &mut draft.segments,
                section: &mut draft.section,
            };
            let encoding = encoder.encode(Rows { array, start, len }, &mut self.scratch, &mut sink);
            draft.entries.push(Entry {
                encoding,
                body_end: draft.segments.len(),
            });
        }
    }

    /// Whether another attempt is not worth it.
    fn is_enough(
        &self,
        fitted: Tried,
        exceeded: Option<Tried>,
        attempt: usize,
        rows_max: usize,
    ) -> bool {
        let gap = exceeded.map_or(usize::MAX, |exceeded| exceeded.rows - fitted.rows);
        fitted.rows == rows_max
            || gap == 1
            || attempt >= ATTEMPTS_MAX
            || fitted.bytes as f64 >= FILL_ENOUGH * self.capacity_bytes as f64
    }

    /// Rows that fill the target at `row_bytes` each.
    fn rows_for(&self, row_bytes: f64) -> usize {
        (FILL_TARGET * self.capacity_bytes as f64 / row_bytes) as usize
    }

    fn scaled(&self, tried: Tried) -> usize {
        self.rows_for(tried.bytes as f64 / tried.rows as f64)
    }

    /// On the line from the draft that fitted to the one that did not.
    fn between(&self, fitted: Tried, exceeded: Tried) -> usize {
        let slope = (exceeded.rows - fitted.rows) as f64 / (exceeded.bytes - fitted.bytes) as f64;
        let missing = FILL_TARGET * self.capacity_bytes as f64 - fitted.bytes as f64;
        let rows = fitted.rows + (missing.max(0.0) * slope) as usize;
        rows.clamp(fitted.rows + 1, exceeded.rows - 1)
    }

    /// Takes the page as the next guess unless it ended because the rows did: then its overhead
    /// weighs too much.
    fn remember(&mut self, rows_max: usize) {
        let page = Tried {
            rows: self.best.rows,
            bytes: self.best.page_bytes(),
        };
        if page.rows < rows_max || page.rows == ROWS_MAX || page.bytes * 2 >= self.capacity_bytes {
            self.row_bytes = page.bytes as f64 / page.rows as f64;
        }
    }
}

/// The longest run of the rows, at least one, that holds no more text than a page of that
/// capacity may unfold to, and no shorter run does either: rows behind it do not matter.
fn text_rows_max(rows: Rows<'_>, column_type: ColumnType, capacity_bytes: usize) -> usize {
    let Some(ends) = text_ends(rows, column_type) else {
        return rows.len;
    };
    let fits = |len: usize| {
        let bytes = (ends[len] - ends[0]) as usize;
        bytes <= decoded_text_bytes_max(capacity_bytes, len)
    };
    if (ends[rows.len] - ends[0]) as usize <= decoded_text_bytes_max(capacity_bytes, 0) {
        return rows.len;
    }
    let exceeding = (1..=rows.len).find(|&len| !fits(len));
    exceeding.map_or(rows.len, |len| (len - 1).max(1))
}
