//! Operators that DataFusion's planner refuses, or gives other types than PostgreSQL: those on
//! dates, times and intervals; and `extract`.
//!
//! | operation | result |
//! |---|---|
//! | date ± integer | date |
//! | date - date | integer |
//! | date ± interval or time | timestamp |
//! | timestamp ± time; time * number, time / number; interval compared with time | a time is the interval since midnight |
//! | timestamp - timestamp or date, date - timestamp | interval |
//! | interval * number, number * interval, interval / number | interval |
//! | interval compared with interval | by their lengths |

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, Operator, ScalarUDF};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::extract::{Extract, Form};
use super::intervals::{Intervals, Operation, Span};
use super::literals::{self, is_text};

const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Plans them.
#[derive(Debug)]
pub(crate) struct Operators {
    multiply: Arc<ScalarUDF>,
    divide: Arc<ScalarUDF>,
    difference: Arc<ScalarUDF>,
    span: Arc<ScalarUDF>,
    extract: Arc<ScalarUDF>,
}

impl Operators {
    pub(crate) fn new() -> Self {
        let interval = |operation| Arc::new(ScalarUDF::from(Intervals::new(operation)));
        Self {
            multiply: interval(Operation::Multiply),
            divide: interval(Operation::Divide),
            difference: interval(Operation::Difference),
            span: Arc::new(ScalarUDF::from(Span::new())),
            extract: Arc::new(ScalarUDF::from(Extract::new(Form::Extract))),
        }
    }

    /// The operation as an expression of its own; the operands back where it is none of these.
    fn planned(&self, op: &BinaryOperator, operands: Operands) -> PlannerResult<Operands> {
        use BinaryOperator::{Divide, Minus, Multiply, Plus};
        use Kind::{Date, Integer, Interval, Number, Timestamp, Zoned};
        let operands = self.clocks_as_intervals(op, operands);
        let kinds = (operands.left_kind, operands.right_kind);
        let (left, right) = (operands.left, operands.right);
        let planned = match (op, kinds) {
            (Plus, (Date, Integer)) => day_moved(left, Operator::Plus, right),
            (Plus, (Integer, Date)) => day_moved(right, Operator::Plus, left),
            (Minus, (Date, Integer)) => day_moved(left, Operator::Minus, right),
            (Minus, (Date, Date)) => binary(day_number(left), Operator::Minus, day_number(right)),
            (Plus, (Date, Interval)) => binary(midnight(left), Operator::Plus, right),
            (Plus, (Interval, Date)) => binary(midnight(right), Operator::Plus, left),
            (Minus, (Date, Interval)) => binary(midnight(left), Operator::Minus, right),
            (Minus, (Zoned, Zoned)) => {
                let args = vec![cast(left, TIMESTAMP), cast(right, TIMESTAMP)];
                call(&self.difference, args)
            }
            (Minus, (Timestamp, Timestamp)) => call(&self.difference, vec![left, right]),
            (Minus, (Date, Timestamp)) => call(&self.difference, vec![midnight(left), right]),
            (Minus, (Timestamp, Date)) => call(&self.difference, vec![left, midnight(right)]),
            (Multiply, (Interval, Integer | Number)) => {
                call(&self.multiply, vec![left, cast(right, DataType::Float64)])
            }
            (Multiply, (Integer | Number, Interval)) => {
                call(&self.multiply, vec![right, cast(left, DataType::Float64)])
            }
            (Divide, (Interval, Integer | Number)) => {
                call(&self.divide, vec![left, cast(right, DataType::Float64)])
            }
            (op, (Interval, Interval)) => match comparison(op) {
                Some(op) => binary(
                    call(&self.span, vec![left]),
                    op,
                    call(&self.span, vec![right]),
                ),
                None => {
                    return PlannerResult::Original(Operands {
                        left,
                        right,
                        ..operands
                    });
                }
            },
            _ => {
                return PlannerResult::Original(Operands {
                    left,
                    right,
                    ..operands
                });
            }
        };
        PlannerResult::Planned(planned)
    }

    /// A time beside what takes none, but an interval.
    fn clocks_as_intervals(&self, op: &BinaryOperator, operands: Operands) -> Operands {
        use Kind::{Clock, Interval};
        let is_span = |other: Kind| match op {
            BinaryOperator::Plus | BinaryOperator::Minus => other.is_of_calendar(),
            BinaryOperator::Multiply | BinaryOperator::Divide => other.is_number(),
            op => other == Interval && comparison(op).is_some(),
        };
        match (operands.left_kind, operands.right_kind) {
            (Clock, other) if is_span(other) => Operands {
                left: self.since_midnight(operands.left),
                left_kind: Interval,
                ..operands
            },
            (other, Clock) if is_span(other) => Operands {
                right: self.since_midnight(operands.right),
                right_kind: Interval,
                ..operands
            },
            _ => operands,
        }
    }

    /// A time as an interval.
    fn since_midnight(&self, clock: Expr) -> Expr {
        let micros = cast(clock, DataType::Time64(TimeUnit::Microsecond));
        let moment = cast(cast(micros, DataType::Int64), TIMESTAMP);
        let epoch = ScalarValue::TimestampMicrosecond(Some(0), None);
        call(&self.difference, vec![moment, Expr::Literal(epoch, None)])
    }
}

/// Two operands and what they are.
struct Operands {
    left: Expr,
    right: Expr,
    left_kind: Kind,
    right_kind: Kind,
}

/// What an operand is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Date,
    /// Without time zone.
    Timestamp,
    /// A timestamp with time zone.
    Zoned,
    /// A time of day.
    Clock,
    Interval,
    Integer,
    Number,
    Other,
}

impl Kind {
    fn of(expr: &Expr, schema: &DFSchema) -> Self {
        // The type of an untyped parameter is not known yet.
        match expr.get_type(schema) {
            Ok(DataType::Date32) => Self::Date,
            Ok(DataType::Timestamp(_, None)) => Self::Timestamp,
            Ok(DataType::Timestamp(_, Some(_))) => Self::Zoned,
            Ok(DataType::Time64(_)) => Self::Clock,
            Ok(DataType::Interval(_) | DataType::Duration(_)) => Self::Interval,
            Ok(data_type) if data_type.is_integer() => Self::Integer,
            Ok(data_type) if data_type.is_numeric() => Self::Number,
            _ => Self::Other,
        }
    }
}

impl Kind {
    fn is_of_calendar(self) -> bool {
        matches!(self, Self::Date | Self::Timestamp | Self::Zoned)
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Number)
    }
}

fn comparison(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

fn call(function: &Arc<ScalarUDF>, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(function.clone(), args))
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), data_type))
}

/// A date as a timestamp.
fn midnight(date: Expr) -> Expr {
    cast(date, TIMESTAMP)
}

/// A date as the number of its day.
fn day_number(date: Expr) -> Expr {
    cast(date, DataType::Int32)
}

fn day_moved(date: Expr, op: Operator, days: Expr) -> Expr {
    let days = cast(days, DataType::Int32);
    cast(binary(day_number(date), op, days), DataType::Date32)
}

/// A literal of no type beside a time or a number: what is added to a moment can only be an interval, and otherwise both are of one
/// type. So `now() - '1 hour'` is an error in PostgreSQL, too.
fn literal_typed(
    op: &BinaryOperator,
    left: Expr,
    right: Expr,
    schema: &DFSchema,
) -> Result<(Expr, Expr)> {
    use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
    use Kind::{Date, Interval, Timestamp, Zoned};
    let (literal, other) = match (is_text(&left), is_text(&right)) {
        (true, false) => (&left, &right),
        (false, true) => (&right, &left),
        _ => return Ok((left, right)),
    };
    let typed = match (op, Kind::of(other, schema)) {
        (Plus, Timestamp | Zoned | Interval) => {
            let zero = Expr::Literal(ScalarValue::new_interval_mdn(0, 0, 0), None);
            literals::typed(literal.clone(), &zero, schema)?
        }
        (Minus, Date | Timestamp | Zoned | Interval) => {
            literals::typed(literal.clone(), other, schema)?
        }
        (Plus | Minus | Multiply | Divide | Modulo, _) if is_number(other, schema) => {
            literals::typed(literal.clone(), other, schema)?
        }
        // Else it would be compared by months, then days, then time.
        (op, Interval) if comparison(op).is_some() => {
            literals::typed(literal.clone(), other, schema)?
        }
        _ => return Ok((left, right)),
    };
    Ok(match is_text(&left) {
        true => (typed, right),
        false => (left, typed),
    })
}

fn is_number(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|of| of.is_numeric())
}

/// A `real` or double beside a number of another type, to which DataFusion would round it: both are doubles, in what is computed as in what
/// is compared.
fn doubles(op: &BinaryOperator, left: Expr, right: Expr, schema: &DFSchema) -> (Expr, Expr) {
    use BinaryOperator::{Divide, Minus, Multiply, Plus};
    let of = [&left, &right].map(|side| side.get_type(schema));
    let [Ok(of_left), Ok(of_right)] = of else {
        return (left, right);
    };
    let is_meant = matches!(op, Plus | Minus | Multiply | Divide) || comparison(op).is_some();
    let mixed = of_left != of_right && of_left.is_numeric() && of_right.is_numeric();
    if !is_meant || !mixed || !(of_left.is_floating() || of_right.is_floating()) {
        return (left, right);
    }
    let double = |side, of| match of {
        DataType::Float64 => side,
        _ => cast(side, DataType::Float64),
    };
    (double(left, of_left), double(right, of_right))
}

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        let (left, right) = literal_typed(&op, left, right, schema)?;
        let (left, right) = doubles(&op, left, right, schema);
        let operands = Operands {
            left_kind: Kind::of(&left, schema),
            right_kind: Kind::of(&right, schema),
            left,
            right,
        };
        Ok(match self.planned(&op, operands) {
            PlannerResult::Planned(planned) => PlannerResult::Planned(planned),
            PlannerResult::Original(Operands { left, right, .. }) => {
                PlannerResult::Original(RawBinaryExpr { op, left, right })
            }
        })
    }

    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let call = ScalarFunction::new_udf(self.extract.clone(), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}
