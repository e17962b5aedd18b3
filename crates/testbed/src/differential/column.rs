//! Types, and the columns that queries use.

/// What an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `smallint`
    Small,
    /// `integer`
    Integer,
    /// `bigint`
    Big,
    /// `numeric`
    Numeric,
    /// `real`
    Real,
    /// `double precision`
    Double,
    /// `text`
    Text,
    /// `boolean`
    Boolean,
    /// `date`
    Date,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    Moment,
    /// `interval`
    Interval,
}

impl Type {
    /// The type that templates call so.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "small" => Self::Small,
            "integer" => Self::Integer,
            "big" => Self::Big,
            "numeric" => Self::Numeric,
            "real" => Self::Real,
            "double" => Self::Double,
            "text" => Self::Text,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            "timestamp" => Self::Timestamp,
            "moment" => Self::Moment,
            "interval" => Self::Interval,
            _ => return None,
        })
    }
}

/// All types.
pub const TYPES: [Type; 12] = [
    Type::Small,
    Type::Integer,
    Type::Big,
    Type::Numeric,
    Type::Real,
    Type::Double,
    Type::Text,
    Type::Boolean,
    Type::Date,
    Type::Timestamp,
    Type::Moment,
    Type::Interval,
];

/// The numbers.
pub const NUMBERS: [Type; 6] = [
    Type::Small,
    Type::Integer,
    Type::Big,
    Type::Numeric,
    Type::Real,
    Type::Double,
];

/// The types that can be ordered and grouped by in a way that both servers print alike.
pub const PLAIN_TYPES: [Type; 7] = [
    Type::Small,
    Type::Integer,
    Type::Big,
    Type::Numeric,
    Type::Text,
    Type::Boolean,
    Type::Date,
];

/// A column that an expression may use.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// As it is written.
    pub name: &'static str,
    /// What it holds.
    pub of: Type,
}

const fn column(name: &'static str, of: Type) -> Column {
    Column { name, of }
}

/// The columns of table `t`.
pub const T: &[Column] = &[
    column("t.id", Type::Integer),
    column("t.i2", Type::Small),
    column("t.i4", Type::Integer),
    column("t.i8", Type::Big),
    column("t.n", Type::Numeric),
    column("t.r", Type::Real),
    column("t.d", Type::Double),
    column("t.s", Type::Text),
    column("t.b", Type::Boolean),
    column("t.day", Type::Date),
    column("t.at", Type::Timestamp),
    column("t.z", Type::Moment),
];

/// The columns of table `o`.
pub const O: &[Column] = &[
    column("o.k", Type::Big),
    column("o.line", Type::Small),
    column("o.t_id", Type::Integer),
    column("o.amount", Type::Numeric),
    column("o.what", Type::Text),
    column("o.due", Type::Date),
];
