//! A replicated table, as DataFusion sees it.
//!
//! * [`mod@column`]: the columns as Arrow fields.
//! * [`key_range`]: filters on the key to a range of keys.
//! * [`provider`]: the table at one snapshot, [`parts`] of which are read at the same time; [`partition_ranges`]:
//!   by whom.
//! * [`scan`]: the operator that reads it, [`scan_metrics`] what it tells of that.
//! * [`row_filters`]: the conditions that it checks itself; [`row_check`]: how, [`column_range`]: those that say
//!   between which values a cell lies; [`zone_pruning`]: the same about the bounds of pages;
//!   [`checked_scan`]: a range of the table under all of them. [`reader`]: one of its partitions,
//!   [`fragments`]: the same for who does not mind the order of rows, [`range_scans`]: range after range,
//!   [`turns`]: how they leave the thread to others, [`read_error`]: why there is no next batch.
//! * [`tree_key`]: what a tree's rows ascend by; [`orders`]: the trees that have the same rows, and which
//!   of them is read.
//! * [`sample`]: how many rows conditions leave, as the planner wants to know.

mod checked_scan;
pub(crate) mod column;
mod column_range;
pub(crate) mod fragments;
pub(crate) mod key_range;
pub(crate) mod orders;
mod partition_ranges;
mod parts;
pub(crate) mod provider;
mod range_scans;
mod read_error;
mod reader;
mod row_check;
mod row_filters;
mod sample;
pub(crate) mod scan;
mod scan_metrics;
pub(crate) mod tree_key;
pub(crate) mod turns;
mod zone_pruning;
