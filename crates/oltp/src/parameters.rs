//! Numbers and texts end to end: parameters and replies. Numbers are little-endian, texts are behind
//! their length (u16).

use types::Value;

/// Appends to a buffer.
pub struct Writer<'b>(pub &'b mut Vec<u8>);

impl Writer<'_> {
    /// A number.
    pub fn i16(&mut self, number: i16) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// A number.
    pub fn i32(&mut self, number: i32) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// A number.
    pub fn i64(&mut self, number: i64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// A text of less than 64 KiB.
    pub fn text(&mut self, text: &[u8]) -> &mut Self {
        self.0.extend_from_slice(&(text.len() as u16).to_le_bytes());
        self.0.extend_from_slice(text);
        self
    }

    /// A cell of any type that the tables have.
    pub fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::Null => self.0.push(0),
            Value::Int(int) => {
                self.0.push(1);
                self.i64(*int);
            }
            Value::Bytes(text) => {
                self.0.push(2);
                self.text(text);
            }
            Value::Bool(bit) => self.0.extend_from_slice(&[3, u8::from(*bit)]),
            other => unreachable!("no column holds {other:?}"),
        }
    }
}

/// Takes from the front of a buffer what [`Writer`] has put there.
///
/// # Panics
/// When something else is there.
pub struct Reader<'b>(pub &'b [u8]);

impl<'b> Reader<'b> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_first_chunk().expect("as it was written");
        self.0 = rest;
        *taken
    }

    /// A number.
    pub fn i16(&mut self) -> i16 {
        i16::from_le_bytes(self.take())
    }

    /// A number.
    pub fn i32(&mut self) -> i32 {
        i32::from_le_bytes(self.take())
    }

    /// A number.
    pub fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.take())
    }

    /// A text.
    pub fn text(&mut self) -> &'b [u8] {
        let length = u16::from_le_bytes(self.take());
        let (text, rest) = self.0.split_at(length.into());
        self.0 = rest;
        text
    }

    /// A cell.
    pub fn value(&mut self) -> Value<'b> {
        match self.take::<1>()[0] {
            0 => Value::Null,
            1 => Value::Int(self.i64()),
            2 => Value::Bytes(self.text()),
            _ => Value::Bool(self.take::<1>()[0] != 0),
        }
    }
}
