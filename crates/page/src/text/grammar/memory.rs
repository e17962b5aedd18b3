//! What a column remembers about its text from page to page.
//!
//! Training takes longer than encoding a page, so a column keeps its rules for as long as they
//! compress about as well as they did when they were new, and trains again when a page holds
//! clearly more text than they were learned from.
//!
//! Text that rules make hardly smaller is noise, and rules take most of the time on it: for a while
//! none are learned, and each byte is a token (`literals`). Most of it is told before (`noise`).

use crate::limits::decoded_text_bytes_max;

use super::super::TextRows;
use super::super::rest::Rest;
use super::parsing::Parser;
use super::rules::{Rules, Token};
use super::selection::Selection;
use super::training::train;
use super::{Draft, literals, noise};

/// Text that is too short in all to pay for rules.
const PAGE_TEXT_BYTES_MIN: usize = 512;

/// Text that a column has had before rules are learned: that takes as long as to encode so much
/// with symbols, about (6 to 16 ms).
const TEXT_BYTES_BEFORE_LEARNING: usize = 256 * 1024;

/// Rules rarely make text smaller than by this factor. If another codec does, they are not tried.
const RATIO_MAX: usize = 12;

/// Text that rules are learned from at most.
const SAMPLE_BYTES_MAX: usize = 96 * 1024;

/// Rules are learned again from a sample that is larger by this factor.
const SAMPLE_GROWTH_MIN: f64 = 1.5;

/// Pages that rules serve at least, good or bad.
const PAGES_BEFORE_TRAINING: u32 = 32;

/// Pages that show how well new rules do.
const PAGES_TO_SETTLE: u32 = 8;

/// Tokens per byte of text may grow by this factor before rules are learned again.
const DECAY_MAX: f64 = 1.08;

#[derive(Default)]
pub(in super::super) struct Memory {
    /// Text that there has been so far.
    text_bytes: usize,
    learned: Option<Learned>,
    /// Whether the last page was encoded.
    paid: bool,
    rests: Rests,
}

/// What is left out, and for how long.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Rests {
    /// Grammars of any kind.
    grammar: Rest,
    /// Rules.
    rules: Rest,
}

/// Rules, and how well they did.
struct Learned {
    rules: Rules,
    parser: Parser,
    sample_bytes: usize,
    /// Tokens per byte of text, the most on the page from which they were learned and the first
    /// ones after it: rules always do best where they come from.
    density: f64,
    pages: u32,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rules = self.learned.as_ref().map(|learned| learned.rules.tokens());
        f.debug_struct("Memory")
            .field("tokens", &rules)
            .field("rests", &self.rests)
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// No rules yet, and nothing on pages that are to be left out.
    pub(in super::super) fn resting(rests: Rests) -> Self {
        Self {
            rests,
            ..Self::default()
        }
    }

    /// What is left out on the next pages.
    pub(in super::super) fn rests(&self) -> Rests {
        self.rests
    }

    /// Whether the last page was encoded.
    pub(in super::super) fn paid(&self) -> bool {
        self.paid
    }

    /// Encodes the cells if that takes fewer than `bytes_max` bytes and there has been enough text
    /// to make learning worth it, or nothing is to be learned.
    pub(in super::super) fn draft(
        &mut self,
        rows: TextRows<'_>,
        text_bytes: usize,
        bytes_max: usize,
    ) -> Option<Draft> {
        if text_bytes < PAGE_TEXT_BYTES_MIN || text_bytes > bytes_max.saturating_mul(RATIO_MAX) {
            return None;
        }
        self.text_bytes += text_bytes;
        let without_rules = self.rests.rules.takes(text_bytes);
        if !without_rules && self.text_bytes < TEXT_BYTES_BEFORE_LEARNING {
            return None;
        }
        if self.rests.grammar.takes(text_bytes) {
            return None;
        }
        let is_noise =
            !without_rules && self.learned.is_none() && noise::is_noise(sample(rows, text_bytes));
        let draft = if without_rules || is_noise {
            literals::draft(rows)
        } else {
            self.encode(rows, text_bytes)
        };
        let bytes = draft.bytes();
        self.paid = bytes < bytes_max && text_bytes <= decoded_text_bytes_max(bytes, rows.len());
        if !self.paid {
            self.rests.grammar.begin();
            self.learned = None;
            return None;
        }
        self.rests.grammar.end();
        if !without_rules {
            match draft.is_for_rules() {
                true => self.rests.rules.end(),
                false => {
                    self.rests.rules.begin();
                    self.learned = None;
                }
            }
        }
        Some(draft)
    }

    /// Encodes the cells, whatever that takes.
    pub(super) fn encode(&mut self, rows: TextRows<'_>, text_bytes: usize) -> Draft {
        if let Some(learned) = &mut self.learned {
            let parsed = Parsed::of(rows, &learned.parser);
            if learned.serves(parsed.density(text_bytes), text_bytes) {
                return parsed.select(&learned.rules, text_bytes);
            }
        }
        let trained = train(sample(rows, text_bytes));
        let rules = useful(&trained, sample(rows, text_bytes));
        let parser = Parser::of(&rules);
        let parsed = Parsed::of(rows, &parser);
        let learned = self.learned.insert(Learned {
            rules,
            parser,
            sample_bytes: text_bytes.min(SAMPLE_BYTES_MAX),
            density: parsed.density(text_bytes),
            pages: 0,
        });
        parsed.select(&learned.rules, text_bytes)
    }
}

impl Learned {
    /// Whether the rules are good enough for a page of that density.
    fn serves(&mut self, density: f64, text_bytes: usize) -> bool {
        let sample_bytes = text_bytes.min(SAMPLE_BYTES_MAX) as f64;
        if sample_bytes >= self.sample_bytes as f64 * SAMPLE_GROWTH_MIN {
            return false;
        }
        if self.pages < PAGES_TO_SETTLE {
            self.density = self.density.max(density);
        }
        self.pages += 1;
        density <= self.density * DECAY_MAX || self.pages < PAGES_BEFORE_TRAINING
    }
}

/// Cells from all over the page.
fn sample<'a>(rows: TextRows<'a>, text_bytes: usize) -> impl Iterator<Item = &'a [u8]> + Clone {
    let step = (text_bytes / SAMPLE_BYTES_MAX).max(1);
    let mut free = SAMPLE_BYTES_MAX;
    rows.cells().step_by(step).map_while(move |cell| {
        let cell = &cell[..cell.len().min(free)];
        let enough = free == 0;
        free -= cell.len();
        (!enough).then_some(cell)
    })
}

/// The rules that pay on the sample. Without the others, the longest piece that fits is less often
/// one that a page gives up.
fn useful<'a>(rules: &Rules, sample: impl Iterator<Item = &'a [u8]>) -> Rules {
    let parser = Parser::of(rules);
    let mut tokens = Vec::new();
    for cell in sample {
        parser.parse(cell, &mut tokens);
    }
    let selection = Selection::generous(rules, &counts(&tokens, rules));
    rules.only(|token| selection.keeps(token))
}

/// How often each token occurs.
fn counts(tokens: &[Token], rules: &Rules) -> Vec<u32> {
    let mut counts = vec![0; rules.tokens()];
    for &token in tokens {
        counts[usize::from(token)] += 1;
    }
    counts
}

/// Cells in a column's tokens.
struct Parsed {
    tokens: Vec<Token>,
    ends: Vec<u32>,
}

impl Parsed {
    fn of(rows: TextRows<'_>, parser: &Parser) -> Self {
        let mut parsed = Self {
            tokens: Vec::new(),
            ends: Vec::with_capacity(rows.len()),
        };
        for cell in rows.cells() {
            parser.parse(cell, &mut parsed.tokens);
            parsed.ends.push(parsed.tokens.len() as u32);
        }
        parsed
    }

    fn density(&self, text_bytes: usize) -> f64 {
        self.tokens.len() as f64 / text_bytes as f64
    }

    /// Keeps the rules that pay on this page.
    fn select(&self, rules: &Rules, decoded_bytes: usize) -> Draft {
        let selection = Selection::cheapest(rules, &counts(&self.tokens, rules));
        let spellings = selection.spellings(rules);
        let mut draft = Draft {
            decoded_bytes,
            ..Draft::default()
        };
        for token in (0..rules.tokens()).filter(|&token| selection.keeps(token)) {
            match rules.parts(token) {
                None => draft.literals.push(token as u8),
                Some(parts) => {
                    let numbers = parts.map(|part| u64::from(spellings.of(part)[0]));
                    draft.rules.push(numbers);
                }
            }
        }
        let mut begin = 0;
        for &end in &self.ends {
            for &token in &self.tokens[begin..end as usize] {
                let numbers = spellings.of(usize::from(token)).iter();
                draft
                    .tokens
                    .extend(numbers.map(|&number| u64::from(number)));
            }
            begin = end as usize;
            draft.ends.push(draft.tokens.len() as u64);
        }
        draft
    }
}
