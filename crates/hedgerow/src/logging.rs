//! Log lines on standard error, and the progress bar that they must not tear apart.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use indicatif::{MultiProgress, ProgressDrawTarget};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The environment variable that chooses what is logged, such as `debug` or `replication=debug`.
const FILTER_VARIABLE: &str = "HEDGEROW_LOG";
const DEFAULT_FILTER: &str = "warn,hedgerow=info,replication=info,lsm=info,sql=info";

/// The bars on standard error.
pub fn bars() -> &'static MultiProgress {
    static BARS: OnceLock<MultiProgress> = OnceLock::new();
    BARS.get_or_init(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()))
}

/// Starts logging. Later calls do nothing.
pub fn start() {
    let filter =
        EnvFilter::try_from_env(FILTER_VARIABLE).unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(BesideBars)
        .try_init();
    if started.is_err() {
        tracing::debug!("logging was started already");
    }
}

/// Writes to standard error while the bars are out of the way.
struct BesideBars;

impl Write for BesideBars {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        bars().suspend(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for BesideBars {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
