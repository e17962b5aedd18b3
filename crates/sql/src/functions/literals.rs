//! Comparisons with text literals, as PostgreSQL means them.
//!
//! PostgreSQL gives a quoted literal the type of what it is compared with: in `a > '10'` the
//! text is a number if `a` is. DataFusion would compare as text. Two types stored as text are
//! compared by more than their letters: `character(n)` without the blanks at its end,
//! `uuid` without regard to case and hyphens, and `jsonb` in its one form.

use std::net::IpAddr;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable};

use super::json::JsonType;
use super::typed_text;
use crate::error::{SqlError, code};
use crate::pg_type;

/// Types text literals by what they are compared with.
#[derive(Debug)]
pub(crate) struct LiteralRewrite;

impl FunctionRewrite for LiteralRewrite {
    fn name(&self) -> &str {
        "typed_literals"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
                let (left, right) = if is_text(&right) {
                    let right = typed(*right, &left, schema)?;
                    (left, Box::new(right))
                } else if is_text(&left) {
                    let left = typed(*left, &right, schema)?;
                    (Box::new(left), right)
                } else {
                    return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr {
                        left,
                        op,
                        right,
                    })));
                };
                Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr {
                    left,
                    op,
                    right,
                })))
            }
            Expr::Between(Between {
                expr,
                negated,
                low,
                high,
            }) if is_text(&low) || is_text(&high) => {
                let low = Box::new(typed(*low, &expr, schema)?);
                let high = Box::new(typed(*high, &expr, schema)?);
                Ok(Transformed::yes(Expr::Between(Between {
                    expr,
                    negated,
                    low,
                    high,
                })))
            }
            Expr::InList(InList {
                expr,
                list,
                negated,
            }) if list.iter().any(is_text) => {
                let list = list
                    .into_iter()
                    .map(|item| typed(item, &expr, schema))
                    .collect::<Result<_>>()?;
                Ok(Transformed::yes(Expr::InList(InList {
                    expr,
                    list,
                    negated,
                })))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

/// Whether an operator compares.
pub(crate) fn is_comparison(op: datafusion::logical_expr::Operator) -> bool {
    use datafusion::logical_expr::Operator::{
        Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq,
    };
    matches!(
        op,
        Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
    )
}

/// Whether an expression is a text literal.
pub(crate) fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)), _))
}

/// A text literal in the type of what it is compared with; any other expression as it is.
pub(crate) fn typed(literal: Expr, other: &Expr, schema: &DFSchema) -> Result<Expr> {
    let Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) = &literal else {
        return Ok(literal);
    };
    // The type of an untyped parameter is not known yet.
    let Ok((_, field)) = other.to_field(schema) else {
        return Ok(literal);
    };
    let value = match field.data_type() {
        DataType::Utf8 => ScalarValue::Utf8(Some(text_as(text, pg_type::field_oid(&field))?)),
        other if other.is_primitive() || *other == DataType::Boolean => {
            match typed_text::value(text, other)? {
                Some(value) => value,
                None => ScalarValue::Utf8(Some(text.trim().to_owned()))
                    .cast_to(other)
                    .map_err(|_| typed_text::invalid(text, other))?,
            }
        }
        _ => return Ok(literal),
    };
    Ok(Expr::Literal(value, metadata.clone()))
}

/// A text as cells of a type that is stored as text have it, for types whose values are equal in
/// more than one spelling.
pub(crate) fn text_as(text: &str, oid: u32) -> Result<String, SqlError> {
    match oid {
        pg_type::BPCHAR => Ok(text.trim_end_matches(' ').to_owned()),
        pg_type::UUID => plain_uuid(text),
        pg_type::INET => plain_inet(text),
        _ => JsonType::of(oid).map_or_else(|| Ok(text.to_owned()), |json| json.read(text)),
    }
}

/// An address as PostgreSQL writes it: without the bits of its network if that is the address alone.
fn plain_inet(text: &str) -> Result<String, SqlError> {
    let wrong = || {
        SqlError::new(
            code::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type inet: \"{text}\""),
        )
    };
    let (address, bits) = match text.trim().split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
        None => (text.trim(), None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let bits_max = if address.is_ipv4() { 32 } else { 128 };
    match bits {
        Some(bits) if bits > bits_max => Err(wrong()),
        Some(bits) if bits < bits_max => Ok(format!("{address}/{bits}")),
        _ => Ok(address.to_string()),
    }
}

/// A uuid as PostgreSQL writes it. It reads one with or without braces, and hyphens or none behind every fourth digit.
fn plain_uuid(text: &str) -> Result<String, SqlError> {
    let wrong = || {
        SqlError::new(
            code::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type uuid: \"{text}\""),
        )
    };
    let inner = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').ok_or_else(wrong)?,
        None => text,
    };
    let mut digits = String::with_capacity(32);
    let mut behind_hyphen = false;
    for character in inner.chars() {
        let between = digits.len().is_multiple_of(4) && (1..32).contains(&digits.len());
        if character == '-' && between && !behind_hyphen {
            behind_hyphen = true;
        } else if character.is_ascii_hexdigit() {
            digits.push(character.to_ascii_lowercase());
            behind_hyphen = false;
        } else {
            return Err(wrong());
        }
    }
    if digits.len() != 32 {
        return Err(wrong());
    }
    let parts = [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ];
    Ok(parts.join("-"))
}
