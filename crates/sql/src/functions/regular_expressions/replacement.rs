//! What is put in the place of a match: texts, and parts of what was matched.
//!
//! ```text
//! \1 … \9   what is in that group, nothing if it took no part
//! \&        the whole match
//! \\        a backslash; before any other character a backslash is itself
//! ```

use super::pattern::Span;

/// A replacement.
pub(super) struct Replacement<'r> {
    parts: Vec<Part<'r>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part<'r> {
    Text(&'r str),
    /// A group; 0 is the whole match.
    Group(usize),
}

impl<'r> Replacement<'r> {
    pub(super) fn new(replacement: &'r str) -> Self {
        let mut parts = Vec::new();
        let mut rest = replacement;
        while let Some(place) = rest.find('\\') {
            let (before, after) = (&rest[..place], &rest[place + 1..]);
            parts.push(Part::Text(before));
            let taken = match after.bytes().next() {
                Some(digit @ b'1'..=b'9') => {
                    parts.push(Part::Group(usize::from(digit - b'0')));
                    1
                }
                Some(b'&') => {
                    parts.push(Part::Group(0));
                    1
                }
                next => {
                    parts.push(Part::Text("\\"));
                    usize::from(next == Some(b'\\'))
                }
            };
            rest = &after[taken..];
        }
        parts.push(Part::Text(rest));
        parts.retain(|part| *part != Part::Text(""));
        Self { parts }
    }

    /// Whether it names parts of the match.
    pub(super) fn has_groups(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, Part::Group(_)))
    }

    /// Writes it for a match with these groups, the whole first.
    pub(super) fn write(&self, text: &str, groups: &[Option<Span>], out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(part) => out.push_str(part),
                Part::Group(group) => {
                    if let Some((start, end)) = groups.get(*group).copied().flatten() {
                        out.push_str(&text[start..end]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_name_parts_or_themselves() {
        let parts = |replacement: &'static str| Replacement::new(replacement).parts;
        use Part::{Group, Text};
        assert_eq!(parts(r"a\1-\&"), [Text("a"), Group(1), Text("-"), Group(0)]);
        assert_eq!(
            parts(r"\\1\n\"),
            [Text(r"\"), Text("1"), Text(r"\"), Text("n"), Text(r"\")]
        );
        assert!(parts("").is_empty());
        let mut out = String::new();
        let groups = [Some((0, 2)), None, Some((1, 2))];
        Replacement::new(r"<\1\2\9>").write("ab", &groups, &mut out);
        assert_eq!(out, "<b>");
    }
}
