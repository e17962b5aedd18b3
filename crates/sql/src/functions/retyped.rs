//! A value whose field tells something else: what the type is at the source, and that it may be NULL.
//!
//! It stands where DataFusion wants two fields to tell the same, as those of the terms of a recursive query, of which one may give a column
//! of a table and the other a number that was written; and where it takes a value that may be missing for one that is there.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// Gives its argument.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Retyped {
    /// What its field tells, but for a name and a type.
    like: FieldRef,
    signature: Signature,
}

impl Retyped {
    /// `may_be_null`: also if the argument is not.
    pub(crate) fn new(metadata: HashMap<String, String>, may_be_null: bool) -> Self {
        let like = Field::new("", DataType::Null, may_be_null).with_metadata(metadata);
        Self {
            like: Arc::new(like),
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Retyped {
    fn name(&self) -> &'static str {
        "retyped"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type is that of the argument's field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [value] = args.arg_fields else {
            return internal_err!("it has one argument");
        };
        let may_be_null = value.is_nullable() || self.like.is_nullable();
        let field = value.as_ref().clone().with_nullable(may_be_null);
        Ok(Arc::new(field.with_metadata(self.like.metadata().clone())))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args.swap_remove(0))
    }
}
