//! Values as texts: what PostgreSQL's output functions write.
//!
//! Arrow casts a timestamp to `2024-01-01T07:00:00Z` and a float to `1.0`; PostgreSQL says `2024-01-01 07:00:00+00`
//! and `1`. [`TextOutRewrite`] puts the function in the place of
//!
//! 1. casts to text,
//! 2. operands of `||` that are no texts,
//! 3. arguments of `concat` and `concat_ws`.
//!
//! Casts and `||` tell booleans as `true` and `false`, `concat` as `t` and `f`, and `concat` pads `character(n)`. The former, and whole numbers, are left to
//! Arrow, which agrees about them.
//!
//! The texts are those that a client is sent for the same values ([`protocol::encode`]).

use std::sync::Arc;

use bytes::BytesMut;
use datafusion::arrow::array::{ArrayRef, StringBuilder};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use protocol::encode::{Cells, EncodeError, Format, wire_type};

use crate::error::SqlError;
use crate::pg_type;

/// Functions that take values of any type for their texts.
const CONCATENATIONS: [&str; 2] = ["concat", "concat_ws"];

/// The function: the text of a value of any type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TextOut {
    signature: Signature,
}

impl TextOut {
    fn new() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for TextOut {
    fn name(&self) -> &str {
        "text_out"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let field = &args.arg_fields[0];
        let values = args.args[0].to_array(args.number_rows)?;
        Ok(ColumnarValue::Array(texts(&values, field)?))
    }
}

fn texts(values: &ArrayRef, field: &FieldRef) -> Result<ArrayRef> {
    let cells = Cells::new(values, &wire_type(field), Format::Text).map_err(failed)?;
    let mut texts = StringBuilder::with_capacity(values.len(), 0);
    let mut text = BytesMut::new();
    for row in 0..values.len() {
        if cells.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        cells.append_text(row, &mut text).map_err(failed)?;
        let text = std::str::from_utf8(&text).map_err(|error| {
            let message = format!("the text of a value is not UTF-8: {error}");
            DataFusionError::Internal(message)
        })?;
        texts.append_value(text);
    }
    Ok(Arc::new(texts.finish()))
}

/// As an error of the planner's.
pub(super) fn failed(error: EncodeError) -> DataFusionError {
    SqlError::new(error.code(), error.to_string()).into()
}

/// Puts the function where values become texts.
#[derive(Debug)]
pub(crate) struct TextOutRewrite {
    text_out: Arc<ScalarUDF>,
}

impl TextOutRewrite {
    pub(crate) fn new() -> Self {
        Self {
            text_out: Arc::new(ScalarUDF::from(TextOut::new())),
        }
    }

    fn text(&self, value: Expr) -> Expr {
        let function = Arc::clone(&self.text_out);
        Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![value]))
    }

    /// The text of an operand or argument, if it is of a type that is written in another way than Arrow's.
    fn written(
        &self,
        value: Expr,
        schema: &DFSchema,
        is_written: impl Fn(&DataType) -> bool,
    ) -> Transformed<Expr> {
        match type_of(&value, schema) {
            Some(of) if is_written(&of) => Transformed::yes(self.text(value)),
            _ => Transformed::no(value),
        }
    }
}

impl FunctionRewrite for TextOutRewrite {
    fn name(&self) -> &str {
        "text_out"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        Ok(match expr {
            Expr::Cast(Cast { expr: inner, field }) => {
                let is_written = type_of(&inner, schema).is_some_and(|of| is_written(&of));
                match is_written && field.data_type().is_string() {
                    true => {
                        let text = Box::new(self.text(*inner));
                        // The cast stays for what the field tells of the type.
                        Transformed::yes(Expr::Cast(Cast::new_from_field(text, field)))
                    }
                    false => Transformed::no(Expr::Cast(Cast { expr: inner, field })),
                }
            }
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::StringConcat,
                right,
            }) if is_of_texts(&left, &right, schema) => {
                let left = self.written(*left, schema, is_written);
                let right = self.written(*right, schema, is_written);
                let transformed = left.transformed || right.transformed;
                let (left, right) = (Box::new(left.data), Box::new(right.data));
                let concat = BinaryExpr::new(left, Operator::StringConcat, right);
                Transformed::new_transformed(Expr::BinaryExpr(concat), transformed)
            }
            Expr::ScalarFunction(call) if CONCATENATIONS.contains(&call.name()) => {
                let is_written = |of: &DataType| *of == DataType::Boolean || is_written(of);
                let args = call.args.into_iter();
                let args = args.map(|arg| match is_padded(&arg, schema) {
                    true => Transformed::yes(self.text(arg)),
                    false => self.written(arg, schema, is_written),
                });
                let args: Vec<_> = args.collect();
                let transformed = args.iter().any(|arg| arg.transformed);
                let args = args.into_iter().map(|arg| arg.data).collect();
                let call = ScalarFunction::new_udf(call.func, args);
                Transformed::new_transformed(Expr::ScalarFunction(call), transformed)
            }
            other => Transformed::no(other),
        })
    }
}

/// `None`: a parameter without a type.
fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    expr.get_type(schema).ok()
}

/// Whether values are of `character(n)`, which casts and `||` take without the blanks at its end.
fn is_padded(expr: &Expr, schema: &DFSchema) -> bool {
    let field = expr.to_field(schema);
    field.is_ok_and(|(_, field)| pg_type::field_oid(&field) == pg_type::BPCHAR)
}

/// Whether `||` joins texts, not arrays or bytes.
fn is_of_texts(left: &Expr, right: &Expr, schema: &DFSchema) -> bool {
    let is_text = |expr| type_of(expr, schema).is_some_and(|of| of.is_string());
    is_text(left) || is_text(right)
}

/// Whether PostgreSQL writes values of a type in another way than Arrow does.
fn is_written(of: &DataType) -> bool {
    of.is_floating() || of.is_decimal() || of.is_temporal() || of.is_list() || of.is_binary()
}
