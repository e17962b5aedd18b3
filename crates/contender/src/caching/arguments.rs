//! What a contender of these experiments is told.

use anyhow::Result;
use clap::Args;

use super::pattern::{Pattern, Shape};
use crate::arguments::Arguments;

/// See the module.
#[derive(Clone, Debug, Args)]
pub struct CachingArguments {
    /// What all are told.
    #[command(flatten)]
    pub common: Arguments,
    /// Rows
    #[arg(long)]
    pub rows: u64,
    /// Bytes of the cache
    #[arg(long)]
    pub cache_bytes: u64,
    /// Bytes of C0, or of a write buffer
    #[arg(long)]
    pub c0_bytes: u64,
    /// How readers choose keys
    #[arg(long, value_enum)]
    pub shape: Shape,
    /// Skew of the Zipf distribution
    #[arg(long, default_value_t = 0.99)]
    pub skew: f64,
    /// Share of the rows in the hot range
    #[arg(long, default_value_t = 0.15)]
    pub hot_share: f64,
    /// Readers scan short ranges instead of looking up single keys
    #[arg(long)]
    pub ranges: bool,
    /// Readers
    #[arg(long, default_value_t = 8)]
    pub readers: u64,
    /// Rows overwritten a second
    #[arg(long)]
    pub rows_a_second: u64,
    /// Seconds until the cache counts as settled
    #[arg(long)]
    pub warm_seconds: u64,
    /// Seconds of reading without writing
    #[arg(long)]
    pub quiet_seconds: u64,
    /// Seconds of reading and writing
    #[arg(long)]
    pub written_seconds: u64,
    /// Rows that are overwritten at full speed at the end
    #[arg(long)]
    pub rows_at_full_speed: u64,
    /// What chance begins with
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl CachingArguments {
    /// How readers choose keys.
    pub fn pattern(&self) -> Result<Pattern> {
        Pattern::new(self.shape, self.rows, self.skew, self.hot_share)
    }
}
