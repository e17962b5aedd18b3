//! The merge operator: several sorted streams of blocks become one sequence of versions.
//!
//! Order: key ascending, then position descending, then the newer stream first. What happens to
//! the versions is up to a [`Filter`] (a snapshot's view, or what a merge has to keep), which
//! sees them as ranges of rows of one block and names those that stay.
//!
//! One step ([`Merger::advance`]):
//!
//! 1. Find the stream with the smallest next key. Streams whose next page has not been loaded
//!    take part with its first key, from the page index.
//! 2. Has that page no wanted row, and does it hide no older version? Then it is left out, unread.
//!    Is it untouched by all other streams, and does the filter keep all of it? Then it
//!    passes through whole; its keys are not even decoded.
//! 3. Otherwise the bound of the step is the smallest of the loaded blocks' last (key, position);
//!    pages that start at or below it are loaded too. Rows up to the bound are final: nothing
//!    that comes later sorts before them.
//! 4. Merge the rows up to the bound. Where the filter keeps the newest version of each key anyway,
//!    as for puts that all snapshots see, that is all there is to find (`newest_version`). Where it
//!    keeps what is alone under its key, as for any puts, it sees the others (`lone_versions`), and
//!    else every version (`each_version`).
//!
//! A run that nothing overlaps therefore costs next to nothing a row, and a large run with
//! sparse overrides a search for each override.
//!
//! State carried between steps: the last key handed to the filter, so that it learns whether a
//! range begins with one more version of that key.

mod each_version;
mod entries;
mod lone_versions;
mod newest_version;
mod slice;

use std::ops::Range;
use std::sync::Arc;

use types::SortKeys;
use types::key::SortKey;

use crate::block::{Block, Summary};
use crate::cursor::{Cursor, Window};
use crate::error::StoreError;
use crate::key_form::{BytesForm, KeyForm, U64Form, U128Form};
use crate::museum::{self, Exhibit};
use crate::selection::{Selection, SourceId};
use each_version::merge_slices;
use lone_versions::keep_lone;
use newest_version::{base_of, keep_newest};
use slice::{Slice, cut_at_bound, step_end};

/// Rows of a large block that one step may consume: keeps the selection small.
const STEP_ROWS: usize = 8192;

/// Neighbouring rows of one block that come next in merge order.
pub(crate) struct Rows<'a> {
    /// The block.
    pub block: &'a Arc<Block>,
    /// The block as a source of the selection.
    pub source: SourceId,
    /// The rows, at least one.
    pub range: Range<usize>,
    /// The first row has the same key as the last row of the rows before.
    pub continues: bool,
}

/// Decides which versions stay.
pub(crate) trait Filter {
    /// Whether every row of a block that no other stream overlaps stays, its first row being
    /// the only version of its key so far.
    fn keeps_whole(&self, summary: &Summary) -> bool;

    /// Whether of the versions of each key in such blocks the newest stays and the others go.
    fn keeps_newest(&self, summary: &Summary) -> bool;

    /// Whether a version in such a block stays if it is the only one of its key. So where the newest
    /// stays.
    fn keeps_lone(&self, summary: &Summary) -> bool;

    /// Whether the older versions of the current key go, if they are in such blocks.
    fn is_settled(&self) -> bool;

    /// The current key has no more versions. The newest versions of the next keys are kept without
    /// being seen; of the last of them there may be older ones.
    fn settle(&mut self, out: &mut Selection);

    /// Sees the next rows. `same_key(row)` tells whether a row has the same key as the row
    /// before it in the block; it is asked for rows after the first.
    fn visit(
        &mut self,
        rows: &Rows<'_>,
        same_key: impl Fn(usize) -> bool,
        out: &mut Selection,
    ) -> Result<(), StoreError>;

    /// There are no more versions.
    fn finish(&mut self, out: &mut Selection);
}

struct Stream {
    window: Option<Window>,
    cursor: Option<Cursor>,
    /// Whether a version in it may need an older one to be whole.
    has_patches: bool,
    /// None of its versions is older.
    position_min: u64,
}

/// Merges streams.
pub(crate) struct Merger {
    /// Newest first.
    streams: Vec<Stream>,
    last_key: Option<SortKey>,
    finished: bool,
    /// Rows of one block that one step may consume.
    step_rows: usize,
    rows_merged: usize,
}

impl Stream {
    /// The smallest key that is still to come.
    fn head(&self) -> Option<Head<'_>> {
        match (&self.window, &self.cursor) {
            (Some(window), _) => Some(Head::Row(&window.block.versions().keys, window.at)),
            (None, Some(cursor)) => cursor.ahead().map(|ahead| Head::Fence(ahead.first_key)),
            (None, None) => None,
        }
    }

    /// Loads the next block. It may turn out to have no rows in range.
    fn load(&mut self) -> Result<(), StoreError> {
        let cursor = self.cursor.as_mut().expect("a block lies ahead");
        self.window = cursor.next_window()?;
        Ok(())
    }

    /// Leaves the next page out.
    fn skip(&mut self) {
        let cursor = self.cursor.as_mut().expect("a block lies ahead");
        cursor.skip_page();
    }
}

#[derive(Clone, Copy)]
enum Head<'a> {
    Row(&'a SortKeys, usize),
    Fence(&'a SortKey),
}

impl Head<'_> {
    fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (Self::Row(keys, row), Self::Row(others, other)) => {
                keys.compare(row, others, other).is_lt()
            }
            (Self::Row(keys, row), Self::Fence(key)) => keys.compare_key(row, key).is_lt(),
            (Self::Fence(key), Self::Row(keys, row)) => keys.compare_key(row, key).is_gt(),
            (Self::Fence(key), Self::Fence(other)) => key < other,
        }
    }

    fn is_at_or_below(self, key: &SortKey) -> bool {
        !Head::Fence(key).is_below(self)
    }
}

impl Merger {
    /// Merges nothing; streams are added newest first.
    pub fn new() -> Self {
        Self::with_step_rows(STEP_ROWS)
    }

    /// The same, in steps of so many rows of one block at most.
    pub fn with_step_rows(step_rows: usize) -> Self {
        Self {
            streams: Vec::new(),
            last_key: None,
            finished: false,
            step_rows,
            rows_merged: 0,
        }
    }

    /// Rows of all streams that have been merged, those that did not stay included.
    pub fn rows_merged(&self) -> usize {
        self.rows_merged
    }

    /// Adds the rows of a block in memory as a stream older than those added before.
    pub fn add_window(&mut self, window: Window) {
        self.streams.push(Stream {
            has_patches: window.block.has_patches(),
            position_min: window.block.summary().position_min,
            window: Some(window),
            cursor: None,
        });
    }

    /// Adds what a cursor walks as a stream older than those added before.
    pub fn add_cursor(&mut self, cursor: Cursor) {
        self.streams.push(Stream {
            has_patches: cursor.has_patches(),
            position_min: cursor.position_min(),
            window: None,
            cursor: Some(cursor),
        });
    }

    /// Does one step: kept rows are appended to `out`. False when there are no more versions.
    pub fn advance(
        &mut self,
        filter: &mut impl Filter,
        out: &mut Selection,
    ) -> Result<bool, StoreError> {
        let Some(first) = self.smallest_stream() else {
            if !std::mem::replace(&mut self.finished, true) {
                filter.finish(out);
            }
            return Ok(false);
        };
        if self.streams[first].window.is_some() {
            self.merge_up_to_bound(first, filter, out)?;
        } else if self.may_skip(first) {
            self.streams[first].skip();
        } else if self.passes_whole(first, filter) {
            self.pass_block(first, filter, out)?;
        } else {
            self.streams[first].load()?;
        }
        Ok(true)
    }

    /// The stream with the smallest next key; the newest of several.
    fn smallest_stream(&self) -> Option<usize> {
        let heads = self.streams.iter().enumerate();
        let heads = heads.filter_map(|(index, stream)| Some((index, stream.head()?)));
        let smallest = heads.reduce(|a, b| if b.1.is_below(a.1) { b } else { a });
        smallest.map(|(index, _)| index)
    }

    /// Whether the next page of a stream, which is not loaded, can be left out: no row in it is
    /// wanted, and none hides an older version or makes a newer one whole. Older versions are in runs
    /// behind its own, mostly: a table's copy comes beside changes that are newer than it.
    fn may_skip(&self, stream: usize) -> bool {
        let ahead = self.streams[stream].cursor.as_ref().and_then(Cursor::ahead);
        let Some(ahead) = ahead.filter(|ahead| ahead.is_ruled_out) else {
            return false;
        };
        let overlaps = |other: &Stream| {
            let head = other.head();
            head.is_some_and(|head| head.is_at_or_below(ahead.last_key))
        };
        let is_hidden =
            |newer: &Stream| newer.position_min < ahead.summary.position_max && overlaps(newer);
        let builds_upon =
            |newer: &Stream| newer.has_patches && !museum::shows(Exhibit::RuledOutPagePatched);
        let hides = |older: &Stream| overlaps(older) && !museum::shows(Exhibit::RuledOutPageHides);
        let (newer, older) = (&self.streams[..stream], &self.streams[stream + 1..]);
        ahead.summary.all_puts
            && ahead.summary.unique_keys
            && !newer
                .iter()
                .any(|newer| builds_upon(newer) || is_hidden(newer))
            && !older.iter().any(hides)
    }

    fn passes_whole(&self, first: usize, filter: &impl Filter) -> bool {
        let cursor = self.streams[first].cursor.as_ref();
        let ahead = cursor
            .and_then(Cursor::ahead)
            .expect("the smallest stream has a next block");
        let untouched = |(index, stream): (usize, &Stream)| {
            index == first
                || !stream
                    .head()
                    .is_some_and(|head| head.is_at_or_below(ahead.last_key))
        };
        ahead.in_range
            && filter.keeps_whole(&ahead.summary)
            && self.last_key.as_ref() != Some(ahead.first_key)
            && self.streams.iter().enumerate().all(untouched)
    }

    fn pass_block(
        &mut self,
        stream: usize,
        filter: &mut impl Filter,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        let cursor = self.streams[stream]
            .cursor
            .as_mut()
            .expect("a block lies ahead");
        self.last_key = cursor.ahead().map(|ahead| ahead.last_key.clone());
        let block = cursor.next_block()?;
        let source = out.source(&block);
        let rows = Rows {
            block: &block,
            source,
            range: 0..block.rows(),
            continues: false,
        };
        filter.visit(&rows, |_| false, out)
    }

    fn merge_up_to_bound(
        &mut self,
        first: usize,
        filter: &mut impl Filter,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        self.load_overlapping(first)?;
        let form = &self.window(first).block.versions().keys;
        match form {
            SortKeys::U64(_) => self.merge_step::<U64Form>(filter, out)?,
            SortKeys::U128(_) => self.merge_step::<U128Form>(filter, out)?,
            SortKeys::Bytes { .. } => self.merge_step::<BytesForm>(filter, out)?,
        }
        for stream in &mut self.streams {
            stream.window.take_if(|window| window.at == window.end);
        }
        Ok(())
    }

    fn window(&self, stream: usize) -> &Window {
        self.streams[stream]
            .window
            .as_ref()
            .expect("the stream's block is loaded")
    }

    /// Loads every block that starts within the rows that `first` could contribute to this step.
    fn load_overlapping(&mut self, first: usize) -> Result<(), StoreError> {
        let window = self.window(first);
        let last = step_end(window, self.step_rows) - 1;
        let last_key = window.block.versions().keys.key(last);
        for index in 0..self.streams.len() {
            while self.is_ahead_at_or_below(index, &last_key) {
                match self.may_skip(index) {
                    true => self.streams[index].skip(),
                    false => self.streams[index].load()?,
                }
            }
        }
        Ok(())
    }

    /// Whether the next page of a stream is not loaded and starts at or below the key.
    fn is_ahead_at_or_below(&self, stream: usize, key: &SortKey) -> bool {
        let stream = &self.streams[stream];
        let is_ahead = stream.window.is_none();
        is_ahead && stream.head().is_some_and(|head| head.is_at_or_below(key))
    }

    fn merge_step<F: KeyForm>(
        &mut self,
        filter: &mut impl Filter,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        let mut slices: Vec<Slice<'_, F>> = Vec::with_capacity(self.streams.len());
        for (age, stream) in self.streams.iter().enumerate() {
            if let Some(window) = &stream.window {
                slices.push(Slice::new(window, self.step_rows, age));
            }
        }
        cut_at_bound(&mut slices);
        let last_key = self.last_key.as_ref();
        let way = Way::of(&slices, last_key, filter);
        if way != Way::EachVersion && base_of(&slices).is_none() {
            let rows = entries::step_rows(slices.len());
            slices.iter_mut().for_each(|slice| slice.limit(rows));
            cut_at_bound(&mut slices);
        }
        let ends: Vec<_> = slices.iter().map(|slice| (slice.age, slice.end)).collect();
        for slice in &mut slices {
            slice.source = Some(out.source(slice.block));
        }
        let last_key = match way {
            Way::NewestVersion => {
                filter.settle(out);
                keep_newest(slices, last_key, out)
            }
            Way::LoneVersions => keep_lone(slices, last_key, filter, out)?,
            Way::EachVersion => merge_slices(slices, last_key, filter, out)?,
        };
        self.last_key = Some(last_key);
        for (age, end) in ends {
            if let Some(window) = &mut self.streams[age].window {
                self.rows_merged += end - window.at;
                window.at = end;
            }
        }
        Ok(())
    }
}

/// How a step finds what stays: see the modules of these names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    NewestVersion,
    LoneVersions,
    EachVersion,
}

impl Way {
    /// The cheapest one for these rows.
    fn of<F: KeyForm>(
        slices: &[Slice<'_, F>],
        last_key: Option<&SortKey>,
        filter: &impl Filter,
    ) -> Self {
        let continues = |slice: &Slice<'_, F>| last_key.is_some_and(|last| slice.begins_with(last));
        let all = |keeps: &dyn Fn(&Summary) -> bool| {
            let mut blocks = slices.iter().map(|slice| slice.block.summary());
            blocks.all(|summary| keeps(&summary))
        };
        // Of the last key, too, nothing may be left to decide.
        let is_decided = || filter.is_settled() || !slices.iter().any(continues);
        if all(&|summary| filter.keeps_newest(summary)) && is_decided() {
            Self::NewestVersion
        } else if all(&|summary| filter.keeps_lone(summary)) && base_of(slices).is_none() {
            Self::LoneVersions
        } else {
            // Next to a base the filter sees its rows in large ranges.
            Self::EachVersion
        }
    }
}

#[cfg(test)]
mod tests;
