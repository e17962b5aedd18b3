//! What a merge keeps: garbage collection as a filter.
//!
//! Positions are cut into stripes such that no snapshot, present or future, tells two versions
//! of one key in the same stripe apart:
//!
//! * a position above `keep_above` (the visible position, or the oldest history hold) is a stripe of its own: snapshots at any of these positions may still be taken;
//! * below, the pinned positions and `keep_above` are *boundaries*; a stripe reaches from one
//!   boundary (exclusive) to the next (inclusive) and is named by its upper end.
//!
//! Of each key and stripe the newest version stays. If that is a patch, the older versions of
//! the stripe are folded into it; but not across positions that runs outside of the merge have, and
//! not from below a truncation: the rows of a copy that was made beside the log may be there. Equal
//! key and position (several writes of one transaction, or a transaction replayed) are one stripe
//! always.
//!
//! Versions that a truncation at or below their stripe's boundary hides go as a whole.
//!
//! Positions at or below the lowest boundary become one, which takes no room, where nothing needs
//! to tell them apart: no truncation is pending, and
//!
//! * the merge includes the tree's oldest run, and no other has versions that are older yet (those of a
//!   copy that came beside the log): they become zero. Deletes go, too: everything older is in this
//!   merge and in their stripe, so it goes as well;
//! * or else no other run of the tree has positions among them: they become the smallest of them.
//!   Without that condition a run could hold a version with a position between the true one and
//!   the new one. (A table's first copy may be older than changes that were written before it.)
//!
//! A merge computes its retention once, at its start. Snapshots pinned later are at or above the
//! visible position of that moment, which is a boundary or above `keep_above`.

use std::sync::Arc;

use types::VersionKind;

use crate::block::{Block, Summary};
use crate::error::StoreError;
use crate::fold::Folded;
use crate::merge::{Filter, Rows};
use crate::museum::{self, Exhibit};
use crate::selection::Selection;

/// Which positions must stay apart, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// Pinned positions at or below `keep_above` and `keep_above` itself, ascending, distinct.
    boundaries: Vec<u64>,
    /// The tree's truncations, ascending.
    truncations: Vec<u64>,
    outside: Outside,
    /// Positions of the tree's runs that take no part.
    others: Vec<PositionRange>,
}

/// What a merge may rely on about the runs of its tree that take no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// None of them has a version older than one of the merge up to the lowest boundary, or ever
    /// will have.
    NoneOlder,
    /// None of them has a version with one of these positions, or ever will have. They are all
    /// positions of the merge up to the lowest boundary.
    NoneAmong(PositionRange),
    /// Nothing.
    Any,
}

impl Outside {
    /// What follows from the positions of a merge's runs (`inputs`) and of the tree's others, and of
    /// whether the oldest run is among the inputs. `lowest` is the lowest boundary; whatever is
    /// ingested later lies above it.
    ///
    /// A newer run may have older versions, where a table was copied beside its log:
    ///
    /// ```text
    ///   log    delete of k at 30  ─flush─▶ oldest run
    ///   copy   k at 20            ─later─▶ memory, or a newer run
    /// ```
    ///
    /// Without the delete the row would be back.
    pub fn of(
        includes_oldest: bool,
        inputs: impl Iterator<Item = PositionRange>,
        others: &[PositionRange],
        lowest: u64,
    ) -> Self {
        let join = |all: PositionRange, range: PositionRange| PositionRange {
            min: all.min.min(range.min),
            max: all.max.max(range.max),
        };
        let Some(mut all) = inputs.reduce(join) else {
            return Self::Any;
        };
        all.max = all.max.min(lowest);
        if includes_oldest && others.iter().all(|range| all.max <= range.min) {
            return Self::NoneOlder;
        }
        let is_apart = |range: &PositionRange| range.max < all.min || all.max < range.min;
        match all.min <= lowest && others.iter().all(is_apart) {
            true => Self::NoneAmong(all),
            false => Self::Any,
        }
    }
}

/// Positions of a run's versions, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PositionRange {
    pub min: u64,
    pub max: u64,
}

/// Positions that become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Collapse {
    /// Positions up to this one
    pub up_to: u64,
    /// become this one.
    pub to: u64,
}

impl Collapse {
    /// What becomes of a position.
    #[inline]
    pub fn of(self, position: u64) -> u64 {
        if position <= self.up_to {
            self.to
        } else {
            position
        }
    }
}

impl Retention {
    /// The retention of a merge that starts when `visible` is the visible position, `pins` are
    /// the pinned snapshots and `oldest_hold` is the oldest history hold.
    pub fn new(
        visible: u64,
        pins: impl IntoIterator<Item = u64>,
        oldest_hold: Option<u64>,
    ) -> Self {
        let keep_above = oldest_hold.map_or(visible, |hold| hold.min(visible));
        let mut boundaries: Vec<u64> = pins.into_iter().filter(|&pin| pin < keep_above).collect();
        boundaries.push(keep_above);
        boundaries.sort_unstable();
        boundaries.dedup();
        Self {
            boundaries,
            truncations: Vec::new(),
            outside: Outside::Any,
            others: Vec::new(),
        }
    }

    /// The same for a tree with these truncations (ascending), and a merge with such runs outside.
    pub fn for_merge(
        &self,
        truncations: &[u64],
        outside: Outside,
        others: Vec<PositionRange>,
    ) -> Self {
        Self {
            boundaries: self.boundaries.clone(),
            truncations: truncations.to_vec(),
            outside,
            others,
        }
    }

    /// The lowest boundary: every snapshot, present or future, sees this position or a later one.
    pub fn lowest(&self) -> u64 {
        self.boundaries[0]
    }

    /// The positions that become one.
    pub fn collapse(&self) -> Collapse {
        if !self.truncations.is_empty() {
            return Collapse::default();
        }
        match self.outside {
            Outside::NoneOlder => Collapse {
                up_to: self.lowest(),
                to: 0,
            },
            _ if museum::shows(Exhibit::PositionForgottenEarly) => Collapse {
                up_to: self.lowest(),
                to: 0,
            },
            Outside::NoneAmong(positions) => Collapse {
                up_to: positions.max,
                to: positions.min,
            },
            Outside::Any => Collapse::default(),
        }
    }

    /// Whether no version of a block or segment with these traits changes in a merge, as long as
    /// it meets no other version of its keys.
    pub fn leaves_alone(&self, summary: &Summary) -> bool {
        summary.unique_keys && self.keeps_lone(summary)
    }

    /// Whether of each key's versions in a block or segment with these traits the newest stays, and
    /// no other.
    fn keeps_newest(&self, summary: &Summary) -> bool {
        summary.position_max <= self.lowest() && self.keeps_lone(summary)
    }

    /// Whether a version in a block or segment with these traits stays if it is the only one of its
    /// key.
    fn keeps_lone(&self, summary: &Summary) -> bool {
        summary.all_puts && !self.may_hide(summary.position_min)
    }

    /// The upper end of the position's stripe.
    fn stripe(&self, position: u64) -> u64 {
        let boundary = self
            .boundaries
            .partition_point(|&boundary| boundary < position);
        self.boundaries.get(boundary).copied().unwrap_or(position)
    }

    /// Whether a truncation hides the version from every snapshot of its stripe.
    fn is_hidden(&self, position: u64, stripe: u64) -> bool {
        let after = self
            .truncations
            .partition_point(|&truncation| truncation <= position);
        self.truncations
            .get(after)
            .is_some_and(|&truncation| truncation <= stripe)
    }

    /// Whether some truncation is above `position`.
    fn may_hide(&self, position: u64) -> bool {
        self.truncations
            .last()
            .is_some_and(|&truncation| truncation > position)
    }

    /// Whether runs that take no part may have versions between two positions. They have where a
    /// table was copied beside its log:
    ///
    /// ```text
    ///   log    k at 20 ─on disk    patch of k at 30 ─in memory
    ///   copy   k at 15 ─in memory
    /// ```
    ///
    /// The patch must not take its cells from what is in memory with it.
    fn has_outside(&self, older: u64, newer: u64) -> bool {
        let mut others = self.others.iter();
        others.any(|range| range.min < newer && older < range.max)
    }

    fn drops_delete(&self, stripe: u64) -> bool {
        let none_older =
            self.outside == Outside::NoneOlder || museum::shows(Exhibit::DeleteDroppedEarly);
        none_older && stripe == self.lowest()
    }
}

/// What the versions of the current key have led to.
enum KeyState {
    /// No version yet.
    New,
    /// The newest version of this stripe has been dealt with.
    Settled { stripe: u64 },
    /// The newest version of this stripe is a patch; older ones are folded into it, down to that at
    /// `position` so far.
    Folding {
        stripe: u64,
        position: u64,
        folded: Folded,
    },
}

/// Keeps what a retention asks for.
pub(crate) struct RetentionFilter {
    retention: Retention,
    state: KeyState,
}

impl RetentionFilter {
    /// The filter of a merge.
    pub fn new(retention: Retention) -> Self {
        Self {
            retention,
            state: KeyState::New,
        }
    }

    fn end_stripe(&mut self, out: &mut Selection) {
        if let KeyState::Folding { folded, .. } = std::mem::replace(&mut self.state, KeyState::New)
        {
            out.push_folded(folded);
        }
    }

    /// Looks at the current key's next older version.
    fn visit_version(
        &mut self,
        rows: &Rows<'_>,
        row: usize,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        let versions = rows.block.versions();
        let position = versions.positions.at(row);
        let kind = versions.kinds.at(row);
        let stripe = self.retention.stripe(position);
        let hidden = self.retention.is_hidden(position, stripe);
        match &mut self.state {
            KeyState::Settled { stripe: settled } if *settled == stripe => return Ok(()),
            KeyState::Folding {
                stripe: folding,
                position: newer,
                ..
            } if (*folding == stripe && !self.retention.has_outside(position, *newer))
                || museum::shows(Exhibit::PatchFoldedTooFar) =>
            {
                *newer = position;
                return self.fold(rows.block, row, kind, hidden, out);
            }
            _ => self.end_stripe(out),
        }
        self.state = match kind {
            _ if hidden => KeyState::Settled { stripe },
            VersionKind::Patch => {
                let folded = Folded::start(rows.block, row, out.columns())?;
                KeyState::Folding {
                    stripe,
                    position,
                    folded,
                }
            }
            VersionKind::Delete if self.retention.drops_delete(stripe) => {
                KeyState::Settled { stripe }
            }
            VersionKind::Put | VersionKind::Delete => {
                out.push(rows.source, row..row + 1);
                KeyState::Settled { stripe }
            }
        };
        Ok(())
    }

    /// Folds an older version of the same stripe into the current patch.
    fn fold(
        &mut self,
        block: &Arc<Block>,
        row: usize,
        kind: VersionKind,
        hidden: bool,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        let KeyState::Folding { stripe, folded, .. } = &mut self.state else {
            return Ok(());
        };
        let stripe = *stripe;
        match kind {
            // Only this merge has nothing between: a copy's rows may lie just above the truncation in another
            // run. So the patch stays one.
            _ if hidden => return Ok(()),
            VersionKind::Put => folded.add_put(block, row, out.columns())?,
            VersionKind::Delete => folded.end(),
            VersionKind::Patch => return folded.add_patch(block, row, out.columns()),
        }
        self.end_stripe(out);
        self.state = KeyState::Settled { stripe };
        Ok(())
    }

    fn begin_key(&mut self, out: &mut Selection) {
        self.end_stripe(out);
        self.state = KeyState::New;
    }

    /// Rows with one put each that all stay, but for the first if it has a newer version.
    fn visit_kept(&mut self, rows: &Rows<'_>, out: &mut Selection) -> Result<(), StoreError> {
        let mut range = rows.range.clone();
        if rows.continues {
            self.visit_version(rows, range.start, out)?;
            range.start += 1;
        }
        if !range.is_empty() {
            self.begin_key(out);
            let position = rows.block.versions().positions.at(range.end - 1);
            out.push(rows.source, range);
            self.state = KeyState::Settled {
                stripe: self.retention.stripe(position),
            };
        }
        Ok(())
    }
}

impl Filter for RetentionFilter {
    /// Never: a merge writes keys and so has to decode them anyway.
    fn keeps_whole(&self, _: &Summary) -> bool {
        false
    }

    fn keeps_newest(&self, summary: &Summary) -> bool {
        self.retention.keeps_newest(summary)
    }

    fn keeps_lone(&self, summary: &Summary) -> bool {
        self.retention.keeps_lone(summary)
    }

    fn is_settled(&self) -> bool {
        let lowest = self.retention.lowest();
        matches!(self.state, KeyState::Settled { stripe } if stripe == lowest)
    }

    fn settle(&mut self, out: &mut Selection) {
        self.end_stripe(out);
        self.state = KeyState::Settled {
            stripe: self.retention.lowest(),
        };
    }

    fn visit(
        &mut self,
        rows: &Rows<'_>,
        same_key: impl Fn(usize) -> bool,
        out: &mut Selection,
    ) -> Result<(), StoreError> {
        if self.retention.leaves_alone(&rows.block.summary()) {
            return self.visit_kept(rows, out);
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
        self.end_stripe(out);
    }
}

#[cfg(test)]
mod tests;
