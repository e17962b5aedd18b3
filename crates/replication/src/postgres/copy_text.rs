//! Lines of `COPY … TO STDOUT` in text format into columns.
//!
//! Cells are separated by tabs, `\N` is NULL, backslash escapes stand for control characters.

use std::borrow::Cow;

use types::{ColumnBuilder, TableSchema};

use super::hidden_key::RowHasher;
use super::table_sink::RowError;
use super::text::CellParser;

/// Parses the lines of one table.
pub struct LineParser {
    parsers: Vec<CellParser>,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
}

impl LineParser {
    /// A parser for the source columns of `schema`.
    pub fn new(schema: &TableSchema) -> Self {
        Self {
            parsers: CellParser::for_schema(schema),
            partial: Vec::new(),
        }
    }

    /// Calls `each` with every line that ends in `data`. Today's servers send one line a
    /// message, but the protocol does not promise it.
    pub fn lines<E>(
        &mut self,
        data: &[u8],
        mut each: impl FnMut(&Self, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = data;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if self.partial.is_empty() {
                each(self, line)?;
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                each(self, &whole)?;
            }
        }
        self.partial.extend_from_slice(rest);
        Ok(())
    }

    /// Appends the cells of one line.
    pub fn append(&self, line: &[u8], columns: &mut [ColumnBuilder]) -> Result<(), RowError> {
        let expected = self.parsers.len();
        if expected == 0 && line.is_empty() {
            return Ok(());
        }
        let mut rest = Some(line);
        for (found, (parser, column)) in self.parsers.iter().zip(columns).enumerate() {
            let Some(cells) = rest else {
                return Err(RowError::ColumnCount { found, expected });
            };
            let cell = match memchr::memchr(b'\t', cells) {
                Some(end) => {
                    rest = Some(&cells[end + 1..]);
                    &cells[..end]
                }
                None => {
                    rest = None;
                    cells
                }
            };
            if cell == b"\\N" {
                column.append_null();
            } else {
                parser.append(&unescape(cell), column)?;
            }
        }
        match rest {
            None => Ok(()),
            Some(_) => Err(RowError::ColumnCount {
                found: expected + 1,
                expected,
            }),
        }
    }
}

/// The hash of the row of so many columns that a line has.
pub fn hash_line(line: &[u8], columns: usize) -> [u64; 2] {
    let mut hasher = RowHasher::default();
    for cell in line.split(|&byte| byte == b'\t').take(columns) {
        match cell {
            b"\\N" => hasher.add(None),
            cell => hasher.add(Some(&unescape(cell))),
        }
    }
    hasher.finish()
}

/// The cell that an escaped one stands for.
fn unescape(cell: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', cell) else {
        return Cow::Borrowed(cell);
    };
    let mut plain = cell[..first].to_vec();
    let mut bytes = cell[first..].iter();
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'b') => 8,
                Some(b'f') => 12,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'v') => 11,
                Some(&other) => other,
                None => b'\\',
            },
            byte => byte,
        });
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use types::{Column, ColumnType, TableName};

    use super::*;

    fn schema() -> TableSchema {
        TableSchema {
            name: TableName {
                schema: "public".into(),
                name: "t".into(),
            },
            columns: vec![
                Column::new("a", ColumnType::Int32),
                Column::new("b", ColumnType::Text),
            ],
            key: vec![0],
        }
    }

    fn builders() -> Vec<ColumnBuilder> {
        schema()
            .columns
            .iter()
            .map(|c| ColumnBuilder::new(c.column_type))
            .collect()
    }

    #[test]
    fn escapes_and_nulls_are_told_apart() {
        let parser = LineParser::new(&schema());
        let mut columns = builders();
        for line in [&b"1\ta\\tb\\\\n\\n"[..], b"-2\t\\N", b"3\t\\\\N", b"4\t"] {
            parser.append(line, &mut columns).expect("a good line");
        }
        let numbers = columns[0].finish();
        assert_eq!(numbers.as_primitive::<Int32Type>().values(), &[1, -2, 3, 4]);
        let texts = columns[1].finish();
        let texts: Vec<_> = texts.as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("a\tb\\n\n"), None, Some("\\N"), Some("")]);
    }

    #[test]
    fn a_copied_row_has_the_hash_of_the_same_row_in_the_log() {
        let in_log = |cells: &[Option<&[u8]>]| {
            let mut hasher = RowHasher::default();
            cells.iter().for_each(|cell| hasher.add(*cell));
            hasher.finish()
        };
        let cells = [Some(&b"a\tb\\"[..]), None, Some(b"")];
        assert_eq!(hash_line(b"a\\tb\\\\\t\\N\t", 3), in_log(&cells));
        assert_eq!(hash_line(b"", 1), in_log(&[Some(b"")]));
        assert_eq!(hash_line(b"", 0), in_log(&[]));
    }

    #[test]
    fn a_wrong_number_of_cells_is_an_error() {
        let parser = LineParser::new(&schema());
        for line in [&b"1"[..], b"1\ta\tb", b""] {
            assert!(parser.append(line, &mut builders()).is_err(), "{line:?}");
        }
    }

    #[test]
    fn lines_may_come_in_pieces() {
        let mut parser = LineParser::new(&schema());
        let mut seen = Vec::new();
        for piece in [&b"1\ta\n2"[..], b"\tb", b"b\n3\tc\n", b""] {
            let each = |_: &LineParser, line: &[u8]| {
                seen.push(String::from_utf8_lossy(line).into_owned());
                Ok::<(), RowError>(())
            };
            parser.lines(piece, each).expect("no error");
        }
        assert_eq!(seen, ["1\ta", "2\tbb", "3\tc"]);
    }
}
