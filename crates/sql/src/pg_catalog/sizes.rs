//! How large tables are: `pg_table_size` and its like, `pg_size_pretty`.
//!
//! A table's size is that of its segments and memory runs. Its key has no storage of its own.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use lsm::Store;
use replication::catalog::Catalog;
use types::TableId;

use super::oids;

/// From here on PostgreSQL prints a size in the next unit.
const NEXT_UNIT: i64 = 10 * 1024;
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/// The functions about sizes.
pub(crate) fn functions(catalog: &Arc<Catalog>, store: &Arc<Store>) -> Vec<ScalarUDF> {
    let size = |name, of| {
        ScalarUDF::from(Size {
            name,
            of,
            catalog: catalog.clone(),
            store: store.clone(),
            signature: Signature::variadic_any(Volatility::Volatile),
        })
    };
    vec![
        size("pg_table_size", Of::Table),
        size("pg_relation_size", Of::Table),
        size("pg_total_relation_size", Of::Table),
        size("pg_indexes_size", Of::Indexes),
        size("pg_database_size", Of::Database),
        ScalarUDF::from(Pretty {
            signature: Signature::any(1, Volatility::Immutable),
        }),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    Table,
    Indexes,
    Database,
}

/// Bytes of what its argument names.
struct Size {
    name: &'static str,
    of: Of,
    catalog: Arc<Catalog>,
    store: Arc<Store>,
    signature: Signature,
}

impl Size {
    fn bytes(&self, table: TableId) -> i64 {
        let stats = self.store.table_stats(table);
        stats.map_or(0, |stats| {
            i64::try_from(stats.bytes_on_disk + stats.bytes_in_memory).unwrap_or(i64::MAX)
        })
    }

    fn of_table(&self, oid: i64) -> i64 {
        let tables = self.catalog.tables();
        let table = tables
            .iter()
            .find(|entry| i64::from(oids::table(entry.id)) == oid);
        table.map_or(0, |entry| self.bytes(entry.id))
    }

    fn of_all(&self) -> i64 {
        let tables = self.catalog.tables();
        tables.iter().map(|entry| self.bytes(entry.id)).sum()
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Size {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Size {}

impl Hash for Size {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Size {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let sizes: Int64Array = match self.of {
            Of::Indexes => std::iter::repeat_n(Some(0), rows).collect(),
            Of::Database => std::iter::repeat_n(Some(self.of_all()), rows).collect(),
            Of::Table => {
                let ids = cast(&args.args[0].to_array(rows)?, &DataType::Int64)?;
                let ids = ids.as_primitive::<Int64Type>();
                ids.iter()
                    .map(|oid| oid.map(|oid| self.of_table(oid)))
                    .collect()
            }
        };
        Ok(ColumnarValue::Array(Arc::new(sizes) as ArrayRef))
    }
}

/// `pg_size_pretty(bytes)`
#[derive(Debug, PartialEq, Eq, Hash)]
struct Pretty {
    signature: Signature,
}

impl ScalarUDFImpl for Pretty {
    fn name(&self) -> &str {
        "pg_size_pretty"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let sizes = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Int64)?;
        let sizes = sizes.as_primitive::<Int64Type>();
        let texts: StringArray = sizes.iter().map(|size| size.map(pretty)).collect();
        Ok(ColumnarValue::Array(Arc::new(texts) as ArrayRef))
    }
}

/// A size in the largest unit in which it has at most five digits.
fn pretty(bytes: i64) -> String {
    let mut size = i128::from(bytes);
    let mut unit = 0;
    if size.abs() >= i128::from(NEXT_UNIT) {
        // Halves, so that the last step can round.
        size /= 512;
        unit = 1;
        while unit + 1 < UNITS.len() && size.abs() >= 2 * i128::from(NEXT_UNIT) - 1 {
            size /= 1024;
            unit += 1;
        }
        size = (size + size.signum()) / 2;
    }
    format!("{size} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are PostgreSQL's own.
    #[test]
    fn sizes_are_printed_as_postgresql_prints_them() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (10_751, "10 kB"),
            (10_752, "11 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (123_456_789_012, "115 GB"),
            (-123_456, "-121 kB"),
            (i64::MAX, "8192 PB"),
        ] {
            assert_eq!(pretty(bytes), text, "{bytes}");
        }
    }
}
