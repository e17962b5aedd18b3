//! Templates of numbers, cut into places and what stands between them.
//!
//! A number is written place by place, from the first of the template on, as PostgreSQL's `NUM_processor` (`formatting.c`)
//! does it:
//!
//! 1. It is rounded to as many digits behind the point as the template has places there. If it has more digits before the
//!    point than there are places, all places show `#`.
//! 2. Places before its first digit are blank, or zeros from the first `0` of the template on; with `FM` blank ones are nothing.
//! 3. Its sign stands before the first digit, or where the template says.
//! 4. With `FM`, zeros at the end of the fraction are left out, except where the template has `0`.
//!
//! Signs, points and separators are those of the locale C. [`reading`] goes the other way, from a text to a number.
//!
//! Does not: `V`, `EEEE` and `RN`, which are refused.

mod reading;

pub(in crate::functions) use reading::Number;

use crate::error::{SqlError, code};

/// Words that stand for something, the longer of two before the one that it begins with.
const WORDS: [(&str, Node); 20] = [
    ("EEEE", Node::Refused("EEEE")),
    ("FM", Node::FillMode),
    ("MI", Node::Minus),
    ("PL", Node::Plus),
    ("PR", Node::Brackets),
    ("RN", Node::Refused("RN")),
    ("SG", Node::Sign),
    ("SP", Node::Nothing),
    ("TH", Node::Ordinal { upper: true }),
    ("th", Node::Ordinal { upper: false }),
    ("B", Node::Nothing),
    ("C", Node::Nothing),
    ("D", Node::Point),
    ("G", Node::Separator),
    ("L", Node::Currency),
    ("S", Node::SignOfPlaces),
    ("V", Node::Refused("V")),
    (",", Node::Separator),
    (".", Node::Point),
    ("9", Node::Place { zero: false }),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    /// A digit; with `zero` one that is shown if there is none.
    Place {
        zero: bool,
    },
    Point,
    Separator,
    Currency,
    Ordinal {
        upper: bool,
    },
    Minus,
    Plus,
    Sign,
    /// The sign before the first digit, or behind the last one.
    SignOfPlaces,
    Brackets,
    FillMode,
    Letter(char),
    Nothing,
    Refused(&'static str),
}

/// Where `S` has the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignPlace {
    Before,
    Behind,
}

/// A template.
#[derive(Debug, Default)]
pub(in crate::functions) struct NumberTemplate {
    nodes: Vec<Node>,
    places_before: usize,
    places_behind: usize,
    /// Places before the first `0` that stands before the point; `None` if there is none.
    zeros_from: Option<usize>,
    /// Places up to the last `0`.
    zeros_to: usize,
    has_point: bool,
    fill_mode: bool,
    sign: Option<SignPlace>,
    brackets: bool,
    /// Whether `MI`, `PL` or `SG` say where signs are; whether it is `PL` alone.
    own_signs: bool,
    plus_alone: bool,
}

impl NumberTemplate {
    pub(super) fn new(text: &str) -> Result<Self, SqlError> {
        let refused = |word: &str| SqlError::not_supported(format!("to_char with {word}"));
        Self::cut(text, refused)
    }

    /// `refused` tells why a word is not known.
    fn cut(text: &str, refused: impl Fn(&str) -> SqlError) -> Result<Self, SqlError> {
        let mut template = Self::default();
        let mut places_before_sign = 0;
        let (mut has_minus, mut has_plus) = (false, false);
        for node in nodes(text) {
            let own_signs = has_minus || has_plus;
            match node {
                Node::Place { zero } if template.brackets => {
                    let digit = if zero { '0' } else { '9' };
                    return Err(wrong(&format!("\"{digit}\" must be ahead of \"PR\"")));
                }
                Node::Place { zero } => template.add_place(zero),
                Node::Point if template.has_point => return Err(wrong("multiple decimal points")),
                Node::Point => template.has_point = true,
                Node::FillMode => template.fill_mode = true,
                Node::SignOfPlaces if template.sign.is_some() => {
                    return Err(wrong("cannot use \"S\" twice"));
                }
                Node::SignOfPlaces if own_signs || template.brackets => {
                    return Err(wrong(
                        "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together",
                    ));
                }
                Node::SignOfPlaces => {
                    places_before_sign = template.places_before;
                    template.sign = Some(match template.has_point {
                        true => SignPlace::Behind,
                        false => SignPlace::Before,
                    });
                }
                Node::Brackets if own_signs || template.sign.is_some() => {
                    return Err(wrong(
                        "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together",
                    ));
                }
                Node::Brackets => template.brackets = true,
                Node::Minus | Node::Plus | Node::Sign if template.sign.is_some() => {
                    let word = match node {
                        Node::Minus => "MI",
                        Node::Plus => "PL",
                        _ => "SG",
                    };
                    return Err(wrong(&format!("cannot use \"S\" and \"{word}\" together")));
                }
                Node::Minus => has_minus = true,
                Node::Plus => has_plus = true,
                Node::Sign => (has_minus, has_plus) = (true, true),
                Node::Refused(word) => return Err(refused(word)),
                _ => {}
            }
            template.nodes.push(node);
        }
        template.own_signs = has_minus || has_plus;
        template.plus_alone = has_plus && !has_minus;
        let all_before_sign = template.places_before == places_before_sign;
        if !template.own_signs && template.sign == Some(SignPlace::Before) && all_before_sign {
            template.sign = Some(SignPlace::Behind);
        }
        Ok(template)
    }

    fn add_place(&mut self, zero: bool) {
        if zero && self.zeros_from.is_none() && !self.has_point {
            self.zeros_from = Some(self.places_before);
        }
        match self.has_point {
            true => self.places_behind += 1,
            false => self.places_before += 1,
        }
        if zero {
            self.zeros_to = self.places_before + self.places_behind;
        }
    }

    /// Digits behind the point that a number is to have.
    pub(super) fn places_behind(&self) -> usize {
        self.places_behind
    }

    /// Appends a number with these digits, of which [`Self::places_behind`] (or fewer) follow a point, or which is no number.
    pub(super) fn write(&self, is_negative: bool, digits: &str, out: &mut String) {
        let before = digits.find('.').unwrap_or(digits.len());
        let overflown;
        let digits = if before > self.places_before {
            overflown = format!(
                "{}.{}",
                "#".repeat(self.places_before),
                "#".repeat(self.places_behind)
            );
            overflown.as_str()
        } else {
            digits
        };
        let blanks = self.places_before.saturating_sub(before);
        Writer::new(self, is_negative, digits, blanks).write(out);
    }
}

fn wrong(message: &str) -> SqlError {
    SqlError::new(code::SYNTAX_ERROR, message)
}

/// The parts of a template. Text in double quotes, and what has no meaning, stands for itself.
fn nodes(mut text: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    while let Some(letter) = text.chars().next() {
        if let Some((word, node)) = word_at(text) {
            nodes.push(node);
            text = &text[word..];
            continue;
        }
        text = &text[letter.len_utf8()..];
        match letter {
            '0' => nodes.push(Node::Place { zero: true }),
            '"' => {
                let mut quoted = text.char_indices();
                let mut end = text.len();
                while let Some((at, letter)) = quoted.next() {
                    match letter {
                        '"' => {
                            end = at + 1;
                            break;
                        }
                        '\\' => nodes.extend(quoted.next().map(|(_, next)| Node::Letter(next))),
                        letter => nodes.push(Node::Letter(letter)),
                    }
                }
                text = &text[end..];
            }
            '\\' if text.starts_with('"') => {
                nodes.push(Node::Letter('"'));
                text = &text[1..];
            }
            letter => nodes.push(Node::Letter(letter)),
        }
    }
    nodes
}

/// The word that a text begins with, and its length. Words may be written in small letters.
fn word_at(text: &str) -> Option<(usize, Node)> {
    let is_at = |word: &str, by: fn(&str, &str) -> bool| {
        text.get(..word.len()).is_some_and(|begin| by(begin, word))
    };
    let exact = WORDS
        .iter()
        .find(|(word, _)| is_at(word, |begin, word| begin == word));
    let lower = || {
        let mut words = WORDS.iter();
        words.find(|(word, _)| is_at(word, |begin, word| begin == word.to_ascii_lowercase()))
    };
    let (word, node) = exact.or_else(lower)?;
    Some((word.len(), *node))
}

/// A number on its way into a template.
struct Writer<'t> {
    template: &'t NumberTemplate,
    is_negative: bool,
    digits: &'t [u8],
    /// The next of the digits.
    at: usize,
    /// The last digit, or the point, that is not left out.
    last_relevant: Option<usize>,
    /// Places before the first digit.
    blanks: usize,
    /// Places and points that are done.
    place: usize,
    /// Places after which a sign behind the number follows; -1 in a template without any.
    places: isize,
    /// Whether a place came when all digits and the point were written: PostgreSQL's text ends there.
    ended: bool,
    sign_written: bool,
    brackets: bool,
    /// Whether a digit is written.
    digit_written: bool,
}

impl<'t> Writer<'t> {
    fn new(
        template: &'t NumberTemplate,
        is_negative: bool,
        digits: &'t str,
        blanks: usize,
    ) -> Self {
        let sign_written = match template.own_signs {
            true => !template.plus_alone,
            false => !is_negative && template.fill_mode && template.sign.is_none(),
        };
        let places = (template.places_before + template.places_behind).cast_signed() - 1;
        let digits = digits.as_bytes();
        let last_relevant = match template.fill_mode && template.has_point {
            true => last_relevant(template, digits, blanks),
            false => None,
        };
        Self {
            template,
            is_negative,
            digits,
            at: 0,
            last_relevant,
            blanks,
            place: 0,
            places: places + isize::from(!sign_written && blanks == 0),
            ended: false,
            sign_written,
            brackets: template.brackets
                && (is_negative || !template.fill_mode || template.own_signs),
            digit_written: false,
        }
    }

    fn write(mut self, out: &mut String) {
        let fill_mode = self.template.fill_mode;
        let letter_or_blank = |out: &mut String, letter: char, is_shown: bool| {
            if is_shown {
                out.push(letter);
            } else if !fill_mode {
                out.push(' ');
            }
        };
        for node in &self.template.nodes {
            if self.ended {
                return;
            }
            match *node {
                Node::Place { zero } => self.write_place(zero, out),
                Node::Point => self.write_place(false, out),
                Node::Separator => letter_or_blank(out, ',', self.digit_written),
                Node::Minus => letter_or_blank(out, '-', self.is_negative),
                Node::Plus => letter_or_blank(out, '+', !self.is_negative),
                Node::Sign => out.push(if self.is_negative { '-' } else { '+' }),
                Node::Currency => out.push(' '),
                Node::Ordinal { upper } => self.write_ordinal(upper, out),
                Node::Letter(letter) => out.push(letter),
                Node::SignOfPlaces
                | Node::Brackets
                | Node::FillMode
                | Node::Nothing
                | Node::Refused(_) => {}
            }
        }
    }

    fn write_ordinal(&self, upper: bool, out: &mut String) {
        if self.is_negative || self.template.has_point || self.digits.contains(&b'#') {
            return;
        }
        let ending = match self.digits {
            [.., b'1', _] => "th",
            [.., b'1'] => "st",
            [.., b'2'] => "nd",
            [.., b'3'] => "rd",
            _ => "th",
        };
        match upper {
            true => out.push_str(&ending.to_ascii_uppercase()),
            false => out.push_str(ending),
        }
    }

    /// Whether the fraction follows: the only digit before it is a zero that no `0` asks for.
    fn is_before_fraction(&self) -> bool {
        self.template.zeros_from.is_none()
            && self.at == 0
            && self.digits.first() == Some(&b'0')
            && self.template.places_behind != 0
    }

    fn is_point(&self, at: Option<usize>) -> bool {
        at.is_some_and(|at| self.digits.get(at) == Some(&b'.'))
    }

    /// A place or the point, with the sign in front if it is due.
    fn write_place(&mut self, zero: bool, out: &mut String) {
        let zero_here = self
            .template
            .zeros_from
            .is_some_and(|from| from <= self.place);
        let begins = self.place >= self.blanks || self.template.zeros_from == Some(self.place);
        let is_due = !self.is_before_fraction() || self.is_point(self.last_relevant);
        if !self.sign_written && begins && is_due {
            self.write_sign(out);
        }
        if self.place >= self.blanks {
            self.write_digit(zero, out);
        } else if zero_here {
            out.push('0');
            self.digit_written = true;
        } else {
            self.blank(out);
        }
        if self.ended {
            return;
        }
        let shifted = isize::from(self.blanks > 0) + isize::from(self.template.has_point);
        let end = match self.last_relevant {
            Some(last) if last == self.at => self.place.cast_signed(),
            _ => self.places + shifted,
        };
        if self.place.cast_signed() + 1 == end {
            if self.sign_written && self.brackets {
                out.push(if self.is_negative { '>' } else { ' ' });
            } else if self.template.sign == Some(SignPlace::Behind) {
                out.push(if self.is_negative { '-' } else { '+' });
            }
        }
        self.place += 1;
    }

    fn write_sign(&mut self, out: &mut String) {
        match self.template.sign {
            Some(SignPlace::Before) => out.push(if self.is_negative { '-' } else { '+' }),
            Some(SignPlace::Behind) => return,
            None if self.brackets => out.push(if self.is_negative { '<' } else { ' ' }),
            None if self.is_negative => out.push('-'),
            None => self.blank(out),
        }
        self.sign_written = true;
    }

    fn write_digit(&mut self, zero: bool, out: &mut String) {
        match self.digits.get(self.at) {
            None => self.ended = true,
            Some(b'.') => {
                if self.template.fill_mode || !self.is_point(self.last_relevant) {
                    out.push('.');
                }
            }
            _ if self.last_relevant.is_some_and(|last| self.at > last) && !zero => {}
            Some(_) if self.is_before_fraction() => match self.template.fill_mode {
                true if self.is_point(self.last_relevant) => out.push('0'),
                true => {}
                false => out.push(' '),
            },
            Some(digit) => {
                out.push(char::from(*digit));
                self.digit_written = true;
            }
        }
        self.at += 1;
    }

    fn blank(&self, out: &mut String) {
        if !self.template.fill_mode {
            out.push(' ');
        }
    }
}

/// The last digit of a fraction that is no zero, or that the template has a `0` for; the point if there is none.
fn last_relevant(template: &NumberTemplate, digits: &[u8], blanks: usize) -> Option<usize> {
    let point = digits.iter().position(|digit| *digit == b'.')?;
    let last = digits.iter().rposition(|digit| *digit != b'0')?;
    let last = last.max(point);
    let asked_for = match template.zeros_to > blanks {
        true => (template.zeros_to - blanks).min(digits.len() - 1),
        false => 0,
    };
    Some(last.max(asked_for))
}
