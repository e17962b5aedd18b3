//! Who takes part in an experiment that has peers.

use clap::{Args, ValueEnum};

use crate::Scale;

/// See the module. `S` is the experiment's sides.
#[derive(Debug, Args)]
pub struct Choice<S: ValueEnum + Send + Sync + 'static> {
    /// Runs the peers, too; at full scale they run anyway
    #[arg(long)]
    peers: bool,
    /// Runs only this one; may be given again
    #[arg(long = "contender", value_enum)]
    sides: Vec<S>,
}

impl<S: ValueEnum + Send + Sync + 'static> Choice<S> {
    /// The sides that run; `alone` are those that do without peers.
    pub fn sides(&self, scale: Scale, alone: &[S]) -> Vec<S> {
        if !self.sides.is_empty() {
            self.sides.clone()
        } else if self.peers || scale == Scale::Full {
            S::value_variants().to_vec()
        } else {
            alone.to_vec()
        }
    }
}
