//! Batches of several partitions, as slices in the order of all.

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::Result;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};

/// Takes batches of partitions that are in order, and gives them in one order.
pub(super) struct Slices {
    ordering: LexOrdering,
    converter: RowConverter,
    heads: Vec<Head>,
}

/// What a partition has to give next.
enum Head {
    /// It has to be asked.
    Unknown,
    Rows(Box<Rows>),
    Ended,
}

/// Rows of a partition's batch that have not been given yet, one at least.
struct Rows {
    batch: RecordBatch,
    /// What they are ordered by.
    cells: Vec<ArrayRef>,
    first: OwnedRow,
    last: OwnedRow,
}

impl Slices {
    /// Of so many partitions with batches of this schema.
    pub(super) fn new(ordering: LexOrdering, schema: &Schema, partitions: usize) -> Result<Self> {
        let field = |by: &PhysicalSortExpr| {
            let data_type = by.expr.data_type(schema)?;
            Ok(SortField::new_with_options(data_type, by.options))
        };
        let fields = ordering.iter().map(field).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            ordering,
            converter: RowConverter::new(fields)?,
            heads: (0..partitions).map(|_| Head::Unknown).collect(),
        })
    }

    /// A partition whose next batch has to be [added](Self::add) before the next slice is known.
    pub(super) fn unknown(&self) -> Option<usize> {
        let mut heads = self.heads.iter();
        heads.position(|head| matches!(head, Head::Unknown))
    }

    /// The next batch of a partition that is unknown, or its end.
    pub(super) fn add(&mut self, partition: usize, batch: Option<RecordBatch>) -> Result<()> {
        self.heads[partition] = match batch {
            None => Head::Ended,
            Some(batch) if batch.num_rows() == 0 => Head::Unknown,
            Some(batch) => {
                let cells = self.ordering.iter().map(|by| {
                    let cells = by.expr.evaluate(&batch)?;
                    cells.into_array(batch.num_rows())
                });
                let cells = cells.collect::<Result<Vec<_>>>()?;
                Head::Rows(Box::new(self.rows(batch, cells)?))
            }
        };
        Ok(())
    }

    /// The next rows; `None` at the end of all.
    ///
    /// # Panics
    /// While a partition is unknown.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        assert!(self.unknown().is_none(), "every partition is known");
        let smallest = self.smallest_but(None);
        let Some(partition) = smallest else {
            return Ok(None);
        };
        let bound = self.smallest_but(Some(partition));
        let bound = bound.and_then(|other| self.rows_of(other).map(|rows| rows.first.clone()));
        let Head::Rows(rows) = std::mem::replace(&mut self.heads[partition], Head::Unknown) else {
            unreachable!("it has rows");
        };
        let all = rows.batch.num_rows();
        let count = match bound {
            Some(bound) if rows.last > bound => self.rows_up_to(&rows, &bound)?,
            _ => all,
        };
        if count < all {
            let rest = rows.batch.slice(count, all - count);
            let cells = rows.cells.iter();
            let cells = cells.map(|cells| cells.slice(count, all - count)).collect();
            self.heads[partition] = Head::Rows(Box::new(self.rows(rest, cells)?));
        }
        Ok(Some(rows.batch.slice(0, count)))
    }

    fn rows(&self, batch: RecordBatch, cells: Vec<ArrayRef>) -> Result<Rows> {
        Ok(Rows {
            first: self.key(&cells, 0)?,
            last: self.key(&cells, batch.num_rows() - 1)?,
            batch,
            cells,
        })
    }

    fn rows_of(&self, partition: usize) -> Option<&Rows> {
        match &self.heads[partition] {
            Head::Rows(rows) => Some(rows),
            Head::Unknown | Head::Ended => None,
        }
    }

    /// The partition with the smallest next row, the first of several, but for one.
    fn smallest_but(&self, left_out: Option<usize>) -> Option<usize> {
        let partitions = (0..self.heads.len()).filter(|&partition| Some(partition) != left_out);
        let firsts = partitions.filter_map(|partition| {
            let rows = self.rows_of(partition)?;
            Some((&rows.first, partition))
        });
        firsts.min().map(|(_, partition)| partition)
    }

    /// How many rows are not above `bound`. The first one is not, the last one is.
    fn rows_up_to(&self, rows: &Rows, bound: &OwnedRow) -> Result<usize> {
        let (mut below, mut above) = (0, rows.batch.num_rows() - 1);
        while above - below > 1 {
            let middle = below.midpoint(above);
            match self.key(&rows.cells, middle)? <= *bound {
                true => below = middle,
                false => above = middle,
            }
        }
        Ok(above)
    }

    fn key(&self, cells: &[ArrayRef], row: usize) -> Result<OwnedRow> {
        let cells: Vec<ArrayRef> = cells.iter().map(|cells| cells.slice(row, 1)).collect();
        let keys = self.converter.convert_columns(&cells)?;
        Ok(keys.row(0).owned())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{AsArray, Int32Array, StringArray};
    use datafusion::arrow::compute::SortOptions;
    use datafusion::arrow::datatypes::{DataType, Field, Int32Type};
    use datafusion::physical_expr::expressions::Column;
    use proptest::prelude::*;

    use super::*;

    type Row = (Option<i32>, &'static str);

    fn batch(schema: &Arc<Schema>, rows: &[Row]) -> RecordBatch {
        let numbers: Int32Array = rows.iter().map(|row| row.0).collect();
        let texts: StringArray = rows.iter().map(|row| Some(row.1)).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(texts)];
        RecordBatch::try_new(Arc::clone(schema), columns).expect("columns of the schema")
    }

    fn rows(batch: &RecordBatch) -> Vec<(Option<i32>, String)> {
        let numbers = batch.column(0).as_primitive::<Int32Type>();
        let texts = batch.column(1).as_string::<i32>();
        let rows = numbers.iter().zip(texts.iter());
        rows.map(|(number, text)| (number, text.expect("not NULL").to_owned()))
            .collect()
    }

    /// What comes of partitions, each in order (NULLs last), in batches of so many rows: slice by slice.
    fn merged(partitions: &[Vec<Row>], batch_rows: usize) -> Vec<Vec<(Option<i32>, String)>> {
        let fields = [("n", DataType::Int32), ("t", DataType::Utf8)];
        let fields = fields.map(|(name, data_type)| Field::new(name, data_type, true));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let options = SortOptions {
            descending: false,
            nulls_first: false,
        };
        let by =
            |name: &str, place| PhysicalSortExpr::new(Arc::new(Column::new(name, place)), options);
        let ordering = LexOrdering::new([by("n", 0), by("t", 1)]).expect("two columns");
        let mut slices =
            Slices::new(ordering, &schema, partitions.len()).expect("comparable types");
        let mut batches: Vec<_> = partitions
            .iter()
            .map(|rows| rows.chunks(batch_rows))
            .collect();
        let mut given = Vec::new();
        loop {
            while let Some(partition) = slices.unknown() {
                let next = batches[partition].next().map(|rows| batch(&schema, rows));
                slices.add(partition, next).expect("keys can be compared");
            }
            match slices.next().expect("keys can be compared") {
                Some(batch) => given.push(rows(&batch)),
                None => return given,
            }
        }
    }

    #[test]
    fn batches_that_do_not_overlap_are_given_as_they_are() {
        let row = |number| (Some(number), "a");
        let partitions = [
            (0..6).chain(20..24).map(row).collect(),
            (6..20).map(row).collect::<Vec<_>>(),
        ];
        let lengths: Vec<usize> = merged(&partitions, 4).iter().map(Vec::len).collect();
        // The second batch of the first partition has 4, 5 and 20, 21.
        assert_eq!(lengths, [4, 2, 4, 4, 4, 2, 2, 2]);
    }

    proptest! {
        #[test]
        fn rows_come_in_order_however_partitions_overlap(
            all in prop::collection::vec(
                (prop::option::weighted(0.9, 0..20), prop::sample::select(vec!["", "a", "b"]), 0..3_usize),
                0..80,
            ),
            batch_rows in 1..9_usize,
        ) {
            let key = |row: &Row| (row.0.is_none(), row.0, row.1);
            let mut partitions: Vec<Vec<Row>> = vec![Vec::new(); 3];
            for (number, text, partition) in &all {
                partitions[*partition].push((*number, *text));
            }
            partitions.iter_mut().for_each(|rows| rows.sort_by_key(key));
            let mut expected: Vec<Row> = partitions.concat();
            expected.sort_by_key(key);
            let expected: Vec<_> =
                expected.iter().map(|(number, text)| (*number, (*text).to_owned())).collect();
            prop_assert_eq!(merged(&partitions, batch_rows).concat(), expected);
        }
    }
}
