//! Texts that become part of a statement: `quote_literal`, `quote_nullable`, `quote_ident` and `format`.
//!
//! `format` takes values of any type for the texts that a client is sent, the others for what a cast makes of them: a boolean is `t` or
//! `true`, and a `character(n)` has blanks at its end or not.

use std::borrow::Cow;
use std::iter::repeat_n;
use std::sync::Arc;

use bytes::BytesMut;
use datafusion::arrow::array::StringArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use protocol::encode::{Cells, Format, wire_type};

use super::text_out::failed;
use crate::error::{SqlError, code};

/// All of them.
pub(crate) fn functions() -> Vec<ScalarUDF> {
    let function = |name, form| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        ScalarUDF::from(Quoting {
            name,
            form,
            signature,
        })
    };
    vec![
        function("quote_literal", Form::Literal),
        function("quote_nullable", Form::Nullable),
        function("quote_ident", Form::Identifier),
        function("format", Form::Format),
    ]
}

/// A name as it is written in a statement: in quotes if it needs them.
pub(crate) fn quote_identifier(name: &str) -> String {
    let plain_start = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if plain_start && name.chars().all(plain) && !is_reserved(name) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether PostgreSQL takes a word for something else than a name where a name may stand.
fn is_reserved(word: &str) -> bool {
    NOT_NAMES.binary_search(&word).is_ok()
}

/// PostgreSQL 15's words that are not plain names: `SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'`.
#[rustfmt::skip]
const NOT_NAMES: [&str; 151] = [
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization", "between", "bigint", "binary",
    "bit", "boolean", "both", "case", "cast", "char", "character", "check", "coalesce", "collate", "collation", "column",
    "concurrently", "constraint", "create", "cross", "current_catalog", "current_date", "current_role", "current_schema",
    "current_time", "current_timestamp", "current_user", "dec", "decimal", "default", "deferrable", "desc", "distinct", "do",
    "else", "end", "except", "exists", "extract", "false", "fetch", "float", "for", "foreign", "freeze", "from", "full", "grant",
    "greatest", "group", "grouping", "having", "ilike", "in", "initially", "inner", "inout", "int", "integer", "intersect",
    "interval", "into", "is", "isnull", "join", "lateral", "leading", "least", "left", "like", "limit", "localtime",
    "localtimestamp", "national", "natural", "nchar", "none", "normalize", "not", "notnull", "null", "nullif", "numeric", "offset",
    "on", "only", "or", "order", "out", "outer", "overlaps", "overlay", "placing", "position", "precision", "primary", "real",
    "references", "returning", "right", "row", "select", "session_user", "setof", "similar", "smallint", "some", "substring",
    "symmetric", "table", "tablesample", "then", "time", "timestamp", "to", "trailing", "treat", "trim", "true", "union", "unique",
    "user", "using", "values", "varchar", "variadic", "verbose", "when", "where", "window", "with", "xmlattributes", "xmlconcat",
    "xmlelement", "xmlexists", "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
];

/// A text as a literal: quotes doubled, and backslashes in the form that has them.
fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') {
        return format!("E'{}'", quoted.replace('\\', "\\\\"));
    }
    format!("'{quoted}'")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Literal,
    Nullable,
    Identifier,
    Format,
}

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Quoting {
    name: &'static str,
    form: Form,
    signature: Signature,
}

impl ScalarUDFImpl for Quoting {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = args.args.iter().zip(&args.arg_fields);
        let columns = columns.map(|(argument, field)| {
            let mut values = argument.to_array(args.number_rows)?;
            let mut of = wire_type(field);
            if self.takes_cast(values.data_type()) {
                values = cast(&values, &DataType::Utf8)?;
                of = wire_type(&Field::new("", DataType::Utf8, true));
            }
            Cells::new(&values, &of, Format::Text).map_err(failed)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let row = |row| -> Result<Option<String>> {
            let mut cells = columns.iter().map(|column| cell(column, row));
            let first = cells.next().transpose()?.flatten();
            match self.form {
                Form::Literal => Ok(first.map(|text| quote_literal(&text))),
                Form::Identifier => Ok(first.map(|name| quote_identifier(&name))),
                Form::Nullable => Ok(Some(literal_or_null(first.as_deref()))),
                Form::Format => {
                    let Some(pattern) = first else {
                        return Ok(None);
                    };
                    let arguments = cells.collect::<Result<Vec<_>>>()?;
                    Ok(Some(Filling::new(&pattern, &arguments).filled()?))
                }
            }
        };
        let rows: StringArray = (0..args.number_rows).map(row).collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(Arc::new(rows)))
    }
}

impl Quoting {
    /// Whether it takes a value for the text that a cast makes of it.
    fn takes_cast(&self, of: &DataType) -> bool {
        let differs = *of == DataType::Boolean || of.is_string();
        of.is_null() || self.form != Form::Format && differs
    }
}

fn cell(column: &Cells, row: usize) -> Result<Option<String>> {
    if column.is_null(row) {
        return Ok(None);
    }
    let mut text = BytesMut::new();
    column.append_text(row, &mut text).map_err(failed)?;
    let text = String::from_utf8(text.to_vec());
    let text = text.map_err(|error| {
        DataFusionError::Internal(format!("the text of a value is not UTF-8: {error}"))
    })?;
    Ok(Some(text))
}

fn literal_or_null(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".to_owned(), quote_literal)
}

/// PostgreSQL's `format` on its way through a pattern: `%`, the place of an argument (`1$`), `-` for what is aligned to the left, a width
/// (`10`, `*` or `*1$`), and `s`, `I` or `L`.
struct Filling<'a> {
    rest: &'a str,
    arguments: &'a [Option<String>],
    /// The argument that comes next, if nothing says which.
    next: usize,
    out: String,
}

impl<'a> Filling<'a> {
    fn new(pattern: &'a str, arguments: &'a [Option<String>]) -> Self {
        Self {
            rest: pattern,
            arguments,
            next: 0,
            out: String::new(),
        }
    }

    fn filled(mut self) -> Result<String, SqlError> {
        while let Some((before, after)) = self.rest.split_once('%') {
            self.out.push_str(before);
            self.rest = after;
            match self.letter()? {
                '%' => {
                    self.out.push('%');
                    self.advance();
                }
                _ => self.specifier()?,
            }
        }
        self.out.push_str(self.rest);
        Ok(self.out)
    }

    /// The letter that comes next.
    fn letter(&self) -> Result<char, SqlError> {
        let letter = self.rest.chars().next();
        letter.ok_or_else(|| for_percent("unterminated format() type specifier"))
    }

    fn advance(&mut self) {
        let mut rest = self.rest.chars();
        rest.next();
        self.rest = rest.as_str();
    }

    fn specifier(&mut self) -> Result<(), SqlError> {
        let mut place = None;
        let mut width = self.number()?;
        if self.letter()? == '$'
            && let Some(number) = width.take()
        {
            place = Some(counted_from_1(number)?);
            self.advance();
        }
        let mut to_left = false;
        let mut width_place = None;
        if width.is_none() {
            while self.letter()? == '-' {
                to_left = true;
                self.advance();
            }
            if self.letter()? == '*' {
                self.advance();
                width_place = Some(self.width_place()?);
            } else {
                width = self.number()?;
            }
        }
        let kind = self.letter()?;
        if !['s', 'I', 'L'].contains(&kind) {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(for_percent(message));
        }
        self.advance();
        let width = match width_place {
            Some(place) => self.width_argument(place)?,
            None => width.unwrap_or(0),
        };
        let text = converted(kind, self.argument(place)?)?;
        self.push(&text, width, to_left);
        Ok(())
    }

    /// Digits, if there are any.
    fn number(&mut self) -> Result<Option<i32>, SqlError> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        if digits.is_empty() {
            return Ok(None);
        }
        digits.parse().map(Some).map_err(|_| out_of_range())
    }

    /// The place of the width among the arguments, behind `*`; `None`: the next one.
    fn width_place(&mut self) -> Result<Option<usize>, SqlError> {
        let Some(number) = self.number()? else {
            return Ok(None);
        };
        if self.letter()? != '$' {
            return Err(refusal("width argument position must be ended by \"$\""));
        }
        let place = counted_from_1(number)?;
        self.advance();
        Ok(Some(place))
    }

    /// The argument at a place, or the next one.
    fn argument(&mut self, place: Option<usize>) -> Result<Option<&'a str>, SqlError> {
        let place = place.unwrap_or(self.next);
        let argument = self.arguments.get(place);
        let argument = argument.ok_or_else(|| refusal("too few arguments for format()"))?;
        self.next = place + 1;
        Ok(argument.as_deref())
    }

    fn width_argument(&mut self, place: Option<usize>) -> Result<i32, SqlError> {
        let Some(text) = self.argument(place)? else {
            return Ok(0);
        };
        text.trim().parse().map_err(|_| {
            let message = format!("invalid input syntax for type integer: \"{text}\"");
            SqlError::new(code::INVALID_TEXT_REPRESENTATION, message)
        })
    }

    /// Appends a text with blanks up to a width; a negative one aligns it to the left, too.
    fn push(&mut self, text: &str, width: i32, to_left: bool) {
        let letters = text.chars().count();
        let blanks = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        let blanks = repeat_n(' ', blanks.saturating_sub(letters));
        if to_left || width < 0 {
            self.out.push_str(text);
            self.out.extend(blanks);
        } else {
            self.out.extend(blanks);
            self.out.push_str(text);
        }
    }
}

/// The place of an argument, which the pattern counts from 1.
fn counted_from_1(number: i32) -> Result<usize, SqlError> {
    let place = usize::try_from(number).ok();
    let place = place.and_then(|place| place.checked_sub(1));
    place.ok_or_else(|| refusal("format specifies argument 0, but arguments are numbered from 1"))
}

/// An argument as a text, a name or a literal.
fn converted(kind: char, argument: Option<&str>) -> Result<Cow<'_, str>, SqlError> {
    match (kind, argument) {
        ('s', text) => Ok(Cow::Borrowed(text.unwrap_or_default())),
        ('L', text) => Ok(Cow::Owned(literal_or_null(text))),
        (_, Some(name)) => Ok(Cow::Owned(quote_identifier(name))),
        (_, None) => {
            let message = "null values cannot be formatted as an SQL identifier";
            Err(SqlError::new(code::NULL_VALUE_NOT_ALLOWED, message))
        }
    }
}

fn refusal(message: impl Into<String>) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}

/// Of what may have been meant for a percent sign.
fn for_percent(message: impl Into<String>) -> SqlError {
    refusal(message).with_hint("For a single \"%\" use \"%%\".")
}

fn out_of_range() -> SqlError {
    SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_have_to_be() {
        assert_eq!(quote_identifier("orders"), "orders");
        assert_eq!(quote_identifier("Odd \"Name"), "\"Odd \"\"Name\"");
        assert_eq!(quote_identifier("select"), "\"select\"");
        assert_eq!(quote_identifier("1st"), "\"1st\"");
    }

    fn filled(pattern: &str, arguments: &[&str]) -> Result<String, SqlError> {
        let arguments = arguments.iter().map(|text| Some((*text).to_owned()));
        let arguments: Vec<_> = arguments.collect();
        Filling::new(pattern, &arguments).filled()
    }

    #[test]
    fn patterns_are_filled_in() {
        let filled = |pattern| filled(pattern, &["a b", "it's"]).expect("a text");
        assert_eq!(filled("%s, %L, 100%%"), "a b, 'it''s', 100%");
        assert_eq!(filled("%2$s and %1$I"), "it's and \"a b\"");
        assert_eq!(quote_literal("a\\b"), "E'a\\\\b'");
    }

    #[test]
    fn texts_are_aligned_in_widths() {
        let of = |pattern, arguments: &[&str]| filled(pattern, arguments).expect("a text");
        assert_eq!(of("[%10s][%-10s]", &["a", "b"]), "[         a][b         ]");
        assert_eq!(of("[%*s][%-*s]", &["4", "c", "4", "d"]), "[   c][d   ]");
        assert_eq!(of("[%*s]", &["-4", "e"]), "[e   ]");
        assert_eq!(of("%1$*2$s|", &["a", "5"]), "    a|");
        assert_eq!(of("%5I|%--5s|", &["aB", "ä"]), " \"aB\"|ä    |");
    }

    #[test]
    fn patterns_that_are_none_are_refused() {
        let error = |pattern, arguments: &[&str]| {
            let error = filled(pattern, arguments).expect_err(pattern);
            (error.code, error.message)
        };
        let few = "too few arguments for format()";
        let open = "unterminated format() type specifier";
        let zero = "format specifies argument 0, but arguments are numbered from 1";
        for (pattern, code, message) in [
            ("%s %s", "22023", few),
            ("%x", "22023", "unrecognized format() type specifier \"x\""),
            ("%", "22023", open),
            ("%5", "22023", open),
            ("%1$", "22023", open),
            ("%0$s", "22023", zero),
            ("%*0$s", "22023", zero),
            (
                "%*1s",
                "22023",
                "width argument position must be ended by \"$\"",
            ),
            ("%99999999999s", "22003", "number is out of range"),
            (
                "%*s",
                "22P02",
                "invalid input syntax for type integer: \"a\"",
            ),
        ] {
            assert_eq!(
                error(pattern, &["a"]),
                (code, message.to_owned()),
                "{pattern}"
            );
        }
        let null = Filling::new("%I", &[None]).filled().expect_err("NULL");
        assert_eq!(null.code, "22004");
    }
}
