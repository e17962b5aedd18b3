//! Which of a column's rules a page stores.
//!
//! Rules that a page uses rarely cost more than they save, and all tokens become a bit wider
//! when their number crosses a power of two. So several bars are tried: a rule that occurs no
//! more often is given up, its parts stand in its place, and what is then smallest is taken.

use crate::bit_packing::bits;

use super::rules::{LITERALS, Rules, Token};

/// Two occurrences of a rule save as much as it takes.
const BAR_MIN: u32 = 2;

/// A bar above this does not give up rules because they are rare, but because tokens without them
/// are narrower, as where text is noise.
const RARE_MAX: u32 = 16;

/// A page's choice among a column's rules.
pub(super) struct Selection {
    /// How often each token occurs in cells once the others are given up; that of a rule that is
    /// given up does not count.
    in_cells: Vec<u32>,
    /// How often a rule that is kept has the token as a part.
    in_rules: Vec<u32>,
    /// Rules that occur no more often in cells are given up, unless another rule needs them.
    bar: u32,
    rules: usize,
    /// Tokens in cells.
    tokens: usize,
}

impl Selection {
    /// The cheapest selection for cells of so many of each token.
    pub(super) fn cheapest(rules: &Rules, counts: &[u32]) -> Self {
        let mut cheapest = Self::above(BAR_MIN, rules, counts);
        let mut bar = BAR_MIN;
        let mut some_left = cheapest.rules > 0;
        while some_left {
            bar += (bar / 2).max(1);
            let selection = Self::above(bar, rules, counts);
            some_left = selection.rules > 0;
            if selection.bits() < cheapest.bits() {
                cheapest = selection;
            }
        }
        cheapest
    }

    /// As [`Selection::cheapest`], and a quarter more rules: other cells may need others.
    pub(super) fn generous(rules: &Rules, counts: &[u32]) -> Self {
        let mut selection = Self::cheapest(rules, counts);
        let enough = selection.rules + selection.rules / 4;
        while selection.rules < enough && (BAR_MIN + 1..=RARE_MAX).contains(&selection.bar) {
            selection = Self::above(selection.bar - 1, rules, counts);
        }
        selection
    }

    /// Gives up, wholes before parts, what occurs no more often than the bar.
    fn above(bar: u32, rules: &Rules, counts: &[u32]) -> Self {
        let mut selection = Self {
            in_cells: counts.to_vec(),
            in_rules: vec![0; counts.len()],
            bar,
            rules: 0,
            tokens: counts.iter().map(|&count| count as usize).sum(),
        };
        for token in (LITERALS..rules.tokens()).rev() {
            let Some(parts) = rules.parts(token) else {
                break;
            };
            if selection.keeps(token) {
                selection.rules += 1;
                for part in parts {
                    selection.in_rules[part] += 1;
                }
            } else {
                let count = selection.in_cells[token];
                selection.tokens += count as usize;
                for part in parts {
                    selection.in_cells[part] += count;
                }
            }
        }
        selection
    }

    /// Whether the page stores the token.
    pub(super) fn keeps(&self, token: usize) -> bool {
        let bar = if token < LITERALS { 0 } else { self.bar };
        self.in_rules[token] > 0 || self.in_cells[token] > bar
    }

    fn bits(&self) -> usize {
        let literals = (0..LITERALS).filter(|&byte| self.keeps(byte)).count();
        let width = bits((literals + self.rules).saturating_sub(1) as u64);
        (self.tokens + 2 * self.rules) * width as usize
    }

    /// Numbers what the page stores.
    pub(super) fn spellings(&self, rules: &Rules) -> Spellings {
        let mut spellings = Spellings {
            ends: Vec::with_capacity(rules.tokens() + 1),
            numbers: Vec::new(),
        };
        spellings.ends.push(0);
        let mut next = 0;
        for token in 0..rules.tokens() {
            if self.keeps(token) {
                spellings.numbers.push(next);
                next += 1;
            } else if let Some([left, right]) = rules.parts(token) {
                spellings.append(left);
                spellings.append(right);
            }
            spellings.ends.push(spellings.numbers.len() as u32);
        }
        spellings
    }
}

/// A column's tokens in a page's numbers: one number if the page stores the token, otherwise
/// those of its parts.
pub(super) struct Spellings {
    ends: Vec<u32>,
    numbers: Vec<Token>,
}

impl Spellings {
    pub(super) fn of(&self, token: usize) -> &[Token] {
        &self.numbers[self.ends[token] as usize..self.ends[token + 1] as usize]
    }

    fn append(&mut self, token: usize) {
        let numbers = self.ends[token] as usize..self.ends[token + 1] as usize;
        self.numbers.extend_from_within(numbers);
    }
}
