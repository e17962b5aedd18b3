//! One cell outside an array, and how cells order.

use std::cmp::Ordering;

use types::ColumnType;

const SIGN: u64 = 1 << 63;

/// A cell's value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// The cell is NULL.
    Null,
    /// Of a boolean column.
    Bool(bool),
    /// Of an integer, date, time or timestamp column.
    Int(i64),
    /// Of an unsigned integer column.
    UInt(u64),
    /// Of a column of 32-bit floats.
    Float32(f32),
    /// Of a column of 64-bit floats.
    Float64(f64),
    /// Of a decimal column, without its scale.
    Decimal(i128),
    /// Of a text (UTF-8, if the page is what a writer made) or bytes column.
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// The order of sort keys: numbers by size, NaNs equal and above all others, -0.0 as 0.0,
    /// text and bytes by their bytes, NULLs last. Values of different types do not compare.
    ///
    /// # Panics
    /// When the values are of different types.
    pub fn order(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Float32(a), Value::Float32(b)) => {
                float_order(f64::from(*a)).cmp(&float_order(f64::from(*b)))
            }
            (Value::Float64(a), Value::Float64(b)) => float_order(*a).cmp(&float_order(*b)),
            (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            _ => panic!("values of different types were compared"),
        }
    }
}

/// Integers that order as floats do.
fn float_order(value: f64) -> u64 {
    let value = if value.is_nan() {
        f64::NAN
    } else {
        value + 0.0
    };
    let bits = value.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// How the words of a column order: as unsigned integers once `flip` is folded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordOrder {
    flip: u64,
}

impl WordOrder {
    pub(crate) fn of(column_type: ColumnType) -> Self {
        let flip = match column_type {
            ColumnType::UInt64 => 0,
            _ => SIGN,
        };
        Self { flip }
    }

    /// That of signed integers.
    pub(crate) const SIGNED: Self = Self { flip: SIGN };

    #[inline]
    pub(crate) fn key(self, word: u64) -> u64 {
        word ^ self.flip
    }
}

/// A word that is sought among ascending ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought {
    order: WordOrder,
    key: u64,
}

impl Sought {
    pub(crate) fn new(order: WordOrder, word: u64) -> Self {
        Self {
            order,
            key: order.key(word),
        }
    }

    pub(crate) fn word(self) -> u64 {
        self.order.key(self.key) // The inverse is the same.
    }

    pub(crate) fn order(self) -> WordOrder {
        self.order
    }

    /// How a word compares.
    #[inline]
    pub(crate) fn compare(self, word: u64) -> Ordering {
        self.order.key(word).cmp(&self.key)
    }

    /// Whether a word is not less.
    #[inline]
    pub(crate) fn is_reached(self, word: u64) -> bool {
        self.order.key(word) >= self.key
    }

    /// Where between two words the sought one lies, about: 0 at the lower, 1 at the higher. (Words
    /// further apart than half of all there are give any number: unsigned ones convert slowly.)
    #[inline]
    pub(crate) fn share(self, low: u64, high: u64) -> f64 {
        let low = self.order.key(low);
        let (part, whole) = (
            self.key.wrapping_sub(low),
            self.order.key(high).wrapping_sub(low),
        );
        part as i64 as f64 / whole as i64 as f64
    }
}

/// Words between two bounds, both included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordRange {
    pub(crate) order: WordOrder,
    /// Key of the smallest word.
    pub(crate) low: u64,
    /// Key of the largest word, not below `low`.
    pub(crate) high: u64,
}

impl WordRange {
    #[inline]
    pub(crate) fn contains(self, word: u64) -> bool {
        self.order.key(word).wrapping_sub(self.low) <= self.high - self.low
    }

    /// Whether it contains all (`Some(true)`) or none (`Some(false)`) of the words from `first`
    /// to `last`.
    pub(crate) fn decides(self, first: u64, last: u64) -> Option<bool> {
        let (first, last) = (self.order.key(first), self.order.key(last));
        if first > last {
            return None; // The words wrap around.
        }
        if self.low <= first && last <= self.high {
            return Some(true);
        }
        (last < self.low || self.high < first).then_some(false)
    }
}
