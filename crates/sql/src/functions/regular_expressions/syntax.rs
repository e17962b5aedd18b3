//! PostgreSQL's regular expressions in the words of the engine.
//!
//! ```text
//! \m  \M  \y  \Y  \Z       \b{start}  \b{end}  \b  \B  \z
//! [[:<:]]  [[:>:]]         \b{start}  \b{end}
//! \d  [[:alpha:]]          [0-9]  [\p{Alphabetic}]             one means ASCII, the other all letters
//! a{  a]  [a&&b]           a\{  a\]  [a\&\&b]                  the engine has other characters that mean something
//! (?i)a  ***=a.b           the flags, if they come first
//! ```
//!
//! `.` is any character, also the end of a line, unless the flags say otherwise. In an expanded pattern blanks and remarks are left out
//! here, because the engine would leave out those in brackets, too.
//!
//! Does not: back references and what looks ahead or behind, which are refused (0A000); the longest of all matches, where PostgreSQL
//! prefers it: of `a|ab` the engine takes the first that fits.

use super::flags::Flags;
use crate::error::{SqlError, code};

const BAD_RANGE: &str = "invalid character range";
const BAD_ESCAPE: &str = "invalid escape \\ sequence";
const BAD_BRACKETS: &str = "brackets [] not balanced";
const BAD_PARENTHESES: &str = "parentheses () not balanced";
const BAD_COUNT: &str = "invalid repetition count(s)";
const BAD_OPTION: &str = "invalid embedded option";
const BAD_QUANTIFIER: &str = "quantifier operand invalid";

const WORD_BEGINS: &str = r"\b{start}";
const WORD_ENDS: &str = r"\b{end}";

/// What a pattern may be repeated at most.
const COUNT_MAX: u32 = 255;

/// Classes of characters by their names.
const CLASSES: [(&str, &str); 13] = [
    ("alnum", r"\p{Alphabetic}\p{Nd}"),
    ("alpha", r"\p{Alphabetic}"),
    ("blank", r" \t"),
    ("cntrl", r"\p{Cc}"),
    ("digit", "0-9"),
    ("graph", r"[^\p{Z}\p{C}]"),
    ("lower", r"\p{Lowercase}"),
    ("print", r"[^\p{Zl}\p{Zp}\p{C}]"),
    ("punct", r"\p{P}\p{S}"),
    ("space", r"\s"),
    ("upper", r"\p{Uppercase}"),
    ("word", r"\w"),
    ("xdigit", "0-9A-Fa-f"),
];

/// `invalid regular expression`
pub(super) fn invalid(why: &str) -> SqlError {
    let message = format!("invalid regular expression: {why}");
    SqlError::new(code::INVALID_REGULAR_EXPRESSION, message)
}

/// The pattern as the engine has it.
pub(super) fn translated(pattern: &str, mut flags: Flags) -> Result<String, SqlError> {
    let rest = beginning(pattern, &mut flags)?;
    let mut out = String::with_capacity(pattern.len() + 8);
    let modes = [
        ('i', flags.ignores_case),
        ('s', !flags.stops_at_lines),
        ('m', flags.anchors_at_lines),
    ];
    let modes = modes.into_iter().filter(|(_, is_on)| *is_on);
    let modes: String = modes.map(|(mode, _)| mode).collect();
    if !modes.is_empty() {
        out.extend(["(?", modes.as_str(), ")"]);
    }
    if flags.is_plain {
        rest.chars()
            .for_each(|character| push_itself(character, &mut out));
        return Ok(out);
    }
    let translator = Translator {
        rest,
        flags,
        out,
        depth: 0,
        may_repeat: false,
    };
    translator.run()
}

/// Takes what says how the pattern is meant from its beginning.
fn beginning<'p>(pattern: &'p str, flags: &mut Flags) -> Result<&'p str, SqlError> {
    if flags.is_plain {
        return Ok(pattern);
    }
    if let Some(plain) = pattern.strip_prefix("***=") {
        flags.is_plain = true;
        return Ok(plain);
    }
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    let options = pattern.strip_prefix("(?");
    let Some(options) = options.filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    else {
        return Ok(pattern);
    };
    let (letters, rest) = options.split_once(')').ok_or_else(|| invalid(BAD_OPTION))?;
    if !letters.chars().all(|letter| flags.set(letter)) {
        return Err(invalid(BAD_OPTION));
    }
    Ok(rest)
}

fn push_itself(character: char, out: &mut String) {
    // To the engine `\<` and `\>` are the ends of words.
    if character.is_ascii_punctuation() && !['<', '>'].contains(&character) {
        out.push('\\');
    }
    out.push(character);
}

struct Translator<'p> {
    rest: &'p str,
    flags: Flags,
    out: String,
    /// Parentheses that are open.
    depth: usize,
    /// Whether what comes before may be repeated.
    may_repeat: bool,
}

impl Translator<'_> {
    fn run(mut self) -> Result<String, SqlError> {
        while let Some(character) = self.next() {
            match character {
                '\\' => self.escape()?,
                '[' => self.brackets()?,
                '(' => self.open()?,
                ')' => self.close()?,
                '|' | '^' | '$' => {
                    self.out.push(character);
                    self.may_repeat = false;
                }
                '*' | '+' | '?' => self.repetition(character.encode_utf8(&mut [0; 4]))?,
                '{' if self.rest.starts_with(|c: char| c.is_ascii_digit()) => self.count()?,
                '.' => {
                    self.out.push('.');
                    self.may_repeat = true;
                }
                '#' if self.flags.is_expanded => {
                    let line = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[line..];
                }
                _ if self.flags.is_expanded && character.is_whitespace() => {}
                _ => {
                    push_itself(character, &mut self.out);
                    self.may_repeat = true;
                }
            }
        }
        match self.depth {
            0 => Ok(self.out),
            _ => Err(invalid(BAD_PARENTHESES)),
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next();
        self.rest = characters.as_str();
        character
    }

    /// Passes over a text if it comes next.
    fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn open(&mut self) -> Result<(), SqlError> {
        if self.skip("?#") {
            let (_, rest) = self.rest.split_once(')').unwrap_or_default();
            self.rest = rest;
            return Ok(());
        }
        if self.skip("?:") {
            self.out.push_str("(?:");
        } else if ["?=", "?!", "?<=", "?<!"]
            .iter()
            .any(|look| self.rest.starts_with(look))
        {
            let what = "what looks ahead or behind in a regular expression";
            return Err(SqlError::not_supported(what));
        } else {
            self.out.push('(');
        }
        self.depth += 1;
        self.may_repeat = false;
        Ok(())
    }

    fn close(&mut self) -> Result<(), SqlError> {
        let outer = self.depth.checked_sub(1);
        self.depth = outer.ok_or_else(|| invalid(BAD_PARENTHESES))?;
        self.out.push(')');
        self.may_repeat = true;
        Ok(())
    }

    /// Writes how often what comes before is repeated, and whether rather seldom.
    fn repetition(&mut self, how_often: &str) -> Result<(), SqlError> {
        if !self.may_repeat {
            return Err(invalid(BAD_QUANTIFIER));
        }
        self.out.push_str(how_often);
        if self.skip("?") {
            self.out.push('?');
        }
        self.may_repeat = false;
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,3}`
    fn count(&mut self) -> Result<(), SqlError> {
        let in_count = |c: char| c.is_ascii_digit() || c == ',';
        let end = self.rest.find(|c: char| !in_count(c));
        let end = end.ok_or_else(|| invalid("braces {} not balanced"))?;
        let (count, rest) = self.rest.split_at(end);
        let bounds = count.split(',');
        let bounds = bounds.map(|bound| match bound {
            "" => Some(COUNT_MAX),
            bound => bound.parse().ok().filter(|bound| *bound <= COUNT_MAX),
        });
        let bounds = bounds.collect::<Option<Vec<u32>>>().unwrap_or_default();
        let in_order = matches!(bounds.as_slice(), [_] | [_, _]) && bounds.is_sorted();
        let Some(rest) = rest.strip_prefix('}').filter(|_| in_order) else {
            return Err(invalid(BAD_COUNT));
        };
        self.rest = rest;
        self.repetition(&format!("{{{count}}}"))
    }

    fn constraint(&mut self, constraint: &str) {
        self.out.push_str(constraint);
        self.may_repeat = false;
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> Result<(), SqlError> {
        let letter = self.next().ok_or_else(|| invalid(BAD_ESCAPE))?;
        let constraint = match letter {
            'm' => WORD_BEGINS,
            'M' => WORD_ENDS,
            'y' => r"\b",
            'Y' => r"\B",
            'A' => r"\A",
            'Z' => r"\z",
            _ => "",
        };
        if !constraint.is_empty() {
            self.constraint(constraint);
            return Ok(());
        }
        self.may_repeat = true;
        match letter {
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' | 'W' | 's' | 'S' => self.out.extend(['\\', letter]),
            '1'..='9' => {
                let what = "a back reference in a regular expression";
                return Err(SqlError::not_supported(what));
            }
            letter => {
                let character = self.escaped(letter)?;
                push_itself(character, &mut self.out);
            }
        }
        Ok(())
    }

    /// The character that a backslash and this letter begin to tell.
    fn escaped(&mut self, letter: char) -> Result<char, SqlError> {
        Ok(match letter {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' => '\0',
            'u' => self.by_number(4..=4)?,
            'U' => self.by_number(8..=8)?,
            'x' => self.by_number(1..=usize::MAX)?,
            'c' => {
                let letter = self.next().filter(char::is_ascii);
                let letter = letter.and_then(|letter| u8::try_from(letter).ok());
                char::from(letter.ok_or_else(|| invalid(BAD_ESCAPE))? & 0x1f)
            }
            letter if letter.is_ascii_alphanumeric() => return Err(invalid(BAD_ESCAPE)),
            letter => letter,
        })
    }

    /// The character whose number follows, in so many digits.
    fn by_number(&mut self, digits: std::ops::RangeInclusive<usize>) -> Result<char, SqlError> {
        let of_number = self.rest.bytes().take_while(u8::is_ascii_hexdigit);
        let length = of_number.count().min(*digits.end());
        let number = u32::from_str_radix(&self.rest[..length], 16);
        let character = number.ok().and_then(char::from_u32);
        let character = character.filter(|_| digits.contains(&length));
        self.rest = &self.rest[length..];
        character.ok_or_else(|| invalid(BAD_ESCAPE))
    }

    fn brackets(&mut self) -> Result<(), SqlError> {
        for (words, constraint) in [("[:<:]]", WORD_BEGINS), ("[:>:]]", WORD_ENDS)] {
            if self.skip(words) {
                self.constraint(constraint);
                return Ok(());
            }
        }
        self.out.push('[');
        if self.skip("^") {
            self.out.push('^');
            if self.flags.stops_at_lines {
                self.out.push_str(r"\n");
            }
        }
        let mut is_first = true;
        loop {
            match self.in_brackets()? {
                ']' if !is_first => break,
                character => self.member(character)?,
            }
            is_first = false;
        }
        self.out.push(']');
        self.may_repeat = true;
        Ok(())
    }

    fn in_brackets(&mut self) -> Result<char, SqlError> {
        self.next().ok_or_else(|| invalid(BAD_BRACKETS))
    }

    /// Writes a character, a range or a class in brackets.
    fn member(&mut self, first: char) -> Result<(), SqlError> {
        let from = match self.single(first)? {
            Single::Character(from) => from,
            Single::Class(class) => {
                self.out.push_str(class);
                return Ok(());
            }
        };
        push_itself(from, &mut self.out);
        if self.rest.starts_with("-]") || !self.skip("-") {
            return Ok(());
        }
        let last = self.in_brackets()?;
        match self.single(last)? {
            Single::Character(to) if from <= to => {
                self.out.push('-');
                push_itself(to, &mut self.out);
                Ok(())
            }
            _ => Err(invalid(BAD_RANGE)),
        }
    }

    fn single(&mut self, first: char) -> Result<Single, SqlError> {
        if first == '[' && self.skip(":") {
            let named = self.until(":]")?;
            let class = CLASSES.iter().find(|(name, _)| *name == named);
            let (_, class) = class.ok_or_else(|| invalid("invalid character class"))?;
            return Ok(Single::Class(class));
        }
        if first == '[' && (self.rest.starts_with('.') || self.rest.starts_with('=')) {
            let end = if self.skip(".") { ".]" } else { "=]" };
            self.skip("=");
            let mut characters = self.until(end)?.chars();
            let (Some(only), None) = (characters.next(), characters.next()) else {
                return Err(invalid("invalid collating element"));
            };
            return Ok(Single::Character(only));
        }
        if first != '\\' {
            return Ok(Single::Character(first));
        }
        let letter = self.in_brackets()?;
        Ok(match letter {
            'd' => Single::Class("0-9"),
            'D' => Single::Class("[^0-9]"),
            'w' => Single::Class(r"\w"),
            'W' => Single::Class(r"\W"),
            's' => Single::Class(r"\s"),
            'S' => Single::Class(r"\S"),
            letter => Single::Character(self.escaped(letter)?),
        })
    }

    /// What comes before a text, which is passed over.
    fn until(&mut self, end: &str) -> Result<&str, SqlError> {
        let (text, rest) = self
            .rest
            .split_once(end)
            .ok_or_else(|| invalid(BAD_BRACKETS))?;
        self.rest = rest;
        Ok(text)
    }
}

/// One thing in brackets.
enum Single {
    Character(char),
    Class(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str, flags: &str) -> Result<String, SqlError> {
        translated(pattern, Flags::new(flags).expect("letters that there are"))
    }

    #[test]
    fn what_the_engine_has_otherwise_is_put_otherwise() {
        for (pattern, flags, expected) in [
            (r"\mab\M", "", r"(?s)\b{start}ab\b{end}"),
            (r"\d+\y.", "", r"(?s)[0-9]+\b."),
            ("a{b]}", "", r"(?s)a\{b\]\}"),
            ("a{2,3}?b{1,}", "", "(?s)a{2,3}?b{1,}"),
            ("[]a-z&&-]", "", r"(?s)[\]a-z\&\&\-]"),
            ("[%--]", "", r"(?s)[\%-\-]"),
            ("[[:alpha:][:digit:]_]", "", r"(?s)[\p{Alphabetic}0-9\_]"),
            ("[[:<:]]c[[=b=][.-.]]", "", r"(?s)\b{start}c[b\-]"),
            (r"[\w\]]\<", "", r"(?s)[\w\]]<"),
            ("[^x].^", "n", r"(?m)[^\nx].^"),
            ("a b # c\n[ ]", "x", "(?s)ab[ ]"),
            ("a.b", "q", r"(?s)a\.b"),
            ("***=(", "", r"(?s)\("),
            ("(?i)A(?#no)b", "", "(?is)Ab"),
            (r"\x41\u00e4\t", "", "(?s)Aä\t"),
        ] {
            assert_eq!(of(pattern, flags), Ok(expected.to_owned()), "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for (pattern, why) in [
            ("(a", BAD_PARENTHESES),
            ("a)", BAD_PARENTHESES),
            ("[a", BAD_BRACKETS),
            ("*a", BAD_QUANTIFIER),
            ("(*a)", BAD_QUANTIFIER),
            ("a|*b", BAD_QUANTIFIER),
            ("a**", BAD_QUANTIFIER),
            (r"\m+a", BAD_QUANTIFIER),
            ("{1}", BAD_QUANTIFIER),
            ("(?<a>b)", BAD_QUANTIFIER),
            ("(?P<n>a)", BAD_OPTION),
            ("a{2,1}", BAD_COUNT),
            ("a{256}", BAD_COUNT),
            ("a{1x}", BAD_COUNT),
            ("a{1", "braces {} not balanced"),
            (r"\q", BAD_ESCAPE),
            ("a\\", BAD_ESCAPE),
            ("[z-a]", BAD_RANGE),
            (r"[a-\d]", BAD_RANGE),
            ("[[:foo:]]", "invalid character class"),
            ("[[.foo.]]", "invalid collating element"),
        ] {
            assert_eq!(of(pattern, ""), Err(invalid(why)), "{pattern}");
        }
        for pattern in [r"(a)\1", "(?=a)a"] {
            let refused = of(pattern, "").expect_err("not what the engine does");
            assert_eq!(refused.code, "0A000", "{pattern}");
        }
    }
}
