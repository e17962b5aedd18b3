//! The reader of the soak: checks every answer, connects again after every kill.
//!
//! Plain statements alternate with read-only transactions that ask for the sums twice: a
//! transaction keeps its snapshot, so both must be the same. The position after each answer
//! must not be below any position seen before, on this connection or an earlier one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use postgres::{Client, Config, NoTls};

use crate::Hedgerow;
use crate::bank::{Sums, single_value};
use crate::hedgerow_process::{DATABASE, POSITION, USER};

/// Where and as whom to connect; stays the same across kills.
pub struct Endpoint {
    config: Config,
}

impl Endpoint {
    /// The endpoint of a server that has made its password.
    pub fn of(hedgerow: &Hedgerow) -> Result<Self> {
        let mut config = Client::configure();
        config
            .host("127.0.0.1")
            .port(hedgerow.port())
            .user(USER)
            .password(hedgerow.password()?)
            .dbname(DATABASE)
            .connect_timeout(Duration::from_secs(10));
        Ok(Self { config })
    }
}

/// What the reader has seen.
#[derive(Debug, Default)]
pub struct Readings {
    /// Answers with four equal sums.
    pub answers: u64,
    /// Everything else that is not a lost connection.
    pub anomalies: Vec<String>,
    position_max: u64,
}

/// SQLSTATEs that a server on its way down or up may answer with.
const EXPECTED: [&str; 3] = ["57P01", "57P02", "57P03"];

/// More anomalies than this say nothing more.
const ANOMALIES_MAX: usize = 50;

/// Reads until told that it is over.
pub fn read_until(over: &AtomicBool, endpoint: &Endpoint) -> Readings {
    let mut readings = Readings::default();
    while !over.load(Ordering::SeqCst) && readings.anomalies.len() < ANOMALIES_MAX {
        match endpoint.config.connect(NoTls) {
            Ok(mut client) => readings.read_connected(over, &mut client),
            Err(error) => readings.judge(&error),
        }
        thread::sleep(Duration::from_millis(50));
    }
    readings
}

impl Readings {
    /// Reads until the connection fails.
    fn read_connected(&mut self, over: &AtomicBool, client: &mut Client) {
        while !over.load(Ordering::SeqCst) && self.anomalies.len() < ANOMALIES_MAX {
            let outcome = if self.answers.is_multiple_of(2) {
                self.read_statement(client)
            } else {
                self.read_transaction(client)
            };
            if let Err(error) = outcome {
                match error.downcast_ref::<postgres::Error>() {
                    Some(error) => self.judge(error),
                    None => self.anomalies.push(format!("{error:#}")),
                }
                return;
            }
        }
    }

    fn read_statement(&mut self, client: &mut Client) -> Result<()> {
        let sums = Sums::ask(client)?;
        self.take(&sums);
        let position = ask_position(client)?;
        self.take_position(position);
        Ok(())
    }

    fn read_transaction(&mut self, client: &mut Client) -> Result<()> {
        client.batch_execute("begin transaction isolation level repeatable read read only")?;
        let sums = Sums::ask(client)?;
        let position = ask_position(client)?;
        let again = (Sums::ask(client)?, ask_position(client)?);
        client.batch_execute("commit")?;
        self.take(&sums);
        self.take_position(position);
        if again != (sums.clone(), position) {
            self.anomalies.push(format!(
                "a transaction saw {:?} at {position:#x}, then {:?} at {:#x}",
                sums.0, again.0.0, again.1
            ));
        }
        Ok(())
    }

    fn take(&mut self, sums: &Sums) {
        if sums.equal() {
            self.answers += 1;
        } else {
            self.anomalies.push(format!("unequal sums {:?}", sums.0));
        }
    }

    fn take_position(&mut self, position: u64) {
        if position < self.position_max {
            self.anomalies.push(format!(
                "the position went back from {:#x} to {position:#x}",
                self.position_max
            ));
        }
        self.position_max = self.position_max.max(position);
    }

    /// A lost connection and a refusal for the time being are what kills look like; any other
    /// error of the server is an anomaly.
    fn judge(&mut self, error: &postgres::Error) {
        if let Some(error) = error.as_db_error()
            && !EXPECTED.contains(&error.code().code())
        {
            self.anomalies
                .push(format!("{} {}", error.code().code(), error.message()));
        }
    }
}

/// The position that statements of this session are answered at.
fn ask_position(client: &mut Client) -> Result<u64> {
    let text = single_value(client, POSITION)?;
    parse_position(&text)
}

/// An LSN as a number.
fn parse_position(text: &str) -> Result<u64> {
    let halves = text
        .split_once('/')
        .ok_or_else(|| anyhow::anyhow!("no position: {text:?}"))?;
    let half = |text: &str| u32::from_str_radix(text, 16).map(u64::from);
    Ok((half(halves.0)? << 32) | half(halves.1)?)
}

#[cfg(test)]
mod tests {
    use super::parse_position;

    #[test]
    fn positions_are_log_sequence_numbers() {
        assert_eq!(parse_position("16/B374D848").ok(), Some(0x16_B374_D848));
        assert!(parse_position("0").is_err());
    }
}
