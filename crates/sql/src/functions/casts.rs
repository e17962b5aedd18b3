//! Casts that PostgreSQL means otherwise.
//!
//! * A quoted literal is read as PostgreSQL reads it.
//! * `numeric` without digits keeps the digits that there are.
//! * A text becomes an array, a `uuid` or an `inet` by being read.
//! * A text becomes a `json` or `jsonb` by being read, and a number in such a document an integer as any other number.
//! * A number becomes an integer by rounding: half away from zero as numeric, to even as
//!   double precision. Arrow would cut its fraction off.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::config::ConfigOptions;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions::math::expr_fn::round;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, ScalarUDF};

use super::array_of::ArrayOf;
use super::literals;
use super::quotient::Digits;
use super::round_to_even::RoundToEven;
use super::text_in::TextIn;
use super::typed_text;
use super::types::UNCONSTRAINED_SCALE;
use crate::pg_type;

/// `numeric` without digits, as [`super::types`] gives it.
const UNCONSTRAINED: DataType = DataType::Decimal128(38, UNCONSTRAINED_SCALE);

/// Puts PostgreSQL's casts in the place of Arrow's.
#[derive(Debug)]
pub(crate) struct CastRewrite {
    round_to_even: Arc<ScalarUDF>,
    /// By the type that they read texts as.
    readers: [(u32, Arc<ScalarUDF>); 4],
}

/// Functions that read texts as values of types that are stored as text, in more spellings than one.
const READERS: [(u32, &str); 4] = [
    (pg_type::JSON, "json_in"),
    (pg_type::JSONB, "jsonb_in"),
    (pg_type::UUID, "uuid_in"),
    (pg_type::INET, "inet_in"),
];

impl CastRewrite {
    pub(crate) fn new() -> Self {
        let reader = |(oid, name)| (oid, Arc::new(ScalarUDF::from(TextIn::reading(name, oid))));
        Self {
            round_to_even: Arc::new(ScalarUDF::from(RoundToEven::new())),
            readers: READERS.map(reader),
        }
    }

    fn reader(&self, oid: u32) -> Option<&Arc<ScalarUDF>> {
        let mut readers = self.readers.iter();
        let found = readers.find(|(of, _)| *of == oid);
        found.map(|(_, reader)| reader)
    }

    fn rounded(&self, expr: Expr, from: &DataType) -> Expr {
        if from.is_floating() {
            return call(&self.round_to_even, expr);
        }
        round(vec![expr])
    }
}

impl FunctionRewrite for CastRewrite {
    fn name(&self) -> &str {
        "casts"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::Cast(Cast { expr: inner, field }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let to = field.data_type();
        if let Some(spelled) = respelled(&inner, &field)? {
            return Ok(Transformed::yes(spelled));
        }
        if let Some(value) = literal(&inner, to)? {
            return Ok(Transformed::yes(Expr::Literal(value, None)));
        }
        // The type of an untyped parameter is not known yet.
        let Ok((_, from)) = inner.to_field(schema) else {
            return Ok(Transformed::no(Expr::Cast(Cast { expr: inner, field })));
        };
        let of = pg_type::field_oid(&from);
        let from = from.data_type().clone();
        let wanted = pg_type::field_oid(&field);
        let unconstrained = *to == UNCONSTRAINED;
        Ok(match Digits::of(&from) {
            None if let Some(reader) = self.reader(wanted)
                && from.is_string()
                && of != wanted =>
            {
                Transformed::yes(call(reader, *inner))
            }
            None if let DataType::List(element) = to
                && from.is_string()
                && !pg_type::is_array(of) =>
            {
                let reader = ScalarUDF::from(ArrayOf::texts(Arc::clone(element)));
                Transformed::yes(call(&Arc::new(reader), *inner))
            }
            None if of == pg_type::JSONB && to.is_signed_integer() => {
                let number = Expr::Cast(Cast::new(inner, UNCONSTRAINED));
                let rounded = Box::new(round(vec![number]));
                Transformed::yes(Expr::Cast(Cast::new_from_field(rounded, field)))
            }
            Some(_) if unconstrained && from.is_decimal() => Transformed::yes(*inner),
            Some(digits) if unconstrained => {
                Transformed::yes(Expr::Cast(Cast::new(inner, digits.decimal())))
            }
            _ if to.is_signed_integer() && (from.is_decimal() || from.is_floating()) => {
                let rounded = self.rounded(*inner, &from);
                Transformed::yes(Expr::Cast(Cast::new_from_field(Box::new(rounded), field)))
            }
            _ => Transformed::no(Expr::Cast(Cast { expr: inner, field })),
        })
    }
}

fn call(function: &Arc<ScalarUDF>, argument: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::clone(function),
        vec![argument],
    ))
}

/// A quoted literal of a type that is stored as text, spelled as its cells are.
fn respelled(inner: &Expr, field: &Field) -> Result<Option<Expr>> {
    let oid = pg_type::field_oid(field);
    match inner {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _)
            if READERS.iter().any(|(of, _)| *of == oid) =>
        {
            let text = literals::text_as(text, oid)?;
            let metadata = FieldMetadata::new_from_field(field);
            let value = ScalarValue::Utf8(Some(text));
            Ok(Some(Expr::Literal(value, Some(metadata))))
        }
        _ => Ok(None),
    }
}

/// The value of a cast of a quoted literal, where Arrow would read another or none.
fn literal(inner: &Expr, to: &DataType) -> Result<Option<ScalarValue>> {
    let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = inner else {
        return Ok(None);
    };
    if to.is_decimal() && *to != UNCONSTRAINED {
        return Ok(None);
    }
    Ok(typed_text::value(text, to)?)
}
