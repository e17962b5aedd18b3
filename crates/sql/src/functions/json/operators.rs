//! Which function an operator on `json` or `jsonb` is.
//!
//! Whatever is no document beside one is what PostgreSQL takes a literal without a type for: a key beside `->`, a path beside `#>`, a
//! document beside `@>`.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, ScalarUDF};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::JsonType;
use crate::functions::array_of::literal;
use crate::functions::literals::is_text;
use crate::pg_type;
use crate::table::column::OID_KEY;

/// Plans them.
#[derive(Debug)]
pub(crate) struct JsonOperators {
    functions: HashMap<String, Arc<ScalarUDF>>,
}

impl JsonOperators {
    pub(crate) fn new() -> Self {
        let functions = super::functions().into_iter();
        let functions = functions.map(|udf| (udf.name().to_owned(), Arc::new(udf)));
        Self {
            functions: functions.collect(),
        }
    }

    fn call(&self, name: &str, left: Expr, right: Expr) -> Expr {
        let function = Arc::clone(&self.functions[name]);
        Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![left, right]))
    }

    /// An operation on a document of this type at its left; the operands back where it is none of these.
    fn planned(
        &self,
        of: JsonType,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator::{
            Arrow, ArrowAt, AtArrow, AtAt, AtQuestion, HashArrow, HashLongArrow, HashMinus,
            LongArrow, Minus, Question, QuestionAnd, QuestionPipe, StringConcat,
        };
        let RawBinaryExpr { op, left, right } = expr;
        let is_index = right.get_type(schema).is_ok_and(|of| of.is_integer());
        let is_list = right.get_type(schema).is_ok_and(|of| of.is_list());
        let is_jsonb = of == JsonType::Jsonb;
        let name = |json, jsonb| of.name(json, jsonb);
        let (function, right) = match &op {
            Arrow if is_index => (name("json_array_element", "jsonb_array_element"), right),
            LongArrow if is_index => (
                name("json_array_element_text", "jsonb_array_element_text"),
                right,
            ),
            Arrow => (name("json_object_field", "jsonb_object_field"), text(right)),
            LongArrow => (
                name("json_object_field_text", "jsonb_object_field_text"),
                text(right),
            ),
            HashArrow => (
                name("json_extract_path", "jsonb_extract_path"),
                texts(right)?,
            ),
            HashLongArrow => (
                name("json_extract_path_text", "jsonb_extract_path_text"),
                texts(right)?,
            ),
            AtArrow if is_jsonb => ("jsonb_contains", document(right)?),
            ArrowAt if is_jsonb => ("jsonb_contained", document(right)?),
            AtQuestion if is_jsonb => ("jsonb_path_exists_opr", text(right)),
            AtAt if is_jsonb => ("jsonb_path_match_opr", text(right)),
            Question if is_jsonb => ("jsonb_exists", text(right)),
            QuestionPipe if is_jsonb => ("jsonb_exists_any", texts(right)?),
            QuestionAnd if is_jsonb => ("jsonb_exists_all", texts(right)?),
            HashMinus if is_jsonb => ("jsonb_delete_path", texts(right)?),
            Minus if is_jsonb && is_index => ("jsonb_delete_index", right),
            Minus if is_jsonb && is_list => ("jsonb_delete_keys", right),
            Minus if is_jsonb => ("jsonb_delete", text(right)),
            StringConcat if is_jsonb && is_document(&right, schema) => {
                ("jsonb_concat", document(right)?)
            }
            _ => return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right })),
        };
        Ok(PlannerResult::Planned(self.call(function, left, right)))
    }

    /// An operation on a `jsonb` at its right only, beside a literal.
    fn planned_backwards(&self, expr: RawBinaryExpr) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        let function = match &op {
            BinaryOperator::AtArrow => "jsonb_contains",
            BinaryOperator::ArrowAt => "jsonb_contained",
            BinaryOperator::StringConcat => "jsonb_concat",
            _ => return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right })),
        };
        let call = self.call(function, document(left)?, right);
        Ok(PlannerResult::Planned(call))
    }
}

impl ExprPlanner for JsonOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        match (type_of(&expr.left, schema), type_of(&expr.right, schema)) {
            (Some(of), _) => self.planned(of, expr, schema),
            (None, Some(JsonType::Jsonb)) if has_no_type(&expr.left) => {
                self.planned_backwards(expr)
            }
            _ => Ok(PlannerResult::Original(expr)),
        }
    }
}

/// Which kind of document an expression is, if it is one.
fn type_of(expr: &Expr, schema: &DFSchema) -> Option<JsonType> {
    let (_, field) = expr.to_field(schema).ok()?;
    JsonType::of(pg_type::field_oid(&field))
}

/// Whether an expression is a literal or a parameter that takes its type from what is beside it.
fn has_no_type(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(_, None)) && is_text(expr)
        || matches!(expr, Expr::Placeholder(placeholder) if placeholder.field.is_none())
}

fn is_document(expr: &Expr, schema: &DFSchema) -> bool {
    has_no_type(expr) || type_of(expr, schema) == Some(JsonType::Jsonb)
}

/// An operand as a text.
fn text(operand: Expr) -> Expr {
    match operand {
        Expr::Placeholder(_) => Expr::Cast(Cast::new(Box::new(operand), DataType::Utf8)),
        operand => operand,
    }
}

/// An operand as a list of texts.
fn texts(operand: Expr) -> Result<Expr> {
    match &operand {
        Expr::Literal(ScalarValue::Utf8(Some(written)), _) => {
            let elements = ScalarValue::iter_to_array(
                literal(written)?
                    .elements
                    .into_iter()
                    .map(ScalarValue::Utf8)
                    .chain([
                        // Something has to tell the type of an empty list.
                        ScalarValue::Utf8(None),
                    ]),
            )?;
            let elements = elements.slice(0, elements.len() - 1);
            let list = SingleRowListArrayBuilder::new(elements).build_list_scalar();
            Ok(Expr::Literal(list, None))
        }
        Expr::Placeholder(_) => {
            let list = DataType::new_list(DataType::Utf8, true);
            Ok(Expr::Cast(Cast::new(Box::new(operand), list)))
        }
        _ => Ok(operand),
    }
}

/// An operand as a `jsonb`.
fn document(operand: Expr) -> Result<Expr> {
    let field = || {
        let metadata = [(OID_KEY.to_owned(), pg_type::JSONB.to_string())].into();
        Field::new("", DataType::Utf8, true).with_metadata(metadata)
    };
    Ok(match operand {
        Expr::Literal(ScalarValue::Utf8(Some(written)), None) => {
            let document = JsonType::Jsonb.read(&written)?;
            let metadata = FieldMetadata::new_from_field(&field());
            Expr::Literal(ScalarValue::Utf8(Some(document)), Some(metadata))
        }
        Expr::Placeholder(_) => {
            Expr::Cast(Cast::new_from_field(Box::new(operand), Arc::new(field())))
        }
        operand => operand,
    })
}
