//! Looks one key up.

use arrow_array::ArrayRef;
use page::{Page, PageError};
use types::{Value, VersionKind};

use super::View;
use super::key::LookupKey;
use super::newest::{DiskSearch, Found, Positions, RunPage, in_memory};
use super::patched::patched_row;
use super::row::Row;
use crate::block::Block;
use crate::error::StoreError;
use crate::layout::Layout;
use crate::stats::LookupCounts;
use crate::version::Version;

/// Where the newest version so far is.
enum Newest<'a> {
    Nowhere,
    Memory(&'a Block, Found),
    Page(RunPage<'a>, Found),
}

impl Newest<'_> {
    fn kind(&self) -> Option<VersionKind> {
        match self {
            Self::Nowhere => None,
            Self::Memory(_, found) | Self::Page(_, found) => Some(found.kind),
        }
    }
}

/// The wanted columns of the key's row.
///
/// # Panics
/// See [`crate::Snapshot::get`].
pub(crate) fn get(
    view: &View<'_>,
    key: &[Value<'_>],
    columns: &[usize],
) -> Result<Option<Row>, StoreError> {
    let layout = &view.tree.layout;
    let Some(key) = LookupKey::new(layout, key) else {
        return Ok(None);
    };
    let version = view.tree.version();
    let mut search = DiskSearch::new(layout, view.cache);
    let positions = Positions::seen_at(view.position, &version.truncations);
    let newest = newest(&version, &key, positions, &mut search);
    view.counters.add_lookups(LookupCounts {
        keys: 1,
        ..search.counts()
    });
    let newest = newest?;
    match newest.kind() {
        None | Some(VersionKind::Delete) => Ok(None),
        Some(VersionKind::Put) => newest.row(layout, columns),
        Some(VersionKind::Patch) => {
            let batch = patched_row(view, &key.sort_key, columns)?;
            Ok(batch.map(|batch| row_of_arrays(layout, batch.columns(), 0, columns)))
        }
    }
}

fn newest<'a>(
    version: &'a Version,
    key: &LookupKey<'_>,
    mut positions: Positions,
    search: &mut DiskSearch<'a>,
) -> Result<Newest<'a>, StoreError> {
    let mut newest = Newest::Nowhere;
    for run in version.memory_runs() {
        if let Some(found) = in_memory(run, &key.sort_key, positions) {
            positions = found.narrow(positions);
            newest = Newest::Memory(run.block(), found);
        }
    }
    for run in &version.runs {
        if let Some((page, found)) = search.newest(run, key, positions)? {
            positions = found.narrow(positions);
            newest = Newest::Page(page, found);
        }
    }
    Ok(newest)
}

impl Newest<'_> {
    /// The version as a row.
    fn row(&self, layout: &Layout, columns: &[usize]) -> Result<Option<Row>, StoreError> {
        match self {
            Self::Nowhere => Ok(None),
            Self::Memory(block, found) => {
                let arrays = columns.iter().map(|&column| block.column(column));
                let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
                Ok(Some(row_of_arrays(layout, &arrays, found.row, columns)))
            }
            Self::Page(page, found) => row_of_page(&page.page, found.row, columns)
                .map(Some)
                .map_err(|error| page.place.segment.page_error(page.place.index, &error)),
        }
    }
}

/// `arrays` are the wanted columns.
fn row_of_arrays(layout: &Layout, arrays: &[ArrayRef], at: usize, columns: &[usize]) -> Row {
    let mut row = Row::with_capacity(columns.len());
    for (array, &column) in arrays.iter().zip(columns) {
        let column_type = layout.schema.columns[column].column_type;
        row.push(Value::of_cell(array, column_type, at));
    }
    row
}

fn row_of_page(page: &Page, slot: usize, columns: &[usize]) -> Result<Row, PageError> {
    let mut row = Row::with_capacity(columns.len());
    let mut buffer = Vec::new();
    for &column in columns {
        row.push(page.column(column)?.value(slot, &mut buffer)?);
    }
    Ok(row)
}
