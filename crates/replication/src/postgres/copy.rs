//! Copies tables at the snapshot that belongs to a slot.
//!
//! A few workers take tables from a list, the largest first, read them with COPY inside the
//! exported snapshot and put the rows straight into the store, at the position just before the
//! slot's consistent point. Nothing is visible until everything has been copied.
//!
//! A table with a row that cannot be stored is given up with the reason; the others go on. Where the
//! row could be stored with a column as text, the table is left to a copy beside the stream. So is one that was emptied or written
//! anew since the snapshot: that is not undone for older snapshots, and COPY finds no rows, though the log has it later.
//!
//! Does not: resume; whoever asks for the copy is told of each table that is complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use types::{CommitPosition, RowsBuilder, TableId, TableSchema, VersionKind};

use super::catalog::{PublishedTable, has_files_of_snapshot};
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode, literal};
use super::copy_text::{LineParser, hash_line};
use super::hidden_key;
use super::table_sink::RowError;
use crate::catalog::TableState;
use crate::source::{SourceError, Stop, Target};
use crate::status::CopyProgress;

/// Tables that are copied at the same time.
const WORKERS: usize = 2;
/// Rows that go into the store together at most.
const ROWS_MAX: usize = 1 << 16;
/// Bytes of text that go into the store together at most.
const BYTES_MAX: usize = 4 << 20;
/// How long to wait for memory before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a worker reports: the tables that it gave up.
type WorkerResult = Result<Vec<(TableId, NotCopied)>, SourceError>;

/// A table to copy.
pub struct Job {
    /// The tree.
    pub table: TableId,
    /// The tree's schema.
    pub schema: Arc<TableSchema>,
    /// The table at the source.
    pub published: PublishedTable,
}

/// Told of every table whose rows are all in the store.
pub type OnComplete = Arc<dyn Fn(TableId) -> Result<(), SourceError> + Send + Sync>;

/// What all workers share.
struct Shared {
    target: Target,
    config: PostgresConfig,
    snapshot: String,
    position: CommitPosition,
    progress: Progress,
    complete: OnComplete,
    /// Set when one worker has failed.
    abort: Stop,
}

/// Counts what has been copied and reports it.
struct Progress {
    started_at: Duration,
    tables: u64,
    bytes_total: u64,
    tables_done: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
}

/// What was copied.
#[derive(Debug, Default)]
pub struct Copied {
    /// Rows in all.
    pub rows: u64,
    /// Tables that were given up, and why.
    pub given_up: Vec<(TableId, NotCopied)>,
}

/// Why a table was not copied, though others were.
#[derive(Debug, thiserror::Error)]
pub enum NotCopied {
    /// A row cannot be stored.
    #[error(transparent)]
    Row(#[from] RowError),
    /// It is gone, or has lost a column: a statement finds names in the newest catalog, not in that of its
    /// snapshot. Or its rows of the snapshot are gone.
    #[error("{0}")]
    Changed(String),
}

impl Copied {
    /// What the copy has made of a table.
    pub fn state_of(&self, table: TableId) -> TableState {
        let mut given_up = self.given_up.iter();
        match given_up.find(|(id, _)| *id == table) {
            None => TableState::Live,
            Some((_, NotCopied::Changed(_))) => TableState::Copying,
            Some((_, NotCopied::Row(RowError::Cell(cell)))) if cell.fits_text() => {
                TableState::Copying
            }
            Some((_, error)) => TableState::Stopped {
                position: CommitPosition::ZERO,
                reason: format!("the table could not be copied: {error}"),
            },
        }
    }
}

/// Copies all tables; when it returns, all rows are in the store at `position`, unpublished.
pub fn copy_tables(
    target: &Target,
    config: &PostgresConfig,
    snapshot: String,
    position: CommitPosition,
    mut jobs: Vec<Job>,
    complete: OnComplete,
) -> Result<Copied, SourceError> {
    jobs.sort_by_key(|job| std::cmp::Reverse(job.published.bytes));
    let shared = Arc::new(Shared {
        progress: Progress::new(target.clock.monotonic(), &jobs),
        target: target.clone(),
        config: config.clone(),
        snapshot,
        position,
        complete,
        abort: Stop::new(),
    });
    shared.report();
    let (workers, queue) = (
        WORKERS.min(jobs.len()),
        crossbeam_channel::bounded(jobs.len()),
    );
    for job in jobs {
        queue.0.send(job).expect("the queue has room for every job");
    }
    let (_, jobs) = queue;
    let (results, outcomes) = crossbeam_channel::bounded(workers);
    for worker in 1..workers {
        let (shared, jobs, results) = (shared.clone(), jobs.clone(), results.clone());
        let run = Box::new(move || shared.run_worker(&jobs, &results));
        (target.spawner)(&format!("copy-{worker}"), run);
    }
    if workers > 0 {
        shared.run_worker(&jobs, &results);
    }
    drop(results);
    let outcomes: Vec<_> = outcomes.iter().collect();
    target.status.set_copy(None);
    join_outcomes(outcomes, shared.progress.rows.load(Ordering::Relaxed))
}

/// The workers' results as one. Where one failed, the others only saw that the copy was given
/// up; its failure is the one to report.
fn join_outcomes(outcomes: Vec<WorkerResult>, rows: u64) -> Result<Copied, SourceError> {
    let mut copied = Copied {
        rows,
        given_up: Vec::new(),
    };
    let mut failure = None;
    for outcome in outcomes {
        match outcome {
            Ok(given_up) => copied.given_up.extend(given_up),
            Err(error) if matches!(failure, None | Some(SourceError::Stopped)) => {
                failure = Some(error);
            }
            Err(_) => {}
        }
    }
    failure.map_or(Ok(copied), Err)
}

impl Progress {
    fn new(started_at: Duration, jobs: &[Job]) -> Self {
        Self {
            started_at,
            tables: jobs.len() as u64,
            bytes_total: jobs.iter().map(|job| job.published.bytes).sum(),
            tables_done: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    fn at(&self, now: Duration) -> CopyProgress {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let elapsed_seconds = now.saturating_sub(self.started_at).as_secs_f64();
        let missing = self.bytes_total.saturating_sub(bytes);
        let remaining = (bytes > 0).then(|| elapsed_seconds * missing as f64 / bytes as f64);
        CopyProgress {
            tables_done: self.tables_done.load(Ordering::Relaxed),
            tables: self.tables,
            rows: self.rows.load(Ordering::Relaxed),
            bytes,
            bytes_total: self.bytes_total.max(bytes),
            elapsed_seconds,
            remaining_seconds: remaining,
        }
    }
}

impl Shared {
    fn report(&self) {
        let progress = self.progress.at(self.target.clock.monotonic());
        self.target.status.set_copy(Some(progress));
    }

    fn run_worker(&self, jobs: &Receiver<Job>, results: &Sender<WorkerResult>) {
        let result = self.copy_all(jobs);
        if result.is_err() {
            self.abort.set();
        }
        results
            .send(result)
            .expect("the copy waits for every worker's result");
    }

    fn copy_all(&self, jobs: &Receiver<Job>) -> WorkerResult {
        let open = || open_at(&self.config, &self.snapshot, &self.target.stop);
        let mut connection = open()?;
        let mut given_up = Vec::new();
        for job in jobs.try_iter() {
            match self.copy_table(&mut connection, &job) {
                Ok(()) => (self.complete)(job.table)?,
                Err(CopyError::Table(error)) => {
                    tracing::error!(table = %job.schema.name, %error, "table not copied");
                    given_up.push((job.table, error));
                    // The rest of the table is still on its way in the old session, or its transaction has failed.
                    connection = open()?;
                }
                Err(CopyError::Source(error)) => return Err(error),
            }
            self.progress.tables_done.fetch_add(1, Ordering::Relaxed);
            self.report();
        }
        Ok(given_up)
    }

    fn copy_table(&self, connection: &mut Connection, job: &Job) -> Result<(), CopyError> {
        let mut rows = CopiedRows::new(job, self.position);
        connection
            .copy_out(&job.published.copy_sql())
            .map_err(when_changed)?;
        while let Some(data) = connection.copy_data()? {
            rows.append(data).map_err(NotCopied::Row)?;
            if rows.is_large() {
                self.ingest(job, &mut rows)?;
                self.wait_for_memory()?;
            }
        }
        self.ingest(job, &mut rows)?;
        // COPY's lock is held on: from here on it cannot be emptied.
        if !has_files_of_snapshot(connection, job.published.relation)? {
            let reason = "emptied or written anew since the copy's snapshot".to_owned();
            return Err(NotCopied::Changed(reason).into());
        }
        tracing::info!(table = %job.schema.name, rows = rows.count, "table copied");
        Ok(())
    }

    fn ingest(&self, job: &Job, rows: &mut CopiedRows) -> Result<(), SourceError> {
        self.progress
            .rows
            .fetch_add(rows.builder.len() as u64, Ordering::Relaxed);
        self.progress
            .bytes
            .fetch_add(std::mem::take(&mut rows.bytes) as u64, Ordering::Relaxed);
        if !rows.builder.is_empty() {
            self.target.store.ingest(job.table, rows.builder.build())?;
        }
        self.report();
        Ok(())
    }

    fn wait_for_memory(&self) -> Result<(), SourceError> {
        loop {
            if self.target.stop.is_set() || self.abort.is_set() {
                return Err(SourceError::Stopped);
            }
            if self.target.store.wait_for_memory(PATIENCE)? {
                return Ok(());
            }
        }
    }
}

/// Why a table was not copied.
#[derive(Debug, thiserror::Error)]
enum CopyError {
    /// Other tables go on.
    #[error(transparent)]
    Table(#[from] NotCopied),
    /// The whole copy cannot go on.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl From<ConnectionError> for CopyError {
    fn from(error: ConnectionError) -> Self {
        Self::Source(error.into())
    }
}

/// A table or column that is not found was there in the snapshot.
fn when_changed(error: ConnectionError) -> CopyError {
    const UNDEFINED_TABLE: &str = "42P01";
    const UNDEFINED_COLUMN: &str = "42703";
    match error.code() {
        Some(UNDEFINED_TABLE | UNDEFINED_COLUMN) => NotCopied::Changed(error.to_string()).into(),
        _ => error.into(),
    }
}

/// Opens a session that sees exactly the exported snapshot.
pub fn open_at(
    config: &PostgresConfig,
    snapshot: &str,
    stop: &Stop,
) -> Result<Connection, ConnectionError> {
    let mut connection = Connection::open(config, Mode::Query, stop)?;
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    connection.execute(&format!("SET TRANSACTION SNAPSHOT {}", literal(snapshot)))?;
    Ok(connection)
}

/// Copied rows that are not in the store yet.
struct CopiedRows {
    parser: LineParser,
    builder: RowsBuilder,
    /// The number of the table's columns that the source has.
    source_columns: usize,
    has_key: bool,
    is_multiset: bool,
    position: CommitPosition,
    count: u64,
    bytes: usize,
}

impl CopiedRows {
    fn new(job: &Job, position: CommitPosition) -> Self {
        Self {
            parser: LineParser::new(&job.schema),
            builder: RowsBuilder::new(&job.schema),
            source_columns: job.published.columns.len(),
            has_key: job.schema.has_source_key(),
            is_multiset: hidden_key::is_multiset(&job.schema),
            position,
            count: 0,
            bytes: 0,
        }
    }

    fn is_large(&self) -> bool {
        self.builder.len() >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    fn append(&mut self, data: &[u8]) -> Result<(), RowError> {
        self.bytes += data.len();
        let Self {
            parser,
            builder,
            source_columns,
            has_key,
            is_multiset,
            position,
            count,
            ..
        } = self;
        parser.lines(data, |parser, line| {
            let (source, hidden) = builder.columns_mut().split_at_mut(*source_columns);
            parser.append(line, source)?;
            if !*has_key {
                let hash = is_multiset.then(|| hash_line(line, *source_columns));
                hidden_key::append(hidden, hash, *position, *count);
            }
            *count += 1;
            builder.finish_version(*position, VersionKind::Put);
            Ok(())
        })
    }
}
