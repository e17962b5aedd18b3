//! How long after its commit a transaction is visible to a reader over the wire.
//!
//! 1. The last statement of every transaction at the source writes the time into a row, its writer's
//!    ([`super::writers`]): the clock starts a little before the commit.
//! 2. A prober looks these rows up here, by key with a prepared statement, all in one look-up, again and
//!    again with a pause of [`PAUSE`] between; it notes what it saw, and when the answer was there.
//! 3. A transaction was visible when a look-up first showed its stamp or a later one of its writer's.
//!
//! Where the log is held back ([`super::held_link`]) the clock starts when the transaction leaves for hedgerow.
//!
//! So every transaction counts, whether it was seen itself or not, and the commit, the pause and the
//! look-up are in the figure: it is too high by about half the pause and a look-up, never too low. Both
//! clocks are the machine's.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use postgres::{Client, Statement};
use testbed::patience::wait_at_most;
use testbed::tpch::answers::Answer;

use super::calls::now_us;
use super::writers::{WRITERS, Written};

/// Between two looks.
pub const PAUSE: Duration = Duration::from_millis(2);
/// How long the last transactions may take to become visible.
const LIMIT: Duration = Duration::from_secs(600);

/// What a look showed.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    /// When the answer was there, microseconds since 1970.
    at_us: i64,
    stamps: [i64; WRITERS],
}

/// Looks while `during` writes, until all of what it has written is visible.
pub fn watch<T>(
    hedgerow: Client,
    during: impl FnOnce() -> Result<(T, Written)>,
) -> Result<(T, Written, Vec<Duration>)> {
    let last = OnceLock::new();
    let mut prober = Prober::new(hedgerow)?;
    thread::scope(|scope| {
        let prober = scope.spawn(|| prober.run(&last));
        let outcome = during();
        let wanted = outcome.as_ref().map_or([0; WRITERS], |(_, w)| w.last());
        last.set(wanted).expect("it is set once");
        let sightings = prober.join().map_err(|_| anyhow!("the prober panicked"))?;
        let (value, written) = outcome?;
        let delays = delays(&written, &sightings.context("the prober")?)?;
        Ok((value, written, delays))
    })
}

/// Waits until the last transactions that `source` has are visible here.
pub fn wait_until_visible(source: &mut Client, hedgerow: &mut Client) -> Result<()> {
    let stamps = "select sw_writer, sw_stamp from stopwatch order by sw_writer";
    let wanted = Answer::ask(source, stamps)?;
    wait_at_most(LIMIT, "the last transactions to be visible", || {
        Ok((Answer::ask(hedgerow, stamps)? == wanted).then_some(()))
    })
}

/// How long each transaction took to be seen.
fn delays(written: &Written, sightings: &[Sighting]) -> Result<Vec<Duration>> {
    let mut delays = Vec::new();
    for (writer, stamps) in written.stamps.iter().enumerate() {
        let mut seen = sightings.iter().peekable();
        for &stamp in stamps {
            while seen
                .next_if(|sighting| sighting.stamps[writer] < stamp.value)
                .is_some()
            {}
            let sighting = seen.peek().context("a transaction was never seen")?;
            let delay = u64::try_from(sighting.at_us - stamp.since_us)
                .context("seen before it was made")?;
            delays.push(Duration::from_micros(delay));
        }
    }
    Ok(delays)
}

struct Prober {
    client: Client,
    look_up: Statement,
    /// The writers' keys.
    writers: [i32; WRITERS],
}

impl Prober {
    fn new(mut client: Client) -> Result<Self> {
        let look_up = client.prepare(
            "select sw_writer, sw_stamp from stopwatch where sw_writer in ($1, $2, $3, $4)",
        )?;
        Ok(Self {
            client,
            look_up,
            writers: std::array::from_fn(|writer| writer as i32),
        })
    }

    /// Looks until `last` is known and seen.
    fn run(&mut self, last: &OnceLock<[i64; WRITERS]>) -> Result<Vec<Sighting>> {
        let mut sightings: Vec<Sighting> = Vec::new();
        let mut told_at = None;
        loop {
            let sighting = self.look()?;
            if sightings
                .last()
                .is_none_or(|last| last.stamps != sighting.stamps)
            {
                sightings.push(sighting);
            }
            if let Some(last) = last.get() {
                if (0..WRITERS).all(|writer| sighting.stamps[writer] >= last[writer]) {
                    return Ok(sightings);
                }
                let waited = told_at.get_or_insert_with(Instant::now).elapsed();
                ensure!(waited < LIMIT, "not visible after {LIMIT:?}");
            }
            thread::sleep(PAUSE);
        }
    }

    fn look(&mut self) -> Result<Sighting> {
        let [a, b, c, d] = &self.writers;
        let rows = self.client.query(&self.look_up, &[a, b, c, d])?;
        let at_us = now_us()?;
        ensure!(
            rows.len() == WRITERS,
            "{} rows of the stopwatch",
            rows.len()
        );
        let mut stamps = [0; WRITERS];
        for row in rows {
            stamps[usize::try_from(row.get::<_, i32>(0))?] = row.get(1);
        }
        Ok(Sighting { at_us, stamps })
    }
}

#[cfg(test)]
mod tests {
    use super::super::writers::Stamp;
    use super::*;

    fn stamps(values: &[i64]) -> Vec<Stamp> {
        let stamp = |&value| Stamp {
            value,
            since_us: value,
        };
        values.iter().map(stamp).collect()
    }

    fn sighting(at_us: i64, stamps: [i64; WRITERS]) -> Sighting {
        Sighting { at_us, stamps }
    }

    #[test]
    fn a_transaction_is_seen_by_the_first_look_at_it_or_a_later_one() {
        let written = Written {
            stamps: [stamps(&[10, 20, 30]), stamps(&[15]), vec![], vec![]],
            ..Written::default()
        };
        let sightings = [
            sighting(12, [0; WRITERS]),
            sighting(25, [20, 0, 0, 0]),
            sighting(40, [30, 15, 0, 0]),
        ];
        let found = delays(&written, &sightings).unwrap();
        assert_eq!(found, [15, 5, 10, 25].map(Duration::from_micros));
        assert!(delays(&written, &sightings[..2]).is_err());
    }
}
