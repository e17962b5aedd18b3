//! Random queries over the tables of [`super::data`].
//!
//! Each has a [shape](SHAPES) (rows, groups, joins, windows, sets of rows, subqueries, documents, mistakes) and random
//! expressions in it.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::template::Filler;
use super::templates::SHAPES;

/// Operators that a template has at most, one in another, where it does not say.
const DEPTH: u32 = 2;

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    /// Its text.
    pub text: String,
    /// Whether it determines the order of its rows.
    pub ordered: bool,
    /// Whether some values need not be computed, so that one server may fail on a value that the
    /// other leaves out.
    pub lazy: bool,
}

/// What makes a query lazy.
const LAZY: [&str; 5] = [
    " limit ",
    " join ",
    " filter (where ",
    " except ",
    " intersect ",
];

impl Query {
    /// A query that determines the order of its rows if it says one outside of parentheses.
    pub fn new(text: String) -> Self {
        Self {
            ordered: outside_parentheses(&text).contains("order by"),
            lazy: LAZY.iter().any(|part| text.contains(part)),
            text,
        }
    }

    /// The query of a seed.
    pub fn of_seed(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let all = SHAPES.iter().map(|shape| shape.share).sum();
        let mut place = random.random_range(0..all);
        let shape = SHAPES.iter().find(|shape| {
            let is_here = place < shape.share;
            place = place.saturating_sub(shape.share);
            is_here
        });
        let shape = shape.expect("shares add up");
        let mut filler = Filler {
            random: &mut random,
            columns: shape.tables.concat(),
        };
        let template = filler.one_of(shape.templates);
        Self::new(filler.fill(template, DEPTH))
    }
}

fn outside_parentheses(text: &str) -> String {
    let (mut open, mut quoted) = (0, false);
    let is_outside = |letter: &char| {
        match letter {
            '\'' => quoted = !quoted,
            '(' if !quoted => open += 1,
            ')' if !quoted => open -= 1,
            _ => {}
        }
        open == 0
    };
    text.chars().filter(is_outside).collect()
}
