//! InnoDB with YCSB's table: the primary key is the row's, texts are `varbinary(100)`.
//!
//! * Each client is a connection through the server's Unix socket, with prepared statements and several
//!   transactions under way ([`crate::pipelined_connection`]); the server commits each for itself.
//! * The log is synced with each commit, as ours is; connections that commit at the same time share a sync.
//! * As much of the limit for the buffer pool as leaves room for the rest: the server and its connections, and
//!   what describes the pool's pages.
//! * Rows are loaded in the order of their keys, so that the newest, which are the hottest, are in the buffer
//!   pool when clients begin.

use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;
use contender::ycsb::row::{ROW_BYTES, TEXT_BYTES, TEXTS, write_row, write_text};
use contender::ycsb::{self, Checks, Client, Counts, Transaction, YcsbArguments, YcsbSide};
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

use crate::mariadb_server::{self, LogSync, MariadbServer, Settings};
use crate::pipelined_connection::{Parameter, PipelinedConnection, Statement};

const TABLE: &str = "ycsb.usertable";

/// What the server and the clients take besides the buffer pool, and for each connection. With 40 MiB the server was killed at 512
/// while it loaded.
const OWN_BYTES: u64 = 96 << 20;
const CONNECTION_BYTES: u64 = 512 << 10;

/// Rows that are loaded by one statement.
const CHUNK_ROWS: u64 = 100_000;

/// Several transactions at a time. A transaction takes the processors as long with 4 connections as with 64
/// (reads 18 to 20 µs, half of them updates 82 to 90 µs, client included); more connections share a sync of
/// the log, and have more reads under way.
#[derive(Clone, Copy, Debug, Args)]
pub struct Pipeline {
    /// Connections
    #[arg(long, default_value_t = 64)]
    pub connections: usize,
    /// Transactions of each that are under way
    #[arg(long, default_value_t = 16)]
    pub depth: usize,
}

/// Loads, and does the tasks of `input`.
pub fn serve(
    arguments: &YcsbArguments,
    pipeline: Pipeline,
    input: impl BufRead,
    output: impl Write,
) -> Result<()> {
    let store = InnodbStore::load(arguments, pipeline, 0)?;
    let clients: Result<Vec<_>> = (0..pipeline.connections).map(|_| store.client()).collect();
    let mut side = InnodbYcsb {
        clients: clients?,
        store,
    };
    ycsb::serve(&mut side, arguments, input, output)
}

/// Bytes of the buffer pool, when so many bytes are for others. Each page is described by 1/20 of its bytes.
pub fn buffer_pool_bytes(memory_bytes: u64, connections: usize, others_bytes: u64) -> u64 {
    let own_bytes = OWN_BYTES + connections as u64 * CONNECTION_BYTES;
    memory_bytes.saturating_sub(own_bytes + others_bytes) * 20 / 21
}

/// A server with its rows.
pub struct InnodbStore {
    server: MariadbServer,
    control: Conn,
    settings: Settings,
    pipeline: Pipeline,
}

impl InnodbStore {
    /// Joins the memory limit, starts a server that leaves so many bytes of it to others, and loads.
    pub fn load(arguments: &YcsbArguments, pipeline: Pipeline, others_bytes: u64) -> Result<Self> {
        let Pipeline { connections, depth } = pipeline;
        ensure!(
            connections > 0 && depth > 0,
            "there must be something under way"
        );
        let common = &arguments.common;
        mariadb_server::install(&common.folder)?;
        common.enter()?;
        let settings = Settings {
            buffer_pool_bytes: buffer_pool_bytes(common.memory_bytes, connections, others_bytes),
            log_bytes: 2 * common.memory_bytes,
            log_sync: LogSync::EachCommit,
            connections,
        };
        let server = MariadbServer::start(&common.folder, &settings)?;
        let mut control = server.connect()?;
        create_table(&mut control)?;
        let mut from = 0;
        while from < arguments.rows {
            let to = arguments.rows.min(from + CHUNK_ROWS);
            load_rows(&mut control, from, to)?;
            from = to;
        }
        Ok(Self {
            server,
            control,
            settings,
            pipeline,
        })
    }

    /// One more client.
    pub fn client(&self) -> Result<InnodbClient> {
        InnodbClient::connect(self.server.socket())
    }

    /// Pages that were read so far.
    pub fn disk_reads(&mut self) -> Result<u64> {
        let query = "show global status like 'Innodb_buffer_pool_reads'";
        let row: Option<(String, u64)> = self.control.query_first(query)?;
        Ok(row.context("the server counts what it reads")?.1)
    }

    /// Its settings, in words.
    pub fn in_words(&self) -> String {
        let Pipeline { connections, depth } = self.pipeline;
        let settings = self.settings.in_words();
        format!("{settings}; {connections} connections with {depth} transactions under way on each")
    }
}

fn create_table(control: &mut Conn) -> Result<()> {
    let columns =
        (0..TEXTS).map(|column| format!("field{column} varbinary({TEXT_BYTES}) not null"));
    let columns: Vec<String> = columns.collect();
    let columns = columns.join(", ");
    for statement in [
        "create database ycsb",
        &format!(
            "create table {TABLE} (ycsb_key bigint not null primary key, {columns}) engine = InnoDB"
        ),
        // As its manual recommends for loading.
        "set unique_checks = 0, foreign_key_checks = 0",
    ] {
        control.query_drop(statement)?;
    }
    Ok(())
}

fn load_rows(control: &mut Conn, from: u64, to: u64) -> Result<()> {
    let handler = LocalInfileHandler::new(move |_, out| write_lines(from, to, out));
    control.set_local_infile_handler(Some(handler));
    control.query_drop(format!("load data local infile 'rows' into table {TABLE}"))?;
    let loaded = control.affected_rows();
    ensure!(
        loaded == to - from,
        "{loaded} of {} rows were loaded",
        to - from
    );
    Ok(())
}

/// Lines of a key and texts with tabs between them; no text has a tab.
fn write_lines(from: u64, to: u64, out: &mut impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(64 << 10, out);
    let mut texts = [0; ROW_BYTES];
    for key in from..to {
        write!(out, "{key}")?;
        write_row(key, &mut texts);
        for text in texts.chunks(TEXT_BYTES) {
            out.write_all(b"\t")?;
            out.write_all(text)?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// A connection.
pub struct InnodbClient {
    connection: PipelinedConnection,
    read: Statement,
    /// Of each column.
    updates: Vec<Statement>,
    texts: Vec<u8>,
}

impl InnodbClient {
    fn connect(socket: &Path) -> Result<Self> {
        let mut connection = PipelinedConnection::connect(socket)?;
        let fields: Vec<String> = (0..TEXTS).map(|column| format!("field{column}")).collect();
        let fields = fields.join(", ");
        let read =
            connection.prepare(&format!("select {fields} from {TABLE} where ycsb_key = ?"))?;
        let update = |column| format!("update {TABLE} set field{column} = ? where ycsb_key = ?");
        let updates: Result<Vec<_>> = (0..TEXTS)
            .map(|column| connection.prepare(&update(column)))
            .collect();
        Ok(Self {
            connection,
            read,
            updates: updates?,
            texts: Vec::new(),
        })
    }

    /// Has a transaction run; [`Self::flush`] sends it.
    pub fn begin(&mut self, transaction: &Transaction) {
        let key = Parameter::Integer(transaction.key);
        match transaction.update {
            None => self.connection.execute(&mut self.read, &[key]),
            Some(update) => {
                let mut text = [0; TEXT_BYTES];
                write_text(transaction.key, update.column, update.version, &mut text);
                let statement = &mut self.updates[update.column];
                self.connection
                    .execute(statement, &[Parameter::Text(&text), key]);
            }
        }
    }

    /// Sends what has begun.
    pub fn flush(&mut self) -> Result<()> {
        self.connection.flush()
    }

    /// The end of the oldest transaction that is under way, which reads: the texts of the row.
    pub fn end_read(&mut self) -> Result<&[u8]> {
        let lengths = self.connection.row::<TEXTS>(&mut self.texts)?;
        ensure!(
            lengths == [TEXT_BYTES; TEXTS],
            "a row has texts of {lengths:?} bytes"
        );
        Ok(&self.texts)
    }

    /// The same, when it updates.
    pub fn end_update(&mut self) -> Result<()> {
        let count = self.connection.count()?;
        ensure!(count == 1, "an update has found {count} rows");
        Ok(())
    }
}

impl Client for InnodbClient {
    fn run(&mut self, transactions: &[Transaction], checks: &mut Checks) -> Result<u64> {
        for transaction in transactions {
            self.begin(transaction);
        }
        self.flush()?;
        for transaction in transactions {
            match transaction.update {
                None => checks.row_of_bytes(transaction.key, self.end_read()?)?,
                Some(_) => self.end_update()?,
            }
        }
        Ok(transactions.len() as u64)
    }

    fn finish(&mut self, _: &mut Checks) -> Result<u64> {
        Ok(0)
    }

    fn read(&mut self, key: u64) -> Result<Vec<u8>> {
        self.begin(&Transaction { key, update: None });
        self.flush()?;
        Ok(self.end_read()?.to_vec())
    }
}

struct InnodbYcsb {
    // Before the server, so that connections are closed when it ends.
    clients: Vec<InnodbClient>,
    store: InnodbStore,
}

impl YcsbSide for InnodbYcsb {
    type Client = InnodbClient;

    fn clients(&mut self) -> &mut [InnodbClient] {
        &mut self.clients
    }

    fn batch(&self) -> usize {
        self.store.pipeline.depth
    }

    fn counts(&mut self) -> Result<Counts> {
        Ok(Counts {
            disk_reads: self.store.disk_reads()?,
            cache_hits: 0,
        })
    }

    fn settings(&self) -> String {
        self.store.in_words()
    }
}
