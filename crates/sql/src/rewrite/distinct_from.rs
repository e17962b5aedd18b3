//! `a IS [NOT] DISTINCT FROM b AND c`: what belongs to the comparison.
//!
//! The parser (sqlparser 0.62) takes all that follows as the second operand, whatever binds less than a comparison:
//!
//! ```text
//!     x AND a IS DISTINCT FROM b AND c OR d
//!     x AND (a IS DISTINCT FROM ((b AND c) OR d))      as it is parsed
//!     ((x AND (a IS DISTINCT FROM b)) AND c) OR d      as it is meant
//! ```
//!
//! Nothing but this leaves AND and OR below a comparison, or an OR below an AND, without parentheses. So conditions
//! are taken apart down to the next parentheses, and put together again as their operators bind.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Statement as Ast, UnaryOperator, Value, Visitor, VisitorMut,
};

use super::walk::{walk, walk_mut};

/// Has each comparison end where it does in PostgreSQL.
pub(crate) fn rewrite(statement: &mut Ast) {
    if walk(statement, &mut Finder).is_break() {
        // This visitor never breaks off.
        _ = walk_mut(statement, &mut Mender);
    }
}

/// Breaks off at the first comparison that ends too late.
struct Finder;

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)
                if is_chain(right) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

struct Mender;

impl VisitorMut for Mender {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let nothing = Expr::value(Value::Null);
        *expr = Chain::of(std::mem::replace(expr, nothing)).together();
        ControlFlow::Continue(())
    }
}

fn is_chain(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op, .. } if connects(op))
}

fn connects(operator: &BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::And | BinaryOperator::Or)
}

/// Conditions with AND and OR between them, as they are written.
struct Chain {
    first: Expr,
    others: Vec<(BinaryOperator, Expr)>,
}

impl Chain {
    fn of(expr: Expr) -> Self {
        match expr {
            Expr::BinaryOp { left, op, right } if connects(&op) => {
                let (mut chain, rest) = (Self::of(*left), Self::of(*right));
                chain.others.push((op, rest.first));
                chain.others.extend(rest.others);
                chain
            }
            Expr::IsDistinctFrom(left, right) => {
                Self::beginning(*right, |first| Expr::IsDistinctFrom(left, first))
            }
            Expr::IsNotDistinctFrom(left, right) => {
                Self::beginning(*right, |first| Expr::IsNotDistinctFrom(left, first))
            }
            Expr::UnaryOp { op, expr } if op == UnaryOperator::Not => {
                Self::beginning(*expr, |expr| Expr::UnaryOp { op, expr })
            }
            other => Self {
                first: other,
                others: Vec::new(),
            },
        }
    }

    /// The conditions of `expr`, of which the first one is but an operand.
    fn beginning(expr: Expr, first: impl FnOnce(Box<Expr>) -> Expr) -> Self {
        let chain = Self::of(expr);
        Self {
            first: first(Box::new(chain.first)),
            others: chain.others,
        }
    }

    /// The condition that they are: AND binds more than OR, and both to the left.
    fn together(self) -> Expr {
        let joined = |left: Expr, op: BinaryOperator, right: Expr| Expr::BinaryOp {
            left: Box::new(left),
            op,
            right: Box::new(right),
        };
        let mut whole = None;
        let mut last = self.first;
        for (operator, condition) in self.others {
            last = match operator {
                BinaryOperator::And => joined(last, operator, condition),
                _ => {
                    whole = Some(match whole {
                        Some(whole) => joined(whole, BinaryOperator::Or, last),
                        None => last,
                    });
                    condition
                }
            };
        }
        match whole {
            Some(whole) => joined(whole, BinaryOperator::Or, last),
            None => last,
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    /// The condition of a query, rewritten, against another one with parentheses, which are left out.
    #[track_caller]
    fn assert_means(condition: &str, meaning: &str) {
        let parsed = |condition: &str| {
            let text = format!("select 1 where {condition}");
            let parsed = Parser::parse_sql(&PostgreSqlDialect {}, &text);
            parsed.expect("parses").remove(0)
        };
        let mut rewritten = parsed(condition);
        rewrite(&mut rewritten);
        let mut meant = parsed(meaning);
        _ = walk_mut(&mut meant, &mut Unnested);
        assert_eq!(rewritten, meant, "{condition}");
    }

    struct Unnested;

    impl VisitorMut for Unnested {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Nested(inner) = expr {
                *expr = Expr::clone(inner);
            }
            ControlFlow::Continue(())
        }
    }

    #[test]
    fn a_comparison_ends_before_and_and_or() {
        assert_means("a is distinct from b and c", "(a is distinct from b) and c");
        assert_means(
            "x and a is not distinct from b and c or d",
            "((x and (a is not distinct from b)) and c) or d",
        );
        assert_means(
            "x or a is distinct from b or c and d",
            "(x or (a is distinct from b)) or (c and d)",
        );
        assert_means(
            "not a is distinct from b and c",
            "(not (a is distinct from b)) and c",
        );
        assert_means(
            "a is distinct from b and c is distinct from d or e",
            "((a is distinct from b) and (c is distinct from d)) or e",
        );
        assert_means(
            "exists (select 1 where a is distinct from b and c) or d",
            "exists (select 1 where (a is distinct from b) and c) or d",
        );
    }

    #[test]
    fn what_binds_more_stays_an_operand() {
        for condition in [
            "a is distinct from b + 1",
            "a is distinct from b = c",
            "x and a is distinct from b",
            "x or y and z",
        ] {
            assert_means(condition, condition);
        }
    }

    #[test]
    fn parentheses_are_kept() {
        let text = "select 1 where a is distinct from (b and c) and d";
        let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, text).expect("parses");
        rewrite(&mut parsed[0]);
        let expected = "SELECT 1 WHERE a IS DISTINCT FROM (b AND c) AND d";
        assert_eq!(parsed[0].to_string(), expected);
        let Ast::Query(query) = &parsed[0] else {
            panic!("a query")
        };
        let select = query.body.as_select().expect("a select");
        let condition = select.selection.as_ref().expect("a condition");
        assert!(is_chain(condition), "{condition:?}");
    }
}
