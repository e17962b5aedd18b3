//! A compiled pattern, and where in a text it matches.

use datafusion::functions::regex::compile_regex;

use super::flags::Flags;
use super::syntax;
use crate::error::SqlError;

/// From the first byte of what is matched to the one behind it.
pub(super) type Span = (usize, usize);

/// Finds the first match at a place of a text or behind it.
type FindWhole = Box<dyn Fn(&str, usize) -> Option<Span>>;

/// The same with its groups, the whole match first. False: there is none.
type FindGroups = Box<dyn FnMut(&str, usize, &mut Vec<Option<Span>>) -> bool>;

/// A pattern.
pub(super) struct Pattern {
    pub(super) flags: Flags,
    find_whole: FindWhole,
    find_groups: FindGroups,
}

impl Pattern {
    pub(super) fn new(pattern: &str, flags: Flags) -> Result<Self, SqlError> {
        let translated = syntax::translated(pattern, flags)?;
        let whole = compile_regex(&translated, None)
            .map_err(|_| syntax::invalid("it is not one that this engine reads"))?;
        let grouped = whole.clone();
        let mut places = grouped.capture_locations();
        Ok(Self {
            flags,
            find_whole: Box::new(move |text: &str, at: usize| {
                let found = whole.find_at(text, at)?;
                Some((found.start(), found.end()))
            }),
            find_groups: Box::new(
                move |text: &str, at: usize, groups: &mut Vec<Option<Span>>| {
                    let found = grouped.captures_read_at(&mut places, text, at);
                    groups.clear();
                    groups.extend((0..places.len()).map(|group| places.get(group)));
                    found.is_some()
                },
            ),
        })
    }

    /// The matches in a text, from a place on.
    pub(super) fn matches<'t>(
        &'t self,
        text: &'t str,
        from: usize,
    ) -> impl Iterator<Item = Span> + 't {
        let mut at = Some(from);
        std::iter::from_fn(move || {
            let found = (self.find_whole)(text, at?)?;
            at = behind(text, found);
            Some(found)
        })
    }

    /// The first match from a place on, in groups, the whole first. False: there is none.
    pub(super) fn groups(
        &mut self,
        text: &str,
        from: usize,
        groups: &mut Vec<Option<Span>>,
    ) -> bool {
        (self.find_groups)(text, from, groups)
    }

    /// The first match from a place on; its groups, too, if they are wanted, the whole first.
    pub(super) fn first(
        &mut self,
        text: &str,
        from: usize,
        wants_groups: bool,
        groups: &mut Vec<Option<Span>>,
    ) -> Option<Span> {
        if !wants_groups {
            return (self.find_whole)(text, from);
        }
        self.groups(text, from, groups);
        groups.first().copied().flatten()
    }

    /// The parts of a text between matches.
    pub(super) fn parts<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut parts = Vec::new();
        let (mut begin, mut last_end) = (0, 0);
        for (start, end) in self.matches(text, 0) {
            // PostgreSQL takes no notice of matches of nothing at the ends of the text and right behind another match.
            if start < text.len() && end > last_end {
                parts.push(&text[begin..start]);
                begin = end;
            }
            last_end = end;
        }
        parts.push(&text[begin..]);
        parts
    }
}

/// Where the match behind one may begin. `None`: the text is over.
pub(super) fn behind(text: &str, (start, end): Span) -> Option<usize> {
    if start < end {
        return Some(end);
    }
    let next = text[end..].chars().next()?;
    Some(end + next.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(pattern: &str) -> Pattern {
        Pattern::new(pattern, Flags::default()).expect(pattern)
    }

    #[test]
    fn matches_of_nothing_follow_others() {
        let found = |text: &'static str, of| pattern(of).matches(text, 0).collect::<Vec<_>>();
        assert_eq!(found("aab", "a*"), [(0, 2), (2, 2), (3, 3)]);
        assert_eq!(found("ä", ""), [(0, 0), (2, 2)]);
        assert_eq!(found("abcabc", "^abc"), [(0, 3)]);
        assert_eq!(pattern("^abc").matches("abcabc", 3).next(), None);
    }

    #[test]
    fn texts_are_split_where_something_matches() {
        let parts = |text: &'static str, of| pattern(of).parts(text);
        assert_eq!(parts("a b  c", r"\s+"), ["a", "b", "c"]);
        assert_eq!(parts("a bc", r"\s*"), ["a", "b", "c"]);
        assert_eq!(parts("abc", ""), ["a", "b", "c"]);
        assert_eq!(parts(",a,,b,", ","), ["", "a", "", "b", ""]);
        assert_eq!(parts("", ","), [""]);
    }
}
