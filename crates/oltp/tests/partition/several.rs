//! Transactions on several partitions: everything happens as if one after another, in the order of the
//! log, and all of a transaction happens or nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use oltp::{
    AntiCacheOptions, Call, ColumnDefinition, Columns, Completion, FeedStart, IndexId, IndexKind,
    Outcome, PartitionNumber, PartitionPlan, PartitionSet, Primary, Procedure, ProcedureNumber,
    RowImage, Stop, TableDefinition, TableNumber, Ticket, Transaction,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::{Crash, SimulatedDisk, environment};
use types::{ColumnType, CommitPosition, Value};

const PARTITIONS: u16 = 3;
const ACCOUNTS: i64 = 300;
const KEY: IndexId = IndexId::new(0, 0);

/// What there is at first, and never more than.
const BALANCE: i64 = 100;
const BALANCE_MAX: i64 = 250;

/// A call that is refused so often will not be admitted any more.
const REFUSALS_MAX: usize = 1_000;

/// Opens an account, or moves an amount from one to another.
struct Move;

#[derive(Clone, Copy, Debug)]
struct Parameters {
    from: i64,
    to: i64,
    amount: i64,
}

impl Parameters {
    fn encode(self) -> Vec<u8> {
        let numbers = [self.from, self.to, self.amount];
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    fn decode(bytes: &[u8]) -> Self {
        let int = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        Self {
            from: int(0),
            to: int(8),
            amount: int(16),
        }
    }
}

fn partition_of(account: i64, partitions: u16) -> PartitionNumber {
    PartitionNumber((account % i64::from(partitions)) as u16)
}

impl Procedure for Move {
    fn name(&self) -> &str {
        "move"
    }

    fn partitions(&self, parameters: &[u8], partitions: u16) -> PartitionSet {
        let Parameters { from, to, .. } = Parameters::decode(parameters);
        PartitionSet::only(partition_of(from, partitions)).with(partition_of(to, partitions))
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let Parameters { from, to, amount } = Parameters::decode(parameters);
        let partitions = transaction.partitions();
        if from == to {
            let row = [
                Value::Int(from),
                Value::Int(amount),
                Value::Bytes(&[b'x'; 300]),
            ];
            let transaction = transaction.on(partition_of(from, partitions))?;
            transaction.insert(TableNumber(0), &row)?;
            return transaction.execute().map(drop);
        }
        // The giver has lost it before the taker's account is looked at.
        let mut balances = [0; 2];
        for ((account, change), balance) in [(from, -amount), (to, amount)]
            .into_iter()
            .zip(&mut balances)
        {
            let transaction = transaction.on(partition_of(account, partitions))?;
            let key = [Value::Int(account)];
            let get = transaction.get(KEY, &key, Columns::All)?;
            let row = transaction.execute()?.row(get);
            let row = row.ok_or_else(|| Stop::Abort("no account".into()))?;
            *balance = row.int(1)? + change;
            transaction.update(KEY, &key, &[(1, Value::Int(*balance))])?;
            transaction.execute()?;
        }
        if balances[0] < 0 || balances[1] > BALANCE_MAX {
            return Err(Stop::Abort("too much".into()));
        }
        Ok(())
    }
}

/// What the accounts have to be.
fn apply(model: &mut BTreeMap<i64, i64>, call: Parameters) {
    if call.from == call.to {
        assert!(model.insert(call.from, call.amount).is_none());
        return;
    }
    *model.get_mut(&call.from).expect("it committed") -= call.amount;
    *model.get_mut(&call.to).expect("it committed") += call.amount;
    assert!(
        model[&call.from] >= 0 && model[&call.to] <= BALANCE_MAX,
        "{call:?}"
    );
}

/// Answers with all accounts of a partition.
struct Show;

impl Procedure for Show {
    fn name(&self) -> &str {
        "show"
    }

    fn may_grow(&self) -> bool {
        false
    }

    fn partitions(&self, _: &[u8], partitions: u16) -> PartitionSet {
        let all = (0..partitions).map(PartitionNumber);
        all.fold(PartitionSet::only(PartitionNumber(0)), PartitionSet::with)
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        _: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let partitions = transaction.partitions();
        for account in 0..ACCOUNTS {
            let transaction = transaction.on(partition_of(account, partitions))?;
            let get = transaction.get(KEY, &[Value::Int(account)], Columns::All)?;
            if let Some(row) = transaction.execute()?.row(get) {
                reply.extend_from_slice(&account.to_le_bytes());
                // In a pre-pass, go on with the others.
                let balance = if row.is_evicted() { 0 } else { row.int(1)? };
                reply.extend_from_slice(&balance.to_le_bytes());
            }
        }
        Ok(())
    }
}

fn open(disk: &SimulatedDisk, partitions: u16, memory_bytes: Option<usize>) -> Primary {
    open_for_replica(disk, partitions, memory_bytes, 0)
}

/// The same for a replica that has everything up to a position.
fn open_for_replica(
    disk: &SimulatedDisk,
    partitions: u16,
    memory_bytes: Option<usize>,
    after: u64,
) -> Primary {
    let columns = vec![
        ColumnDefinition::new("id", ColumnType::Int64),
        ColumnDefinition::new("balance", ColumnType::Int64),
        ColumnDefinition::new("text", ColumnType::Bytes),
    ];
    let plan = PartitionPlan {
        tables: vec![TableDefinition::new("accounts", columns).index(IndexKind::Hash, true, &[0])],
        procedures: vec![Arc::new(Move), Arc::new(Show)],
        anti_cache: memory_bytes.map(|bytes| AntiCacheOptions {
            block_bytes: 2_048,
            blocks_per_file: 4,
            buffers_max: 4,
            fetched_bytes_max: usize::MAX,
            ..AntiCacheOptions::new(bytes)
        }),
        has_log: true,
        // What nobody takes would be memory that rows need.
        feed: memory_bytes.is_none().then_some(FeedStart {
            after: CommitPosition(after),
            bytes_max: 16 << 20,
        }),
    };
    let opened = Primary::open(&environment(disk), Path::new("/primary"), &plan, partitions);
    opened.expect("nothing fails")
}

/// A step of every other thread.
fn step(primary: &Primary, own: PartitionNumber, completed: &mut Vec<Completion>) {
    if let Some(writer) = primary.log_writer() {
        writer.write().expect("nothing fails");
    }
    for files in primary.block_files() {
        while files.write().expect("nothing fails") || files.fetch() {}
    }
    primary.poll(own, completed).expect("nothing fails");
}

/// Calls that committed, by their positions.
type Committed = Mutex<BTreeMap<u64, Parameters>>;

fn note(committed: &Committed, outcome: &Outcome, call: Parameters) {
    match outcome {
        Outcome::Committed(position) => {
            let before = committed.lock().expect("no panic").insert(position.0, call);
            assert!(before.is_none(), "{position:?} comes once");
        }
        Outcome::Stopped(Stop::Abort(_)) => {}
        other => panic!("{other:?}"),
    }
}

/// What one partition's thread does: its calls, and its waiting ones to their ends. Calls of others may
/// wait for its partition, so it goes on until the last of the `busy` threads has done the same.
fn run_thread(
    primary: &Primary,
    own: PartitionNumber,
    seed: u64,
    calls: usize,
    all: &Committed,
    busy: &AtomicU16,
) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut waiting: BTreeMap<Ticket, Parameters> = BTreeMap::new();
    let (mut completed, mut reply, mut made) = (Vec::new(), Vec::new(), 0);
    let mut is_busy = true;
    while busy.load(Ordering::Relaxed) > 0 {
        if is_busy && made == calls && waiting.is_empty() {
            is_busy = false;
            busy.fetch_sub(1, Ordering::Relaxed);
        }
        if made < calls && waiting.len() < 20 {
            let from = random.random_range(0..ACCOUNTS / i64::from(PARTITIONS));
            let from = from * i64::from(PARTITIONS) + i64::from(own.0);
            let to = random.random_range(from + 1..=from + 5) % ACCOUNTS;
            // The end of a call comes to the first of its partitions.
            let is_home = partition_of(to, PARTITIONS) >= own;
            let call = Parameters {
                from,
                to,
                amount: random.random_range(1..60),
            };
            if !is_home {
                continue;
            }
            let parameters = call.encode();
            let outcome = primary.execute(
                Call {
                    procedure: ProcedureNumber(0),
                    parameters: &parameters,
                },
                &mut reply,
            );
            match outcome {
                Outcome::Waiting(ticket) => drop(waiting.insert(ticket, call)),
                Outcome::Refused(_) => {}
                ended => note(all, &ended, call),
            }
            made += 1;
        }
        step(primary, own, &mut completed);
        for completion in completed.drain(..) {
            let call = waiting.remove(&completion.ticket).expect("it waited");
            note(all, &completion.outcome, call);
        }
    }
}

fn open_accounts(primary: &Primary, all: &Committed) {
    let mut reply = Vec::new();
    for account in 0..ACCOUNTS {
        let call = Parameters {
            from: account,
            to: account,
            amount: BALANCE,
        };
        let parameters = call.encode();
        let mut insert = || {
            primary.execute(
                Call {
                    procedure: ProcedureNumber(0),
                    parameters: &parameters,
                },
                &mut reply,
            )
        };
        let mut outcome = insert();
        for _ in 0..REFUSALS_MAX {
            if !matches!(outcome, Outcome::Refused(_)) {
                break;
            }
            settle(primary, 1);
            outcome = insert();
        }
        note(all, &outcome, call);
    }
}

fn settle(primary: &Primary, rounds: usize) -> Vec<Completion> {
    let mut completed = Vec::new();
    for _ in 0..rounds {
        for own in (0..PARTITIONS).map(PartitionNumber) {
            step(primary, own, &mut completed);
        }
    }
    completed
}

fn accounts(primary: &Primary) -> BTreeMap<i64, i64> {
    let mut reply = Vec::new();
    let call = Call {
        procedure: ProcedureNumber(1),
        parameters: &[],
    };
    let mut outcome = primary.execute(call, &mut reply);
    for _ in 0..1_000 {
        match outcome {
            Outcome::Refused(_) => {
                settle(primary, 1);
                outcome = primary.execute(call, &mut reply);
            }
            Outcome::Waiting(_) => {
                if let Some(completion) = settle(primary, 1).pop() {
                    (outcome, reply) = (completion.outcome, completion.reply);
                }
            }
            _ => break,
        }
    }
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    let int = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let pairs = reply.chunks_exact(16);
    pairs
        .map(|pair| (int(&pair[..8]), int(&pair[8..])))
        .collect()
}

/// Carries out what the feed says, in the order of the log.
fn follow(primary: &Primary, mut position: u64, accounts: &mut BTreeMap<i64, i64>) {
    let feed = primary.change_feed().expect("it was asked for");
    let int = |image: &RowImage<'_>, column| match image.value(column) {
        Value::Int(int) => int,
        other => panic!("{other:?}"),
    };
    while let Some(changes) = feed.take(1_000).expect("nothing fails") {
        for transaction in changes.transactions() {
            position += 1;
            assert_eq!(transaction.position.0, position);
            for change in transaction.changes() {
                let new = change.new.expect("no account goes");
                let before = accounts.insert(int(&new, 0), int(&new, 1));
                assert_eq!(before, change.old.map(|old| int(&old, 1)));
            }
        }
    }
    assert_eq!(position, primary.durable().0);
}

fn model_of(all: &Committed, durable: u64) -> BTreeMap<i64, i64> {
    let mut model = BTreeMap::new();
    for (position, call) in &*all.lock().expect("no panic") {
        if *position <= durable {
            apply(&mut model, *call);
        }
    }
    model
}

/// Runs threads, one a partition; afterwards the accounts are those of the committed calls in the
/// order of their positions, then and after recovery, with as many partitions or one; and so they are
/// at a replica, which is told what happened in this order.
fn compare_with_model(seed: u64, memory_bytes: Option<usize>) {
    let disk = SimulatedDisk::new(seed);
    let all = Committed::default();
    let primary = open(&disk, PARTITIONS, memory_bytes);
    open_accounts(&primary, &all);
    let busy = AtomicU16::new(PARTITIONS);
    thread::scope(|scope| {
        for own in 0..PARTITIONS {
            let (primary, all, busy) = (&primary, &all, &busy);
            let seed = seed * 10 + u64::from(own);
            scope.spawn(move || run_thread(primary, PartitionNumber(own), seed, 700, all, busy));
        }
    });
    let expected = model_of(&all, u64::MAX);
    assert!(all.lock().expect("no panic").len() > 600, "many commit");
    assert_eq!(accounts(&primary), expected);
    let restarts = |p: &oltp::Partition| p.anti_cache_statistics().restarts;
    let restarts = primary.look(PartitionNumber(0), restarts);
    assert_eq!(restarts > 20, memory_bytes.is_some(), "{restarts}");
    settle(&primary, 5);
    if memory_bytes.is_none() {
        let mut followed = BTreeMap::new();
        follow(&primary, 0, &mut followed);
        assert_eq!(followed, expected);
    }
    drop(primary);
    for (partitions, after) in [(PARTITIONS, 400), (1, 900)] {
        let primary = open_for_replica(&disk, partitions, None, after);
        assert_eq!(accounts(&primary), expected);
        let mut followed = model_of(&all, after);
        follow(&primary, after, &mut followed);
        assert_eq!(followed, expected);
    }
}

#[test]
fn partitions_agree_on_one_order() {
    compare_with_model(1, None);
}

#[test]
fn partitions_agree_on_one_order_with_rows_on_disk() {
    compare_with_model(2, Some(56 << 10));
}

/// After a power cut there is a beginning of the log's order, with all that was durable, and of every
/// transaction both sides.
#[test]
fn a_crash_leaves_no_half_of_a_transaction() {
    for seed in 0..20 {
        let disk = SimulatedDisk::new(seed);
        let all = Committed::default();
        let primary = open(&disk, PARTITIONS, None);
        open_accounts(&primary, &all);
        settle(&primary, 3);
        let calls = 20 + seed as usize;
        let busy = AtomicU16::new(1);
        run_thread(&primary, PartitionNumber(0), seed, calls, &all, &busy);
        let durable = primary.durable().0;
        let found = disk.crash(Crash::PowerCut { keep: 0.5 });
        drop(primary);
        let recovered = open(&found, 1, None);
        let position = recovered
            .look(PartitionNumber(0), oltp::Partition::position)
            .0;
        assert!(position >= durable, "{position}, {durable}");
        let accounts = accounts(&recovered);
        assert_eq!(accounts, model_of(&all, position));
        assert_eq!(accounts.values().sum::<i64>(), ACCOUNTS * BALANCE);
    }
}
