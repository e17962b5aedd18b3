//! Values between two bounds.

use std::ops::Bound;

use crate::value::Value;

/// Values between two bounds, in the order of [`Value::order`].
#[derive(Clone, Copy, Debug)]
pub struct ValueRange<'v> {
    /// None is smaller.
    pub low: Bound<Value<'v>>,
    /// None is greater.
    pub high: Bound<Value<'v>>,
}

impl ValueRange<'_> {
    /// Whether a value lies in the range.
    ///
    /// # Panics
    /// When a bound is of another type.
    pub fn contains(&self, value: &Value<'_>) -> bool {
        let above = match &self.low {
            Bound::Unbounded => true,
            Bound::Included(low) => value.order(low).is_ge(),
            Bound::Excluded(low) => value.order(low).is_gt(),
        };
        let below = match &self.high {
            Bound::Unbounded => true,
            Bound::Included(high) => value.order(high).is_le(),
            Bound::Excluded(high) => value.order(high).is_lt(),
        };
        above && below
    }
}
