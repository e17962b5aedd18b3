//! Filters on the key to a range of keys.
//!
//! 1. Comparisons of a key column with a literal (also BETWEEN and IN lists) narrow that
//!    column's bounds; AND narrows further. Anything else is passed over, which only makes the
//!    range wider: the filter is evaluated again on the rows.
//! 2. From the first key column on, columns bound to a single value form the range's prefix;
//!    the first column that is not adds its bounds.
//!
//! A column of a projection's key that may be NULL has a mark before it: a comparison bounds that
//! to rows without NULL, as it does not hold of others.
//!
//! Invariant: no row that satisfies the filters has a key outside the range.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use lsm::KeyRange;
use types::ColumnType;
use types::key::SortKey;

use super::tree_key::TreeKey;

/// What filters leave of a table's keys.
#[derive(Debug)]
pub(crate) enum Narrowed {
    /// Nothing.
    Nothing,
    /// A range; open on both sides where the filters say nothing of the key.
    Range(KeyRange),
}

/// One end of a key column's values.
#[derive(Clone, Debug)]
struct Bound {
    value: ScalarValue,
    inclusive: bool,
}

#[derive(Clone, Debug, Default)]
struct Bounds {
    low: Option<Bound>,
    high: Option<Bound>,
}

/// Whether a filter can narrow the range of keys of a tree.
pub(crate) fn narrows(key: &TreeKey, filter: &Expr) -> bool {
    let mut bounds = vec![Bounds::default(); key.columns.len()];
    apply(key, filter, &mut bounds);
    bounds.iter().any(Bounds::is_bounded)
}

/// The range of keys of a tree in which all rows lie that satisfy all `filters`.
pub(crate) fn key_range(key: &TreeKey, filters: &[Expr]) -> Narrowed {
    let mut bounds = vec![Bounds::default(); key.columns.len()];
    for filter in filters {
        apply(key, filter, &mut bounds);
    }
    for place in 0..bounds.len() {
        if let Some(mark) = key.mark(place).filter(|_| bounds[place].is_bounded()) {
            bounds[mark].only(ScalarValue::Boolean(Some(false)));
        }
    }
    combine(&bounds, &key.types())
}

/// The keys in both ranges; `None` where there are none.
pub(crate) fn intersect(a: &KeyRange, b: &KeyRange) -> Option<KeyRange> {
    let start = match (&a.start, &b.start) {
        (Some(a), Some(b)) => Some(a.max(b).clone()),
        (a, b) => a.as_ref().or(b.as_ref()).cloned(),
    };
    let end = match (&a.end, &b.end) {
        (Some(a), Some(b)) => Some(a.min(b).clone()),
        (a, b) => a.as_ref().or(b.as_ref()).cloned(),
    };
    match (&start, &end) {
        (Some(start), Some(end)) if start >= end => None,
        _ => Some(KeyRange { start, end }),
    }
}

/// Narrows `bounds` by one filter.
fn apply(key: &TreeKey, filter: &Expr, bounds: &mut [Bounds]) {
    match filter {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And,
            right,
        }) => {
            apply(key, left, bounds);
            apply(key, right, bounds);
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            if let (Some(place), Expr::Literal(value, _)) = (key_column(key, left), right.as_ref())
            {
                narrow(key, &mut bounds[place], place, *op, value);
            } else if let (Expr::Literal(value, _), Some(place)) =
                (left.as_ref(), key_column(key, right))
                && let Some(op) = op.swap()
            {
                narrow(key, &mut bounds[place], place, op, value);
            }
        }
        Expr::Between(Between {
            expr,
            negated: false,
            low,
            high,
        }) => {
            if let Some(place) = key_column(key, expr) {
                if let Expr::Literal(value, _) = low.as_ref() {
                    narrow(key, &mut bounds[place], place, Operator::GtEq, value);
                }
                if let Expr::Literal(value, _) = high.as_ref() {
                    narrow(key, &mut bounds[place], place, Operator::LtEq, value);
                }
            }
        }
        Expr::InList(list) => apply_list(key, list, bounds),
        Expr::IsNull(expr) => apply_mark(key, expr, true, bounds),
        Expr::IsNotNull(expr) => apply_mark(key, expr, false, bounds),
        _ => {}
    }
}

/// NULL or not is a matter of the column's mark.
fn apply_mark(key: &TreeKey, expr: &Expr, is_null: bool, bounds: &mut [Bounds]) {
    if let Some(mark) = key_column(key, expr).and_then(|place| key.mark(place)) {
        narrow(
            key,
            &mut bounds[mark],
            mark,
            Operator::Eq,
            &ScalarValue::Boolean(Some(is_null)),
        );
    }
}

/// An IN list bounds its column by its least and greatest element.
fn apply_list(key: &TreeKey, list: &InList, bounds: &mut [Bounds]) {
    let Some(place) = key_column(key, &list.expr).filter(|_| !list.negated) else {
        return;
    };
    let Some(values) = list.list.iter().map(literal).collect::<Option<Vec<_>>>() else {
        return;
    };
    let known = || values.iter().copied().filter(|value| !value.is_null());
    let least = known().reduce(|a, b| {
        if matches!(b.partial_cmp(a), Some(std::cmp::Ordering::Less)) {
            b
        } else {
            a
        }
    });
    let greatest = known().reduce(|a, b| {
        if matches!(b.partial_cmp(a), Some(std::cmp::Ordering::Greater)) {
            b
        } else {
            a
        }
    });
    if let (Some(least), Some(greatest)) = (least, greatest) {
        narrow(key, &mut bounds[place], place, Operator::GtEq, least);
        narrow(key, &mut bounds[place], place, Operator::LtEq, greatest);
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// The place in the key of the column that `expr` is.
fn key_column(key: &TreeKey, expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column(column) => key.place(&column.name),
        _ => None,
    }
}

/// Narrows one column's bounds by `column op value`.
fn narrow(key: &TreeKey, bounds: &mut Bounds, place: usize, op: Operator, value: &ScalarValue) {
    let Some(value) = exactly(value, key.types()[place]) else {
        return;
    };
    match op {
        Operator::Eq => {
            raise(
                &mut bounds.low,
                Bound {
                    value: value.clone(),
                    inclusive: true,
                },
            );
            lower(
                &mut bounds.high,
                Bound {
                    value,
                    inclusive: true,
                },
            );
        }
        Operator::Gt => raise(
            &mut bounds.low,
            Bound {
                value,
                inclusive: false,
            },
        ),
        Operator::GtEq => raise(
            &mut bounds.low,
            Bound {
                value,
                inclusive: true,
            },
        ),
        Operator::Lt => lower(
            &mut bounds.high,
            Bound {
                value,
                inclusive: false,
            },
        ),
        Operator::LtEq => lower(
            &mut bounds.high,
            Bound {
                value,
                inclusive: true,
            },
        ),
        _ => {}
    }
}

/// The value in the column's type, if it has exactly that value there. (The planner has mostly
/// brought it there already.) Floats are left alone: their order in keys is PostgreSQL's, in
/// filters Arrow's.
fn exactly(value: &ScalarValue, column_type: ColumnType) -> Option<ScalarValue> {
    let wanted = column_type.arrow_type();
    if value.is_null() || matches!(column_type, ColumnType::Float32 | ColumnType::Float64) {
        return None;
    }
    let found = value.data_type();
    if found == wanted {
        return Some(value.clone());
    }
    let cast = value.cast_to(&wanted).ok().filter(|cast| !cast.is_null())?;
    (cast.cast_to(&found).ok().as_ref() == Some(value)).then_some(cast)
}

fn raise(low: &mut Option<Bound>, bound: Bound) {
    let tighter = low
        .as_ref()
        .is_none_or(|old| match bound.value.partial_cmp(&old.value) {
            Some(std::cmp::Ordering::Greater) => true,
            Some(std::cmp::Ordering::Equal) => old.inclusive && !bound.inclusive,
            _ => false,
        });
    if tighter {
        *low = Some(bound);
    }
}

fn lower(high: &mut Option<Bound>, bound: Bound) {
    let tighter = high
        .as_ref()
        .is_none_or(|old| match bound.value.partial_cmp(&old.value) {
            Some(std::cmp::Ordering::Less) => true,
            Some(std::cmp::Ordering::Equal) => old.inclusive && !bound.inclusive,
            _ => false,
        });
    if tighter {
        *high = Some(bound);
    }
}

impl Bounds {
    fn is_bounded(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }

    /// Leaves one value, or nothing.
    fn only(&mut self, value: ScalarValue) {
        let bound = Bound {
            value,
            inclusive: true,
        };
        raise(&mut self.low, bound.clone());
        lower(&mut self.high, bound);
    }

    /// The one value that is left.
    fn single(&self) -> Option<&ScalarValue> {
        match (&self.low, &self.high) {
            (Some(low), Some(high))
                if low.inclusive && high.inclusive && low.value == high.value =>
            {
                Some(&low.value)
            }
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => match low.value.partial_cmp(&high.value) {
                Some(std::cmp::Ordering::Greater) => true,
                Some(std::cmp::Ordering::Equal) => !(low.inclusive && high.inclusive),
                _ => false,
            },
            _ => false,
        }
    }
}

fn combine(bounds: &[Bounds], types: &[ColumnType]) -> Narrowed {
    if bounds.iter().any(Bounds::is_empty) {
        return Narrowed::Nothing;
    }
    let mut prefix: Vec<ArrayRef> = Vec::new();
    for column in bounds {
        let Some(cell) = column.single().and_then(|value| value.to_array().ok()) else {
            return tail(prefix, column, types);
        };
        prefix.push(cell);
    }
    tail(prefix, &Bounds::default(), types)
}

/// The keys with `prefix` whose next column lies within `column`.
fn tail(prefix: Vec<ArrayRef>, column: &Bounds, types: &[ColumnType]) -> Narrowed {
    let whole = if prefix.is_empty() {
        KeyRange::default()
    } else {
        let (start, end) = SortKey::prefix_range(&prefix, types);
        KeyRange {
            start: Some(start),
            end,
        }
    };
    let of = |bound: &Bound| {
        let mut columns = prefix.clone();
        columns.push(bound.value.to_array().ok()?);
        Some(SortKey::prefix_range(&columns, types))
    };
    let mut range = whole;
    if let Some(bound) = &column.low
        && let Some((first, next)) = of(bound)
    {
        let start = if bound.inclusive { Some(first) } else { next };
        let Some(start) = start else {
            return Narrowed::Nothing;
        };
        range.start = Some(start);
    }
    if let Some(bound) = &column.high
        && let Some((first, next)) = of(bound)
        && let Some(end) = if bound.inclusive { next } else { Some(first) }
    {
        range.end = Some(end);
    }
    match (&range.start, &range.end) {
        (Some(start), Some(end)) if start >= end => Narrowed::Nothing,
        _ => Narrowed::Range(range),
    }
}
