//! `x op ANY (array)` and `x op ALL (array)` of an array that is written out: one comparison an element.
//!
//! ```text
//! x = ANY (ARRAY[a, b])            x IN (a, b)
//! x <> ALL ('{1,2}'::int[])        x NOT IN ('1'::int, '2'::int)
//! x LIKE ANY (ARRAY[a, b])         x LIKE a OR x LIKE b
//! ```
//!
//! DataFusion knows equality with any element of an array as a value, and neither other operators nor ALL. Arrays in other
//! forms, and empty ones, are left to it.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, DataType, Expr, Statement as Ast, Value, VisitorMut,
};
use protocol::encode::array;

use super::casts::cast;
use super::walk::walk_mut;

/// Puts comparisons in the place of such arrays.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut QuantifiedArrays);
}

struct QuantifiedArrays;

impl VisitorMut for QuantifiedArrays {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(comparisons) = compared(expr) {
            *expr = comparisons;
        }
        ControlFlow::Continue(())
    }
}

/// The comparisons that stand for an expression.
fn compared(expr: &Expr) -> Option<Expr> {
    use BinaryOperator::{And, Eq, NotEq, Or};
    let plain = |left: &Expr, op: &BinaryOperator, right| Expr::BinaryOp {
        left: Box::new(left.clone()),
        op: op.clone(),
        right: Box::new(right),
    };
    match expr {
        Expr::AnyOp {
            left,
            compare_op: Eq,
            right,
            ..
        } => Some(among(left, elements(right)?, false)),
        Expr::AllOp {
            left,
            compare_op: NotEq,
            right,
        } => Some(among(left, elements(right)?, true)),
        Expr::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => all_of(elements(right)?, Or, |element| {
            plain(left, compare_op, element)
        }),
        Expr::AllOp {
            left,
            compare_op,
            right,
        } => all_of(elements(right)?, And, |element| {
            plain(left, compare_op, element)
        }),
        Expr::Like {
            any: true, pattern, ..
        }
        | Expr::ILike {
            any: true, pattern, ..
        } => all_of(elements(pattern)?, Or, |element| {
            let mut one = expr.clone();
            if let Expr::Like { any, pattern, .. } | Expr::ILike { any, pattern, .. } = &mut one {
                *any = false;
                **pattern = element;
            }
            one
        }),
        _ => None,
    }
}

fn among(value: &Expr, list: Vec<Expr>, negated: bool) -> Expr {
    Expr::Nested(Box::new(Expr::InList {
        expr: Box::new(value.clone()),
        list,
        negated,
    }))
}

fn all_of(elements: Vec<Expr>, op: BinaryOperator, compare: impl Fn(Expr) -> Expr) -> Option<Expr> {
    let comparisons = elements
        .into_iter()
        .map(compare)
        .reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: op.clone(),
            right: Box::new(right),
        })?;
    Some(Expr::Nested(Box::new(comparisons)))
}

/// The elements of an array that is written out, at least one.
fn elements(array: &Expr) -> Option<Vec<Expr>> {
    let elements = match array {
        Expr::Nested(array) => return elements(array),
        Expr::Array(array) => array.elem.clone(),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => literal_elements(text)?,
            _ => return None,
        },
        Expr::Cast {
            expr,
            data_type: DataType::Array(ArrayElemTypeDef::SquareBracket(of, _)),
            ..
        } => {
            let elements = elements(expr)?.into_iter();
            elements
                .map(|element| cast(element, DataType::clone(of)))
                .collect()
        }
        _ => return None,
    };
    (!elements.is_empty()).then_some(elements)
}

/// The elements of `{a,b}` as literals without a type.
fn literal_elements(text: &str) -> Option<Vec<Expr>> {
    let literal = array::parse(text)?;
    let elements = literal.elements.into_iter().map(|element| match element {
        Some(text) => Expr::value(Value::SingleQuotedString(text)),
        None => Expr::value(Value::Null),
    });
    Some(elements.collect())
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn each_element_is_compared() {
        for (written, expected) in [
            ("a = ANY (ARRAY[1, b])", "(a IN (1, b))"),
            (
                "a <> ALL ('{1,NULL}'::INT[])",
                "(a NOT IN (('1')::INT, (NULL)::INT))",
            ),
            ("a = ANY ('{x,\"y z\"}')", "(a IN ('x', 'y z'))"),
            ("a < ALL (ARRAY[1, 2])", "(a < 1 AND a < 2)"),
            ("a ~ ANY (ARRAY['x', 'y'])", "(a ~ 'x' OR a ~ 'y')"),
            (
                "a NOT LIKE ANY (ARRAY['x', 'y'])",
                "(a NOT LIKE 'x' OR a NOT LIKE 'y')",
            ),
            ("a = ANY(b)", "a = ANY(b)"),
            ("a = ANY('{}')", "a = ANY('{}')"),
        ] {
            let text = format!("SELECT {written}");
            let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, &text)
                .expect("parses")
                .remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), format!("SELECT {expected}"));
        }
    }
}
