//! Scans whose consumer wants some rows only, and tells which by looking at a few columns.
//!
//! For each batch of rows that the snapshot sees:
//!
//! 1. The columns that the consumer looks at are decoded, and it says which rows it wants.
//! 2. Nobody wants any: no other column of these rows is decoded.
//! 3. Else the other projected columns are decoded for the pages that have wanted rows, cell by cell
//!    where these are few.
//!
//! Pages in zones of which a [`ZoneFilter`](crate::ZoneFilter) says that nothing in them is wanted are
//! not even read, where the merge can do without their rows.
//!
//! What is looked at is always the version that the snapshot sees, so a row that no longer matches is
//! not found by what it was.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter;

use crate::batch::{Batch, GatherError, Places};
use crate::error::StoreError;
use crate::scan::{Scan, record_batch};
use crate::scan_counts::ScanCounts;

/// Batches of wanted rows, key ascending. Ends after the first error.
pub struct FilteredScan {
    scan: Scan,
    /// The projected columns, as places among those of the scan's batches.
    projected: usize,
    /// Where among those the columns are that the consumer looks at.
    looked_at: Vec<usize>,
}

impl FilteredScan {
    /// A scan of which nothing has been read yet, whose consumer looks at these stored columns
    /// first.
    pub(crate) fn new(mut scan: Scan, projection: &[usize], looked_at: &[usize]) -> Self {
        let projected = projection.len();
        let is_new = |column: &&usize| !projection.contains(column);
        let others: Vec<usize> = looked_at.iter().filter(is_new).copied().collect();
        scan.add_columns(&others);
        let place = |column: &usize| {
            let known = projection.iter().chain(&others);
            let mut known = known.enumerate();
            let found = known.find(|(_, known)| *known == column);
            found.expect("each is projected, or added").0
        };
        let looked_at = looked_at.iter().map(place).collect();
        Self {
            scan,
            projected,
            looked_at,
        }
    }

    /// What it has taken so far.
    pub fn counts(&self) -> ScanCounts {
        self.scan.counts()
    }

    /// The rows among the next ones that are wanted, perhaps none of them; `None` at the end.
    ///
    /// `wanted` sees the columns that it looks at, of so many rows, and sets a bit for each wanted
    /// one. It may be asked twice about the same rows, where they exceed what a batch can hold.
    pub fn next_wanted<E: From<StoreError>>(
        &mut self,
        mut wanted: impl FnMut(Vec<ArrayRef>, usize) -> Result<BooleanBuffer, E>,
    ) -> Result<Option<RecordBatch>, E> {
        let (projected, looked_at) = (self.projected, &self.looked_at);
        let next = self.scan.next_rows(|batch| {
            let decoded = looked_at.iter().map(|&place| batch.column(place));
            let decoded: Vec<ArrayRef> = decoded.collect::<Result<_, _>>()?;
            let rows = match wanted(decoded.clone(), batch.rows()) {
                Ok(rows) => rows,
                Err(error) => return Ok(Err(error)),
            };
            let seen = Seen {
                places: looked_at,
                decoded: &decoded,
            };
            Ok(Ok(wanted_rows(batch, projected, &seen, rows)?))
        });
        let next = next.map_err(E::from).and_then(Option::transpose);
        if next.is_err() {
            self.scan.stop();
        }
        let schema = self.scan.schema();
        Ok(next?.map(|(columns, rows)| match rows {
            0 => RecordBatch::new_empty(schema),
            rows => record_batch(&schema, columns, rows),
        }))
    }
}

/// Columns that have been decoded for all rows of a batch.
struct Seen<'a> {
    places: &'a [usize],
    decoded: &'a [ArrayRef],
}

impl Seen<'_> {
    fn column(&self, place: usize) -> Option<&ArrayRef> {
        let index = self.places.iter().position(|&seen| seen == place);
        index.map(|index| &self.decoded[index])
    }
}

/// The projected columns, which are the first ones, of the wanted rows, and how many these are. No
/// columns, if there are none.
fn wanted_rows(
    batch: &Batch<'_>,
    projected: usize,
    seen: &Seen<'_>,
    wanted: BooleanBuffer,
) -> Result<(Vec<ArrayRef>, usize), GatherError> {
    let rows = wanted.count_set_bits();
    if rows == 0 {
        return Ok((Vec::new(), 0));
    }
    let column = |place: usize| match seen.column(place) {
        Some(decoded) => Ok(Arc::clone(decoded)),
        None => batch.column(place),
    };
    if rows == batch.rows() {
        let columns = (0..projected).map(column);
        return Ok((columns.collect::<Result<_, _>>()?, rows));
    }
    let spans = batch.narrowed(&wanted);
    let places = Places::of(batch.sources, &spans);
    let narrowed = Batch {
        spans: &spans,
        places: &places,
        ..*batch
    };
    let wanted = BooleanArray::new(wanted, None);
    let column = |place: usize| match seen.column(place) {
        Some(decoded) => Ok(filter(decoded, &wanted).expect("there is a bit for each row")),
        None => narrowed.column(place),
    };
    let columns = (0..projected).map(column);
    Ok((columns.collect::<Result<_, _>>()?, rows))
}
