//! Says of neighbouring pages that no row in them is wanted.

use crate::segment::Zones;

/// A consumer's conditions, asked about bounds instead of rows.
pub trait ZoneFilter: Send + Sync {
    /// For each of the zones whether a row with cells within its bounds may be wanted. Empty: for all.
    fn may_have_wanted(&self, zones: &Zones) -> Vec<bool>;
}
