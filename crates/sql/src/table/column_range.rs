//! Conditions that say between which values a column's cell lies.

use std::ops::Bound;

use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use types::{Value, ValueRange};

/// The cells of one column that conditions allow. Numbers, dates and times only.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnRange {
    /// The column's place in the schema of the conditions.
    pub(super) column: usize,
    pub(super) range: ValueRange<'static>,
}

impl ColumnRange {
    /// What a comparison of a column with a constant of its type says.
    pub(super) fn of(condition: &dyn PhysicalExpr, schema: &Schema) -> Option<Self> {
        let comparison = condition.downcast_ref::<BinaryExpr>()?;
        let (left, right) = (comparison.left(), comparison.right());
        let (column, constant, operator) = match right.downcast_ref::<Literal>() {
            Some(constant) => (left, constant, *comparison.op()),
            None => {
                let constant = left.downcast_ref::<Literal>()?;
                (right, constant, comparison.op().swap()?)
            }
        };
        let column = column.downcast_ref::<Column>()?.index();
        let value = value_of(constant.value(), schema.field(column).data_type())?;
        let (low, high) = match operator {
            Operator::Eq => (Bound::Included(value), Bound::Included(value)),
            Operator::Lt => (Bound::Unbounded, Bound::Excluded(value)),
            Operator::LtEq => (Bound::Unbounded, Bound::Included(value)),
            Operator::Gt => (Bound::Excluded(value), Bound::Unbounded),
            Operator::GtEq => (Bound::Included(value), Bound::Unbounded),
            _ => return None,
        };
        let range = ValueRange { low, high };
        Some(Self { column, range })
    }

    /// Takes what is in another range of the same column, too, as one range with it; gives it back if
    /// that is about another column, or both have the same end.
    pub(super) fn take_in(&mut self, other: Self) -> Result<(), Self> {
        let (own, others) = (&mut self.range, &other.range);
        let ends = match (own.low, own.high, others.low, others.high) {
            (Bound::Unbounded, high, low, Bound::Unbounded)
            | (low, Bound::Unbounded, Bound::Unbounded, high) => Some((low, high)),
            _ => None,
        };
        match ends {
            Some((low, high)) if self.column == other.column => {
                *own = ValueRange { low, high };
                Ok(())
            }
            _ => Err(other),
        }
    }
}

/// A constant as a cell of a column of this type; `None` where cells do not order as conditions do, or are
/// text.
fn value_of(constant: &ScalarValue, column: &DataType) -> Option<Value<'static>> {
    Some(match (constant, column) {
        (ScalarValue::Int16(Some(value)), DataType::Int16) => Value::Int((*value).into()),
        (ScalarValue::Int32(Some(value)), DataType::Int32) => Value::Int((*value).into()),
        (ScalarValue::Int64(Some(value)), DataType::Int64) => Value::Int(*value),
        (ScalarValue::Date32(Some(value)), DataType::Date32) => Value::Int((*value).into()),
        (ScalarValue::Time64Microsecond(Some(value)), DataType::Time64(TimeUnit::Microsecond)) => {
            Value::Int(*value)
        }
        (
            ScalarValue::TimestampMicrosecond(Some(value), zone),
            DataType::Timestamp(TimeUnit::Microsecond, of_column),
        ) if zone.is_some() == of_column.is_some() => Value::Int(*value),
        (ScalarValue::Decimal128(Some(value), _, scale), DataType::Decimal128(_, of_column))
            if scale == of_column =>
        {
            Value::Decimal(*value)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::datatypes::Field;
    use datafusion::physical_expr::expressions::{binary, col, lit};

    use super::*;

    fn schema() -> Schema {
        let price = DataType::Decimal128(15, 2);
        Schema::new(vec![
            Field::new("day", DataType::Date32, false),
            Field::new("price", price, true),
            Field::new("weight", DataType::Float64, true),
            Field::new("name", DataType::Utf8, true),
        ])
    }

    fn range(left: Arc<dyn PhysicalExpr>, op: Operator, right: ScalarValue) -> Option<ColumnRange> {
        let condition = binary(left, op, lit(right), &schema()).expect("a comparison");
        ColumnRange::of(condition.as_ref(), &schema())
    }

    fn column(name: &str) -> Arc<dyn PhysicalExpr> {
        col(name, &schema()).expect("there is such a column")
    }

    #[test]
    fn comparisons_with_constants_are_ranges() {
        let day = ScalarValue::Date32(Some(7));
        let below = range(column("day"), Operator::Lt, day.clone()).expect("a range");
        assert_eq!(below.column, 0);
        assert!(matches!(below.range.low, Bound::Unbounded));
        assert!(matches!(below.range.high, Bound::Excluded(Value::Int(7))));
        let swapped = binary(lit(day), Operator::Lt, column("day"), &schema()).expect("one");
        let above = ColumnRange::of(swapped.as_ref(), &schema()).expect("a range");
        assert!(matches!(above.range.low, Bound::Excluded(Value::Int(7))));
        let price = ScalarValue::Decimal128(Some(250), 15, 2);
        let equal = range(column("price"), Operator::Eq, price).expect("a range");
        assert!(matches!(
            equal.range.low,
            Bound::Included(Value::Decimal(250))
        ));
        assert!(matches!(
            equal.range.high,
            Bound::Included(Value::Decimal(250))
        ));
    }

    #[test]
    fn what_does_not_order_as_cells_do_is_no_range() {
        let coarse = ScalarValue::Decimal128(Some(25), 15, 1);
        assert!(range(column("price"), Operator::Lt, coarse).is_none());
        let weight = ScalarValue::Float64(Some(1.0));
        assert!(range(column("weight"), Operator::Lt, weight).is_none());
        let name = ScalarValue::Utf8(Some("x".to_owned()));
        assert!(range(column("name"), Operator::Eq, name).is_none());
        let nothing = ScalarValue::Date32(None);
        assert!(range(column("day"), Operator::Eq, nothing).is_none());
        let day = ScalarValue::Date32(Some(7));
        assert!(range(column("day"), Operator::NotEq, day).is_none());
    }

    #[test]
    fn two_ends_of_one_column_are_one_range() {
        let day = |day| ScalarValue::Date32(Some(day));
        let mut from = range(column("day"), Operator::GtEq, day(3)).expect("a range");
        let to = range(column("day"), Operator::Lt, day(9)).expect("a range");
        assert!(from.take_in(to).is_ok());
        assert!(matches!(from.range.low, Bound::Included(Value::Int(3))));
        assert!(matches!(from.range.high, Bound::Excluded(Value::Int(9))));
        assert!(from.take_in(to).is_err());
        let price = ScalarValue::Decimal128(Some(250), 15, 2);
        let price = range(column("price"), Operator::GtEq, price).expect("a range");
        let mut to = to;
        assert!(to.take_in(price).is_err());
    }
}
