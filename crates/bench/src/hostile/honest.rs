//! The clients that are measured.
//!
//! Some stay and look rows up by key; some come anew each time, log in, have a thousand rows added up
//! and go. Each has a timetable: what it asks next is due at a fixed time, whatever became of the
//! question before, and how long an answer took is counted from when the question was due. A server that
//! stands still for a while so makes all those late who would have asked meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use postgres::NoTls;
use testbed::bank::single_value;

use crate::accounts::{self, Client, Login};

/// Rows that a visit adds up.
const ROWS_OF_A_VISIT: i64 = 1_000;

/// How many honest clients there are, and how often each asks.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Rows of the table.
    pub rows: u64,
    /// Clients that stay.
    pub staying: u64,
    /// Look-ups a second of each of them.
    pub look_ups_a_second: f64,
    /// Clients that come anew.
    pub coming: u64,
    /// Visits a second of each of them.
    pub visits_a_second: f64,
}

/// What became of their questions.
#[derive(Debug, Default)]
pub struct Served {
    /// How long look-ups took.
    pub look_ups: Vec<Duration>,
    /// How long visits took.
    pub visits: Vec<Duration>,
    /// What went wrong.
    pub failures: Vec<String>,
}

/// What became of one client's.
#[derive(Default)]
struct Asked {
    times: Vec<Duration>,
    failures: Vec<String>,
}

impl Load {
    /// Has them ask for so long.
    pub fn ask(self, login: &Login, length: Duration, seed: u64) -> Result<Served> {
        thread::scope(|scope| {
            let (staying, coming) = (0..self.staying, 0..self.coming);
            let staying: Vec<_> = staying
                .map(|client| scope.spawn(move || self.stay(login, length, seed, client)))
                .collect();
            let coming: Vec<_> = coming
                .map(|client| scope.spawn(move || self.come(login, length, seed, client)))
                .collect();
            let mut served = Served::default();
            for thread in staying {
                let asked = thread.join().map_err(|_| anyhow!("a client panicked"))?;
                served.look_ups.extend(asked.times);
                served.failures.extend(asked.failures);
            }
            for thread in coming {
                let asked = thread.join().map_err(|_| anyhow!("a client panicked"))?;
                served.visits.extend(asked.times);
                served.failures.extend(asked.failures);
            }
            Ok(served)
        })
    }

    fn stay(self, login: &Login, length: Duration, seed: u64, client: u64) -> Asked {
        let mut id = accounts::ids(self.rows, seed * self.staying + client);
        let mut connection = None;
        let timetable = Timetable {
            a_second: self.look_ups_a_second,
            offset: share(client, self.staying),
            length,
        };
        timetable.follow(|| {
            let mut connected = match connection.take() {
                Some(connected) => connected,
                None => Client::connect(login)?,
            };
            let asked = [id()];
            connected.ask(&asked)?;
            connected.take(&asked)?;
            // Only here: a connection on which something failed is not asked again.
            connection = Some(connected);
            Ok(())
        })
    }

    fn come(self, login: &Login, length: Duration, seed: u64, client: u64) -> Asked {
        let firsts = self.rows - ROWS_OF_A_VISIT.cast_unsigned();
        let mut first = accounts::ids(firsts, seed * self.coming + client);
        let timetable = Timetable {
            a_second: self.visits_a_second,
            offset: share(client, self.coming),
            length,
        };
        timetable.follow(|| visit(login, first()))
    }
}

/// One visit: a login, an answer that has to be right, and goodbye.
fn visit(login: &Login, first: i64) -> Result<()> {
    let mut client = postgres::Client::configure()
        .host("127.0.0.1")
        .port(login.port)
        .user(&login.user)
        .password(&login.password)
        .dbname(&login.database)
        .connect(NoTls)?;
    let last = first + ROWS_OF_A_VISIT;
    let sql = format!("select sum(id) from accounts where id > {first} and id <= {last}");
    let sum = single_value(&mut client, &sql)?;
    let expected = ROWS_OF_A_VISIT * (first + last + 1) / 2;
    ensure!(sum == expected.to_string(), "{sql}: {sum}");
    Ok(())
}

/// Where in the time between two questions a client has its own, so that they do not all ask at once.
fn share(client: u64, clients: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a handful of clients")]
    let share = client as f64 / clients as f64;
    share
}

/// When a client asks.
struct Timetable {
    a_second: f64,
    offset: f64,
    length: Duration,
}

impl Timetable {
    fn follow(&self, mut ask: impl FnMut() -> Result<()>) -> Asked {
        let start = Instant::now();
        let mut asked = Asked::default();
        for turn in 0_u32.. {
            let after = Duration::from_secs_f64((f64::from(turn) + self.offset) / self.a_second);
            if after >= self.length {
                break;
            }
            let due = start + after;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            match ask() {
                Ok(()) => asked.times.push(due.elapsed()),
                Err(error) => asked.failures.push(format!("{error:#}")),
            }
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_answer_makes_those_after_it_late() {
        let timetable = Timetable {
            a_second: 100.0,
            offset: 0.5,
            length: Duration::from_millis(50),
        };
        let mut turn = 0;
        let asked = timetable.follow(|| {
            turn += 1;
            match turn {
                1 => thread::sleep(Duration::from_millis(60)),
                4 => anyhow::bail!("no answer"),
                _ => {}
            }
            Ok(())
        });
        assert_eq!((turn, asked.failures.len()), (5, 1));
        let late = |ms| Duration::from_millis(ms);
        assert!(asked.times[0] >= late(60), "{:?}", asked.times);
        assert!(asked.times[1] >= late(50), "{:?}", asked.times);
        assert!(asked.times[3] >= late(20), "{:?}", asked.times);
    }
}
