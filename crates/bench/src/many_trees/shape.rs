//! A table's shape: its columns, and what a cell of each holds.
//!
//! Every cell follows from the table, the row's number and its version, and the row's number
//! follows from the key: whoever reads a row knows what it should hold.

use types::{Column, ColumnType, TableName, TableSchema, Value};

use super::history::{RowNumber, RowVersion};

/// See the module.
#[derive(Debug)]
pub struct Shape {
    /// The table's name.
    pub name: &'static str,
    /// Its columns; those of the key come first.
    pub columns: &'static [ShapeColumn],
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct ShapeColumn {
    name: &'static str,
    column_type: ColumnType,
    content: Content,
    role: Role,
    null_percent: u64,
}

/// What makes a column's cells other cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The row's number alone.
    Key,
    /// The row, whatever its version.
    Fixed,
    /// Every version.
    Changing,
}

/// What a cell holds.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// A digit of the row's number, which has `base` as its base and stands for `place` rows.
    Digit {
        /// Rows that one of it stands for.
        place: u64,
        /// Where it starts again from zero.
        base: u64,
    },
    /// A UUID that belongs to so many neighbouring rows.
    Uuid {
        /// Rows that have it.
        place: u64,
    },
    /// A number below this.
    Below(u64),
    /// A time, later for later versions.
    Moment,
    /// So many words.
    Words(u64),
    /// A prefix, and a number of eight digits.
    Code(&'static str),
    /// 32 hexadecimal digits.
    Token,
    /// So many blanks.
    Blanks(usize),
}

/// A row in a version.
#[derive(Clone, Copy, Debug)]
pub struct ShapedRow {
    /// Of its table: two tables of one shape hold other cells.
    pub seed: u64,
    /// Which row.
    pub number: RowNumber,
    /// Which version.
    pub version: RowVersion,
}

/// A column of the key.
pub const fn key(name: &'static str, column_type: ColumnType, content: Content) -> ShapeColumn {
    column(name, column_type, content, Role::Key)
}

/// A column that no version changes.
pub const fn fixed(name: &'static str, column_type: ColumnType, content: Content) -> ShapeColumn {
    column(name, column_type, content, Role::Fixed)
}

/// A column that each version changes.
pub const fn changing(name: &'static str, kind: ColumnType, content: Content) -> ShapeColumn {
    column(name, kind, content, Role::Changing)
}

const fn column(
    name: &'static str,
    column_type: ColumnType,
    content: Content,
    role: Role,
) -> ShapeColumn {
    ShapeColumn {
        name,
        column_type,
        content,
        role,
        null_percent: 0,
    }
}

impl Shape {
    /// The columns of the key: the first so many.
    pub fn key_columns(&self) -> usize {
        let is_key = |column: &&ShapeColumn| column.role == Role::Key;
        self.columns.iter().take_while(is_key).count()
    }

    /// Whether keys have the order of the rows' numbers.
    pub fn has_rows_in_order(&self) -> bool {
        let is_digit = |column: &ShapeColumn| matches!(column.content, Content::Digit { .. });
        self.columns[..self.key_columns()].iter().all(is_digit)
    }

    /// The table as a tenant has it.
    pub fn schema(&self, tenant: usize) -> TableSchema {
        let columns = self.columns.iter();
        TableSchema {
            name: TableName {
                schema: format!("tenant_{tenant}"),
                name: self.name.to_owned(),
            },
            columns: columns
                .map(|column| Column::new(column.name, column.column_type))
                .collect(),
            key: (0..self.key_columns()).collect(),
        }
    }

    /// The number of the row that has these key cells.
    pub fn number(&self, key: &[Value<'_>]) -> Option<RowNumber> {
        let digits = self.columns.iter().zip(key);
        let digit = |(column, &value): (&ShapeColumn, _)| column.content.rows_below(value);
        let rows: Option<u64> = digits.map(digit).sum();
        rows.map(RowNumber)
    }
}

impl ShapeColumn {
    /// Of 100 cells so many are NULL.
    pub const fn nulls(self, null_percent: u64) -> Self {
        Self {
            null_percent,
            ..self
        }
    }

    /// How its cells are stored.
    pub fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// Its cell in a row; text is put into `text`.
    pub fn value<'t>(&self, row: ShapedRow, text: &'t mut String) -> Value<'t> {
        let bits = self.bits(row);
        if (bits >> 32) % 100 < self.null_percent {
            return Value::Null;
        }
        text.clear();
        let number = match self.content {
            Content::Digit { place, base } => row.number.0 / place % base,
            Content::Below(bound) => bits % bound,
            Content::Moment => moment(row, self.role, bits),
            _ => {
                self.content.put_text(row, bits, text);
                return Value::Bytes(text.as_bytes());
            }
        };
        match self.column_type {
            ColumnType::Text => {
                put_padded(number, text);
                Value::Bytes(text.as_bytes())
            }
            ColumnType::Bool => Value::Bool(number == 0),
            ColumnType::Float64 => Value::Float64(number as f64 / 100.0),
            ColumnType::Decimal { .. } => Value::Decimal(number.into()),
            _ => Value::Int(number.cast_signed()),
        }
    }

    /// What is random about the cell.
    fn bits(&self, row: ShapedRow) -> u64 {
        let version = match self.role {
            Role::Key => return 0,
            Role::Fixed => 0,
            Role::Changing => row.version.0,
        };
        // Columns of one table have different names.
        let name = self
            .name
            .bytes()
            .fold(0, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte));
        scatter(scatter(row.seed ^ row.number.0 << 20) ^ version ^ name << 32)
    }
}

impl Content {
    fn put_text(&self, row: ShapedRow, bits: u64, text: &mut String) {
        match *self {
            Self::Uuid { place } => put_uuid(row.number.0 / place, text),
            Self::Words(count) => put_words(count, bits, text),
            Self::Code(prefix) => {
                text.push_str(prefix);
                put_digits(bits % 100_000_000, 8, text);
            }
            Self::Token => {
                put_hex(bits, 16, text);
                put_hex(scatter(bits), 16, text);
            }
            Self::Blanks(count) => text.extend(std::iter::repeat_n(' ', count)),
            Self::Digit { .. } | Self::Below(_) | Self::Moment => unreachable!("no text"),
        }
    }

    /// How many rows come before those that have this cell in their key, as far as this column
    /// tells; `None` if it cannot be one.
    fn rows_below(&self, cell: Value<'_>) -> Option<u64> {
        let number = |cell| match cell {
            Value::Int(number) => u64::try_from(number).ok(),
            Value::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        };
        match *self {
            Self::Digit { place, .. } => Some(number(cell)? * place),
            Self::Uuid { place } => match cell {
                Value::Bytes(text) => Some(number_of_uuid(text)? * place),
                _ => None,
            },
            _ => None,
        }
    }
}

/// When all rows before the first change came: 2024-01-01.
const FIRST_MICROS: u64 = 1_704_067_200_000_000;

/// Rows and versions follow each other in about this time.
const STEP_MICROS: u64 = 37_000;

/// A time that grows with row and version, but not evenly.
fn moment(row: ShapedRow, role: Role, bits: u64) -> u64 {
    let steps = match role {
        Role::Changing => row.number.0 + row.version.0,
        Role::Key | Role::Fixed => row.number.0,
    };
    FIRST_MICROS + steps * STEP_MICROS + bits % STEP_MICROS / 1_000 * 1_000
}

/// The last step of SplitMix64.
fn scatter(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Numbers times this, without carry, are scattered over all 64 bits, each in its own place.
const UUID_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// `UUID_STEP` times this is 1.
const UUID_STEP_INVERSE: u64 = {
    let mut inverse = UUID_STEP; // Right in the last three bits; each turn doubles them.
    let mut turn = 0;
    while turn < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(UUID_STEP.wrapping_mul(inverse)));
        turn += 1;
    }
    assert!(UUID_STEP.wrapping_mul(inverse) == 1);
    inverse
};

fn put_uuid(number: u64, text: &mut String) {
    let high = number.wrapping_mul(UUID_STEP);
    let low = scatter(high);
    put_hex(high >> 32, 8, text);
    text.push('-');
    put_hex(high >> 16 & 0xFFFF, 4, text);
    text.push('-');
    put_hex(high & 0xFFFF, 4, text);
    text.push('-');
    put_hex(low >> 48, 4, text);
    text.push('-');
    put_hex(low & 0xFFFF_FFFF_FFFF, 12, text);
}

fn number_of_uuid(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let digits: String = text.get(..18)?.split('-').collect();
    let high = u64::from_str_radix(&digits, 16).ok()?;
    Some(high.wrapping_mul(UUID_STEP_INVERSE))
}

fn put_hex(bits: u64, digits: u32, text: &mut String) {
    let nibbles = (0..digits).rev().map(|digit| bits >> (4 * digit) & 15);
    text.extend(nibbles.filter_map(|nibble| char::from_digit(nibble as u32, 16)));
}

fn put_digits(number: u64, digits: u32, text: &mut String) {
    let digits = (0..digits)
        .rev()
        .map(|digit| number / 10_u64.pow(digit) % 10);
    text.extend(digits.filter_map(|digit| char::from_digit(digit as u32, 10)));
}

fn put_padded(number: u64, text: &mut String) {
    put_digits(number, 10, text);
}

fn put_words(count: u64, bits: u64, text: &mut String) {
    const WORDS: [&str; 32] = [
        "about",
        "after",
        "bold",
        "carefully",
        "deposit",
        "even",
        "express",
        "final",
        "foxes",
        "furious",
        "gift",
        "house",
        "ideas",
        "ironic",
        "late",
        "market",
        "north",
        "order",
        "pack",
        "paper",
        "pending",
        "quick",
        "regular",
        "request",
        "silent",
        "slow",
        "special",
        "theme",
        "under",
        "unusual",
        "west",
        "yellow",
    ];
    let mut bits = bits;
    for word in 0..count {
        if word > 0 {
            text.push(' ');
        }
        text.push_str(WORDS[(bits >> 59) as usize]);
        bits = scatter(bits ^ word);
    }
}
