//! `extract(field from …)` and `date_part('field', …)`.
//!
//! `extract` gives a numeric: with six digits after the point for seconds and epochs, three for
//! milliseconds, none for all others. `date_part` gives the same number as double precision. A
//! date has no hours: asking for them is an error (0A000), as in PostgreSQL.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, Decimal128Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Field, FieldRef, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::calendar::{Civil, DAY_US, HOUR_US, MINUTE_US, SECOND_US, YEAR_SECONDS_QUARTERS};
use super::constant_call::computed;
use crate::error::{SqlError, code};
use crate::pg_type;

/// Digits of the numerics that come out.
const PRECISION: u8 = 30;

/// Which of the two functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// `extract`, a numeric
    Extract,
    /// `date_part`, a float
    DatePart,
}

/// A part of a date, time, timestamp or interval.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Extract {
    form: Form,
    signature: Signature,
}

impl Extract {
    pub(crate) fn new(form: Form) -> Self {
        Self {
            form,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Extract {
    fn name(&self) -> &str {
        match self.form {
            Form::Extract => "extract",
            Form::DatePart => "date_part",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let wanted = match arguments {
            [_, DataType::Date32 | DataType::Date64] => DataType::Date32,
            [_, DataType::Time32(_) | DataType::Time64(_)] => {
                DataType::Time64(TimeUnit::Microsecond)
            }
            [_, DataType::Interval(_) | DataType::Duration(_)] => {
                DataType::Interval(IntervalUnit::MonthDayNano)
            }
            [_, DataType::Timestamp(_, zone)] => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            [_, DataType::Null] => DataType::Timestamp(TimeUnit::Microsecond, None),
            _ => return Err(SqlError::undefined_function(self.name(), arguments).into()),
        };
        Ok(vec![DataType::Utf8, wanted])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = args.scalar_arguments.first().copied().flatten();
        let field = field.and_then(|value| value.try_as_str().flatten());
        let of = args.arg_fields[1].data_type();
        let result = match (self.form, field) {
            (Form::DatePart, _) => DataType::Float64,
            (Form::Extract, Some(name)) => {
                DataType::Decimal128(PRECISION, Part::named(name, of)?.scale(of))
            }
            (Form::Extract, None) => {
                return Err(SqlError::not_supported("extract of a field that varies").into());
            }
        };
        Ok(Arc::new(Field::new(self.name(), result, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [field, moments] = args.args.as_slice() else {
            return Err(SqlError::undefined_function(self.name(), &[]).into());
        };
        let ColumnarValue::Scalar(field) = field else {
            return Err(SqlError::not_supported("a part of a date that varies").into());
        };
        let field = field.try_as_str().flatten().unwrap_or_default();
        computed(&args, |rows| {
            let moments = moments.to_array(rows)?;
            let of = moments.data_type();
            let part = Part::named(field, of)?;
            let numbers = parts(part, &moments);
            let numbers = numbers.with_precision_and_scale(PRECISION, part.scale(of))?;
            Ok(match self.form {
                Form::Extract => Arc::new(numbers),
                Form::DatePart => cast(&numbers, &DataType::Float64)?,
            })
        })
    }
}

/// What is extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    IsoYear,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Epoch,
}

impl Part {
    /// The part with this name (singular, plural or short), if the type has it.
    pub(super) fn named(name: &str, of: &DataType) -> Result<Self, SqlError> {
        let lower = name.to_ascii_lowercase();
        let part = match lower.as_str() {
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" | "usecond" | "useconds" => {
                Self::Microseconds
            }
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" | "mseconds" => {
                Self::Milliseconds
            }
            "second" | "seconds" | "sec" | "secs" | "s" => Self::Second,
            "minute" | "minutes" | "min" | "mins" | "m" => Self::Minute,
            "hour" | "hours" | "hr" | "hrs" | "h" => Self::Hour,
            "day" | "days" | "d" => Self::Day,
            "week" | "weeks" | "w" => Self::Week,
            "month" | "months" | "mon" | "mons" => Self::Month,
            "quarter" | "qtr" => Self::Quarter,
            "year" | "years" | "yr" | "yrs" | "y" => Self::Year,
            "decade" | "decades" | "dec" | "decs" => Self::Decade,
            "century" | "centuries" | "cent" | "c" => Self::Century,
            "millennium" | "millennia" | "mil" | "mils" => Self::Millennium,
            "isoyear" => Self::IsoYear,
            "dow" => Self::DayOfWeek,
            "isodow" => Self::IsoDayOfWeek,
            "doy" => Self::DayOfYear,
            "epoch" => Self::Epoch,
            _ => {
                let type_name = pg_type::names(pg_type::oid(of)).0;
                return Err(SqlError::new(
                    code::INVALID_PARAMETER_VALUE,
                    format!("unit \"{name}\" not recognized for type {type_name}"),
                ));
            }
        };
        if part.exists_in(of) {
            return Ok(part);
        }
        let type_name = pg_type::names(pg_type::oid(of)).0;
        Err(SqlError::not_supported(format!(
            "unit \"{lower}\" of type {type_name}"
        )))
    }

    fn is_of_clock(self) -> bool {
        matches!(
            self,
            Self::Microseconds | Self::Milliseconds | Self::Second | Self::Minute | Self::Hour
        )
    }

    fn exists_in(self, of: &DataType) -> bool {
        match of {
            DataType::Date32 => !self.is_of_clock(),
            DataType::Time64(_) => self.is_of_clock() || self == Self::Epoch,
            DataType::Interval(_) => !matches!(
                self,
                Self::Week | Self::IsoYear | Self::DayOfWeek | Self::IsoDayOfWeek | Self::DayOfYear
            ),
            _ => true,
        }
    }

    /// Digits after the point.
    fn scale(self, of: &DataType) -> i8 {
        match self {
            Self::Epoch if *of == DataType::Date32 => 0,
            Self::Second | Self::Epoch => 6,
            Self::Milliseconds => 3,
            _ => 0,
        }
    }

    /// Of a time of day in microseconds, without the point.
    fn of_clock(self, micros: i64) -> i64 {
        match self {
            Self::Hour => micros / HOUR_US,
            Self::Minute => micros / MINUTE_US % 60,
            // Microseconds and milliseconds include the seconds.
            _ => micros % MINUTE_US,
        }
    }

    fn of_date(self, days: i64) -> i64 {
        let civil = Civil::of_days(days);
        let year = civil.year;
        match self {
            Self::Day => civil.day,
            Self::Month => civil.month,
            Self::Quarter => (civil.month + 2) / 3,
            Self::Decade => year.div_euclid(10),
            Self::Century => (year + 99).div_euclid(100),
            Self::Millennium => (year + 999).div_euclid(1000),
            Self::Week => Civil::iso_week(days).1,
            Self::IsoYear => Civil::iso_week(days).0,
            Self::DayOfWeek => (days + 4).rem_euclid(7),
            Self::IsoDayOfWeek => (days + 3).rem_euclid(7) + 1,
            Self::DayOfYear => days - Civil::days_of(year, 1, 1) + 1,
            Self::Epoch => days * 86_400,
            _ => year,
        }
    }

    fn of_moment(self, micros: i64) -> i64 {
        match self {
            Self::Epoch => micros,
            part if part.is_of_clock() => part.of_clock(micros.rem_euclid(DAY_US)),
            part => part.of_date(micros.div_euclid(DAY_US)),
        }
    }

    fn of_interval(self, months: i64, days: i64, micros: i64) -> i64 {
        match self {
            Self::Day => days,
            Self::Month => months % 12,
            Self::Quarter => months % 12 / 3 + 1,
            Self::Decade => months / 120,
            Self::Century => months / 1_200,
            Self::Millennium => months / 12_000,
            Self::Epoch => {
                let (years, rest) = (months / 12, months % 12);
                let seconds = years * YEAR_SECONDS_QUARTERS / 4 + (rest * 30 + days) * 86_400;
                seconds * SECOND_US + micros
            }
            part if part.is_of_clock() => part.of_clock(micros),
            _ => months / 12,
        }
    }
}

/// The part of every moment; infinities have none.
fn parts(part: Part, moments: &ArrayRef) -> Decimal128Array {
    let numbers: Decimal128Array = match moments.data_type() {
        DataType::Date32 => moments
            .as_primitive::<Date32Type>()
            .iter()
            .map(|days| {
                let days = days.filter(|&days| days != i32::MAX && days != i32::MIN);
                days.map(|days| i128::from(part.of_date(i64::from(days))))
            })
            .collect(),
        DataType::Time64(_) => moments
            .as_primitive::<Time64MicrosecondType>()
            .iter()
            .map(|micros| {
                micros.map(|micros| match part {
                    Part::Epoch => i128::from(micros),
                    part => i128::from(part.of_clock(micros)),
                })
            })
            .collect(),
        DataType::Interval(_) => moments
            .as_primitive::<IntervalMonthDayNanoType>()
            .iter()
            .map(|interval| {
                interval.map(|interval| {
                    let (months, days) = (interval.months.into(), interval.days.into());
                    i128::from(part.of_interval(months, days, interval.nanoseconds / 1_000))
                })
            })
            .collect(),
        _ => moments
            .as_primitive::<TimestampMicrosecondType>()
            .iter()
            .map(|micros| {
                let micros = micros.filter(|&micros| micros != i64::MAX && micros != i64::MIN);
                micros.map(|micros| i128::from(part.of_moment(micros)))
            })
            .collect(),
    };
    numbers
}
