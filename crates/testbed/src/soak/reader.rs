//! A reader of the soak: checks sums, keeps snapshots of lists, connects again after every kill.
//!
//! Each look is a read-only transaction, which keeps its snapshot: every other one asks for everything twice,
//! and has to get the same. The position must not be below any seen before, on this connection or an earlier
//! one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use postgres::{Client, Config, NoTls};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use types::CommitPosition;

use super::load::{Elements, TABLES, read_lists};
use crate::Hedgerow;
use crate::bank::{Bank, Sums};
use crate::hedgerow_process::{DATABASE, USER, position_of};
use crate::list_append::{List, Lists, Snapshot};

/// Where to connect, without borrowing the server that is killed meanwhile.
#[derive(Clone)]
pub struct Endpoint(Config);

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
        Ok(Self(config))
    }
}

/// What a reader has seen.
#[derive(Debug, Default)]
pub struct Readings {
    /// Looks whose sums were right.
    pub answers: u64,
    /// The lists of each look.
    pub snapshots: Vec<Snapshot<CommitPosition>>,
    /// Everything else that is not a lost connection.
    pub anomalies: Vec<String>,
    position_max: CommitPosition,
}

/// SQLSTATEs that a server on its way down or up may answer with.
const EXPECTED: [&str; 3] = ["57P01", "57P02", "57P03"];
/// More anomalies than this say nothing more.
const ANOMALIES_MAX: usize = 50;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(30);
/// Lists of so many keys before those that are appended to are looked at, too.
const KEYS_BEFORE: i64 = 4;

/// A reader.
pub struct Reader<'a> {
    pub endpoint: Endpoint,
    pub bank: Bank,
    pub elements: &'a Elements,
    pub seed: u64,
}

impl Reader<'_> {
    /// Reads until told that it is over.
    pub fn run(&self, over: &AtomicBool) -> Readings {
        let mut readings = Readings::default();
        let mut random = StdRng::seed_from_u64(self.seed);
        while !over.load(Ordering::SeqCst) && readings.anomalies.len() < ANOMALIES_MAX {
            let looked = match self.endpoint.0.connect(NoTls) {
                Ok(mut client) => self.look_around(over, &mut client, &mut random, &mut readings),
                Err(error) => Err(error.into()),
            };
            if let Err(error) = looked {
                readings.judge(&error);
            }
            thread::sleep(PAUSE);
        }
        readings
    }

    /// Reads until the connection fails.
    fn look_around(
        &self,
        over: &AtomicBool,
        client: &mut Client,
        random: &mut StdRng,
        readings: &mut Readings,
    ) -> Result<()> {
        while !over.load(Ordering::SeqCst) && readings.anomalies.len() < ANOMALIES_MAX {
            client.batch_execute("begin transaction isolation level repeatable read read only")?;
            let tables: Vec<u32> = (0..TABLES).collect();
            let tables: Vec<u32> = tables.choose_multiple(random, 3).copied().collect();
            let keys = self.elements.keys();
            let first = (keys.start - KEYS_BEFORE).max(0);
            let look = look(client, &tables, first)?;
            if random.random_bool(0.5) && look != self::look(client, &tables, first)? {
                let text = format!("a transaction at {} saw two states", look.position);
                readings.anomalies.push(text);
            }
            client.batch_execute("commit")?;
            readings.take(look, self.bank, |lists| {
                // Those that are not there yet are empty.
                for &table in &tables {
                    for key in first..keys.end {
                        lists.entry(List { table, key }).or_default();
                    }
                }
            });
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

#[derive(PartialEq)]
struct Look {
    position: CommitPosition,
    sums: Sums,
    lists: Lists,
}

fn look(client: &mut Client, tables: &[u32], first: i64) -> Result<Look> {
    Ok(Look {
        position: position_of(client)?,
        sums: Sums::ask(client)?,
        lists: read_lists(client, tables, first)?,
    })
}

impl Readings {
    fn take(&mut self, look: Look, bank: Bank, complete: impl FnOnce(&mut Lists)) {
        let Look {
            position,
            sums,
            mut lists,
        } = look;
        if sums.total() == bank.total() {
            self.answers += 1;
        } else {
            self.anomalies
                .push(format!("at {position} the sums are {sums:?}"));
        }
        if position < self.position_max {
            self.anomalies.push(format!(
                "the position went back from {} to {position}",
                self.position_max
            ));
        }
        self.position_max = self.position_max.max(position);
        complete(&mut lists);
        self.snapshots.push(Snapshot { position, lists });
    }

    /// A lost connection and a refusal for the time being are what kills look like; any other error of the
    /// server is an anomaly.
    fn judge(&mut self, error: &anyhow::Error) {
        match error.downcast_ref::<postgres::Error>() {
            Some(error) => {
                if let Some(error) = error.as_db_error()
                    && !EXPECTED.contains(&error.code().code())
                {
                    let text = format!("{} {}", error.code().code(), error.message());
                    self.anomalies.push(text);
                }
            }
            None => self.anomalies.push(format!("{error:#}")),
        }
    }
}
