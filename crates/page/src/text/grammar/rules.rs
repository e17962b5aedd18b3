//! The rules that a column has learned, before a page takes those that it needs.

use super::piece::Piece;

/// The number of a literal or a rule.
pub(super) type Token = u16;

/// Literals are all bytes, whether they occur or not.
pub(super) const LITERALS: usize = 1 << LITERAL_BITS;

pub(super) const LITERAL_BITS: u32 = u8::BITS;

/// Literals and rules of a column, and of a page, at most. A table of all pieces is to fit a
/// processor's nearer caches.
pub(super) const TOKENS_MAX: usize = 4096;

/// Literals, and rules in an order in which parts come before their wholes.
#[derive(Debug)]
pub(super) struct Rules {
    /// What a rule joins.
    parts: Vec<[Token; 2]>,
    /// What each literal and each rule stands for.
    pieces: Vec<Piece>,
}

impl Rules {
    /// No rules, only literals.
    pub(super) fn none() -> Self {
        Self {
            parts: Vec::new(),
            pieces: (0..=u8::MAX).map(Piece::literal).collect(),
        }
    }

    /// Adds a rule and returns its token, unless its piece is too long or there are enough.
    pub(super) fn add(&mut self, parts: [Token; 2]) -> Option<Token> {
        let [left, right] = parts.map(|part| self.pieces[usize::from(part)]);
        if self.tokens() == TOKENS_MAX {
            return None;
        }
        self.pieces.push(Piece::join(left, right)?);
        self.parts.push(parts);
        Some((self.pieces.len() - 1) as Token)
    }

    /// Those rules that are kept. The parts of a rule that is kept are kept too.
    pub(super) fn only(&self, keeps: impl Fn(usize) -> bool) -> Self {
        let mut kept = Self::none();
        let mut numbers: Vec<Token> = (0..LITERALS as Token).collect();
        for (token, parts) in (LITERALS..).zip(&self.parts) {
            let added =
                keeps(token).then(|| kept.add(parts.map(|part| numbers[usize::from(part)])));
            numbers.push(added.flatten().unwrap_or_default());
        }
        kept
    }

    pub(super) fn is_full(&self) -> bool {
        self.tokens() == TOKENS_MAX
    }

    /// The number of literals and rules.
    pub(super) fn tokens(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn piece(&self, token: usize) -> Piece {
        self.pieces[token]
    }

    /// What a rule joins; `None` for a literal.
    pub(super) fn parts(&self, token: usize) -> Option<[usize; 2]> {
        let rule = token.checked_sub(LITERALS)?;
        Some(self.parts[rule].map(usize::from))
    }
}
