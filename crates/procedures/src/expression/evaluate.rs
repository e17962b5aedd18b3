//! The value of an expression.

use std::borrow::Cow;
use std::cmp::Ordering;

use oltp::{Row, Stop};

use super::{Node, arithmetic};
use crate::cast::cast;
use crate::datum::Datum;
use crate::sql_type::SqlType;

/// What an expression is computed from.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// Parameters, then variables.
    pub(crate) slots: &'a [Datum<'a>],
    /// The row at hand.
    pub(crate) row: RowAtHand<'a>,
    /// Microseconds since 1970-01-01 UTC.
    pub(crate) time_us: i64,
}

/// The row whose columns an expression looks at.
#[derive(Clone, Copy)]
pub(crate) enum RowAtHand<'a> {
    /// It looks at none.
    None,
    /// One that was found, with the types of its columns.
    Found(Row<'a>, &'a [SqlType]),
    /// One that is to be stored.
    New(&'a [Datum<'a>]),
}

impl<'a> Context<'a> {
    /// The same with another row.
    pub(crate) fn with(self, row: RowAtHand<'a>) -> Self {
        Self { row, ..self }
    }
}

impl<'a> RowAtHand<'a> {
    /// A column's value.
    pub(crate) fn value(self, column: usize) -> Result<Datum<'a>, Stop> {
        match self {
            Self::Found(row, types) => {
                let column_type = types[column].column_type();
                let column_type = column_type.expect("columns have digits");
                Ok(Datum::of_cell(row.value(column)?, column_type))
            }
            Self::New(values) => Ok(values[column].clone()),
            Self::None => unreachable!("compiling lets no column through where there is no row"),
        }
    }
}

impl Node {
    /// The value. [`Stop::Evicted`] when it is on disk.
    pub(crate) fn evaluate<'a>(&'a self, context: &Context<'a>) -> Result<Datum<'a>, Stop> {
        Ok(match self {
            Self::Constant(datum) => datum.clone(),
            Self::Slot(slot) => context.slots[*slot].clone(),
            Self::Column(column) => context.row.value(*column)?,
            Self::Now => Datum::Int(context.time_us),
            Self::Arithmetic(operator, sql_type, both) => {
                let Some((left, right)) = both_of(both, context)? else {
                    return Ok(Datum::Null);
                };
                arithmetic::compute(*operator, *sql_type, &left, &right)?
            }
            Self::Negate(sql_type, one) => match one.evaluate(context)? {
                Datum::Null => Datum::Null,
                datum => arithmetic::negate(&datum, *sql_type)?,
            },
            Self::Absolute(sql_type, one) => match one.evaluate(context)? {
                Datum::Null => Datum::Null,
                datum => arithmetic::absolute(&datum, *sql_type)?,
            },
            Self::Compare(comparison, both) => match both_of(both, context)? {
                None => Datum::Null,
                Some((left, right)) => Datum::Bool(comparison.holds(left.order(&right))),
            },
            Self::IsDistinct(wanted, both) => {
                let (left, right) = (both.0.evaluate(context)?, both.1.evaluate(context)?);
                Datum::Bool(left.order(&right).is_ne() == *wanted)
            }
            Self::And(both) => connect(both, context, false)?,
            Self::Or(both) => connect(both, context, true)?,
            Self::Not(one) => match one.evaluate(context)? {
                Datum::Bool(bit) => Datum::Bool(!bit),
                _ => Datum::Null,
            },
            Self::IsNull(wanted, one) => Datum::Bool(one.evaluate(context)?.is_null() == *wanted),
            Self::IsTruth(truth, wanted, one) => {
                let is_it = one.evaluate(context)? == Datum::Bool(*truth);
                Datum::Bool(is_it == *wanted)
            }
            Self::Concat(both) => match both_of(both, context)? {
                Some((Datum::Bytes(left), Datum::Bytes(right))) => {
                    Datum::Bytes(Cow::Owned([&*left, &*right].concat()))
                }
                _ => Datum::Null,
            },
            Self::Length(one) => match one.evaluate(context)? {
                Datum::Bytes(text) => {
                    Datum::Int(String::from_utf8_lossy(&text).chars().count() as i64)
                }
                _ => Datum::Null,
            },
            Self::Cast(from, to, one) => cast(one.evaluate(context)?, *from, *to)?,
            Self::Case(arms, otherwise) => {
                for (condition, result) in arms {
                    if condition.is_true(context)? {
                        return result.evaluate(context);
                    }
                }
                otherwise.evaluate(context)?
            }
            Self::Coalesce(all) => {
                for one in all {
                    let datum = one.evaluate(context)?;
                    if !datum.is_null() {
                        return Ok(datum);
                    }
                }
                Datum::Null
            }
            Self::Extreme(wanted, all) => extreme(*wanted, all, context)?,
            Self::NullIf(both) => {
                let left = both.0.evaluate(context)?;
                let right = both.1.evaluate(context)?;
                let is_equal = !left.is_null() && !right.is_null() && left.order(&right).is_eq();
                if is_equal { Datum::Null } else { left }
            }
        })
    }

    /// Whether it is true: neither false nor NULL.
    pub(crate) fn is_true(&self, context: &Context<'_>) -> Result<bool, Stop> {
        Ok(self.evaluate(context)? == Datum::Bool(true))
    }

    /// Whether it is false: neither true nor NULL.
    pub(crate) fn is_false(&self, context: &Context<'_>) -> Result<bool, Stop> {
        Ok(self.evaluate(context)? == Datum::Bool(false))
    }
}

/// Both values, unless one is NULL.
fn both_of<'a>(
    both: &'a (Node, Node),
    context: &Context<'a>,
) -> Result<Option<(Datum<'a>, Datum<'a>)>, Stop> {
    let left = both.0.evaluate(context)?;
    let right = both.1.evaluate(context)?;
    Ok((!left.is_null() && !right.is_null()).then_some((left, right)))
}

/// AND and OR: the one value that decides alone does, else NULL, else the other value.
fn connect<'a>(
    both: &'a (Node, Node),
    context: &Context<'a>,
    decides: bool,
) -> Result<Datum<'a>, Stop> {
    let left = both.0.evaluate(context)?;
    if left == Datum::Bool(decides) {
        return Ok(left);
    }
    let right = both.1.evaluate(context)?;
    Ok(if right == Datum::Bool(decides) {
        right
    } else if left.is_null() || right.is_null() {
        Datum::Null
    } else {
        Datum::Bool(!decides)
    })
}

fn extreme<'a>(
    wanted: Ordering,
    all: &'a [Node],
    context: &Context<'a>,
) -> Result<Datum<'a>, Stop> {
    let mut best = Datum::Null;
    for one in all {
        let datum = one.evaluate(context)?;
        let is_better = !datum.is_null() && (best.is_null() || datum.order(&best) == wanted);
        if is_better {
            best = datum;
        }
    }
    Ok(best)
}
