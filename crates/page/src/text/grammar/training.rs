//! Learning rules from a sample: Re-Pair.
//!
//! 1. The sample is a list of tokens, at first one for each byte.
//! 2. The most frequent pair of neighbours becomes a rule, and its token takes their place
//!    wherever they stand next to each other.
//! 3. That changes the counts of the pairs around them; nothing else is looked at again.
//! 4. Done when no pair is frequent enough to pay for its rule.
//!
//! A pair's count and places may be out of date: counts are corrected when they are taken from
//! the queue, places when they are visited.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::rules::{Rules, Token};

/// A rule takes as much space as two tokens: a pair that occurs less often does not pay.
const COUNT_MIN: u32 = 3;

/// Behind each cell. No pair has it.
const CELL_END: Token = Token::MAX;

/// In place of a token that has become part of the one before.
const TAKEN: Token = Token::MAX - 1;

type Pair = [Token; 2];

/// Where a pair is.
#[derive(Default)]
struct Occurrences {
    count: u32,
    places: Vec<u32>,
}

/// Learns rules from cells.
pub(super) fn train<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Rules {
    let mut rules = Rules::none();
    let mut sample = Sample::of(cells);
    while !rules.is_full()
        && let Some(pair) = sample.most_frequent()
    {
        match rules.add(pair) {
            Some(token) => sample.replace(pair, token),
            None => sample.forget(pair),
        }
    }
    rules
}

/// The sample in tokens.
struct Sample {
    tokens: Vec<Token>,
    /// The place of the next token that is not taken; that of the one before.
    next: Vec<u32>,
    previous: Vec<u32>,
    pairs: HashMap<Pair, Occurrences>,
    /// Pairs by count; the smaller one first where counts are equal.
    queue: BinaryHeap<(u32, Reverse<Pair>)>,
}

impl Sample {
    fn of<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut tokens = vec![CELL_END];
        for cell in cells {
            tokens.extend(cell.iter().map(|&byte| Token::from(byte)));
            tokens.push(CELL_END);
        }
        let places = tokens.len() as u32;
        let mut sample = Self {
            tokens,
            next: (1..=places).collect(),
            previous: (0..places).map(|place| place.saturating_sub(1)).collect(),
            pairs: HashMap::new(),
            queue: BinaryHeap::new(),
        };
        for place in 0..sample.tokens.len() - 1 {
            sample.count(place, place + 1, &mut Vec::new());
        }
        let pairs = sample.pairs.iter();
        sample.queue = pairs
            .filter(|(_, occurrences)| occurrences.count >= COUNT_MIN)
            .map(|(&pair, occurrences)| (occurrences.count, Reverse(pair)))
            .collect();
        sample
    }

    /// The pair of the tokens at two places, unless a cell ends between them.
    fn pair(&self, left: usize, right: usize) -> Option<Pair> {
        let pair = [self.tokens[left], self.tokens[right]];
        (!pair.contains(&CELL_END)).then_some(pair)
    }

    /// Counts the pair at two places, and notes it as changed.
    fn count(&mut self, left: usize, right: usize, changed: &mut Vec<Pair>) {
        if let Some(pair) = self.pair(left, right) {
            let occurrences = self.pairs.entry(pair).or_default();
            occurrences.count += 1;
            occurrences.places.push(left as u32);
            changed.push(pair);
        }
    }

    /// Takes back what was counted.
    fn uncount(&mut self, left: usize, right: usize) {
        if let Some(pair) = self.pair(left, right)
            && let Some(occurrences) = self.pairs.get_mut(&pair)
        {
            // In a run of one byte, a place is in two pairs of which only one is replaced.
            occurrences.count = occurrences.count.saturating_sub(1);
        }
    }

    /// The most frequent pair, if it is frequent enough.
    fn most_frequent(&mut self) -> Option<Pair> {
        while let Some((count, Reverse(pair))) = self.queue.pop() {
            let now = self.pairs.get(&pair).map_or(0, |pair| pair.count);
            if now == count {
                return Some(pair);
            }
            if now >= COUNT_MIN {
                self.queue.push((now, Reverse(pair)));
            }
        }
        None
    }

    fn forget(&mut self, pair: Pair) {
        self.pairs.remove(&pair);
    }

    /// Puts the token in the place of the pair.
    fn replace(&mut self, pair: Pair, token: Token) {
        let Some(occurrences) = self.pairs.remove(&pair) else {
            return;
        };
        let mut changed = Vec::new();
        for place in occurrences.places {
            let left = place as usize;
            let right = self.next[left] as usize;
            if self.tokens[left] == pair[0] && self.tokens[right] == pair[1] {
                self.replace_at(left, right, token, &mut changed);
            }
        }
        changed.sort_unstable();
        changed.dedup();
        for pair in changed {
            let count = self.pairs.get(&pair).map_or(0, |pair| pair.count);
            if count >= COUNT_MIN {
                self.queue.push((count, Reverse(pair)));
            }
        }
    }

    fn replace_at(&mut self, left: usize, right: usize, token: Token, changed: &mut Vec<Pair>) {
        let (before, behind) = (self.previous[left] as usize, self.next[right] as usize);
        self.uncount(before, left);
        self.uncount(right, behind);
        self.tokens[left] = token;
        self.tokens[right] = TAKEN;
        self.next[left] = behind as u32;
        self.previous[behind] = left as u32;
        self.count(before, left, changed);
        self.count(left, behind, changed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of(cells: &[&str]) -> Vec<String> {
        let rules = train(cells.iter().map(|cell| cell.as_bytes()));
        (super::super::rules::LITERALS..rules.tokens())
            .map(|token| {
                let piece = rules.piece(token);
                String::from_utf8_lossy(&piece.bytes()[..piece.len()]).into_owned()
            })
            .collect()
    }

    #[test]
    fn the_most_frequent_pair_comes_first() {
        assert_eq!(rules_of(&["abab", "xab", "cab"]), ["ab"]);
        assert_eq!(rules_of(&["abc"; 3]), ["ab", "abc"]);
    }

    #[test]
    fn pairs_do_not_cross_cells() {
        assert!(rules_of(&["a", "b", "a", "b", "a", "b", "a", "b"]).is_empty());
        assert!(rules_of(&["", "", ""]).is_empty());
        assert!(rules_of(&[]).is_empty());
    }

    #[test]
    fn runs_of_one_byte_end_somewhere() {
        for length in 0..200 {
            let run = "z".repeat(length);
            let rules = rules_of(&[&run, &run]);
            assert!(rules.iter().all(|rule| rule.len() <= 15), "{rules:?}");
        }
    }
}
