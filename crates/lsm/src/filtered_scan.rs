//! Scans whose consumer wants some rows only, and tells which by looking at a few columns.
//!
//! For each batch of rows that the snapshot sees, while a column of one page is looked at, that of the next page comes into
//! the processor's cache:
//!
//! 1. The consumer *sifts*: it asks encoded columns, one at a time, for the rows that may be wanted.
//! 2. The columns that it looks at row by row are decoded for those, and it *checks* which it wants.
//! 3. Nobody wants any: no other column of these rows is decoded.
//! 4. Else the other projected columns are decoded for the pages that have wanted rows, cell by cell
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
use types::ColumnType;

use crate::batch::{Batch, GatherError, Places};
use crate::encoded_rows::EncodedRows;
use crate::fragment::{Form, Fragment};
use crate::row_test::{RowTest, Sifted};
use crate::scan::{Scan, record_batch};
use crate::scan_counts::ScanCounts;

/// Batches of wanted rows, key ascending. Ends after the first error.
pub struct FilteredScan {
    scan: Scan,
    /// The projected columns, as places among those of the scan's batches.
    projected: usize,
    /// Where among those the columns are that the consumer looks at, and their types.
    looked_at: Vec<(usize, ColumnType)>,
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
        let schema = Arc::clone(&scan.layout().schema);
        let column_type = |column: &usize| schema.columns[*column].column_type;
        let looked_at = looked_at.iter();
        let looked_at = looked_at.map(|column| (place(column), column_type(column)));
        let looked_at = looked_at.collect();
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

    /// The rows among the next ones that `test` wants, perhaps none of them; `None` at the end.
    pub fn next_wanted<T: RowTest>(
        &mut self,
        test: &mut T,
    ) -> Result<Option<RecordBatch>, T::Error> {
        let projected = self.projected;
        let next = self.next_of(test, |batch, seen, wanted| match wanted {
            Some(wanted) => wanted_rows(batch, projected, seen, wanted),
            None => {
                let columns = (0..projected).map(|place| seen.column(batch, place));
                Ok((columns.collect::<Result<_, _>>()?, batch.rows()))
            }
        });
        let schema = self.scan.schema();
        Ok(next?.map(|next| match next {
            None | Some((_, 0)) => RecordBatch::new_empty(schema),
            Some((columns, rows)) => record_batch(&schema, columns, rows),
        }))
    }

    /// The same rows by their sources, the projected columns in `forms`. In no order: neither that of the
    /// sources nor, from one call to the next, of all.
    pub fn next_fragments<T: RowTest>(
        &mut self,
        test: &mut T,
        forms: &[Form],
    ) -> Result<Option<Vec<Fragment>>, T::Error> {
        assert_eq!(forms.len(), self.projected, "there is a form a column");
        let next = self.next_of(test, |batch, _, wanted| {
            batch.prefetch(0..forms.len());
            let sources = batch.by_source(wanted.as_ref());
            Fragment::of_sources(batch, &sources, forms)
        });
        Ok(next?.map(Option::unwrap_or_default))
    }

    /// What `take` makes of the rows that may be wanted among the next ones, of the columns that have
    /// been decoded to know, and of the bits of those that are, unless all of them are. `Some(None)`, if
    /// sifting leaves no row.
    fn next_of<T: RowTest, R>(
        &mut self,
        test: &mut T,
        mut take: impl FnMut(&Batch<'_>, &Seen, Option<BooleanBuffer>) -> Result<R, GatherError>,
    ) -> Result<Option<Option<R>>, T::Error> {
        let looked_at = &self.looked_at;
        let next = self.scan.next_rows(|batch| {
            batch.prefetch(looked_at.iter().map(|(place, _)| *place));
            let Sifted { rows, checked } = match test.sift(&EncodedRows::new(batch, looked_at)) {
                Ok(sifted) => sifted,
                Err(error) => return Ok(Err(error)),
            };
            let rows = rows.filter(|rows| rows.count_set_bits() < batch.rows());
            if rows.as_ref().is_some_and(|rows| rows.count_set_bits() == 0) {
                return Ok(Ok(None));
            }
            if checked.is_empty() {
                return take(batch, &Seen::NOTHING, rows).map(Some).map(Ok);
            }
            let columns = || checked.iter().map(|&index| looked_at[index].0).collect();
            let mut take_checked = |batch: &Batch<'_>| {
                let seen = Seen::of(batch, columns())?;
                match test.check(&seen.decoded, batch.rows()) {
                    Err(error) => Ok(Err(error)),
                    Ok(wanted) => {
                        let is_less = wanted.count_set_bits() < batch.rows();
                        let taken = take(batch, &seen, is_less.then_some(wanted))?;
                        Ok(Ok(Some(taken)))
                    }
                }
            };
            let Some(rows) = rows else {
                return take_checked(batch);
            };
            let spans = batch.narrowed(&rows);
            let places = Places::of(batch.sources, &spans);
            take_checked(&batch.with_rows(&spans, &places))
        });
        let next = next.map_err(T::Error::from).and_then(Option::transpose);
        if next.is_err() {
            self.scan.stop();
        }
        next
    }
}

/// The projected columns of the wanted rows of a batch, and how many these are.
type WantedRows = (Vec<ArrayRef>, usize);

/// Columns that have been decoded for all rows of a batch.
struct Seen {
    places: Vec<usize>,
    decoded: Vec<ArrayRef>,
}

impl Seen {
    const NOTHING: Self = Self {
        places: Vec::new(),
        decoded: Vec::new(),
    };

    /// Decodes columns.
    fn of(batch: &Batch<'_>, places: Vec<usize>) -> Result<Self, GatherError> {
        let decoded = places.iter().map(|&place| batch.column(place));
        Ok(Self {
            decoded: decoded.collect::<Result<_, _>>()?,
            places,
        })
    }

    fn find(&self, place: usize) -> Option<&ArrayRef> {
        let index = self.places.iter().position(|&seen| seen == place);
        index.map(|index| &self.decoded[index])
    }

    /// A column of the batch.
    fn column(&self, batch: &Batch<'_>, place: usize) -> Result<ArrayRef, GatherError> {
        match self.find(place) {
            Some(decoded) => Ok(Arc::clone(decoded)),
            None => batch.column(place),
        }
    }
}

/// The projected columns, which are the first ones, of the wanted rows, and how many these are. No
/// columns, if there are none.
fn wanted_rows(
    batch: &Batch<'_>,
    projected: usize,
    seen: &Seen,
    wanted: BooleanBuffer,
) -> Result<WantedRows, GatherError> {
    let rows = wanted.count_set_bits();
    if rows == 0 {
        return Ok((Vec::new(), 0));
    }
    let spans = batch.narrowed(&wanted);
    let places = Places::of(batch.sources, &spans);
    let narrowed = batch.with_rows(&spans, &places);
    let wanted = BooleanArray::new(wanted, None);
    let column = |place: usize| match seen.find(place) {
        Some(decoded) => Ok(filter(decoded, &wanted).expect("there is a bit for each row")),
        None => narrowed.column(place),
    };
    let columns = (0..projected).map(column);
    Ok((columns.collect::<Result<_, _>>()?, rows))
}
