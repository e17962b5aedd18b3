//! Random SQL from templates.
//!
//! A template is SQL with places in braces, which are filled from left to right:
//!
//! | place | what comes there |
//! |---|---|
//! | `{integer}`, `{text 2}` | an expression of the type, with operators as deep as the template's, or at most so deep |
//! | `{any}`, `{plain}`, `{number}` | one of a type out of [`TYPES`], [`PLAIN_TYPES`], [`NUMBERS`] |
//! | `{leaf T}`, `{column T}`, `{constant T}` | a column or constant, a column if there is one, a constant |
//! | `{computed T 2}` | an expression that names a column: a constant cannot be grouped or ordered by |
//! | `{list 3}` | one to three expressions of any types, some with names |
//! | `{aggregate}` | a call of an aggregate function |
//! | `{2..7}` | a number, seven excluded |
//! | `{a|b|}` | one of these, which may have places of their own |
//! | `{let T any}`, `{let x text 1}` | nothing; from here on `{T}` is an expression of that one type, `{x}` that text |
//!
//! Does not: know SQL. That types fit is up to the templates.

use std::ops::Range;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::column::{Column, NUMBERS, PLAIN_TYPES, TYPES, Type};
use super::templates::{AGGREGATES, FILTERED, GENERAL, constants, operations};

/// Fills templates with expressions over some columns.
pub struct Filler<'a> {
    /// Where choices come from.
    pub random: &'a mut StdRng,
    /// What may be used.
    pub columns: Vec<Column>,
}

/// What a name in a template stands for.
#[derive(Clone, Debug)]
enum Bound {
    Type(Type),
    Text(String),
}

/// The names of one template.
type Names = Vec<(String, Bound)>;

impl Filler<'_> {
    /// The template with all its places filled.
    pub fn fill(&mut self, template: &str, depth: u32) -> String {
        self.fill_with(template, depth, &mut Names::new())
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        *choices.choose(self.random).expect("there is a choice")
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    fn fill_with(&mut self, template: &str, depth: u32, names: &mut Names) -> String {
        let mut text = String::new();
        let mut rest = template;
        while let Some(start) = rest.find('{') {
            let end = start + closing(&rest[start..]);
            text.push_str(&rest[..start]);
            text.push_str(&self.place(&rest[start + 1..end], depth, names));
            rest = &rest[end + 1..];
        }
        text + rest
    }

    fn place(&mut self, place: &str, depth: u32, names: &mut Names) -> String {
        let choices = alternatives(place);
        if choices.len() > 1 {
            let choice = self.one_of(&choices);
            return self.fill_with(choice, depth, names);
        }
        if let Some(range) = range(place) {
            return self.random.random_range(range).to_string();
        }
        let words: Vec<&str> = place.split(' ').collect();
        if let ["let", name, meant @ ..] = words.as_slice() {
            let bound = match *meant {
                [of] => Bound::Type(self.type_of(of, names).expect("a type")),
                _ => Bound::Text(self.words(meant, depth, names)),
            };
            names.push(((*name).to_owned(), bound));
            return String::new();
        }
        self.words(&words, depth, names)
    }

    fn words(&mut self, words: &[&str], depth: u32, names: &Names) -> String {
        let count = |word: &str| word.parse().expect("a number");
        match *words {
            ["list", most] => self.list(count(most)),
            ["aggregate"] => self.aggregate(),
            [kind @ ("leaf" | "column" | "constant"), of] => {
                let of = self.type_of(of, names).expect("a type");
                match kind {
                    "leaf" => self.leaf(of),
                    "column" => self.column(of),
                    _ => self.constant(of),
                }
            }
            ["computed", of, depth] => {
                let of = self.type_of(of, names).expect("a type");
                self.computed(of, count(depth))
            }
            [of, ref depths @ ..] => {
                if let Some(text) = text_of(of, names) {
                    return text;
                }
                match self.type_of(of, names) {
                    Some(of) => self.of(of, depths.first().map_or(depth, |most| count(most))),
                    // No place, but braces that SQL has itself.
                    None => format!("{{{}}}", words.join(" ")),
                }
            }
            [] => "{}".to_owned(),
        }
    }

    fn type_of(&mut self, name: &str, names: &Names) -> Option<Type> {
        for (known, bound) in names.iter().rev() {
            if let Bound::Type(of) = bound
                && known == name
            {
                return Some(*of);
            }
        }
        match name {
            "any" => Some(self.one_of(&TYPES)),
            "plain" => Some(self.one_of(&PLAIN_TYPES)),
            "number" => Some(self.one_of(&NUMBERS)),
            _ => Type::named(name),
        }
    }

    /// An expression with operators at most `depth` deep.
    fn of(&mut self, wanted: Type, depth: u32) -> String {
        let operations = operations(wanted);
        if depth == 0 || operations.is_empty() || self.percent(25) {
            return self.leaf(wanted);
        }
        // Intervals that are as long as each other may differ: no greatest one of them.
        let general = match wanted {
            Type::Interval => &GENERAL[..3],
            _ => GENERAL,
        };
        let is_general = self.percent(12);
        let template = self.one_of(if is_general { general } else { operations });
        let mut names = vec![("T".to_owned(), Bound::Type(wanted))];
        self.fill_with(template, depth - 1, &mut names)
    }

    /// A column or a constant.
    fn leaf(&mut self, wanted: Type) -> String {
        match self.percent(75) {
            true => self.column(wanted),
            false => self.constant(wanted),
        }
    }

    /// A column, if there is one of the type.
    fn column(&mut self, wanted: Type) -> String {
        let of_type = |column: &&Column| column.of == wanted;
        let columns: Vec<Column> = self.columns.iter().filter(of_type).copied().collect();
        match columns.is_empty() {
            true => self.constant(wanted),
            false => self.one_of(&columns).name.to_owned(),
        }
    }

    fn constant(&mut self, of: Type) -> String {
        self.one_of(constants(of)).to_owned()
    }

    fn computed(&mut self, wanted: Type, depth: u32) -> String {
        for _ in 0..20 {
            let expression = self.of(wanted, depth);
            if expression.contains("t.") {
                return expression;
            }
        }
        "t.id".to_owned()
    }

    fn list(&mut self, most: u32) -> String {
        let count = self.random.random_range(1..=most);
        let item = |number| {
            let expression = self.fill("{any}", 3);
            match self.percent(30) {
                true => expression,
                false => format!("{expression} as x{number}"),
            }
        };
        let items: Vec<String> = (1..=count).map(item).collect();
        items.join(", ")
    }

    fn aggregate(&mut self) -> String {
        let template = self.one_of(AGGREGATES);
        let call = self.fill(template, 2);
        match call.contains(" order by ") || !self.percent(15) {
            true => call,
            false => call + &self.fill(FILTERED, 2),
        }
    }
}

/// Where the brace is that closes the first one.
fn closing(text: &str) -> usize {
    let mut open = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 1 => return at,
            b'}' => open -= 1,
            _ => {}
        }
    }
    panic!("a brace is not closed in {text}");
}

/// What is between the bars that are in no inner braces.
fn alternatives(place: &str) -> Vec<&str> {
    let (mut found, mut start, mut open) = (Vec::new(), 0, 0);
    for (at, byte) in place.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' => open -= 1,
            b'|' if open == 0 => {
                found.push(&place[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&place[start..]);
    found
}

fn range(place: &str) -> Option<Range<i32>> {
    let (first, end) = place.split_once("..")?;
    Some(first.parse().ok()?..end.parse().ok()?)
}

fn text_of(name: &str, names: &Names) -> Option<String> {
    names.iter().rev().find_map(|(known, bound)| match bound {
        Bound::Text(text) if known == name => Some(text.clone()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn filled(template: &str, seed: u64) -> String {
        let mut random = StdRng::seed_from_u64(seed);
        let columns = vec![Column {
            name: "t.id",
            of: Type::Integer,
        }];
        let mut filler = Filler {
            random: &mut random,
            columns,
        };
        filler.fill(template, 0)
    }

    #[test]
    fn places_are_filled_with_what_they_ask_for() {
        for seed in 0..100 {
            assert_eq!(filled("abs({column integer})", seed), "abs(t.id)");
            let number: i32 = filled("{-2..3}", seed).parse().expect("a number");
            assert!((-2..3).contains(&number));
            assert!(["a t.id", "", "b"].contains(&&*filled("{a {column integer}||b}", seed)));
            let twice = filled("{let x text 1}{x} {x}", seed);
            let (once, again) = twice.split_at(twice.len() / 2);
            assert_eq!(once, again.trim_start());
            assert_eq!(filled("'{red,1}' {}", seed), "'{red,1}' {}");
        }
    }

    #[test]
    fn a_type_that_is_let_is_one_type() {
        for seed in 0..100 {
            let both = filled("{let T number}{constant T}#{constant T}", seed);
            let (a, b) = both.split_once('#').expect("two constants");
            let of = |text| NUMBERS.iter().find(|of| constants(**of).contains(&text));
            assert_eq!(of(a), of(b), "{both}");
        }
    }
}
