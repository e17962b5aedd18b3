//! Constant dates, so that a scan can use them as bounds.
//!
//! * A date that is moved by an interval is a constant where both are.
//! * A date that is compared with a constant timestamp at midnight is compared with that day,
//!   so that the column need not be widened.
//! * A date of which a part is cut off is a moment with a time zone, as in PostgreSQL; to DataFusion it has none.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, Operator};

use super::literals::is_comparison;

const DAY_US: i64 = 86_400_000_000;
const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Finds constants among dates.
#[derive(Debug)]
pub(crate) struct DateRewrite;

impl FunctionRewrite for DateRewrite {
    fn name(&self) -> &str {
        "dates"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
                Operator::Plus | Operator::Minus => arithmetic(left, op, right, schema),
                op if is_comparison(op) => {
                    let (left_day, right_day) = (is_date(&left, schema), is_date(&right, schema));
                    let left = if right_day {
                        midnight(*left).into()
                    } else {
                        left
                    };
                    let right = if left_day {
                        midnight(*right).into()
                    } else {
                        right
                    };
                    Ok(changed(BinaryExpr { left, op, right }))
                }
                _ => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr {
                    left,
                    op,
                    right,
                }))),
            },
            Expr::Between(between) if is_date(&between.expr, schema) => {
                Ok(Transformed::yes(Expr::Between(Between {
                    low: midnight(*between.low).into(),
                    high: midnight(*between.high).into(),
                    ..between
                })))
            }
            Expr::ScalarFunction(mut call)
                if call.name() == "date_trunc"
                    && call.args.get(1).is_some_and(|day| is_date(day, schema)) =>
            {
                let day = call.args.swap_remove(1);
                let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
                call.args.push(Expr::Cast(Cast::new(Box::new(day), zoned)));
                Ok(Transformed::yes(Expr::ScalarFunction(call)))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn changed(expr: BinaryExpr) -> Transformed<Expr> {
    Transformed::yes(Expr::BinaryExpr(expr))
}

/// A constant day that is moved by a constant interval is a constant timestamp.
fn arithmetic(
    left: Box<Expr>,
    op: Operator,
    right: Box<Expr>,
    schema: &DFSchema,
) -> Result<Transformed<Expr>> {
    let types = (left.get_type(schema), right.get_type(schema));
    if let (Ok(TIMESTAMP), Ok(DataType::Interval(_))) = types
        && let Expr::Cast(Cast { expr: day, .. }) = left.as_ref()
        && let Expr::Literal(day @ ScalarValue::Date32(_), _) = day.as_ref()
    {
        let moment = Expr::Literal(day.cast_to(&TIMESTAMP)?, None);
        return moved(moment, op, *right);
    }
    Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr {
        left,
        op,
        right,
    })))
}

/// A timestamp moved by an interval; a constant where both are.
fn moved(timestamp: Expr, op: Operator, interval: Expr) -> Result<Transformed<Expr>> {
    if let (Expr::Literal(moment, _), Expr::Literal(interval, _)) = (&timestamp, &interval)
        && !moment.is_null()
        && !interval.is_null()
    {
        let sum = match op {
            Operator::Minus => moment.sub_checked(interval)?,
            _ => moment.add_checked(interval)?,
        };
        return Ok(Transformed::yes(Expr::Literal(sum, None)));
    }
    Ok(changed(BinaryExpr {
        left: timestamp.into(),
        op,
        right: interval.into(),
    }))
}

fn is_date(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Date32))
}

/// A constant timestamp at midnight as its day; any other expression as it is.
fn midnight(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::TimestampMicrosecond(Some(moment), None), metadata)
            if moment.rem_euclid(DAY_US) == 0 =>
        {
            let day = i32::try_from(moment.div_euclid(DAY_US)).expect("has fewer digits");
            Expr::Literal(ScalarValue::Date32(Some(day)), metadata)
        }
        other => other,
    }
}
