//! Functions that clients call on the catalogs, as far as `datafusion-pg-catalog` lacks them.
//!
//! Most have one answer whatever they are asked: there are no comments, no defaults, no
//! privileges to be without. Those about indexes know the primary keys of the tables.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use replication::catalog::Catalog;

use super::{oids, relations};
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

/// A text about a primary key, by its id.
struct KeyText {
    name: &'static str,
    of: KeyForm,
    catalog: Arc<Catalog>,
    signature: Signature,
}

impl KeyText {
    fn texts(&self) -> HashMap<i64, String> {
        let tables = self.catalog.tables();
        let keyed = tables.iter().filter(|entry| entry.schema.has_source_key());
        keyed
            .map(|entry| {
                let names: Vec<&str> = entry
                    .schema
                    .key
                    .iter()
                    .filter_map(|&key| visible(&entry.schema).find(|(index, _)| *index == key))
                    .map(|(_, column)| column.name.as_str())
                    .collect();
                let columns = names.join(", ");
                let text = match self.of {
                    KeyForm::Index => format!(
                        "CREATE UNIQUE INDEX {} ON {} USING btree ({columns})",
                        relations::key_name(entry),
                        entry.schema.name
                    ),
                    _ => format!("PRIMARY KEY ({columns})"),
                };
                (i64::from(oids::primary_key(entry.id)), text)
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
        let ids = args.args[0].to_array(args.number_rows)?;
        let ids = cast(&ids, &DataType::Int64)?;
        let ids = ids.as_primitive::<Int64Type>();
        let texts: StringArray = match self.of {
            KeyForm::Owner => ids.iter().map(|id| id.map(|_| "hedgerow")).collect(),
            _ => {
                let texts = self.texts();
                ids.iter()
                    .map(|id| id.and_then(|id| texts.get(&id).map(String::as_str)))
                    .collect()
            }
        };
        debug_assert_eq!(texts.len(), ids.len());
        Ok(ColumnarValue::Array(Arc::new(texts) as ArrayRef))
    }
}
