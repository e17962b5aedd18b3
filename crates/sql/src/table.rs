//! A replicated table, as DataFusion sees it.
//!
//! * [`mod@column`]: the columns as Arrow fields.
//! * [`key_range`]: filters on the key to a range of keys.
//! * [`provider`]: the table at one snapshot.
//! * [`scan`]: the operator that reads it, [`scan_metrics`] what it tells of that.

pub(crate) mod column;
pub(crate) mod key_range;
pub(crate) mod provider;
pub(crate) mod scan;
mod scan_metrics;
