//! Sessions at the primary's thread: who waits for what, and for nothing else.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use env::Env;
use oltp::parameters::{Reader, Writer};
use oltp::{
    AntiCacheOptions, BlockFiles, ColumnDefinition, Columns, IndexId, IndexKind, LogWriter,
    Partition, PartitionPlan, Procedure, ProcedureNumber, Refusal, Stop as Stopped,
    TableDefinition, TableNumber, Transaction,
};
use types::{ColumnType, CommitPosition, Value};

use super::host::{Host, HostParts};
use super::session::{Answer, CallError, Clients, Session};
use super::signal::Signal;
use crate::source::Stop;

const TABLE: TableNumber = TableNumber(0);
const KEY: IndexId = IndexId {
    table: TABLE,
    index: 0,
};
const PUT: ProcedureNumber = ProcedureNumber(0);
const GET: ProcedureNumber = ProcedureNumber(1);

/// Long enough for an answer that comes at all.
const PATIENCE: Duration = Duration::from_secs(60);
/// An answer that must not come would have come by then.
const A_WHILE: Duration = Duration::from_millis(100);

/// Adds a row with a number and a text of some length.
struct Put;

impl Procedure for Put {
    fn name(&self) -> &str {
        "put"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        _reply: &mut Vec<u8>,
    ) -> Result<(), Stopped> {
        let mut reader = Reader(parameters);
        let (key, length) = (reader.i64(), reader.i64());
        let text = vec![b'x'; length as usize];
        transaction.insert(TABLE, &[Value::Int(key), Value::Bytes(&text)])?;
        transaction.execute()?;
        Ok(())
    }
}

/// Tells the length of a row's text.
struct Get;

impl Procedure for Get {
    fn name(&self) -> &str {
        "get"
    }

    fn may_grow(&self) -> bool {
        false
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stopped> {
        let key = Value::Int(Reader(parameters).i64());
        let get = transaction.get(KEY, &[key], Columns::All)?;
        let row = transaction.execute()?.row(get);
        let row = row.ok_or_else(|| Stopped::Abort("no such row".into()))?;
        Writer(reply).i64(row.bytes(1)?.len() as i64);
        Ok(())
    }
}

/// The primary's thread. What it leaves to others the test does, step by step.
struct Running {
    clients: Clients,
    log: Arc<LogWriter>,
    blocks: Arc<BlockFiles>,
    stop: Stop,
    signal: Arc<Signal>,
    thread: std::thread::JoinHandle<()>,
}

impl Running {
    fn start(folder: &Path, memory_bytes: usize) -> Self {
        let env = Env::real();
        let columns = vec![
            ColumnDefinition::new("key", ColumnType::Int64),
            ColumnDefinition::new("text", ColumnType::Text),
        ];
        let table = TableDefinition::new("t", columns).index(IndexKind::Hash, true, &[0]);
        let plan = PartitionPlan {
            tables: vec![table],
            procedures: vec![Arc::new(Put), Arc::new(Get)],
            anti_cache: Some(AntiCacheOptions::new(memory_bytes)),
            has_log: true,
            feed: None,
        };
        let partition = Partition::open(&env, folder, plan).expect("it opens");
        let log = partition.log_writer().expect("it has a log");
        let blocks = partition.block_files().expect("it has an anti-cache");
        let signal = Arc::<Signal>::default();
        let (clients, requests) = Clients::new(signal.clone());
        let stop = Stop::new();
        let mut host = Host::new(HostParts {
            partition,
            requests,
            clock: env.clock,
            signal: signal.clone(),
            stop: stop.clone(),
        });
        let thread = std::thread::Builder::new().spawn(move || host.run().expect("nothing fails"));
        let thread = thread.expect("it starts");
        Self {
            clients,
            log,
            blocks,
            stop,
            signal,
            thread,
        }
    }

    fn session(&self) -> Session {
        self.clients.session().expect("the primary is there")
    }

    fn stop(self) {
        self.stop.set();
        self.signal.set();
        self.thread.join().expect("it ends well");
    }

    /// An answer to the session, while the log is written.
    fn answer(&self, session: &Session) -> Answer {
        self.answer_by(session, || ())
    }

    /// The same, with other work beside.
    fn answer_by(&self, session: &Session, work: impl Fn()) -> Answer {
        let most = PATIENCE.as_millis();
        for _ in 0..most {
            while self.log.write().expect("it writes") {
                self.signal.set();
            }
            work();
            let answer = session.answer(Duration::from_millis(1));
            if let Some(answer) = answer.expect("the primary is there") {
                return answer;
            }
        }
        panic!("no answer");
    }

    fn write_blocks(&self) {
        while self.blocks.write().expect("it writes") {
            self.signal.set();
        }
    }
}

fn submit_put(session: &Session, key: i64, length: i64) {
    let mut parameters = Vec::new();
    Writer(&mut parameters).i64(key).i64(length);
    let submitted = session.submit(PUT, parameters);
    submitted.expect("the primary is there");
}

fn submit_get(session: &Session, key: i64) {
    let mut parameters = Vec::new();
    Writer(&mut parameters).i64(key);
    let submitted = session.submit(GET, parameters);
    submitted.expect("the primary is there");
}

fn length(answer: &Answer) -> i64 {
    assert!(answer.outcome.is_ok(), "{answer:?}");
    Reader(&answer.reply).i64()
}

#[test]
fn nothing_is_answered_before_it_is_on_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(folder.path(), 64 << 20);
    let (writer, reader) = (running.session(), running.session());
    submit_put(&writer, 1, 10);
    let early = writer.answer(A_WHILE).expect("the primary is there");
    assert!(early.is_none(), "{early:?}");
    // What another session sees of it would be lost with it.
    submit_get(&reader, 1);
    let early = reader.answer(A_WHILE).expect("the primary is there");
    assert!(early.is_none(), "{early:?}");
    assert_eq!(running.answer(&writer).outcome, Ok(CommitPosition(1)));
    assert_eq!(length(&running.answer(&reader)), 10);
    running.stop();
}

#[test]
fn calls_of_a_session_are_answered_in_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(folder.path(), 64 << 20);
    let session = running.session();
    submit_put(&session, 1, 10);
    submit_put(&session, 1, 10);
    submit_get(&session, 2);
    submit_put(&session, 2, 20);
    submit_get(&session, 2);
    assert_eq!(running.answer(&session).outcome, Ok(CommitPosition(1)));
    let twice = running.answer(&session).outcome;
    assert!(matches!(
        twice,
        Err(CallError::Stopped(Stopped::Violation(
            oltp::Violation::Duplicate { .. }
        )))
    ));
    let missing = running.answer(&session).outcome;
    assert!(matches!(
        missing,
        Err(CallError::Stopped(Stopped::Abort(_)))
    ));
    assert_eq!(running.answer(&session).outcome, Ok(CommitPosition(2)));
    assert_eq!(length(&running.answer(&session)), 20);
    running.stop();
}

#[test]
fn a_session_that_waits_for_a_row_on_disk_keeps_nobody_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(folder.path(), 3 << 20);
    let session = running.session();
    // Eight times the memory, so that the first rows go.
    for hundred in 0..120 {
        (0..100).for_each(|nth| submit_put(&session, 100 * hundred + nth, 2_000));
        for _ in 0..100 {
            let answer = running.answer_by(&session, || running.write_blocks());
            assert!(answer.outcome.is_ok(), "{answer:?}");
        }
    }
    let other = running.session();
    submit_get(&session, 0);
    submit_get(&session, 11_999);
    submit_get(&other, 11_998);
    assert_eq!(length(&running.answer(&other)), 2_000);
    let early = session.answer(A_WHILE).expect("the primary is there");
    assert!(
        early.is_none(),
        "its first call waits, and so does the one behind it"
    );
    let fetch = || {
        while running.blocks.fetch() {
            running.signal.set();
        }
    };
    assert_eq!(length(&running.answer_by(&session, fetch)), 2_000);
    assert_eq!(length(&running.answer_by(&session, fetch)), 2_000);
    running.stop();
}

#[test]
fn a_primary_whose_rows_cannot_go_refuses_more_and_still_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(folder.path(), 3 << 20);
    let session = running.session();
    // Nobody writes blocks, so no memory comes back.
    let mut key = 0;
    let refused = loop {
        submit_put(&session, key, 2_000);
        match running.answer(&session).outcome {
            Ok(_) => key += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, CallError::Refused(Refusal::MemoryFull));
    submit_get(&session, key - 1);
    assert_eq!(length(&running.answer(&session)), 2_000);
    running.write_blocks();
    running.stop();
}

#[test]
fn a_primary_that_has_ended_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(folder.path(), 64 << 20);
    let (session, clients) = (running.session(), running.clients.clone());
    running.stop();
    assert!(session.answer(PATIENCE).is_err());
    assert!(clients.session().is_err());
    assert!(clients.inspect().is_err());
}
