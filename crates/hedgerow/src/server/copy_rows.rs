//! Rows in the forms of COPY: text, CSV and binary.
//!
//! A cell is written as PostgreSQL's text (or binary form) first, by the same code as for query
//! results, and then escaped or quoted.

use arrow_schema::Schema;
use bytes::{BufMut, BytesMut};
use protocol::encode::{EncodeError, Format, Rows};
use sql::{CopyFormat, CopyOptions};

/// What a binary copy begins with: signature, flags, length of an extension.
const BINARY_HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What it ends with.
const BINARY_TRAILER: [u8; 2] = (-1_i16).to_be_bytes();

/// Writes rows for COPY.
#[derive(Debug)]
pub struct CopyWriter {
    options: CopyOptions,
    names: Vec<String>,
    /// Columns whose cells are always quoted.
    forced: Vec<bool>,
    cell: BytesMut,
}

impl CopyWriter {
    /// For results of `schema`.
    pub fn new(options: &CopyOptions, schema: &Schema) -> Self {
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let forced = names.iter().map(|name| options.force_quote.contains(name));
        Self {
            forced: forced.collect(),
            options: options.clone(),
            names,
            cell: BytesMut::new(),
        }
    }

    /// The form in which cells have to be bound.
    pub fn format(&self) -> Format {
        match self.options.format {
            CopyFormat::Binary => Format::Binary,
            CopyFormat::Text | CopyFormat::Csv => Format::Text,
        }
    }

    /// Appends what comes before the first row; may be nothing.
    pub fn begin(&mut self, out: &mut BytesMut) {
        match self.options.format {
            CopyFormat::Binary => out.put_slice(BINARY_HEADER),
            _ if self.options.header => {
                let names = std::mem::take(&mut self.names);
                for (index, name) in names.iter().enumerate() {
                    self.delimit(index, out);
                    self.put(name.as_bytes(), false, names.len() == 1, out);
                }
                out.put_u8(b'\n');
            }
            _ => {}
        }
    }

    /// Appends a row.
    pub fn row(&mut self, rows: &Rows, row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
        if self.options.format == CopyFormat::Binary {
            return rows.append_cells(row, out);
        }
        let mut cell = std::mem::take(&mut self.cell);
        for (index, cells) in rows.cells().iter().enumerate() {
            self.delimit(index, out);
            cell.clear();
            cells.append(row, &mut cell)?;
            match cell.split_first_chunk::<4>() {
                Some((length, text)) if i32::from_be_bytes(*length) >= 0 => {
                    self.put(text, self.forced[index], rows.cells().len() == 1, out);
                }
                _ => out.put_slice(self.options.null.as_bytes()),
            }
        }
        out.put_u8(b'\n');
        self.cell = cell;
        Ok(())
    }

    /// Appends what comes after the last row; may be nothing.
    pub fn end(&self, out: &mut BytesMut) {
        if self.options.format == CopyFormat::Binary {
            out.put_slice(&BINARY_TRAILER);
        }
    }

    fn delimit(&self, index: usize, out: &mut BytesMut) {
        if index > 0 {
            out.put_u8(self.options.delimiter);
        }
    }

    fn put(&self, text: &[u8], forced: bool, alone: bool, out: &mut BytesMut) {
        match self.options.format {
            CopyFormat::Csv => self.put_quoted(text, forced, alone, out),
            _ => self.put_escaped(text, out),
        }
    }

    fn put_escaped(&self, text: &[u8], out: &mut BytesMut) {
        for &byte in text {
            let letter = match byte {
                b'\\' => b'\\',
                b'\x08' => b'b',
                b'\x0c' => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                b'\x0b' => b'v',
                byte if byte == self.options.delimiter => byte,
                plain => {
                    out.put_u8(plain);
                    continue;
                }
            };
            out.put_u8(b'\\');
            out.put_u8(letter);
        }
    }

    /// In quotes where a reader would take the cell for something else without: NULL, several
    /// cells, several lines, or the end of the data.
    fn put_quoted(&self, text: &[u8], forced: bool, alone: bool, out: &mut BytesMut) {
        let CopyOptions {
            delimiter,
            quote,
            escape,
            ref null,
            ..
        } = self.options;
        let special = |byte: &u8| [delimiter, quote, b'\n', b'\r'].contains(byte);
        let quoted = forced
            || text == null.as_bytes()
            || (alone && text == b"\\.")
            || text.iter().any(special);
        if !quoted {
            return out.put_slice(text);
        }
        out.put_u8(quote);
        for &byte in text {
            if byte == quote || byte == escape {
                out.put_u8(escape);
            }
            out.put_u8(byte);
        }
        out.put_u8(quote);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
    use arrow_schema::{DataType, Field};
    use protocol::encode::RowEncoder;

    use super::*;

    fn copied(options: &CopyOptions) -> BytesMut {
        let texts = [Some("a\tb"), None, Some(""), Some("x\"y,z\\\n")];
        let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(4)]));
        let fields = vec![
            Field::new("t", DataType::Utf8, true),
            Field::new("n", DataType::Int32, true),
        ];
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), vec![texts, numbers]).expect("a batch");
        let mut writer = CopyWriter::new(options, &schema);
        let encoder = RowEncoder::new(&schema, |_| writer.format());
        let rows = encoder.bind(&batch).expect("is bound");
        let mut out = BytesMut::new();
        writer.begin(&mut out);
        for row in 0..rows.len() {
            writer.row(&rows, row, &mut out).expect("is written");
        }
        writer.end(&mut out);
        out
    }

    fn options(text: &str) -> CopyOptions {
        let statement = sql::parse(text).expect("parses").remove(0);
        statement.copy().expect("is a COPY").clone()
    }

    #[test]
    fn text_is_escaped() {
        let out = copied(&options("copy t to stdout"));
        assert_eq!(&out[..], b"a\\tb\t1\n\\N\t2\n\t\\N\nx\"y,z\\\\\\n\t4\n");
    }

    #[test]
    fn csv_is_quoted_where_it_has_to_be() {
        let out = copied(&options("copy t to stdout (format csv, header)"));
        assert_eq!(
            &out[..],
            b"t,n\na\tb,1\n,2\n\"\",\n\"x\"\"y,z\\\n\",4\n".as_slice()
        );
        let out = copied(&options(
            "copy t to stdout (format csv, null '-', force_quote (n))",
        ));
        assert_eq!(
            &out[..],
            b"a\tb,\"1\"\n-,\"2\"\n,-\n\"x\"\"y,z\\\n\",\"4\"\n".as_slice()
        );
    }

    #[test]
    fn binary_has_counts_and_lengths() {
        let out = copied(&options("copy t to stdout binary"));
        let first = b"\0\x02\0\0\0\x03a\tb\0\0\0\x04\0\0\0\x01";
        assert_eq!(&out[..19], BINARY_HEADER);
        assert_eq!(&out[19..19 + first.len()], first);
        assert_eq!(&out[out.len() - 2..], b"\xff\xff");
    }
}
