//! Shows how far the initial copy is: a bar on a terminal, a log line every few seconds
//! elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use replication::status::{CopyProgress, SourceStatus, Status};

use crate::logging;

const LINE_INTERVAL: Duration = Duration::from_secs(5);
const BAR: &str = "copying {bar:30} {percent:>3} %  {msg}";

/// What is on display.
pub struct Progress {
    terminal: bool,
    bar: Option<ProgressBar>,
    line: Option<Instant>,
    copying: bool,
}

impl Progress {
    /// Nothing is on display yet.
    pub fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self {
            terminal,
            bar: None,
            line: None,
            copying: false,
        }
    }

    /// Shows how far the copy is now. To be called a few times a second.
    pub fn show(&mut self, status: &Status) {
        let sources = status.sources();
        let copying = sources
            .iter()
            .find_map(|source| Some((source, source.copy.as_ref()?)));
        match copying {
            Some((source, copy)) => {
                self.copying = true;
                if self.terminal {
                    self.draw(copy)
                } else {
                    self.log(copy, source)
                }
            }
            None => self.finish(),
        }
    }

    fn draw(&mut self, copy: &CopyProgress) {
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(BAR);
            let bar = logging::bars().add(ProgressBar::new(0));
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        // The total is the tables' size on disk, an estimate that the copy may exceed.
        bar.set_length(copy.bytes_total.max(copy.bytes));
        bar.set_position(copy.bytes);
        bar.set_message(describe(copy));
    }

    fn log(&mut self, copy: &CopyProgress, source: &SourceStatus) {
        if self.line.is_none_or(|line| line.elapsed() >= LINE_INTERVAL) {
            self.line = Some(Instant::now());
            tracing::info!(source = source.name, "copying: {}", describe(copy));
        }
    }

    fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            logging::bars().remove(&bar);
        }
        if std::mem::take(&mut self.copying) {
            self.line = None;
            tracing::info!("the initial copy has ended");
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

/// `3 of 8 tables, 1,200,000 rows, 96.00 MiB of 300.00 MiB, 410,000 rows/s, 10 seconds left`
fn describe(copy: &CopyProgress) -> String {
    let left = copy
        .remaining_seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let left = left.map_or(String::new(), |left| {
        format!(", {} left", HumanDuration(left))
    });
    format!(
        "{} of {} tables, {} rows, {} of {}, {} rows/s{left}",
        copy.tables_done,
        copy.tables,
        HumanCount(copy.rows),
        HumanBytes(copy.bytes),
        HumanBytes(copy.bytes_total.max(copy.bytes)),
        HumanCount(copy.rows_per_second() as u64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_words() {
        let copy = CopyProgress {
            tables_done: 3,
            tables: 8,
            rows: 1_200_000,
            bytes: 96 << 20,
            bytes_total: 300 << 20,
            elapsed_seconds: 3.0,
            remaining_seconds: Some(6.4),
        };
        assert_eq!(
            describe(&copy),
            "3 of 8 tables, 1,200,000 rows, 96.00 MiB of 300.00 MiB, 400,000 rows/s, 6 seconds left"
        );
    }
}
