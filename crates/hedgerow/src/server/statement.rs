//! Prepared statements and portals of a connection.

use std::sync::Arc;

use sql::{Description, RowStream, ScalarValue};

use super::failure::Failure;
use crate::encode::{Format, RowEncoder, Rows, WireType, wire_type};

/// A text that has been parsed: SQL, or a command of the server itself.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// Only blanks, comments and semicolons.
    Empty,
    /// For the SQL session.
    Sql(sql::Statement),
    /// `VERIFY`
    Verify,
}

/// Parses a text of any number of statements.
pub fn parse(text: &str) -> Result<Vec<Parsed>, Failure> {
    if is_verify(text) {
        return Ok(vec![Parsed::Verify]);
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

/// A prepared statement.
#[derive(Debug)]
pub struct Prepared {
    /// The statement.
    pub parsed: Parsed,
    /// Parameter types that the client declared, 0 for "find out".
    pub parameter_oids: Vec<u32>,
    /// What it takes and gives, once that has been asked for.
    pub description: tokio::sync::OnceCell<Description>,
}

impl Prepared {
    /// Whether a value for a parameter is needed to run it.
    pub fn has_parameters(&self) -> bool {
        match &self.parsed {
            Parsed::Sql(statement) => statement.parameter_count() > 0,
            Parsed::Empty | Parsed::Verify => false,
        }
    }
}

/// The formats that a client asked for: none (all text), one for all, or one each.
#[derive(Clone, Debug, Default)]
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
    /// How far it is.
    pub state: PortalState,
}

/// How far a portal is.
pub enum PortalState {
    /// Not run yet.
    Ready,
    /// Some rows have been fetched.
    Suspended(Box<Cursor>),
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
pub fn wire_types(schema: &arrow_schema::Schema) -> Vec<WireType> {
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
