//! What a snapshot sees: the filter of scans.
//!
//! Of each key's versions, newest first, the snapshot at S sees the first with a position at or
//! below S:
//!
//! * a put is the row;
//! * a delete, or a version older than a truncation at or below S, means that there is no row;
//! * a patch is folded with the older versions down to a put.
//!
//! Versions of equal key and position from several runs (a transaction replayed after a restart)
//! need no rule of their own: the newest run's comes first and decides.

use std::sync::Arc;

use types::VersionKind;

use crate::block::{Block, Summary};
use crate::error::StoreError;
use crate::fold::Folded;
use crate::merge::{Filter, Rows};
use crate::selection::Selection;

/// How far the versions of the current key have told what the snapshot sees.
enum KeyState {
    /// All so far are newer than the snapshot.
    Undecided,
    /// The rest does not matter.
    Decided,
    /// Patches so far.
    Folding(Folded),
}

/// Keeps what one snapshot sees.
pub(crate) struct SnapshotFilter {
    position: u64,
    /// Versions below this position were truncated; zero if there was no truncation.
    truncated_below: u64,
    state: KeyState,
}

impl SnapshotFilter {
    /// The filter of a snapshot at `position` on a tree with these truncations.
    pub fn new(position: u64, truncations: &[u64]) -> Self {
        let seen = truncations
            .iter()
            .copied()
            .filter(|&truncation| truncation <= position);
        Self {
            position,
            truncated_below: seen.max().unwrap_or(0),
            state: KeyState::Decided,
        }
    }

    fn sees_all(&self, summary: &Summary) -> bool {
        summary.unique_keys && self.keeps_newest(summary)
    }

    /// The current key has no more versions.
    fn end_key(&mut self, out: &mut Selection) {
        if let KeyState::Folding(mut folded) = std::mem::replace(&mut self.state, KeyState::Decided)
        {
            folded.end();
            out.push_folded(folded);
        }
    }

    fn begin_key(&mut self, out: &mut Selection) {
        self.end_key(out);
        self.state = KeyState::Undecided;
    }

    /// Looks at the current key's next older version.
    fn visit_version(
        &mut self,
        rows: &Rows<'_>,
        row: usize,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        if matches!(self.state, KeyState::Decided) {
            return Ok(());
        }
        let versions = rows.block.versions();
        let position = versions.positions.at(row);
        if position > self.position {
            return Ok(());
        }
        if position < self.truncated_below {
            self.end_key(out);
            self.state = KeyState::Decided;
            return Ok(());
        }
        match versions.kinds.at(row) {
            VersionKind::Put => self.visit_put(rows, row, out)?,
            VersionKind::Delete => {
                self.end_key(out);
                self.state = KeyState::Decided;
            }
            VersionKind::Patch => self.visit_patch(rows.block, row, out)?,
        }
        Ok(())
    }

    fn visit_put(
        &mut self,
        rows: &Rows<'_>,
        row: usize,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        match std::mem::replace(&mut self.state, KeyState::Decided) {
            KeyState::Undecided => out.push(rows.source, row..row + 1),
            KeyState::Decided => {}
            KeyState::Folding(mut folded) => {
                folded.add_put(rows.block, row, out.columns())?;
                out.push_folded(folded);
            }
        }
        Ok(())
    }

    fn visit_patch(
        &mut self,
        block: &Arc<Block>,
        row: usize,
        out: &Selection,
    ) -> Result<(), StoreError> {
        match &mut self.state {
            KeyState::Folding(folded) => folded.add_patch(block, row, out.columns()),
            state => {
                *state = KeyState::Folding(Folded::start(block, row, out.columns())?);
                Ok(())
            }
        }
    }

    /// Rows with one put each, all seen: at most the first has a newer version.
    fn visit_seen(&mut self, rows: &Rows<'_>, out: &mut Selection) -> Result<(), StoreError> {
        let mut range = rows.range.clone();
        if rows.continues {
            self.visit_put(rows, range.start, out)?;
            range.start += 1;
        } else {
            self.end_key(out);
        }
        out.push(rows.source, range);
        self.state = KeyState::Decided;
        Ok(())
    }
}

impl Filter for SnapshotFilter {
    fn keeps_whole(&self, summary: &Summary) -> bool {
        self.sees_all(summary)
    }

    fn keeps_newest(&self, summary: &Summary) -> bool {
        summary.all_puts
            && summary.position_max <= self.position
            && summary.position_min >= self.truncated_below
    }

    fn keeps_lone(&self, summary: &Summary) -> bool {
        self.keeps_newest(summary)
    }

    fn is_settled(&self) -> bool {
        matches!(self.state, KeyState::Decided)
    }

    fn settle(&mut self, out: &mut Selection) {
        self.end_key(out);
        self.state = KeyState::Decided;
    }

    fn visit(
        &mut self,
        rows: &Rows<'_>,
        same_key: impl Fn(usize) -> bool,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        if self.sees_all(&rows.block.summary()) {
            return self.visit_seen(rows, out);
        }
        for row in rows.range.clone() {
            let same = if row == rows.range.start {
                rows.continues
            } else {
                same_key(row)
            };
            if !same {
                self.begin_key(out);
            }
            self.visit_version(rows, row, out)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Selection) {
        self.end_key(out);
    }
}

#[cfg(test)]
mod tests;
