//! What all functions of JSON have in common: the types that they take and give, and NULLs.
//!
//! A function is computed a batch at a time. Most give NULL where an argument is NULL: they compute the other rows by
//! [`Arguments::strict_texts`] and its like.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, StringArray, StringBuilder,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::cast::{as_int64_array, as_list_array, as_string_array};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::JsonType;
use crate::error::SqlError;
use crate::table::column::OID_KEY;

/// What an argument has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// A text, or a document, which is one.
    Text,
    Integer,
    /// A list of texts.
    Texts,
    /// A list of texts, or the text of one.
    Steps,
    Any,
    /// A document that need not be there.
    Variables,
    /// A boolean that need not be there.
    Flag,
    /// A text or any number of them, or a list of texts: what comes last.
    Path,
    /// Any number of values of any types: what comes last.
    Values,
}

impl Takes {
    fn is_required(self) -> bool {
        !matches!(
            self,
            Self::Variables | Self::Flag | Self::Path | Self::Values
        )
    }
}

/// What the result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    Document(JsonType),
    Text,
    Integer,
    Boolean,
    /// A list of documents.
    Documents(JsonType),
    /// A list of texts.
    Texts,
}

impl Gives {
    fn field(self, name: &str) -> Field {
        let document = |name: &str, of: JsonType| {
            let metadata = [(OID_KEY.to_owned(), of.oid().to_string())].into();
            Field::new(name, DataType::Utf8, true).with_metadata(metadata)
        };
        let list = |item: Field| Field::new(name, DataType::List(Arc::new(item)), true);
        match self {
            Self::Document(of) => document(name, of),
            Self::Text => Field::new(name, DataType::Utf8, true),
            Self::Integer => Field::new(name, DataType::Int32, true),
            Self::Boolean => Field::new(name, DataType::Boolean, true),
            Self::Documents(of) => list(document("item", of)),
            Self::Texts => list(Field::new("item", DataType::Utf8, true)),
        }
    }
}

/// A function of a batch.
type Compute = fn(&Arguments) -> Result<ArrayRef>;

/// One of the functions.
#[derive(Debug)]
pub(super) struct JsonFunction {
    name: &'static str,
    takes: &'static [Takes],
    gives: Gives,
    compute: Compute,
    signature: Signature,
}

impl JsonFunction {
    pub(super) fn new(
        name: &'static str,
        takes: &'static [Takes],
        gives: Gives,
        compute: Compute,
    ) -> Self {
        Self {
            name,
            takes,
            gives,
            compute,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }

    pub(super) fn into_udf(self) -> ScalarUDF {
        ScalarUDF::from(self)
    }

    /// What the argument at a place has to be.
    fn takes(&self, place: usize) -> Option<Takes> {
        let last = self.takes.last().copied();
        let last = last.filter(|last| matches!(last, Takes::Path | Takes::Values));
        self.takes.get(place).copied().or(last)
    }

    /// The type in which an argument of one is taken; `None` where it is not.
    fn coerced(&self, place: usize, of: &DataType) -> Option<DataType> {
        let is_text = of.is_string() || of.is_null();
        match self.takes(place)? {
            Takes::Text | Takes::Variables => is_text.then_some(DataType::Utf8),
            Takes::Integer => (of.is_integer() || of.is_null()).then_some(DataType::Int64),
            Takes::Path | Takes::Steps if is_text => Some(DataType::Utf8),
            Takes::Flag => {
                let is_flag = of.is_null() || *of == DataType::Boolean;
                is_flag.then_some(DataType::Boolean)
            }
            Takes::Texts | Takes::Path | Takes::Steps => of
                .is_list()
                .then(|| DataType::new_list(DataType::Utf8, true)),
            Takes::Any | Takes::Values => Some(of.clone()),
        }
    }
}

impl PartialEq for JsonFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for JsonFunction {}

impl Hash for JsonFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for JsonFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let required = self.takes.iter().filter(|takes| takes.is_required());
        if arguments.len() < required.count() {
            return Err(SqlError::undefined_function(self.name, arguments).into());
        }
        let coerced = arguments.iter().enumerate();
        let coerced: Option<_> = coerced.map(|(place, of)| self.coerced(place, of)).collect();
        coerced.ok_or_else(|| SqlError::undefined_function(self.name, arguments).into())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of a document is known by its field")
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(self.gives.field(self.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = Arguments::new(&args)?;
        Ok(ColumnarValue::Array((self.compute)(&arguments)?))
    }
}

/// The arguments of a batch.
pub(super) struct Arguments {
    pub(super) fields: Vec<FieldRef>,
    pub(super) values: Vec<ArrayRef>,
    pub(super) rows: usize,
    /// Rows of which an argument is NULL.
    nulls: Option<NullBuffer>,
}

impl Arguments {
    fn new(args: &ScalarFunctionArgs) -> Result<Self> {
        let rows = args.number_rows;
        let values = args.args.iter().map(|value| value.to_array(rows));
        let values = values.collect::<Result<Vec<_>>>()?;
        let nulls = values
            .iter()
            .fold(None, |nulls: Option<NullBuffer>, values| {
                NullBuffer::union(nulls.as_ref(), values.logical_nulls().as_ref())
            });
        Ok(Self {
            fields: args.arg_fields.clone(),
            values,
            rows,
            nulls,
        })
    }

    pub(super) fn texts(&self, place: usize) -> Result<StringArray> {
        let texts = cast(&self.values[place], &DataType::Utf8)?;
        Ok(as_string_array(&texts)?.clone())
    }

    pub(super) fn integers(&self, place: usize) -> Result<Int64Array> {
        Ok(as_int64_array(&self.values[place])?.clone())
    }

    pub(super) fn lists(&self, place: usize) -> Result<ListArray> {
        Ok(as_list_array(&self.values[place])?.clone())
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// The rows' results; NULL where an argument is.
    fn strict<R>(
        &self,
        mut of_row: impl FnMut(usize) -> Result<Option<R>, SqlError>,
    ) -> impl Iterator<Item = Result<Option<R>, SqlError>> {
        (0..self.rows).map(move |row| match self.is_null(row) {
            true => Ok(None),
            false => of_row(row),
        })
    }

    /// The texts of the rows; NULL where an argument is.
    pub(super) fn strict_texts<'t>(
        &self,
        of_row: impl FnMut(usize) -> Result<Option<Cow<'t, str>>, SqlError>,
    ) -> Result<ArrayRef> {
        let mut texts = StringBuilder::with_capacity(self.rows, 0);
        for text in self.strict(of_row) {
            texts.append_option(text?);
        }
        Ok(Arc::new(texts.finish()))
    }

    /// The numbers of the rows, the same way.
    pub(super) fn strict_integers(
        &self,
        of_row: impl FnMut(usize) -> Result<i32, SqlError>,
    ) -> Result<ArrayRef> {
        let mut of_row = of_row;
        let numbers = self.strict(|row| of_row(row).map(Some));
        let numbers: Int32Array = numbers.collect::<Result<_, SqlError>>()?;
        Ok(Arc::new(numbers))
    }

    /// Whether the rows are so, the same way.
    pub(super) fn strict_booleans(
        &self,
        of_row: impl FnMut(usize) -> Result<bool, SqlError>,
    ) -> Result<ArrayRef> {
        let mut of_row = of_row;
        self.strict_optional_booleans(|row| of_row(row).map(Some))
    }

    /// The same where it may not be known.
    pub(super) fn strict_optional_booleans(
        &self,
        of_row: impl FnMut(usize) -> Result<Option<bool>, SqlError>,
    ) -> Result<ArrayRef> {
        let answers: BooleanArray = self.strict(of_row).collect::<Result<_, SqlError>>()?;
        Ok(Arc::new(answers))
    }

    /// Lists of texts, the same way, with the metadata of what the function gives.
    pub(super) fn strict_lists<'t>(
        &self,
        gives: Gives,
        of_row: impl FnMut(usize) -> Result<Vec<Option<Cow<'t, str>>>, SqlError>,
    ) -> Result<ArrayRef> {
        let mut of_row = of_row;
        let mut elements = StringBuilder::new();
        let mut lengths = Vec::with_capacity(self.rows);
        for list in self.strict(|row| of_row(row).map(Some)) {
            let list = list?.unwrap_or_default();
            lengths.push(list.len());
            elements.extend(list);
        }
        let field = gives.field("");
        let DataType::List(item) = field.data_type() else {
            return internal_err!("{gives:?} is no list");
        };
        Ok(Arc::new(ListArray::try_new(
            Arc::clone(item),
            OffsetBuffer::from_lengths(lengths),
            Arc::new(elements.finish()),
            self.nulls.clone(),
        )?))
    }
}
