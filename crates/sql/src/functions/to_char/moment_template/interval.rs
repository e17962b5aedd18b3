//! What the patterns mean for intervals.
//!
//! An interval has years, months, days, hours and smaller parts, each with a sign of its own; hours may be more than a day has. What only
//! a day of the calendar has (a name, a day of the week, an era) is an error.

use datafusion::arrow::datatypes::IntervalMonthDayNano;

use super::{
    Field, JULIAN_1970, MomentTemplate, Piece, fraction, iso_day_of_year, push_half,
    push_in_groups, push_number, push_roman,
};
use crate::error::{SqlError, code};
use crate::functions::calendar::{Civil, HOUR_US, MINUTE_US, SECOND_US};

const MONTHS_OF_YEAR: i64 = 12;
const DAYS_OF_MONTH: i64 = 30;
const HOURS_OF_DAY: i64 = 24;
const MINUTE_SECONDS: i64 = 60;

/// An interval's parts.
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

/// A number and how many letters it has at least. `None`: nothing is written.
type Number = Option<(i64, usize)>;

impl MomentTemplate {
    /// Appends the text of an interval.
    pub(in crate::functions::to_char) fn write_interval(
        &self,
        interval: IntervalMonthDayNano,
        out: &mut String,
    ) -> Result<(), SqlError> {
        let parts = Parts::of(interval);
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Field {
                    field,
                    bare,
                    ordinal,
                } => parts.write(*field, *bare, *ordinal, out)?,
            }
        }
        Ok(())
    }
}

impl Parts {
    fn of(interval: IntervalMonthDayNano) -> Self {
        let months = i64::from(interval.months);
        let micros = interval.nanoseconds / 1_000;
        Self {
            year: months / MONTHS_OF_YEAR,
            month: months % MONTHS_OF_YEAR,
            day: i64::from(interval.days),
            hour: micros / HOUR_US,
            minute: micros % HOUR_US / MINUTE_US,
            second: micros % MINUTE_US / SECOND_US,
            micros: micros % SECOND_US,
        }
    }

    fn write(
        &self,
        field: Field,
        bare: bool,
        ordinal: Option<bool>,
        out: &mut String,
    ) -> Result<(), SqlError> {
        match field {
            Field::Half(letters, points) => {
                let is_first = self.hour % HOURS_OF_DAY < HOURS_OF_DAY / 2;
                push_half(is_first, letters, points, out);
            }
            Field::MonthRoman(letters) => {
                if let Some(month) = self.roman_month() {
                    push_roman(month, letters, bare, out);
                }
            }
            Field::YearInGroups => push_in_groups(self.year, ordinal, out),
            field => {
                if let Some((number, digits)) = self.number(field)? {
                    let is_filled = !bare || field.is_always_filled();
                    push_number(number, if is_filled { digits } else { 0 }, ordinal, out);
                }
            }
        }
        Ok(())
    }

    /// The month from 0 on whose number is shown: of a negative one what is missing to a year.
    fn roman_month(&self) -> Option<usize> {
        let month = match self.month {
            0 if self.year == 0 => return None,
            0 if self.year > 0 => MONTHS_OF_YEAR,
            0 => 1,
            1.. => self.month,
            _ => MONTHS_OF_YEAR + 1 + self.month,
        };
        usize::try_from(month - 1).ok()
    }

    fn number(&self, field: Field) -> Result<Number, SqlError> {
        // A minus is no digit. It is that of the part, which what is shown of it may not have.
        let of =
            |part: i64, shown: i64, digits: usize| Some((shown, digits + usize::from(part < 0)));
        let year = |year: i64, digits: u32| {
            let shown = match digits {
                4 => year,
                digits => year % 10_i64.pow(digits),
            };
            match digits {
                1 => Some((shown, 1)),
                digits => of(self.year, shown, digits as usize),
            }
        };
        let days = (self.year * MONTHS_OF_YEAR + self.month) * DAYS_OF_MONTH + self.day;
        Ok(match field {
            Field::Year(digits) => year(self.year, digits),
            Field::IsoYear(digits) => year(Civil::iso_week(self.days_1970()).0, digits),
            Field::Century => of(self.year / 100, self.year / 100, 2),
            Field::Quarter if self.month == 0 => None,
            Field::Quarter => Some(((self.month - 1) / 3 + 1, 1)),
            Field::Month => of(self.month, self.month, 2),
            Field::IsoWeek => Some((Civil::iso_week(self.days_1970()).1, 2)),
            Field::Week => Some(((days - 1) / 7 + 1, 2)),
            Field::WeekOfMonth => Some(((self.day - 1) / 7 + 1, 1)),
            Field::DayOfYear => Some((days, 3)),
            Field::IsoDayOfYear => Some((iso_day_of_year(self.days_1970()), 3)),
            Field::Julian => Some((self.julian(), 1)),
            Field::Day => Some((self.day, 2)),
            Field::Hour24 => of(self.hour, self.hour, 2),
            Field::Hour12 => match self.hour % (HOURS_OF_DAY / 2) {
                0 => of(self.hour, HOURS_OF_DAY / 2, 2),
                hour => of(self.hour, hour, 2),
            },
            Field::Minute => of(self.minute, self.minute, 2),
            Field::Second => of(self.second, self.second, 2),
            Field::SecondOfDay => {
                let minutes = self.hour * MINUTE_SECONDS + self.minute;
                Some((minutes * MINUTE_SECONDS + self.second, 1))
            }
            Field::Fraction(digits) => Some(fraction(self.micros, digits)),
            _ => {
                let message = "invalid format specification for an interval value";
                return Err(SqlError::new(code::INVALID_DATETIME_FORMAT, message)
                    .with_hint("Intervals are not tied to specific calendar dates."));
            }
        })
    }

    /// The Julian day of the parts taken for a date, as PostgreSQL's `date2j` counts: there is a month before January.
    fn julian(&self) -> i64 {
        let (year, month) = match self.month {
            3.. => (self.year + 4_800, self.month + 1),
            _ => (self.year + 4_799, self.month + 13),
        };
        let century = year / 100;
        let days = year * 365 - 32_167 + year / 4 - century + century / 4;
        days + 7_834 * month / 256 + self.day
    }

    fn days_1970(&self) -> i64 {
        self.julian() - JULIAN_1970
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(interval: IntervalMonthDayNano, template: &str) -> Result<String, &'static str> {
        let mut out = String::new();
        let template = MomentTemplate::new(template);
        let written = template.write_interval(interval, &mut out);
        written.map(|()| out).map_err(|error| error.code)
    }

    const ALL: &str = "YYYY YYY YY Y MM DD HH24 HH12 HH MI SS MS US SSSS AM pm";
    const DAYS: &str = "DDD WW W Q CC RM J Y,YYY";

    /// One year, two months, three days and 30:05:06.789.
    const LONG: IntervalMonthDayNano = IntervalMonthDayNano {
        months: 14,
        days: 3,
        nanoseconds: 108_306_789_000_000,
    };

    #[test]
    fn parts_go_into_templates() {
        let numbers = written(LONG, ALL);
        let expected = "0001 001 01 1 02 03 30 06 06 05 06 789 789000 108306 AM am";
        assert_eq!(numbers.as_deref(), Ok(expected));
        let days = written(LONG, DAYS);
        assert_eq!(days.as_deref(), Ok("423 61 1 1 00 II   1721459 0,001"));
        let day = IntervalMonthDayNano::new(0, 1, 0);
        let texts = written(day, "HH24:MI:SSth DDth IYYY IW IDDD I Q|RM|");
        let expected = "00:00:00th 01st -001 48 332 -1 ||";
        assert_eq!(texts.as_deref(), Ok(expected));
    }

    #[test]
    fn signs_take_a_place_of_their_own() {
        let negative = IntervalMonthDayNano::new(-14, -3, -108_306_789_000_000);
        let numbers = written(negative, ALL);
        let expected = "-0001 -001 -01 -1 -02 -3 -30 -06 -06 -05 -06 -789 -789000 -108306 AM am";
        assert_eq!(numbers.as_deref(), Ok(expected));
        let days = written(negative, DAYS);
        assert_eq!(days.as_deref(), Ok("-423 -59 1 0 00 XI   1720599 0,-01"));
        let bare = written(negative, "FMYYYY FMMM FMDD FMHH24 FMMI FMSS FMMS FMUS");
        assert_eq!(bare.as_deref(), Ok("-1 -2 -3 -30 -5 -6 -789 -789000"));
        let half_day = IntervalMonthDayNano::new(0, 0, -12 * 3_600_000_000_000);
        assert_eq!(written(half_day, "HH12 AM").as_deref(), Ok("012 AM"));
    }

    #[test]
    fn an_interval_is_no_day() {
        for template in ["Month", "Dy", "D", "ID", "BC"] {
            assert_eq!(written(LONG, template), Err("22007"), "{template}");
        }
    }
}
