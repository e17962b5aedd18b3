//! The letters that say how a pattern is meant.

use crate::error::{SqlError, code};

/// What the letters say; none say that `.` is any character and lines mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// All matches are asked for, not the first one alone.
    pub(super) global: bool,
    pub(super) ignores_case: bool,
    /// Every character of the pattern is itself.
    pub(super) is_plain: bool,
    /// Blanks and remarks in the pattern mean nothing.
    pub(super) is_expanded: bool,
    /// `.` and `[^…]` are not the end of a line.
    pub(super) stops_at_lines: bool,
    /// `^` and `$` are at the ends of lines, too.
    pub(super) anchors_at_lines: bool,
}

impl Flags {
    /// What these letters say.
    pub(super) fn new(letters: &str) -> Result<Self, SqlError> {
        let mut flags = Self::default();
        for letter in letters.chars() {
            match letter {
                'g' => flags.global = true,
                'b' => return Err(SqlError::not_supported("a basic regular expression")),
                letter if flags.set(letter) => {}
                letter => {
                    let message = format!("invalid regular expression option: \"{letter}\"");
                    return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, message));
                }
            }
        }
        Ok(flags)
    }

    /// Adds a letter that may also stand in the pattern. False: there is none such.
    pub(super) fn set(&mut self, letter: char) -> bool {
        let lines = match letter {
            'n' | 'm' => Some((true, true)),
            's' => Some((false, false)),
            'p' => Some((true, false)),
            'w' => Some((false, true)),
            _ => None,
        };
        if let Some(lines) = lines {
            (self.stops_at_lines, self.anchors_at_lines) = lines;
            return true;
        }
        match letter {
            'i' => self.ignores_case = true,
            'c' => self.ignores_case = false,
            'q' => self.is_plain = true,
            'e' => self.is_plain = false,
            'x' => self.is_expanded = true,
            't' => self.is_expanded = false,
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_two_that_exclude_each_other_counts() {
        let flags = Flags::new("ginc").expect("letters that there are");
        assert!(flags.global && !flags.ignores_case && flags.stops_at_lines);
        let error = Flags::new("iz").expect_err("no such letter");
        assert_eq!(error.message, "invalid regular expression option: \"z\"");
    }
}
