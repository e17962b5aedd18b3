//! Numbers read by a template, as PostgreSQL's `NUM_processor` reads them for `to_number`.
//!
//! The template says where digits, the point and signs may be. A place takes a digit if one comes next; what is no digit is passed over
//! there. Letters of the template stand for any letter. The text's end ends it all, whatever of the template is left.

use super::{Node, NumberTemplate};
use crate::error::{SqlError, code};

/// A number that has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::functions) struct Number {
    /// The number without its point.
    pub(in crate::functions) digits: i128,
    /// Digits behind the point.
    pub(in crate::functions) places: usize,
}

impl NumberTemplate {
    /// A template to read numbers by.
    pub(in crate::functions) fn for_reading(text: &str) -> Result<Self, SqlError> {
        Self::cut(text, |word| match word {
            "V" => SqlError::not_supported("to_number with V"),
            word => {
                let message = format!("\"{word}\" not supported for input");
                SqlError::new(code::FEATURE_NOT_SUPPORTED, message)
            }
        })
    }

    /// Digits behind the point that a number may have.
    pub(in crate::functions) fn places_max(&self) -> usize {
        self.places_behind
    }

    /// The number in a text.
    pub(in crate::functions) fn read(&self, text: &str) -> Result<Number, SqlError> {
        let mut reader = Reader {
            template: self,
            rest: text,
            sign: ' ',
            digits: String::new(),
            point: None,
        };
        for node in &self.nodes {
            if reader.rest.is_empty() {
                break;
            }
            reader.node(*node);
        }
        reader.number()
    }
}

/// A text on its way through a template.
struct Reader<'t> {
    template: &'t NumberTemplate,
    rest: &'t str,
    /// A blank until there is one.
    sign: char,
    digits: String,
    /// Digits before the point, if that has been read.
    point: Option<usize>,
}

impl Reader<'_> {
    fn next(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next_is(&self, of: impl Fn(char) -> bool) -> bool {
        self.next().is_some_and(of)
    }

    fn advance(&mut self) {
        let mut rest = self.rest.chars();
        rest.next();
        self.rest = rest.as_str();
    }

    fn node(&mut self, node: Node) {
        match node {
            Node::Place { .. } => self.place(true),
            Node::Point => self.place(false),
            Node::Separator => {
                if !self.template.fill_mode && self.next_is(|c| c == ',') {
                    self.advance();
                }
            }
            Node::Currency => self.skip(1),
            Node::Ordinal { .. } if self.template.has_point => {}
            Node::Ordinal { .. } => self.skip(2),
            Node::Minus => self.own_sign(&['-']),
            Node::Plus => self.own_sign(&['+']),
            Node::Sign => self.own_sign(&['-', '+']),
            Node::Letter(_) => self.advance(),
            Node::SignOfPlaces
            | Node::Brackets
            | Node::FillMode
            | Node::Nothing
            | Node::Refused(_) => {}
        }
    }

    /// Passes over so many letters that are not of a number.
    fn skip(&mut self, letters: usize) {
        for _ in 0..letters {
            if self.next_is(|c| c.is_ascii_digit() || ['.', ',', '+', '-'].contains(&c)) {
                return;
            }
            self.advance();
        }
    }

    fn own_sign(&mut self, signs: &[char]) {
        match self.next().filter(|next| signs.contains(next)) {
            Some(sign) => {
                self.sign = sign;
                self.advance();
            }
            None => self.skip(1),
        }
    }

    /// A digit or the point, with the sign before or behind it; whatever comes next is done with.
    fn place(&mut self, is_digit: bool) {
        if self.next_is(|c| c == ' ') {
            self.advance();
        }
        if self.sign == ' ' && is_digit && self.digits.is_empty() {
            self.sign_before();
        }
        let Some(next) = self.next() else {
            return;
        };
        let is_read = self.digit_or_point(next);
        if next.is_ascii_digit() && !is_read {
            self.advance();
            return;
        }
        if self.sign == ' ' && !self.digits.is_empty() {
            self.sign_behind(is_read);
        }
        self.advance();
    }

    fn sign_before(&mut self) {
        let sign = match self.next() {
            Some('<') if self.template.brackets => '-',
            Some(sign @ ('-' | '+')) => sign,
            _ => return,
        };
        self.sign = sign;
        self.advance();
    }

    /// Whether what comes next is of the number. It is not passed over yet.
    fn digit_or_point(&mut self, next: char) -> bool {
        let places = self.point.map(|point| self.digits.len() - point);
        if next.is_ascii_digit() {
            let has_room = places.is_none_or(|places| places < self.template.places_behind);
            if has_room {
                self.digits.push(next);
            }
            return has_room;
        }
        let is_point = next == '.' && self.template.has_point && self.point.is_none();
        if is_point {
            self.point = Some(self.digits.len());
        }
        is_point
    }

    /// The sign that follows the last digit, which is before it, or that stands in its place.
    fn sign_behind(&mut self, is_read: bool) {
        let is_sign = |c: &char| ['-', '+'].contains(c);
        if self.template.sign.is_some() {
            let behind = self.rest.chars().nth(1).filter(is_sign);
            if is_read && let Some(sign) = behind {
                self.sign = sign;
                self.advance();
            }
        } else if !is_read
            && self.template.own_signs
            && let Some(sign) = self.next().filter(is_sign)
        {
            self.sign = sign;
        }
    }

    fn number(self) -> Result<Number, SqlError> {
        if self.digits.is_empty() {
            let message = format!("invalid input syntax for type numeric: \"{}\"", self.sign);
            return Err(SqlError::new(code::INVALID_TEXT_REPRESENTATION, message));
        }
        let before = self.point.unwrap_or(self.digits.len());
        let places = self.digits.len() - before;
        let places_before = self.template.places_before;
        let overflow = || {
            let message = "numeric field overflow";
            let error = SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, message);
            let limit = match places_before {
                0 => "1".to_owned(),
                places => format!("10^{places}"),
            };
            let precision = places_before + places;
            error.with_detail(format!(
                "A field with precision {precision}, scale {places} must round to an absolute value less than {limit}."
            ))
        };
        let whole = self.digits[..before].trim_start_matches('0');
        if whole.len() > places_before {
            return Err(overflow());
        }
        let digits: i128 = self.digits.parse().map_err(|_| overflow())?;
        Ok(Number {
            digits: if self.sign == '-' { -digits } else { digits },
            places,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, template: &str) -> Result<(i128, usize), SqlError> {
        let number = NumberTemplate::for_reading(template)?.read(text)?;
        Ok((number.digits, number.places))
    }

    #[test]
    fn numbers_are_read_as_postgresql_reads_them() {
        for (text, template, expected) in [
            ("12,454.8-", "99G999D9S", (-124_548, 1)),
            ("-12.5", "S99.99", (-125, 1)),
            ("12.50", "99.99", (1_250, 2)),
            ("<12>", "99PR", (-12, 0)),
            ("1234", "9,999", (1_234, 0)),
            ("1,234", "9,999", (1_234, 0)),
            ("$12.3", "L99.9", (123, 1)),
            ("  12", "9999", (12, 0)),
            ("5-", "9MI", (-5, 0)),
            ("-5", "9MI", (-5, 0)),
            ("5.01-", "FM9.999999MI", (-501, 2)),
            (".5", "9.9", (5, 1)),
            ("1st", "9th", (1, 0)),
            ("12345", "999", (123, 0)),
            ("12.345", "99.9", (123, 1)),
            ("1 2", "999", (12, 0)),
            ("1x2", "9\"x\"9", (12, 0)),
            ("a12", "\"z\"99", (12, 0)),
            ("1e5", "9999", (15, 0)),
            ("1a2", "999", (12, 0)),
        ] {
            assert_eq!(read(text, template), Ok(expected), "{text} {template}");
        }
    }

    #[test]
    fn what_is_no_number_says_why() {
        let error = |text, template| read(text, template).expect_err(template);
        assert_eq!(
            error("abc", "999").message,
            "invalid input syntax for type numeric: \" \""
        );
        assert_eq!(
            error("-", "9").message,
            "invalid input syntax for type numeric: \"-\""
        );
        let overflow = error("99.99", "9.9");
        assert_eq!(overflow.code, "22003");
        assert_eq!(
            overflow.detail.as_deref(),
            Some(
                "A field with precision 1, scale 0 must round to an absolute value less than 10^1."
            )
        );
        assert_eq!(
            error("1", "9EEEE").message,
            "\"EEEE\" not supported for input"
        );
        assert_eq!(error("1", "9.9.9").code, "42601");
    }
}
