//! `(a, b) OVERLAPS (c, d)`: whether two spans of time have a moment in common.
//!
//! A span is of two moments, the earlier of which may stand behind, or of a moment and an interval. Its end does not belong to it,
//! unless that is its beginning, too. So two spans overlap if they begin at once, or each begins before the other ends.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, DataType, Expr, TypedString, helpers::attached_token::AttachedToken,
};

use super::operation::operation;

/// The comparison; `None` if one of the sides is no pair.
pub(super) fn compared(left: &Expr, right: &Expr) -> Option<Expr> {
    let (left, right) = (Span::of(left)?, Span::of(right)?);
    let at_once = operation(left.begin.clone(), BinaryOperator::Eq, right.begin.clone());
    let left_first = operation(left.begin, BinaryOperator::Lt, right.end);
    let right_first = operation(right.begin, BinaryOperator::Lt, left.end);
    let each = operation(left_first, BinaryOperator::And, right_first);
    Some(operation(at_once, BinaryOperator::Or, each))
}

struct Span {
    begin: Expr,
    end: Expr,
}

impl Span {
    fn of(pair: &Expr) -> Option<Self> {
        let Expr::Tuple(pair) = pair else {
            return None;
        };
        let [from, to] = pair.as_slice() else {
            return None;
        };
        let to = match is_interval(to) {
            true => operation(from.clone(), BinaryOperator::Plus, to.clone()),
            false => to.clone(),
        };
        let is_turned = operation(to.clone(), BinaryOperator::Lt, from.clone());
        Some(Self {
            begin: choice(&is_turned, &to, from),
            end: choice(&is_turned, from, &to),
        })
    }
}

/// `CASE WHEN condition THEN this ELSE that END`
fn choice(condition: &Expr, this: &Expr, that: &Expr) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen {
            condition: condition.clone(),
            result: this.clone(),
        }],
        else_result: Some(Box::new(that.clone())),
    }
}

fn is_interval(expr: &Expr) -> bool {
    match expr {
        Expr::Interval(_) => true,
        Expr::Nested(inner) => is_interval(inner),
        Expr::Cast { data_type, .. } | Expr::TypedString(TypedString { data_type, .. }) => {
            matches!(data_type, DataType::Interval { .. })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn pairs_are_compared_and_intervals_added() {
        let parsed = |text: &str| {
            let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
            let parser = parser.as_mut().expect("has tokens");
            parser.parse_expr().expect("parses")
        };
        let comparison = compared(&parsed("(a, b)"), &parsed("(c, interval '1 day')"));
        let comparison = comparison.expect("two pairs").to_string();
        let begin = "CASE WHEN ((b) < (a)) THEN b ELSE a END";
        assert!(
            comparison.contains(&format!("({begin}) = (")),
            "{comparison}"
        );
        assert!(
            comparison.contains("(c) + (INTERVAL '1 day')"),
            "{comparison}"
        );
        assert_eq!(compared(&parsed("a"), &parsed("(c, d)")), None);
    }
}
