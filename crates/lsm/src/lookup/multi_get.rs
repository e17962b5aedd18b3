//! Looks many keys up.
//!
//! 1. Sort the keys; each run is asked for them in this order. The pages that some keys need of a
//!    run are read at the same time, as far as they are not cached.
//! 2. A version that was found is kept as (source, row); a source is a memory run or a page.
//! 3. Copy the rows: the cells of each source once, in the order of its rows, then all of them
//!    into the order in which the keys were asked for.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;
use types::{Value, VersionKind};

use super::View;
use super::key::LookupKey;
use super::newest::{DiskSearch, Found, Place, Positions, RunPage, in_memory};
use super::patched::patched_row;
use crate::batch::{Batch, GatherError, Places};
use crate::block::{Block, WantedRows};
use crate::error::StoreError;
use crate::gather::{Span, Spans, gather};
use crate::layout::Layout;
use crate::museum::{self, Exhibit};
use crate::run::DiskRun;
use crate::stats::LookupCounts;
use crate::version::Version;

/// Keys whose pages are read at the same time: more than a disk of our time serves at once (8 to
/// 32), and no more than two mebibytes of pages.
const KEYS_AHEAD: usize = 64;

/// What a look-up of many keys found.
#[derive(Clone, Debug)]
pub struct FoundRows {
    /// For each key, in the order asked, whether there is a row.
    pub found: BooleanBuffer,
    /// The rows of the keys that were found, in the order asked: one batch, more where an array
    /// cannot hold all text, none where there is no row.
    pub batches: Vec<RecordBatch>,
}

/// A key that was asked for.
struct Asked<'a> {
    key: LookupKey<'a>,
    /// Its place among the keys asked.
    place: usize,
    positions: Positions,
    newest: Option<Newest>,
}

/// The newest version so far.
struct Newest {
    source: usize,
    found: Found,
}

impl Asked<'_> {
    fn keep(&mut self, source: usize, found: Found) {
        self.positions = found.narrow(self.positions);
        self.newest = Some(Newest { source, found });
    }
}

/// The wanted columns of the keys' rows. `keys` are arrays of the key columns, in key order.
///
/// # Panics
/// See [`crate::Snapshot::multi_get`].
pub(crate) fn multi_get(
    view: &View<'_>,
    keys: &[ArrayRef],
    columns: &[usize],
) -> Result<FoundRows, StoreError> {
    let layout = &view.tree.layout;
    let version = view.tree.version();
    let values = key_values(layout, keys);
    let positions = Positions::seen_at(view.position, &version.truncations);
    let mut asked = asked_keys(layout, &values, positions);
    let mut search = DiskSearch::new(layout, view.cache);
    let sources = ask_runs(&version, layout, &mut asked, &mut search);
    view.counters.add_lookups(LookupCounts {
        keys: asked.len() as u64,
        ..search.counts()
    });
    let mut answers = Answers::new(layout, columns, sources?);
    let mut rows = vec![None; values.len() / layout.key_types().len()];
    for key in asked {
        let patched = || patched_row(view, &key.key.sort_key, columns);
        rows[key.place] = answers.answer(key.newest, patched)?;
    }
    let found = BooleanBuffer::collect_bool(rows.len(), |place| rows[place].is_some());
    let mut rows: Vec<Answer> = rows.into_iter().flatten().collect();
    if museum::shows(Exhibit::RowsInOrderFound) {
        rows.sort_unstable();
    }
    let mut batches = Vec::new();
    answers.batches(&rows, &mut batches)?;
    Ok(FoundRows { found, batches })
}

/// The cells of the keys, key by key.
fn key_values<'a>(layout: &Layout, keys: &'a [ArrayRef]) -> Vec<Value<'a>> {
    let types = layout.key_types();
    assert_eq!(keys.len(), types.len(), "one array a key column");
    let cells = |row| {
        let columns = keys.iter().zip(types);
        columns.map(move |(array, &column_type)| Value::of_cell(array, column_type, row))
    };
    (0..keys[0].len()).flat_map(cells).collect()
}

/// The keys that rows may have, ascending.
fn asked_keys<'a>(
    layout: &Layout,
    values: &'a [Value<'a>],
    positions: Positions,
) -> Vec<Asked<'a>> {
    let keys = values.chunks_exact(layout.key_types().len()).enumerate();
    let ask = |(place, values)| {
        Some(Asked {
            key: LookupKey::new(layout, values)?,
            place,
            positions,
            newest: None,
        })
    };
    let mut asked: Vec<Asked<'_>> = keys.filter_map(ask).collect();
    asked.sort_by(|a, b| a.key.sort_key.cmp(&b.key.sort_key));
    asked
}

/// Finds the newest version of each key. Returns the blocks in which versions were found.
fn ask_runs<'a>(
    version: &'a Version,
    layout: &Layout,
    asked: &mut [Asked<'_>],
    search: &mut DiskSearch<'a>,
) -> Result<Vec<Arc<Block>>, StoreError> {
    let mut sources: Vec<Arc<Block>> = Vec::new();
    for run in version.memory_runs() {
        for key in &mut *asked {
            if let Some(found) = in_memory(run, &key.key.sort_key, key.positions) {
                key.keep(sources.len(), found);
            }
        }
        sources.push(Arc::clone(run.block()));
    }
    for run in &version.runs {
        for keys in asked.chunks_mut(KEYS_AHEAD) {
            ask_run(run, layout, keys, search, &mut sources)?;
        }
    }
    Ok(sources)
}

/// Asks a run for some keys. The pages that they need are on their way before the first is looked
/// at.
fn ask_run<'a>(
    run: &'a DiskRun,
    layout: &Layout,
    asked: &mut [Asked<'_>],
    search: &mut DiskSearch<'a>,
    sources: &mut Vec<Arc<Block>>,
) -> Result<(), StoreError> {
    let places = asked.iter();
    let places = places.map(|key| search.place(run, &key.key, key.positions));
    let places: Vec<Option<Place<'a>>> = places.collect::<Result<_, _>>()?;
    search.will_ask(&places);
    let mut last: Option<RunPage<'a>> = None;
    for (key, place) in asked.iter_mut().zip(places) {
        let Some(place) = place else { continue };
        let Some((page, found)) = search.newest_from(&place, &key.key, key.positions)? else {
            continue;
        };
        let Place { segment, index } = page.place;
        if !last.is_some_and(|last| last.place.is(segment, index)) {
            let page = Arc::clone(&page.page);
            let block = Block::from_page(page, segment, index, layout, WantedRows::Some);
            sources.push(Arc::new(block));
        }
        last = Some(page);
        key.keep(sources.len() - 1, found);
    }
    Ok(())
}

/// Where the cells of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// A row of a source.
    Put { source: u32, row: u32 },
    /// A batch of one row.
    Patched(u32),
}

/// Rows that were found, about to be copied.
struct Answers<'a> {
    columns: &'a [usize],
    schema: SchemaRef,
    sources: Vec<Arc<Block>>,
    patched: Vec<RecordBatch>,
}

impl<'a> Answers<'a> {
    fn new(layout: &Layout, columns: &'a [usize], sources: Vec<Arc<Block>>) -> Self {
        Self {
            columns,
            schema: Arc::new(layout.projected(columns)),
            sources,
            patched: Vec::new(),
        }
    }

    /// What a key's newest version comes to.
    fn answer(
        &mut self,
        newest: Option<Newest>,
        patched: impl FnOnce() -> Result<Option<RecordBatch>, StoreError>,
    ) -> Result<Option<Answer>, StoreError> {
        let Some(Newest { source, found }) = newest else {
            return Ok(None);
        };
        Ok(match found.kind {
            VersionKind::Delete => None,
            VersionKind::Put => Some(Answer::Put {
                source: source as u32,
                row: found.row as u32,
            }),
            VersionKind::Patch => patched()?.map(|batch| {
                self.patched.push(batch);
                Answer::Patched(self.patched.len() as u32 - 1)
            }),
        })
    }

    /// Copies rows into one batch, or several where one cannot hold all text.
    fn batches(&self, rows: &[Answer], out: &mut Vec<RecordBatch>) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        match self.batch(rows) {
            Ok(batch) => out.push(batch),
            Err(GatherError::Store(error)) => return Err(error),
            Err(GatherError::TooManyBytes) => {
                assert!(rows.len() > 1, "one row of an array fits an array");
                let (first, second) = rows.split_at(rows.len() / 2);
                self.batches(first, out)?;
                self.batches(second, out)?;
            }
        }
        Ok(())
    }

    fn batch(&self, rows: &[Answer]) -> Result<RecordBatch, GatherError> {
        let puts = self.puts(rows)?;
        let spans = Spans::new(puts.spans(rows));
        let column = |index: usize| {
            let patched = self
                .patched
                .iter()
                .map(|batch| Arc::clone(batch.column(index)));
            let sources: Vec<Option<ArrayRef>> = std::iter::once(puts.columns.get(index).cloned())
                .chain(patched.map(Some))
                .collect();
            gather(&sources, &spans)
        };
        let columns = (0..self.columns.len())
            .map(column)
            .collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
        Ok(batch.expect("the columns of a tree have the types of its schema"))
    }

    /// Copies those of `rows` that are puts, each once, source by source.
    fn puts(&self, rows: &[Answer]) -> Result<Puts, GatherError> {
        let is_put = |row: &&Answer| matches!(row, Answer::Put { .. });
        let mut rows: Vec<Answer> = rows.iter().filter(is_put).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        if rows.is_empty() {
            return Ok(Puts::default());
        }
        let span = |row: &Answer| match *row {
            Answer::Put { source, row } => Some(Span {
                source,
                start: row,
                rows: 1,
            }),
            Answer::Patched(_) => None,
        };
        let spans = joined(rows.iter().filter_map(span));
        let batch = Batch {
            sources: &self.sources,
            folded: &[],
            columns: self.columns,
            spans: &spans,
            places: &Places::of(&self.sources, &spans),
        };
        let columns = batch.columns()?;
        Ok(Puts { rows, columns })
    }
}

/// Copied puts in the order of their places.
#[derive(Default)]
struct Puts {
    rows: Vec<Answer>,
    columns: Vec<ArrayRef>,
}

impl Puts {
    /// `rows` as spans of the puts, which are source 0, and of patched rows, which follow.
    fn spans(&self, rows: &[Answer]) -> Vec<Span> {
        let span = |row: &Answer| {
            let (source, start) = match row {
                Answer::Put { .. } => {
                    let place = self.rows.binary_search(row);
                    (0, place.expect("all puts were copied") as u32)
                }
                Answer::Patched(index) => (index + 1, 0),
            };
            Span {
                source,
                start,
                rows: 1,
            }
        };
        joined(rows.iter().map(span))
    }
}

/// Joins spans that follow each other.
fn joined(rows: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for row in rows {
        match spans.last_mut() {
            Some(last) if last.source == row.source && last.start + last.rows == row.start => {
                last.rows += row.rows;
            }
            _ => spans.push(row),
        }
    }
    spans
}
