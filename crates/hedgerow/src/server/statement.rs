//! Prepared statements and portals of a connection.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use parking_lot::Mutex;
use sql::{CopyOptions, Description, RowStream, ScalarValue};
use types::TableName;

use super::declared_cursor::DeclaredCursor;
use super::failure::Failure;
use protocol::encode::{Format, RowEncoder, Rows, WireType, wire_type};

/// A text that has been parsed: SQL, or a command of the server itself.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// Only blanks, comments and semicolons.
    Empty,
    /// For the SQL session.
    Sql(sql::Statement),
    /// `VERIFY`
    Verify,
    /// `RESYNC TABLE name`
    Resync(TableName),
}

impl Parsed {
    /// How its rows are to be written, if it is a COPY.
    pub fn copy(&self) -> Option<&CopyOptions> {
        match self {
            Self::Sql(statement) => statement.copy(),
            Self::Empty | Self::Verify | Self::Resync(_) => None,
        }
    }
}

/// Parses a text of any number of statements.
pub fn parse(text: &str) -> Result<Vec<Parsed>, Failure> {
    if is_verify(text) {
        return Ok(vec![Parsed::Verify]);
    }
    if let Some(table) = resync_table(text) {
        return Ok(vec![Parsed::Resync(table)]);
    }
    Ok(sql::parse(text)?.into_iter().map(Parsed::Sql).collect())
}

/// Parses a text that must not hold more than one statement.
pub fn parse_one(text: &str) -> Result<Parsed, Failure> {
    let mut parsed = parse(text)?;
    match parsed.len() {
        0 => Ok(Parsed::Empty),
        1 => Ok(parsed.remove(0)),
        _ => Err(Failure::new(
            "42601",
            "cannot insert multiple commands into a prepared statement",
        )),
    }
}

fn is_verify(text: &str) -> bool {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == ';');
    text.eq_ignore_ascii_case("verify")
}

/// The table of `RESYNC TABLE name`. Without a schema it is one of `public`.
fn resync_table(text: &str) -> Option<TableName> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == ';');
    let (command, rest) = text.split_once(char::is_whitespace)?;
    let (what, name) = rest.trim_start().split_once(char::is_whitespace)?;
    if !command.eq_ignore_ascii_case("resync") || !what.eq_ignore_ascii_case("table") {
        return None;
    }
    let mut parts = name_parts(name.trim_start())?;
    let name = parts.pop()?;
    let schema = parts.pop().unwrap_or_else(|| "public".to_owned());
    parts.is_empty().then_some(TableName { schema, name })
}

/// The parts of a name with dots: folded to lower case, but for what is quoted.
fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_part(quoted)?,
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].to_lowercase(), &rest[end..])
            }
        };
        if part.is_empty() || part.contains(char::is_whitespace) && !rest.starts_with('"') {
            return None;
        }
        parts.push(part);
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None => return after.is_empty().then_some(parts),
        }
    }
}

/// What is quoted, and what comes after the quote that ends it.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        part.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                part.push('"');
                rest = next;
            }
            None => return Some((part, rest)),
        }
    }
}

/// A prepared statement.
#[derive(Debug)]
pub struct Prepared {
    /// The statement.
    pub parsed: Parsed,
    /// Parameter types that the client declared, 0 for "find out".
    pub parameter_oids: Vec<u32>,
    /// What it takes and gives, once that has been asked for.
    pub description: tokio::sync::OnceCell<Description>,
    /// How its last result was written: look-ups give the same columns every time.
    encoding: Mutex<Option<Encoding>>,
}

/// How results with these very columns are written in these formats.
#[derive(Debug)]
struct Encoding {
    schema: SchemaRef,
    formats: Formats,
    encoder: RowEncoder,
}

impl Prepared {
    /// A statement that has just been parsed.
    pub fn new(parsed: Parsed, parameter_oids: Vec<u32>) -> Self {
        Self {
            parsed,
            parameter_oids,
            description: tokio::sync::OnceCell::new(),
            encoding: Mutex::new(None),
        }
    }

    /// Writes results of `schema`. A client that was told of other columns would misread them:
    /// that is an error.
    pub fn encoder(&self, schema: &SchemaRef, formats: &Formats) -> Result<RowEncoder, Failure> {
        let mut last = self.encoding.lock();
        if let Some(last) = last.as_ref()
            && Arc::ptr_eq(&last.schema, schema)
            && last.formats == *formats
        {
            return Ok(last.encoder.clone());
        }
        let described = self.description.get().and_then(|told| told.schema.as_ref());
        if described.is_some_and(|described| wire_types(described) != wire_types(schema)) {
            let message = "cached plan must not change result type";
            return Err(Failure::new("0A000", message));
        }
        let encoder = formats.encoder(schema)?;
        *last = Some(Encoding {
            schema: schema.clone(),
            formats: formats.clone(),
            encoder: encoder.clone(),
        });
        Ok(encoder)
    }

    /// Whether a value for a parameter is needed to run it.
    pub fn has_parameters(&self) -> bool {
        match &self.parsed {
            Parsed::Sql(statement) => statement.parameter_count() > 0,
            Parsed::Empty | Parsed::Verify | Parsed::Resync(_) => false,
        }
    }
}

/// The formats that a client asked for: none (all text), one for all, or one each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats(Vec<Format>);

impl Formats {
    /// From the codes of a Bind message.
    pub fn new(codes: &[i16]) -> Result<Self, Failure> {
        let format = |code: &i16| match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            _ => Err(Failure::new(
                "08P01",
                format!("unsupported format code: {code}"),
            )),
        };
        codes.iter().map(format).collect::<Result<_, _>>().map(Self)
    }

    /// The format of an item.
    pub fn of(&self, index: usize) -> Format {
        match self.0.as_slice() {
            [] => Format::Text,
            [all] => *all,
            each => each.get(index).copied().unwrap_or(Format::Text),
        }
    }

    /// Writes results of `schema` in these formats.
    pub fn encoder(&self, schema: &Schema) -> Result<RowEncoder, Failure> {
        let columns = schema.fields().len();
        if !self.fit(columns) {
            let message =
                format!("bind message has formats that do not fit {columns} result columns");
            return Err(Failure::new("08P01", message));
        }
        Ok(RowEncoder::new(schema, |index| self.of(index)))
    }

    /// Whether they can be meant for this number of items.
    pub fn fit(&self, items: usize) -> bool {
        self.0.len() <= 1 || self.0.len() == items
    }
}

/// A statement with its parameters, before, while and after it runs.
pub struct Portal {
    /// What it runs.
    pub prepared: Arc<Prepared>,
    /// The parameters' values.
    pub parameters: Vec<ScalarValue>,
    /// The formats of the result's columns.
    pub formats: Formats,
    /// How long it stays.
    pub life: Life,
    /// How far it is.
    pub state: PortalState,
}

/// How long a portal stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// To the end of its transaction.
    Transaction,
    /// Longer, if its transaction is not rolled back.
    IfCommitted,
    /// To the end of its connection.
    Connection,
}

/// How far a portal is.
pub enum PortalState {
    /// Not run yet.
    Ready,
    /// Some rows have been fetched.
    Suspended(Box<Cursor>),
    /// It was declared in SQL, and is fetched from there.
    Declared(DeclaredCursor),
    /// Nothing is left; the tag's first word, if it gave rows.
    Finished(Option<&'static str>),
}

/// A result of which some rows may have been sent.
pub struct Cursor {
    stream: RowStream,
    encoder: RowEncoder,
    /// First word of the completion tag.
    pub tag: &'static str,
    current: Option<(Rows, usize)>,
}

impl Cursor {
    /// A result of which nothing has been sent.
    pub fn new(stream: RowStream, encoder: RowEncoder, tag: &'static str) -> Self {
        Self {
            stream,
            encoder,
            tag,
            current: None,
        }
    }

    /// The batch that has the next row, and that row's number in it; `None` at the end.
    pub async fn next_rows(&mut self) -> Result<Option<(&Rows, &mut usize)>, Failure> {
        use futures::StreamExt;
        while self
            .current
            .as_ref()
            .is_none_or(|(rows, next)| *next >= rows.len())
        {
            match self.stream.next().await {
                Some(batch) => self.current = Some((self.encoder.bind(&batch?)?, 0)),
                None => return Ok(None),
            }
        }
        Ok(self.current.as_mut().map(|(rows, next)| (&*rows, next)))
    }
}

/// The wire types of a result's columns.
fn wire_types(schema: &Schema) -> Vec<WireType> {
    schema
        .fields()
        .iter()
        .map(|field| wire_type(field))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resync_names_a_table() {
        let name = |schema: &str, name: &str| {
            let (schema, name) = (schema.to_owned(), name.to_owned());
            Some(TableName { schema, name })
        };
        assert_eq!(
            resync_table("RESYNC TABLE Orders;"),
            name("public", "orders")
        );
        assert_eq!(resync_table("resync table a.b"), name("a", "b"));
        let quoted = "resync table \"A b\".\"c\"\"d\"";
        assert_eq!(resync_table(quoted), name("A b", "c\"d"));
        for text in [
            "resync",
            "resync table",
            "resync orders",
            "resync table a b",
            "resync table a.b.c",
            "select 1",
        ] {
            assert_eq!(resync_table(text), None, "{text}");
        }
    }

    #[test]
    fn verify_is_recognised_alone() {
        for text in ["verify", " VERIFY ;", "\nVerify;\n"] {
            assert!(is_verify(text), "{text}");
        }
        for text in ["", "select verify", "verify x", "verify; select 1"] {
            assert!(!is_verify(text), "{text}");
        }
    }

    #[test]
    fn formats_are_none_one_or_each() {
        let formats = |codes: &[i16]| Formats::new(codes).expect("good codes");
        assert_eq!(formats(&[]).of(7), Format::Text);
        assert_eq!(formats(&[1]).of(7), Format::Binary);
        assert_eq!(formats(&[0, 1]).of(1), Format::Binary);
        assert!(formats(&[0, 1]).fit(2));
        assert!(!formats(&[0, 1]).fit(3));
        assert!(Formats::new(&[2]).is_err());
    }
}
