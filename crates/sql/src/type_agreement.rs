//! Which types PostgreSQL brings together.
//!
//! * [`Family`]: types whose values are compared with each other, and that have a common type.
//! * [`common`]: that type.
//! * [`known`]: the type of an operand, as far as it is sure to be PostgreSQL's.
//!
//! An operand's type is not sure if it has none in PostgreSQL either (a quoted literal, NULL, a parameter), or if it is
//! stored as text and nothing tells what it is: such operands are nobody's mistake.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::type_coercion::binary::type_union_coercion;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};

use crate::functions::literals::is_text;
use crate::functions::quotient::Digits;
use crate::pg_type;
use crate::table::column::OID_KEY;

/// Types of texts. Each is read as any other.
const TEXTS: [u32; 3] = [pg_type::TEXT, pg_type::VARCHAR, pg_type::BPCHAR];

/// Functions that give texts here, and values of other types in PostgreSQL.
const OF_OTHER_TYPES: [&str; 2] = ["pg_typeof", "current_time"];

/// Types that are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// All that is stored as text.
    Text,
    Number,
    Boolean,
    /// Dates and timestamps.
    Moment,
    Time,
    Interval,
}

impl Family {
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Self::Moment,
            DataType::Time32(_) | DataType::Time64(_) => Self::Time,
            DataType::Interval(_) | DataType::Duration(_) => Self::Interval,
            text if text.is_string() => Self::Text,
            number if number.is_numeric() => Self::Number,
            _ => return None,
        })
    }

    /// Whether values of both are compared: a time is an interval where one is wanted.
    pub(crate) fn meets(self, other: Self) -> bool {
        let are = |one, two| (self, other) == (one, two) || (other, self) == (one, two);
        self == other || are(Self::Time, Self::Interval)
    }
}

/// The type of values of these types: a number gives way to one of a wider type, a date to a timestamp. `None`: there is
/// none, or not here.
pub(crate) fn common(types: &[DataType]) -> Option<DataType> {
    let first = types.first()?;
    let family = Family::of(first)?;
    if types.iter().all(|of| of == first) {
        return Some(first.clone());
    }
    if types.iter().any(|of| Family::of(of) != Some(family)) {
        return None;
    }
    match family {
        Family::Number => number(types),
        Family::Moment => Some(moment(types)),
        _ => None,
    }
}

fn number(types: &[DataType]) -> Option<DataType> {
    if types.contains(&DataType::Float64) {
        return Some(DataType::Float64);
    }
    if types.iter().any(DataType::is_floating) {
        return Some(DataType::Float32);
    }
    if types.iter().any(DataType::is_decimal) {
        return decimal(types);
    }
    let (first, others) = types.split_first()?;
    let mut others = others.iter();
    others.try_fold(first.clone(), |common, of| type_union_coercion(&common, of))
}

/// The decimal with the digits of all after the point. If it has more than 76 in all, it lacks some before the point, and a
/// value that has them is out of range.
fn decimal(types: &[DataType]) -> Option<DataType> {
    let digits = types.iter().map(Digits::of).collect::<Option<Vec<_>>>()?;
    let scale = digits.iter().map(|digits| digits.scale).max()?;
    let whole = |digits: &Digits| i16::from(digits.precision) - i16::from(digits.scale);
    let precision = digits.iter().map(whole).max()? + i16::from(scale);
    let precision = u8::try_from(precision).ok()?.min(DECIMAL256_MAX_PRECISION);
    Some(Digits { precision, scale }.decimal())
}

fn moment(types: &[DataType]) -> DataType {
    let is_zoned = |of: &&DataType| matches!(of, DataType::Timestamp(_, Some(_)));
    match types.iter().find(is_zoned) {
        Some(zoned) => zoned.clone(),
        None => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// A type as that of a cast, which forgets what was known of the operand's.
pub(crate) fn as_field(of: DataType) -> FieldRef {
    let metadata = [(OID_KEY.to_owned(), pg_type::oid(&of).to_string())];
    Arc::new(Field::new("", of, true).with_metadata(metadata.into()))
}

/// The type that several texts have in common: that of the first of them. `None` where it is not known of all.
pub(crate) fn common_text<'a>(mut fields: impl Iterator<Item = &'a FieldRef>) -> Option<u32> {
    let first = told(fields.next()?)?;
    let is_alike = |oid: u32| oid == first || TEXTS.contains(&first) && TEXTS.contains(&oid);
    let are_alike = fields.all(|field| told(field).is_some_and(is_alike));
    are_alike.then_some(first)
}

/// Whether texts are of several types.
pub(crate) fn text_types_differ(fields: &[&FieldRef]) -> bool {
    fields.windows(2).any(|pair| told(pair[0]) != told(pair[1]))
}

/// The type that a field says it has.
fn told(field: &FieldRef) -> Option<u32> {
    field.metadata().get(OID_KEY)?.parse().ok()
}

/// What is known of an operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) family: Family,
    oid: u32,
}

impl Known {
    /// The type's name in the standard's words.
    pub(crate) fn name(self) -> &'static str {
        pg_type::names(self.oid).0
    }

    /// Of a column of a subquery.
    pub(crate) fn of_field(field: &FieldRef) -> Option<Self> {
        let family = Family::of(field.data_type())?;
        let oid = match family {
            Family::Text => told(field).filter(|oid| TEXTS.contains(oid))?,
            _ => pg_type::oid(field.data_type()),
        };
        Some(Self { family, oid })
    }
}

/// The type of an operand, if it has one for sure.
pub(crate) fn known(operand: &Expr, schema: &DFSchema) -> Option<Known> {
    if is_untyped(operand) {
        return None;
    }
    let (_, field) = operand.to_field(schema).ok()?;
    if let Some(known) = Known::of_field(&field) {
        return Some(known);
    }
    let is_text = field.data_type().is_string() && told(&field).is_none();
    (is_text && gives_text(operand, schema)).then_some(Known {
        family: Family::Text,
        oid: pg_type::TEXT,
    })
}

/// Whether an operand takes its type from what is around it.
pub(crate) fn is_untyped(operand: &Expr) -> bool {
    match operand {
        Expr::Alias(alias) => is_untyped(&alias.expr),
        Expr::Literal(value, _) => value.is_null() || is_text(operand),
        Expr::Placeholder(_) => true,
        _ => false,
    }
}

/// Whether an expression that is stored as text is one.
fn gives_text(operand: &Expr, schema: &DFSchema) -> bool {
    match operand {
        Expr::Alias(alias) => gives_text(&alias.expr, schema),
        Expr::BinaryExpr(BinaryExpr { op, .. }) => *op == Operator::StringConcat,
        Expr::ScalarFunction(call) => is_of_text(call) || takes_texts(call, schema),
        Expr::Case(case) => {
            let branches = case.when_then_expr.iter().map(|(_, then)| then);
            let mut branches = branches.chain(&case.else_expr);
            branches.all(|branch| is_untyped(branch) || known(branch, schema).is_some())
        }
        _ => false,
    }
}

/// Whether a function gives the text of a part of a document.
fn is_of_text(call: &ScalarFunction) -> bool {
    call.name().starts_with("json") && call.name().ends_with("_text")
}

/// Whether all that a function takes is known: what it makes of them as text is one.
fn takes_texts(call: &ScalarFunction, schema: &DFSchema) -> bool {
    let mut args = call.args.iter();
    !OF_OTHER_TYPES.contains(&call.name())
        && args.all(|arg| {
            is_untyped(arg) || known(arg, schema).is_some() || is_list_of_texts(arg, schema)
        })
}

/// Whether an expression is a list that a function makes of what is known.
fn is_list_of_texts(operand: &Expr, schema: &DFSchema) -> bool {
    let is_list = |of: DataType| matches!(of, DataType::List(item) if item.data_type().is_string());
    match operand {
        Expr::ScalarFunction(call) => {
            operand.get_type(schema).is_ok_and(is_list) && takes_texts(call, schema)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

    #[test]
    fn the_wider_type_is_common() {
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
        for (types, expected) in [
            (
                vec![DataType::Int16, DataType::Int64],
                Some(DataType::Int64),
            ),
            (
                vec![DataType::Float64, DataType::Decimal128(12, 2)],
                Some(DataType::Float64),
            ),
            (
                vec![DataType::Decimal128(12, 2), DataType::Float32],
                Some(DataType::Float32),
            ),
            (
                vec![DataType::Int16, DataType::Decimal128(12, 3)],
                Some(DataType::Decimal128(12, 3)),
            ),
            (
                vec![DataType::Decimal128(38, 20), DataType::Int64],
                Some(DataType::Decimal256(40, 20)),
            ),
            (
                vec![DataType::Decimal256(76, 0), DataType::Decimal128(38, 20)],
                Some(DataType::Decimal256(76, 20)),
            ),
            (vec![DataType::Date32, TIMESTAMP], Some(TIMESTAMP)),
            (vec![DataType::Date32, zoned.clone()], Some(zoned)),
            (vec![DataType::Date32, DataType::Int32], None),
            (vec![DataType::Utf8, DataType::Int32], None),
        ] {
            assert_eq!(common(&types), expected, "{types:?}");
        }
    }

    #[test]
    fn times_meet_intervals_only() {
        assert!(Family::Time.meets(Family::Interval));
        assert!(Family::Interval.meets(Family::Time));
        assert!(!Family::Time.meets(Family::Moment));
        assert!(!Family::Moment.meets(Family::Number));
    }
}
