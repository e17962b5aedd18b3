//! Texts that become part of a statement: `quote_literal`, `quote_nullable` and `format`.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

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
    use datafusion::sql::sqlparser::keywords::{
        ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS,
    };
    let upper = word.to_ascii_uppercase();
    ALL_KEYWORDS
        .binary_search(&upper.as_str())
        .is_ok_and(|place| {
            let keyword = &ALL_KEYWORDS_INDEX[place];
            RESERVED_FOR_COLUMN_ALIAS.contains(keyword)
                || RESERVED_FOR_TABLE_ALIAS.contains(keyword)
        })
}

/// A text as a literal: quotes doubled, and backslashes in the form that has them.
fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') {
        return format!(" E'{}'", quoted.replace('\\', "\\\\"));
    }
    format!("'{quoted}'")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Literal,
    Nullable,
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
        let texts = |argument: &ColumnarValue| -> Result<ArrayRef> {
            let values = argument.to_array(args.number_rows)?;
            Ok(cast(&values, &DataType::Utf8)?)
        };
        let columns = args.args.iter().map(texts).collect::<Result<Vec<_>>>()?;
        let columns: Vec<&StringArray> = columns.iter().map(|c| c.as_string::<i32>()).collect();
        let cell = |column: &&StringArray, row| {
            let column: &StringArray = column;
            column.is_valid(row).then(|| column.value(row).to_owned())
        };
        let row = |row| {
            let mut cells = columns.iter().map(|column| cell(column, row));
            let first = cells.next().flatten();
            match self.form {
                Form::Literal => Ok(first.map(|text| quote_literal(&text))),
                Form::Nullable => Ok(Some(literal_or_null(first.as_deref()))),
                Form::Format => first
                    .map(|pattern| format(&pattern, &cells.collect::<Vec<_>>()))
                    .transpose(),
            }
        };
        let rows: StringArray = (0..args.number_rows).map(row).collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(Arc::new(rows)))
    }
}

fn literal_or_null(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".to_owned(), quote_literal)
}

/// PostgreSQL's `format`, as far as `%s`, `%I`, `%L`, `%%` and places (`%1$s`) go.
fn format(pattern: &str, arguments: &[Option<String>]) -> Result<String> {
    let (mut out, mut rest, mut next) = (String::new(), pattern, 0);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        if let Some((place, after)) = rest.split_once('$')
            && let Ok(place) = place.parse::<usize>()
        {
            next = place.checked_sub(1).ok_or_else(|| {
                refusal("format specifies argument 0, but arguments are numbered from 1")
            })?;
            rest = after;
        }
        let argument = arguments
            .get(next)
            .ok_or_else(|| refusal("too few arguments for format()"))?
            .as_deref();
        next += 1;
        let kind = rest
            .chars()
            .next()
            .ok_or_else(|| refusal("unterminated format() type specifier"))?;
        rest = &rest[kind.len_utf8()..];
        match (kind, argument) {
            ('s', text) => out.push_str(text.unwrap_or_default()),
            ('L', text) => out.push_str(&literal_or_null(text)),
            ('I', Some(name)) => out.push_str(&quote_identifier(name)),
            ('I', None) => {
                return Err(refusal(
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
            _ => return Err(refusal("unrecognized format() type specifier")),
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn refusal(message: &'static str) -> DataFusionError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message).into()
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

    #[test]
    fn patterns_are_filled_in() {
        let arguments = ["a b", "it's"].map(|text| Some(text.to_owned()));
        let filled = |pattern| format(pattern, &arguments).expect("a text");
        assert_eq!(filled("%s, %L, 100%%"), "a b, 'it''s', 100%");
        assert_eq!(filled("%2$s and %1$I"), "it's and \"a b\"");
        assert!(format("%s %s %s", &arguments).is_err());
        assert!(format("%x", &arguments).is_err());
        assert_eq!(quote_literal("a\\b"), " E'a\\\\b'");
    }
}
