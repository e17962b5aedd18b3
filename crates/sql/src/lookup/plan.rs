//! A look-up's names resolved in the catalog, and its execution.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use lsm::Snapshot;
use parking_lot::Mutex;
use replication::catalog::TableEntry;

use super::keys;
use super::shape::{Columns, Operand, Shape, Wanted};
use crate::error::SqlError;
use crate::table::column::{visible, visible_schema};

/// Keys in one statement beyond which it is planned: a scan may be the better way, and can be
/// cancelled.
const KEYS_MAX: usize = 1024;

/// A statement that may be a look-up, with what is known of it.
#[derive(Debug)]
pub(crate) struct LookUp {
    shape: Shape,
    /// For the entry that the table had last time.
    resolved: Mutex<Option<Arc<Resolved>>>,
}

impl LookUp {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            shape,
            resolved: Mutex::new(None),
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The look-up of a table; `None` if the statement is none on this table.
    pub(crate) fn resolved(&self, entry: &Arc<TableEntry>) -> Option<Arc<Resolved>> {
        let mut kept = self.resolved.lock();
        if let Some(resolved) = kept.as_ref()
            && Arc::ptr_eq(&resolved.entry, entry)
        {
            return Some(resolved.clone());
        }
        let resolved = Arc::new(Resolved::new(&self.shape, entry.clone())?);
        *kept = Some(resolved.clone());
        Some(resolved)
    }
}

/// A look-up whose names have a meaning.
#[derive(Debug)]
pub(crate) struct Resolved {
    entry: Arc<TableEntry>,
    /// The result's columns.
    schema: SchemaRef,
    /// The same among the stored ones.
    columns: Vec<usize>,
    /// What each key column is to be equal to, in key order.
    wanted: Vec<Wanted>,
    limit: Option<Operand>,
}

/// Keys to look up.
pub(crate) struct Keys {
    /// An array for each key column.
    arrays: Vec<ArrayRef>,
    limit: usize,
}

impl Keys {
    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.arrays.first().map_or(0, |keys| keys.len())
    }
}

impl Resolved {
    fn new(shape: &Shape, entry: Arc<TableEntry>) -> Option<Self> {
        let table = &entry.schema;
        if !table.has_source_key() || shape.conditions.len() != table.key.len() {
            return None;
        }
        let wanted = table.key.iter().map(|&key| {
            let named = |(column, _): &&(String, Wanted)| *column == table.columns[key].name;
            let condition = shape.conditions.iter().find(named);
            condition.map(|(_, wanted)| wanted.clone())
        });
        let wanted = wanted.collect::<Option<Vec<_>>>()?;
        let all = visible_schema(table);
        let stored: Vec<usize> = visible(table).map(|(index, _)| index).collect();
        let (columns, schema) = match &shape.columns {
            Columns::All => (stored, all),
            Columns::Named(named) => {
                let found: Option<Vec<(usize, Field)>> = named
                    .iter()
                    .map(|(name, shown)| {
                        let (place, field) = all.column_with_name(name)?;
                        Some((stored[place], field.clone().with_name(shown)))
                    })
                    .collect();
                let (columns, fields): (Vec<usize>, Vec<Field>) = found?.into_iter().unzip();
                (columns, Arc::new(Schema::new(fields)))
            }
        };
        Some(Self {
            entry,
            schema,
            columns,
            wanted,
            limit: shape.limit,
        })
    }

    /// The result's columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The keys that the parameters ask for: every combination of what the key columns may be.
    /// `None` if only the planner can tell.
    pub(crate) fn keys(&self, parameters: &[ScalarValue]) -> Option<Keys> {
        let limit = match self.limit {
            None => usize::MAX,
            Some(operand) => match keys::value(operand, parameters)? {
                ScalarValue::Int64(Some(rows)) => usize::try_from(rows).ok()?,
                _ => return None,
            },
        };
        let table = &self.entry.schema;
        let cells: Option<Vec<Vec<ScalarValue>>> = (self.wanted.iter().zip(&table.key))
            .map(|(wanted, &key)| keys::cells(wanted, parameters, &table.columns[key]))
            .collect();
        let cells = cells?;
        let total = cells
            .iter()
            .try_fold(1_usize, |total, cells| total.checked_mul(cells.len()))?;
        if total > KEYS_MAX {
            return None;
        }
        let mut repeat = total;
        let arrays = cells.into_iter().zip(&table.key).map(|(cells, &key)| {
            let data_type = table.columns[key].column_type.arrow_type();
            if total == 0 {
                return Some(datafusion::arrow::array::new_empty_array(&data_type));
            }
            if let ([only], 1) = (cells.as_slice(), total) {
                return only.to_array().ok();
            }
            repeat /= cells.len();
            let column = (0..total).map(|row| cells[row / repeat % cells.len()].clone());
            ScalarValue::iter_to_array(column).ok()
        });
        Some(Keys {
            arrays: arrays.collect::<Option<_>>()?,
            limit,
        })
    }

    /// The rows of the keys, as the snapshot sees them.
    pub(crate) fn rows(
        &self,
        snapshot: &Snapshot,
        keys: &Keys,
    ) -> Result<Vec<RecordBatch>, SqlError> {
        if keys.len() == 0 {
            return Ok(Vec::new());
        }
        let found = snapshot
            .multi_get(self.entry.id, &keys.arrays, &self.columns)
            .map_err(|error| {
                SqlError::from_store(&error, Some(&self.entry.schema.name.to_string()))
            })?;
        let mut left = keys.limit;
        let batches = found.batches.into_iter().map(|batch| {
            let rows = batch.num_rows().min(left);
            left -= rows;
            // The number of rows counts where no column is wanted, which cannot be here.
            RecordBatch::try_new(self.schema.clone(), batch.columns().to_vec())
                .map(|batch| batch.slice(0, rows))
                .map_err(|error| SqlError::from_arrow(&error))
        });
        batches.collect()
    }
}
