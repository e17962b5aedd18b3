//! Random expressions of a wanted type.
//!
//! An expression is made from the wanted type down: a column of that type, a constant, or a
//! function or operator that gives it, of random operands. Most are valid; overflow, division by
//! zero and impossible casts come up by themselves.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::column::{Column, TYPES, Type};

/// Makes expressions over some columns.
pub struct Expressions<'a> {
    /// Where choices come from.
    pub random: &'a mut StdRng,
    /// What may be used.
    pub columns: Vec<Column>,
}

impl Expressions<'_> {
    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        *choices.choose(self.random).expect("there is a choice")
    }

    /// Whether something of this many percent happens.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    /// An expression with operators at most `depth` deep.
    pub fn of(&mut self, wanted: Type, depth: u32) -> String {
        if depth == 0 || self.percent(25) {
            return self.leaf(wanted);
        }
        let depth = depth - 1;
        if self.percent(12) {
            return self.general(wanted, depth);
        }
        match wanted {
            Type::Small => self.leaf(wanted),
            Type::Integer => self.integer(depth),
            Type::Big => self.big(depth),
            Type::Numeric => self.numeric(depth),
            Type::Real => self.real(depth),
            Type::Double => self.double(depth),
            Type::Text => self.text(depth),
            Type::Boolean => self.boolean(depth),
            Type::Date => self.date(depth),
            Type::Timestamp => self.timestamp(depth),
            Type::Interval => self.interval(depth),
        }
    }

    /// A column or a constant.
    pub fn leaf(&mut self, wanted: Type) -> String {
        let columns: Vec<Column> = self
            .columns
            .iter()
            .copied()
            .filter(|c| c.of == wanted)
            .collect();
        if !columns.is_empty() && self.percent(75) {
            return self.one_of(&columns).name.to_owned();
        }
        self.constant(wanted)
    }

    /// A column, if there is one of the type.
    pub fn column(&mut self, wanted: Type) -> String {
        let columns: Vec<Column> = self
            .columns
            .iter()
            .copied()
            .filter(|c| c.of == wanted)
            .collect();
        match columns.is_empty() {
            true => self.constant(wanted),
            false => self.one_of(&columns).name.to_owned(),
        }
    }

    /// An operation whose right operand is a column: PostgreSQL computes what is constant even
    /// where no row needs it.
    fn division(&mut self, of: Type, operators: &[&str], divisor: Type, depth: u32) -> String {
        let operator = self.one_of(operators);
        format!(
            "({} {operator} {})",
            self.of(of, depth),
            self.column(divisor)
        )
    }

    /// An expression that names a column: a constant cannot be grouped or ordered by.
    pub fn computed(&mut self, wanted: Type, depth: u32) -> String {
        for _ in 0..20 {
            let expression = self.of(wanted, depth);
            if expression.contains("t.") {
                return expression;
            }
        }
        "t.id".to_owned()
    }

    fn constant(&mut self, of: Type) -> String {
        let text = match of {
            Type::Small => self.one_of(&["3::smallint", "(-7)::smallint", "100::smallint"]),
            Type::Integer => self.one_of(&["0", "1", "2", "-3", "42", "1000", "'17'::integer"]),
            Type::Big => self.one_of(&["5::bigint", "3000000000", "(-12)::bigint"]),
            Type::Numeric => self.one_of(&["0.5", "1.25", "-7.125", "100.00", "3.1::numeric(5,2)"]),
            Type::Real => self.one_of(&["0.5::real", "(-2.25)::real"]),
            Type::Double => self.one_of(&["0.5::float8", "(-1e3)::double precision", "2::float8"]),
            Type::Text => self.one_of(&["''", "'abc'", "'x y'", "'äö'", "'%'", "'v3'"]),
            Type::Boolean => self.one_of(&["true", "false", "null::boolean"]),
            Type::Date => self.one_of(&["date '2020-02-29'", "'2020-01-15'::date"]),
            Type::Timestamp => self.one_of(&[
                "timestamp '2020-03-01 12:34:56.5'",
                "timestamp '2020-02-01'",
            ]),
            Type::Interval => self.one_of(&[
                "interval '1 day'",
                "interval '2 months 3 hours'",
                "interval '90 minutes'",
            ]),
        };
        text.to_owned()
    }

    /// What exists for every type.
    fn general(&mut self, wanted: Type, depth: u32) -> String {
        match self.random.random_range(0..4) {
            0 => {
                let (condition, a, b) = (
                    self.of(Type::Boolean, depth),
                    self.of(wanted, depth),
                    self.of(wanted, depth),
                );
                format!("case when {condition} then {a} else {b} end")
            }
            1 => format!(
                "coalesce({}, {})",
                self.of(wanted, depth),
                self.of(wanted, depth)
            ),
            2 => format!("nullif({}, {})", self.of(wanted, depth), self.leaf(wanted)),
            // Intervals that are as long as each other may differ.
            _ if wanted == Type::Interval => self.leaf(wanted),
            _ => {
                let function = self.one_of(&["greatest", "least"]);
                format!(
                    "{function}({}, {})",
                    self.of(wanted, depth),
                    self.of(wanted, depth)
                )
            }
        }
    }

    fn binary(&mut self, wanted: Type, operators: &[&str], other: Type, depth: u32) -> String {
        let operator = self.one_of(operators);
        format!(
            "({} {operator} {})",
            self.of(wanted, depth),
            self.of(other, depth)
        )
    }

    fn integer(&mut self, depth: u32) -> String {
        match self.random.random_range(0..10) {
            0 | 1 => self.binary(Type::Integer, &["+", "-", "*"], Type::Integer, depth),
            2 => self.division(Type::Integer, &["/", "%"], Type::Integer, depth),
            3 => self.binary(Type::Integer, &["+", "-"], Type::Small, depth),
            4 => format!("abs({})", self.of(Type::Integer, depth)),
            5 => format!("length({})", self.of(Type::Text, depth)),
            6 => format!("position('b' in {})", self.of(Type::Text, depth)),
            7 => self.binary(Type::Date, &["-"], Type::Date, depth),
            8 => format!("({})::integer", self.of(Type::Numeric, depth)),
            _ => format!("(- {})", self.of(Type::Integer, depth)),
        }
    }

    fn big(&mut self, depth: u32) -> String {
        match self.random.random_range(0..5) {
            0 => self.binary(Type::Big, &["+", "-", "*"], Type::Integer, depth),
            1 => self.division(Type::Big, &["/", "%"], Type::Integer, depth),
            2 => format!("({})::bigint", self.of(Type::Integer, depth)),
            3 => format!("({})::bigint", self.of(Type::Double, depth)),
            _ => format!("abs({})", self.of(Type::Big, depth)),
        }
    }

    fn numeric(&mut self, depth: u32) -> String {
        match self.random.random_range(0..10) {
            0 | 1 => self.binary(Type::Numeric, &["+", "-", "*"], Type::Numeric, depth),
            2 => self.division(Type::Numeric, &["/"], Type::Numeric, depth),
            3 => self.binary(Type::Numeric, &["+", "-", "*"], Type::Integer, depth),
            4 => format!(
                "round({}, {})",
                self.of(Type::Numeric, depth),
                self.random.random_range(0..4)
            ),
            5 => {
                let function =
                    self.one_of(&["ceil", "ceiling", "floor", "trunc", "round", "abs", "sign"]);
                format!("{function}({})", self.of(Type::Numeric, depth))
            }
            6 => {
                let field = self.one_of(&[
                    "year", "month", "day", "dow", "doy", "quarter", "week", "isodow", "century",
                    "isoyear", "decade",
                ]);
                format!("extract({field} from {})", self.of(Type::Date, depth))
            }
            7 => {
                let field = self.one_of(&[
                    "year",
                    "month",
                    "hour",
                    "minute",
                    "second",
                    "epoch",
                    "milliseconds",
                ]);
                format!("extract({field} from {})", self.of(Type::Timestamp, depth))
            }
            8 => format!("({})::numeric", self.of(Type::Integer, depth)),
            _ => format!(
                "mod({}, {})",
                self.of(Type::Numeric, depth),
                self.column(Type::Numeric)
            ),
        }
    }

    fn real(&mut self, depth: u32) -> String {
        match self.random.random_range(0..3) {
            0 => self.binary(Type::Real, &["+", "-"], Type::Real, depth),
            1 => format!("({})::real", self.of(Type::Integer, depth)),
            _ => format!("abs({})", self.of(Type::Real, depth)),
        }
    }

    fn double(&mut self, depth: u32) -> String {
        match self.random.random_range(0..7) {
            0 => self.binary(Type::Double, &["+", "-", "*"], Type::Double, depth),
            1 => self.division(Type::Double, &["/"], Type::Double, depth),
            2 => self.binary(Type::Double, &["+", "-"], Type::Integer, depth),
            3 => format!("sqrt(abs({}))", self.of(Type::Double, depth)),
            4 => {
                let function = self.one_of(&["ceil", "ceiling", "floor", "trunc", "round", "sign"]);
                format!("{function}({})", self.of(Type::Double, depth))
            }
            5 => format!("power({}, 2)", self.of(Type::Double, depth)),
            _ => format!("date_part('month', {})", self.of(Type::Timestamp, depth)),
        }
    }

    fn text(&mut self, depth: u32) -> String {
        let text = self.of(Type::Text, depth);
        match self.random.random_range(0..12) {
            0 | 1 => format!("({text} || {})", self.of(Type::Text, depth)),
            2 => format!("upper({text})"),
            3 => format!("lower({text})"),
            4 => format!(
                "substring({text} from {} for 3)",
                self.random.random_range(1..4)
            ),
            5 => format!("replace({text}, 'b', 'BB')"),
            6 => {
                let function = self.one_of(&["trim", "ltrim", "rtrim", "initcap", "reverse"]);
                format!("{function}({text})")
            }
            7 => format!("left({text}, {})", self.random.random_range(-2..4)),
            8 => format!("lpad({text}, 6, '*')"),
            9 => format!("({})::text", self.of(Type::Integer, depth)),
            10 => {
                let pattern = self.one_of(&[
                    "YYYY-MM-DD",
                    "DD Mon YYYY",
                    "HH24:MI:SS",
                    "Day, DD Month",
                    "Q",
                    "YY/MM",
                    "FMMonth DD",
                    "DDD",
                    "HH12:MI AM",
                ]);
                format!("to_char({}, '{pattern}')", self.of(Type::Timestamp, depth))
            }
            _ => format!("concat({text}, {})", self.of(Type::Integer, depth)),
        }
    }

    fn boolean(&mut self, depth: u32) -> String {
        match self.random.random_range(0..12) {
            0..4 => {
                let of = self.one_of(&TYPES);
                self.binary(of, &["=", "<>", "<", "<=", ">", ">="], of, depth)
            }
            4 => self.binary(Type::Boolean, &["and", "or"], Type::Boolean, depth),
            5 => format!("(not {})", self.of(Type::Boolean, depth)),
            6 => {
                let of = self.one_of(&TYPES);
                let test = self.one_of(&["is null", "is not null"]);
                format!("({} {test})", self.of(of, depth))
            }
            7 => {
                let of = self.one_of(&[Type::Integer, Type::Numeric, Type::Date, Type::Text]);
                let (a, low, high) = (self.of(of, depth), self.leaf(of), self.leaf(of));
                format!("({a} between {low} and {high})")
            }
            8 => {
                let of = self.one_of(&[Type::Integer, Type::Text, Type::Big]);
                let negation = self.one_of(&["", "not "]);
                let (a, b, c) = (self.of(of, depth), self.leaf(of), self.constant(of));
                format!("({a} {negation}in ({b}, {c}))")
            }
            9 => {
                let operator = self.one_of(&["like", "not like", "ilike"]);
                let pattern = self.one_of(&["%b%", "a_c%", "", "%\\%%", "v%"]);
                format!("({} {operator} '{pattern}')", self.of(Type::Text, depth))
            }
            10 => {
                let operator = self.one_of(&["is distinct from", "is not distinct from"]);
                self.binary(Type::Integer, &[operator], Type::Integer, depth)
            }
            _ => {
                let test = self.one_of(&["is true", "is not true", "is false", "is unknown"]);
                format!("({} {test})", self.of(Type::Boolean, depth))
            }
        }
    }

    fn date(&mut self, depth: u32) -> String {
        match self.random.random_range(0..3) {
            0 | 1 => {
                let days = self.one_of(&["1", "30", "t.i2"]);
                let days = if days == "t.i2" {
                    self.leaf(Type::Small)
                } else {
                    days.to_owned()
                };
                let operator = self.one_of(&["+", "-"]);
                format!(
                    "({} {operator} {days}::integer)",
                    self.of(Type::Date, depth)
                )
            }
            _ => format!("({})::date", self.of(Type::Timestamp, depth)),
        }
    }

    fn timestamp(&mut self, depth: u32) -> String {
        match self.random.random_range(0..4) {
            0 => self.binary(Type::Timestamp, &["+", "-"], Type::Interval, depth),
            1 => self.binary(Type::Date, &["+", "-"], Type::Interval, depth),
            2 => {
                let unit = self.one_of(&["year", "quarter", "month", "week", "day", "hour"]);
                format!("date_trunc('{unit}', {})", self.of(Type::Timestamp, depth))
            }
            _ => format!("({})::timestamp", self.of(Type::Date, depth)),
        }
    }

    fn interval(&mut self, depth: u32) -> String {
        match self.random.random_range(0..5) {
            0 => self.binary(Type::Timestamp, &["-"], Type::Timestamp, depth),
            // Products of products would leave the range of 64 bits in nanoseconds.
            1 => {
                let operator = self.one_of(&["*", "/"]);
                let (interval, number) = (self.leaf(Type::Interval), self.column(Type::Integer));
                format!("({interval} {operator} {number})")
            }
            2 => {
                let number = self.leaf(Type::Double);
                format!("({} * {number})", self.leaf(Type::Interval))
            }
            3 => self.binary(Type::Interval, &["+", "-"], Type::Interval, depth),
            _ => {
                let (a, b) = (
                    self.of(Type::Timestamp, depth),
                    self.of(Type::Timestamp, depth),
                );
                format!("age({a}, {b})")
            }
        }
    }
}
