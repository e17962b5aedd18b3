//! pgbench for a given time, across crashes of its server.
//!
//! pgbench gives up when the server goes away; it is started again for the time that is left.
//! Only the first start empties the history, as pgbench does by itself (a TRUNCATE under
//! replication): later the other three sums would not start from zero.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::PostgresServer;

/// Concurrent clients.
const CLIENTS: &str = "4";

/// How to start pgbench.
pub struct Pgbench {
    make: Box<dyn Fn() -> Command + Send + Sync>,
}

impl Pgbench {
    /// Against this server, wherever it is in its life.
    pub fn of(postgres: &PostgresServer) -> Self {
        let template = postgres.client_program("pgbench");
        let program = template.get_program().to_owned();
        let environment: Vec<_> = template
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        Self {
            make: Box::new(move || {
                let mut command = Command::new(&program);
                command.envs(environment.iter().cloned());
                command
            }),
        }
    }

    /// Runs until `deadline`; the number of transactions that pgbench counted.
    pub fn run_until(&self, deadline: Instant) -> Result<u64> {
        let mut transactions = 0;
        let mut first = true;
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).as_secs();
            if left == 0 {
                return Ok(transactions);
            }
            transactions += self.run_once(left, first)?;
            first = false;
            // A crashed server takes a moment to recover.
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn run_once(&self, seconds: u64, with_truncate: bool) -> Result<u64> {
        let mut command = (self.make)();
        command.args(["-c", CLIENTS, "-j", "1", "-T", &seconds.to_string()]);
        if !with_truncate {
            command.arg("-n");
        }
        let output = command
            .arg("postgres")
            .output()
            .context("could not run pgbench")?;
        Ok(counted_transactions(&String::from_utf8_lossy(
            &output.stdout,
        )))
    }
}

/// The figure in pgbench's summary; zero when there is none, after a failed start.
fn counted_transactions(summary: &str) -> u64 {
    let line = "number of transactions actually processed: ";
    summary
        .lines()
        .find_map(|text| text.strip_prefix(line))
        .and_then(|figure| figure.split('/').next()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::counted_transactions;

    #[test]
    fn finds_the_figure_in_the_summary() {
        let summary = "scaling factor: 1\nnumber of transactions actually processed: 1234\n";
        assert_eq!(counted_transactions(summary), 1234);
        assert_eq!(
            counted_transactions("number of transactions actually processed: 5/10"),
            5
        );
        assert_eq!(counted_transactions(""), 0);
    }
}
