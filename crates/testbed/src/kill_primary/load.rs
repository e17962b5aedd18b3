//! What the process does that is killed: it opens the primary, runs the clients' transfers, and says which of them are
//! durable.
//!
//! Each line of its output is two numbers of 8 bytes, a client and how many transfers of it are acknowledged. The first
//! line has [`IS_OPEN`] for a client.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use oltp::random::Random;
use oltp::{Call, Completion, Outcome, Stop, Ticket};
use types::CommitPosition;

use super::ledger::{CLIENTS, SHOW, TRANSFER, TransferCall, show};
use super::primary::{PAUSE, RunningPrimary};

/// Stands for a client in the line that says that the primary is open.
pub const IS_OPEN: u64 = u64::MAX;

/// Bytes of a line.
pub const LINE_BYTES: usize = 16;

/// One transfer in so many is first made in vain.
const GIVES_UP_ONE_IN: u64 = 16;

/// What a process is to do.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// The primary's memory.
    pub memory_bytes: usize,
    /// Accounts that were opened.
    pub accounts: u64,
    /// Snapshots begin so often, beside those that begin by themselves.
    pub snapshot_every: Option<Duration>,
    /// Decides which transfers are first made in vain.
    pub seed: u64,
}

/// A client.
#[derive(Clone, Copy, Debug)]
struct Client {
    made: u64,
    has_given_up: bool,
}

/// Runs until it is killed.
pub fn run(folder: &Path, options: LoadOptions, out: impl Write) -> Result<()> {
    let mut primary = RunningPrimary::open(folder, options.memory_bytes)?;
    let mut acknowledgements = Acknowledgements::new(out);
    acknowledgements.say(IS_OPEN, 0)?;
    let mut load = Load {
        clients: clients(&mut primary)?,
        idle: (0..CLIENTS).collect(),
        waiting: HashMap::new(),
        options,
        random: Random::new(options.seed),
    };
    let (mut completed, mut begun) = (Vec::new(), Instant::now());
    loop {
        for _ in 0..load.idle.len() {
            load.step(&mut primary, &mut acknowledgements)?;
        }
        primary.poll(&mut completed)?;
        for completion in completed.drain(..) {
            load.end(completion, &mut acknowledgements)?;
        }
        let durable = primary.partition().durable();
        load.idle
            .extend(acknowledgements.acknowledge(durable, &load.clients)?);
        if load.idle.is_empty() {
            thread::sleep(PAUSE);
        }
        if options
            .snapshot_every
            .is_some_and(|every| begun.elapsed() > every)
        {
            begun = Instant::now();
            primary.partition().begin_snapshot();
        }
    }
}

/// How many transfers each client has made.
fn clients(primary: &mut RunningPrimary) -> Result<Vec<Client>> {
    let rows = primary.run(SHOW, &show(2, 0, CLIENTS.into()))?;
    let int = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let none = Client {
        made: 0,
        has_given_up: false,
    };
    let mut clients = vec![none; CLIENTS.into()];
    for row in rows.chunks_exact(24) {
        clients[int(&row[..8]) as usize].made = int(&row[8..16]);
    }
    Ok(clients)
}

/// The clients, and what each is at.
struct Load {
    clients: Vec<Client>,
    idle: VecDeque<u16>,
    waiting: HashMap<Ticket, TransferCall>,
    options: LoadOptions,
    random: Random,
}

impl Load {
    /// Makes a transfer of a client that has none on its way.
    fn step(
        &mut self,
        primary: &mut RunningPrimary,
        acknowledgements: &mut Acknowledgements<impl Write>,
    ) -> Result<()> {
        let Some(number) = self.idle.pop_front() else {
            return Ok(());
        };
        let client = self.clients[usize::from(number)];
        let call = TransferCall {
            client: number,
            number: client.made + 1,
            accounts: self.options.accounts,
            gives_up: !client.has_given_up && self.random.below(GIVES_UP_ONE_IN) == 0,
        };
        let parameters = call.encode();
        let asked = Call {
            procedure: TRANSFER,
            parameters: &parameters,
        };
        match primary.partition().execute(asked, &mut Vec::new()) {
            Outcome::Waiting(ticket) => drop(self.waiting.insert(ticket, call)),
            Outcome::Refused(_) => self.idle.push_back(number),
            ended => self.take(call, &ended, acknowledgements)?,
        }
        Ok(())
    }

    fn end(
        &mut self,
        completion: Completion,
        acknowledgements: &mut Acknowledgements<impl Write>,
    ) -> Result<()> {
        let call = self.waiting.remove(&completion.ticket);
        let call = call.expect("it waited");
        self.take(call, &completion.outcome, acknowledgements)
    }

    fn take(
        &mut self,
        call: TransferCall,
        outcome: &Outcome,
        acknowledgements: &mut Acknowledgements<impl Write>,
    ) -> Result<()> {
        let client = &mut self.clients[usize::from(call.client)];
        match outcome {
            Outcome::Committed(position) if !call.gives_up => {
                client.made = call.number;
                client.has_given_up = false;
                acknowledgements.wait(*position, call.client);
            }
            Outcome::Stopped(Stop::Abort(_)) if call.gives_up => {
                client.has_given_up = true;
                self.idle.push_back(call.client);
            }
            other => bail!("{call:?} ended with {other:?}"),
        }
        Ok(())
    }
}

/// Clients whose transfers have happened and are not durable yet, in order.
struct Acknowledgements<W> {
    waiting: VecDeque<(CommitPosition, u16)>,
    out: W,
}

impl<W: Write> Acknowledgements<W> {
    fn new(out: W) -> Self {
        Self {
            waiting: VecDeque::new(),
            out,
        }
    }

    fn wait(&mut self, position: CommitPosition, client: u16) {
        self.waiting.push_back((position, client));
    }

    fn say(&mut self, client: u64, made: u64) -> Result<()> {
        let mut line = [0; LINE_BYTES];
        line[..8].copy_from_slice(&client.to_le_bytes());
        line[8..].copy_from_slice(&made.to_le_bytes());
        self.out.write_all(&line)?;
        Ok(self.out.flush()?)
    }

    /// Says which transfers are durable: their clients.
    fn acknowledge(&mut self, durable: CommitPosition, clients: &[Client]) -> Result<Vec<u16>> {
        let mut acknowledged = Vec::new();
        while let Some((position, client)) = self.waiting.front().copied()
            && position <= durable
        {
            self.waiting.pop_front();
            self.say(client.into(), clients[usize::from(client)].made)?;
            acknowledged.push(client);
        }
        Ok(acknowledged)
    }
}
