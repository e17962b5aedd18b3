//! `COPY … TO STDOUT`: a query whose rows go out in a form for files.
//!
//! The statement is parsed into a plain query and how its rows are to be written; the query is
//! run as any other, writing is the server's affair. `COPY t` is `SELECT` of its columns.
//!
//! Does not: read (`COPY FROM` is a write) nor touch files of the server's machine.

use datafusion::sql::sqlparser::ast::{
    CopyLegacyCsvOption, CopyLegacyOption, CopyOption, CopySource, CopyTarget, Ident, Query,
    Statement as Ast,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use crate::error::{SqlError, code};

/// The form in which rows are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// A line a row, cells with a delimiter between, special characters escaped.
    Text,
    /// The same with quotes.
    Csv,
    /// PostgreSQL's binary form.
    Binary,
}

/// How rows are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// The form.
    pub format: CopyFormat,
    /// What stands between cells: one byte.
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    /// Whether the columns' names come first.
    pub header: bool,
    /// CSV: what stands around a cell that needs it.
    pub quote: u8,
    /// CSV: what stands before a quote in a cell.
    pub escape: u8,
    /// CSV: columns whose cells are quoted even if they need not be.
    pub force_quote: Vec<String>,
}

/// A COPY before its defaults are known, which depend on the form.
#[derive(Default)]
struct Given {
    format: Option<CopyFormat>,
    delimiter: Option<char>,
    null: Option<String>,
    header: bool,
    quote: Option<char>,
    escape: Option<char>,
    force_quote: Vec<String>,
}

/// The query of a parsed COPY and how its rows are to be written; why it cannot be done, if so.
pub(crate) fn planned(statement: &Ast) -> Option<Result<(Box<Query>, CopyOptions), SqlError>> {
    let Ast::Copy {
        source,
        to,
        target,
        options,
        legacy_options,
        ..
    } = statement
    else {
        return None;
    };
    if !to {
        return Some(Err(SqlError::read_only("COPY FROM")));
    }
    if *target != CopyTarget::Stdout {
        return Some(Err(SqlError::not_supported("COPY TO a file or program")));
    }
    let options = options_of(options, legacy_options);
    let query = query_of(source);
    Some(options.and_then(|options| Ok((query?, options))))
}

fn query_of(source: &CopySource) -> Result<Box<Query>, SqlError> {
    let (table_name, columns) = match source {
        CopySource::Query(query) => return Ok(query.clone()),
        CopySource::Table {
            table_name,
            columns,
        } => (table_name, columns),
    };
    let names: Vec<String> = columns.iter().map(Ident::to_string).collect();
    let names = if names.is_empty() {
        "*".to_owned()
    } else {
        names.join(", ")
    };
    let text = format!("SELECT {names} FROM {table_name}");
    let parsed = Parser::parse_sql(&PostgreSqlDialect {}, &text)?;
    match parsed.into_iter().next() {
        Some(Ast::Query(query)) => Ok(query),
        _ => Err(SqlError::new(code::SYNTAX_ERROR, "COPY names no table")),
    }
}

fn options_of(
    options: &[CopyOption],
    legacy: &[CopyLegacyOption],
) -> Result<CopyOptions, SqlError> {
    let mut given = Given::default();
    options.iter().try_for_each(|option| given.take(option))?;
    legacy
        .iter()
        .try_for_each(|option| given.take_legacy(option))?;
    given.completed()
}

impl Given {
    fn take(&mut self, option: &CopyOption) -> Result<(), SqlError> {
        match option {
            CopyOption::Format(name) => self.format = Some(format(&name.value)?),
            CopyOption::Delimiter(delimiter) => self.delimiter = Some(*delimiter),
            CopyOption::Null(null) => self.null = Some(null.clone()),
            CopyOption::Header(header) => self.header = *header,
            CopyOption::Quote(quote) => self.quote = Some(*quote),
            CopyOption::Escape(escape) => self.escape = Some(*escape),
            CopyOption::ForceQuote(columns) => self.force_quote = names(columns),
            CopyOption::Encoding(name) if is_utf8(name) => {}
            CopyOption::Encoding(name) => {
                return Err(SqlError::not_supported(format!("encoding {name}")));
            }
            other => return Err(only_from(&other.to_string())),
        }
        Ok(())
    }

    fn take_legacy(&mut self, option: &CopyLegacyOption) -> Result<(), SqlError> {
        match option {
            CopyLegacyOption::Binary => self.format = Some(CopyFormat::Binary),
            CopyLegacyOption::Delimiter(delimiter) => self.delimiter = Some(*delimiter),
            CopyLegacyOption::Null(null) => self.null = Some(null.clone()),
            CopyLegacyOption::Header => self.header = true,
            CopyLegacyOption::Csv(options) => {
                self.format = Some(CopyFormat::Csv);
                for option in options {
                    match option {
                        CopyLegacyCsvOption::Header => self.header = true,
                        CopyLegacyCsvOption::Quote(quote) => self.quote = Some(*quote),
                        CopyLegacyCsvOption::Escape(escape) => self.escape = Some(*escape),
                        CopyLegacyCsvOption::ForceQuote(columns) => {
                            self.force_quote = names(columns);
                        }
                        other => return Err(only_from(&other.to_string())),
                    }
                }
            }
            other => return Err(SqlError::not_supported(format!("COPY option {other}"))),
        }
        Ok(())
    }

    fn completed(self) -> Result<CopyOptions, SqlError> {
        let format = self.format.unwrap_or(CopyFormat::Text);
        let csv = format == CopyFormat::Csv;
        let of_csv = self.quote.is_some() || self.escape.is_some() || !self.force_quote.is_empty();
        if of_csv && !csv {
            let message = "COPY QUOTE, ESCAPE and FORCE_QUOTE are available only in CSV mode";
            return Err(SqlError::new(code::FEATURE_NOT_SUPPORTED, message));
        }
        let of_text = self.delimiter.is_some() || self.null.is_some() || self.header;
        if of_text && format == CopyFormat::Binary {
            let message = "cannot specify DELIMITER, NULL or HEADER in BINARY mode";
            return Err(SqlError::new(code::SYNTAX_ERROR, message));
        }
        let quote = one_byte("quote", self.quote.unwrap_or('"'))?;
        let delimiter = self.delimiter.unwrap_or(if csv { ',' } else { '\t' });
        let null = if csv { "" } else { "\\N" };
        let options = CopyOptions {
            format,
            delimiter: one_byte("delimiter", delimiter)?,
            null: self.null.unwrap_or_else(|| null.to_owned()),
            header: self.header,
            quote,
            escape: self
                .escape
                .map_or(Ok(quote), |escape| one_byte("escape", escape))?,
            force_quote: self.force_quote,
        };
        let wrong = match options.delimiter {
            b'\n' | b'\r' => "COPY delimiter cannot be newline or carriage return",
            delimiter if csv && delimiter == options.quote => {
                "COPY delimiter and quote must be different"
            }
            b'\\' | b'.' | b'a'..=b'z' | b'0'..=b'9' if !csv => "COPY delimiter cannot be this",
            _ => return Ok(options),
        };
        Err(SqlError::new(code::INVALID_PARAMETER_VALUE, wrong))
    }
}

fn names(columns: &[Ident]) -> Vec<String> {
    let name = |column: &Ident| match column.quote_style {
        Some(_) => column.value.clone(),
        None => column.value.to_lowercase(),
    };
    columns.iter().map(name).collect()
}

fn format(name: &str) -> Result<CopyFormat, SqlError> {
    match name.to_ascii_lowercase().as_str() {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "binary" => Ok(CopyFormat::Binary),
        _ => Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("COPY format \"{name}\" not recognized"),
        )),
    }
}

fn is_utf8(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "utf8" | "utf-8" | "unicode"
    )
}

fn only_from(option: &str) -> SqlError {
    SqlError::new(
        code::FEATURE_NOT_SUPPORTED,
        format!("COPY option {option} is only available using COPY FROM"),
    )
}

fn one_byte(what: &str, character: char) -> Result<u8, SqlError> {
    u8::try_from(character)
        .ok()
        .filter(u8::is_ascii)
        .ok_or_else(|| {
            SqlError::new(
                code::FEATURE_NOT_SUPPORTED,
                format!("COPY {what} must be a single one-byte character"),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(text: &str) -> Result<(String, CopyOptions), &'static str> {
        let statement = Parser::parse_sql(&PostgreSqlDialect {}, text).expect("parses");
        planned(&statement[0])
            .expect("is a COPY")
            .map(|(query, options)| (query.to_string(), options))
            .map_err(|error| error.code)
    }

    #[test]
    fn tables_and_queries_are_copied() {
        let (query, options) = copy("copy s.t (a, \"B\") to stdout").expect("can be done");
        assert_eq!(query, "SELECT a, \"B\" FROM s.t");
        assert_eq!((options.delimiter, options.null.as_str()), (b'\t', "\\N"));
        let (query, options) = copy(
            "copy (select 1) to stdout with (format csv, header, delimiter ';', force_quote (a))",
        )
        .expect("can be done");
        assert_eq!(query, "SELECT 1");
        assert_eq!((options.format, options.delimiter), (CopyFormat::Csv, b';'));
        assert!(options.header && options.force_quote == ["a"]);
        let (_, options) = copy("copy t to stdout csv header quote '''' ").expect("can be done");
        assert_eq!((options.quote, options.escape), (b'\'', b'\''));
        let (_, options) = copy("copy t to stdout binary").expect("can be done");
        assert_eq!(options.format, CopyFormat::Binary);
    }

    #[test]
    fn what_cannot_be_copied_is_told_with_its_code() {
        for (text, code) in [
            ("copy t from '/tmp/x'", "25006"),
            ("copy t to '/tmp/x'", "0A000"),
            ("copy t to stdout (format xml)", "22023"),
            ("copy t to stdout (quote '+')", "0A000"),
            ("copy t to stdout (format binary, header)", "42601"),
            ("copy t to stdout (format csv, delimiter '\"')", "22023"),
            ("copy t to stdout (encoding 'latin1')", "0A000"),
        ] {
            assert_eq!(copy(text).err(), Some(code), "{text}");
        }
    }
}
