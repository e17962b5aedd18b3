//! `(a, b) OVERLAPS (c, d)`: whether two spans of time have a moment in common.
//!
//! A span is of two moments, the earlier of which may stand behind, or of a moment and an interval. Its end does not belong to it,
//! unless that is its beginning, too. Where one of the two is NULL the other is its beginning, and its end is not known. The spans
//! overlap, with b for their beginnings and e for their ends,
//!
//! ```text
//! where b1 > b2   if b1 < e2 or e1 < e2
//! where b1 < b2   if b2 < e1 or e2 < e1
//! where b1 = b2   if e1 = e2 or e1 <> e2, which is so, or not known
//! ```

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, DataType, Expr, TypedString, Value,
    helpers::attached_token::AttachedToken,
};

use super::operation::operation;

/// The comparison; `None` if one of the sides is no pair.
pub(super) fn compared(left: &Expr, right: &Expr) -> Option<Expr> {
    let (left, right) = (Span::of(left)?, Span::of(right)?);
    let later = [(&left, &right), (&right, &left)].map(|(later, earlier)| {
        let begins_within = less(&later.begin, &earlier.end);
        let ends_within = less(&later.end, &earlier.end);
        CaseWhen {
            condition: less(&earlier.begin, &later.begin),
            result: operation(begins_within, BinaryOperator::Or, ends_within),
        }
    });
    let ends = |op| operation(left.end.clone(), op, right.end.clone());
    let at_once = CaseWhen {
        condition: operation(left.begin.clone(), BinaryOperator::Eq, right.begin.clone()),
        result: operation(
            ends(BinaryOperator::Eq),
            BinaryOperator::Or,
            ends(BinaryOperator::NotEq),
        ),
    };
    Some(case(later.into_iter().chain([at_once]), None))
}

fn less(left: &Expr, right: &Expr) -> Expr {
    operation(left.clone(), BinaryOperator::Lt, right.clone())
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
        let is_turned = less(&to, from);
        let is_null =
            |moment: &Expr| Expr::IsNull(Box::new(Expr::Nested(Box::new(moment.clone()))));
        let first_is_to = operation(is_turned.clone(), BinaryOperator::Or, is_null(from));
        let turned = |condition, result: &Expr| CaseWhen {
            condition,
            result: result.clone(),
        };
        let begin = case([turned(first_is_to, &to)], Some(from.clone()));
        let no_end = CaseWhen {
            condition: is_null(from),
            result: Expr::value(Value::Null),
        };
        let end = case([turned(is_turned, from), no_end], Some(to));
        Some(Self { begin, end })
    }
}

/// `CASE WHEN … THEN … ELSE … END`
fn case(conditions: impl IntoIterator<Item = CaseWhen>, other: Option<Expr>) -> Expr {
    Expr::Nested(Box::new(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: conditions.into_iter().collect(),
        else_result: other.map(Box::new),
    }))
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
        let comparison = comparison.replace(['(', ')'], "");
        let begin = "CASE WHEN b < a OR a IS NULL THEN b ELSE a END";
        let end = "CASE WHEN b < a THEN a WHEN a IS NULL THEN NULL ELSE b END";
        for part in [begin, end, "c + INTERVAL '1 day'"] {
            assert!(comparison.contains(part), "{part} in {comparison}");
        }
        assert_eq!(compared(&parsed("a"), &parsed("(c, d)")), None);
    }
}
