//! Functions that clients call on the catalogs, as far as `datafusion-pg-catalog` lacks them.
//!
//! Most have one answer whatever they are asked: there are no comments, no defaults, no
//! privileges to be without. Those about indexes know the primary keys of the tables.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use replication::catalog::Catalog;

use super::{oids, relations};
use crate::functions::quoting::quote_identifier;
use crate::table::column::visible;

/// The functions with one answer.
pub(crate) fn constants() -> Vec<ScalarUDF> {
    let null = ScalarValue::Utf8(None);
    let empty = ScalarValue::Utf8(Some(String::new()));
    let yes = ScalarValue::Boolean(Some(true));
    let zero = ScalarValue::Int64(Some(0));
    let answers: &[(&'static str, &ScalarValue)] = &[
        ("obj_description", &null),
        ("col_description", &null),
        ("pg_get_expr", &null),
        ("pg_get_partkeydef", &null),
        ("pg_stat_get_numscans", &zero),
        ("shobj_description", &null),
        ("pg_get_viewdef", &empty),
        ("pg_get_ruledef", &empty),
        ("pg_get_triggerdef", &empty),
        ("pg_get_functiondef", &empty),
        ("pg_get_function_result", &empty),
        ("pg_get_function_arguments", &empty),
        ("pg_get_function_identity_arguments", &empty),
        ("pg_get_serial_sequence", &null),
        ("pg_tablespace_location", &empty),
        ("pg_type_is_visible", &yes),
        ("pg_function_is_visible", &yes),
        ("pg_operator_is_visible", &yes),
        ("pg_opclass_is_visible", &yes),
        ("pg_collation_is_visible", &yes),
        ("has_column_privilege", &yes),
        ("has_function_privilege", &yes),
        ("has_sequence_privilege", &yes),
        ("has_tablespace_privilege", &yes),
        ("pg_has_role", &yes),
        ("txid_current", &zero),
        ("pg_postmaster_start_time", &null),
    ];
    let constant = |&(name, value): &(&'static str, &ScalarValue)| {
        let signature = Signature::variadic_any(Volatility::Stable);
        ScalarUDF::from(Answer {
            name,
            value: value.clone(),
            signature,
        })
    };
    answers.iter().map(constant).collect()
}

/// The functions that know the tables.
pub(crate) fn about_tables(catalog: &Arc<Catalog>) -> Vec<ScalarUDF> {
    let definition = |name, of| {
        ScalarUDF::from(KeyText {
            name,
            of,
            catalog: catalog.clone(),
            signature: Signature::variadic_any(Volatility::Stable),
        })
    };
    vec![
        definition("pg_get_indexdef", KeyForm::Index),
        definition("pg_get_constraintdef", KeyForm::Constraint),
        definition("pg_get_userbyid", KeyForm::Owner),
        ScalarUDF::from(ToRegclass {
            catalog: catalog.clone(),
            signature: Signature::string(1, Volatility::Stable),
        }),
    ]
}

/// Gives the same to everyone.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Answer {
    name: &'static str,
    value: ScalarValue,
    signature: Signature,
}

impl ScalarUDFImpl for Answer {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.value.data_type())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.value.clone()))
    }
}

/// What is told of an object id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum KeyForm {
    /// `CREATE UNIQUE INDEX …`
    Index,
    /// `PRIMARY KEY (…)`
    Constraint,
    /// The owner's name.
    Owner,
}

/// What is said of a primary key.
struct KeyDescription {
    /// The statement or clause.
    whole: String,
    /// The columns' names, as they are written in it.
    columns: Vec<String>,
}

impl KeyDescription {
    /// The whole text, or that of a column by its number.
    fn part(&self, column: i64) -> Option<&str> {
        match usize::try_from(column) {
            Ok(0) => Some(&self.whole),
            Ok(number) => self.columns.get(number - 1).map(String::as_str),
            Err(_) => None,
        }
    }
}

/// A text about a primary key, by its id.
struct KeyText {
    name: &'static str,
    of: KeyForm,
    catalog: Arc<Catalog>,
    signature: Signature,
}

impl KeyText {
    fn texts(&self) -> HashMap<i64, KeyDescription> {
        let tables = self.catalog.tables();
        let keyed = tables.iter().filter(|entry| entry.schema.has_source_key());
        keyed
            .map(|entry| {
                let columns: Vec<String> = entry
                    .schema
                    .key
                    .iter()
                    .filter_map(|&key| visible(&entry.schema).find(|(index, _)| *index == key))
                    .map(|(_, column)| quote_identifier(&column.name))
                    .collect();
                let key = columns.join(", ");
                let whole = match self.of {
                    KeyForm::Index => format!(
                        "CREATE UNIQUE INDEX {} ON {}.{} USING btree ({key})",
                        quote_identifier(&relations::key_name(entry)),
                        quote_identifier(&entry.schema.name.schema),
                        quote_identifier(&entry.schema.name.name),
                    ),
                    _ => format!("PRIMARY KEY ({key})"),
                };
                let description = KeyDescription { whole, columns };
                (i64::from(oids::primary_key(entry.id)), description)
            })
            .collect()
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for KeyText {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for KeyText {}

impl std::hash::Hash for KeyText {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for KeyText {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let whole_numbers = |argument: &ColumnarValue| -> Result<ArrayRef> {
            let numbers = argument.to_array(args.number_rows)?;
            Ok(cast(&numbers, &DataType::Int64)?)
        };
        let ids = whole_numbers(&args.args[0])?;
        let ids = ids.as_primitive::<Int64Type>();
        // The second of three is a column's number, the second of two says how to lay it out.
        let columns = match args.args.as_slice() {
            [_, column, _] => Some(whole_numbers(column)?),
            _ => None,
        };
        let columns = columns.as_ref().map(|a| a.as_primitive::<Int64Type>());
        let column = |row| columns.map_or(0, |columns| columns.value(row));
        let texts: StringArray = match self.of {
            KeyForm::Owner => ids.iter().map(|id| id.map(|_| "hedgerow")).collect(),
            _ => {
                let texts = self.texts();
                ids.iter()
                    .enumerate()
                    .map(|(row, id)| texts.get(&id?)?.part(column(row)))
                    .collect()
            }
        };
        debug_assert_eq!(texts.len(), ids.len());
        Ok(ColumnarValue::Array(Arc::new(texts) as ArrayRef))
    }
}

/// `to_regclass`: a table's id by its name, which may be in quotes; NULL for no such table.
struct ToRegclass {
    catalog: Arc<Catalog>,
    signature: Signature,
}

impl ToRegclass {
    /// Ids by all ways to write a name: with its schema, and without it in `public`.
    fn ids(&self) -> HashMap<String, i32> {
        let mut ids = HashMap::new();
        for entry in self.catalog.tables() {
            let id = i32::try_from(oids::table(entry.id)).unwrap_or(i32::MAX);
            let name = quote_identifier(&entry.schema.name.name);
            let schema = quote_identifier(&entry.schema.name.schema);
            if schema == "public" {
                ids.insert(name.clone(), id);
            }
            ids.insert(format!("{schema}.{name}"), id);
        }
        ids
    }
}

impl fmt::Debug for ToRegclass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for ToRegclass {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ToRegclass {}

impl std::hash::Hash for ToRegclass {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl ScalarUDFImpl for ToRegclass {
    fn name(&self) -> &str {
        "to_regclass"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let names = args.args[0].to_array(args.number_rows)?;
        let names = cast(&names, &DataType::Utf8)?;
        let ids = self.ids();
        let found = names
            .as_string::<i32>()
            .iter()
            .map(|name| ids.get(name?).copied());
        Ok(ColumnarValue::Array(Arc::new(
            found.collect::<Int32Array>(),
        )))
    }
}
