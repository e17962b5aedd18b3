//! InnoDB as a contender: rows come through LOAD DATA in chunks of 100,000, the primary key is
//! the table's key.
//!
//! A chunk may take minutes: it is cut short when the time is up. The rows that it has until then
//! stay, and count.
//!
//! Checks of uniqueness and of foreign keys are off, as the manual recommends for loading. Four
//! fifths of what the server itself leaves of the limit are for the buffer pool. The log is synced
//! once a second instead of with each commit: ours and RocksDB do not sync before the end either.
//! Only the table's own files count as bytes on disk, not the log and the server's tables.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use contender::record::{COLUMNS, KEY_COLUMNS, Record};
use contender::{Arguments, Contender, WINDOW_ROWS};
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

use crate::mariadb_server::{self, LogSync, MariadbServer, Settings};

const DATABASE: &str = "weather";
const TABLE: &str = "weather.reading";

/// What the server takes besides its buffer pool, and the process that feeds it.
const OWN_BYTES: u64 = 80 << 20;

/// Inserts the rows of standard input, and prints the report.
pub fn run(arguments: &Arguments) -> Result<()> {
    mariadb_server::install(&arguments.folder)?;
    arguments.enter()?;
    let settings = Settings {
        buffer_pool_bytes: arguments.memory_bytes.saturating_sub(OWN_BYTES) * 4 / 5,
        log_bytes: 2 * arguments.memory_bytes,
        log_sync: LogSync::OnceASecond,
        connections: 1,
    };
    let server = MariadbServer::start(&arguments.folder, &settings)?;
    let mut side = InnodbSide {
        connection: server.connect()?,
        folder: server.database_folder(DATABASE),
        settings: settings.in_words(),
    };
    side.create_table()?;
    let report = contender::run(&mut side, io::stdin().lock(), arguments.time_max())?;
    server.stop(side.connection)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

struct InnodbSide {
    connection: Conn,
    folder: PathBuf,
    settings: String,
}

impl InnodbSide {
    fn create_table(&mut self) -> Result<()> {
        let column = |column: &contender::record::Column| {
            let column_type = if column.bytes == 8 { "bigint" } else { "int" };
            format!("`{}` {column_type} not null", column.name)
        };
        let columns: Vec<String> = COLUMNS.iter().map(column).collect();
        let key: Vec<String> = COLUMNS[..KEY_COLUMNS]
            .iter()
            .map(|column| format!("`{}`", column.name))
            .collect();
        for statement in [
            format!("create database {DATABASE}"),
            format!(
                "create table {TABLE} ({}, primary key ({})) engine = InnoDB",
                columns.join(", "),
                key.join(", ")
            ),
            "set unique_checks = 0, foreign_key_checks = 0".to_owned(),
        ] {
            self.connection.query_drop(statement)?;
        }
        Ok(())
    }

    fn status(&mut self, name: &str) -> Result<u64> {
        let query = format!("show global status like '{name}'");
        let row: Option<(String, u64)> = self.connection.query_first(query)?;
        let (_, value) = row.with_context(|| format!("the server does not know {name}"))?;
        Ok(value)
    }
}

impl Contender for InnodbSide {
    fn batch_rows(&self) -> usize {
        WINDOW_ROWS
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn settings(&self) -> String {
        self.settings.clone()
    }

    fn insert(&mut self, records: &[Record]) -> Result<()> {
        self.insert_until(records, None).map(drop)
    }

    fn insert_until(&mut self, records: &[Record], end: Option<Instant>) -> Result<usize> {
        let records = records.to_vec();
        let handler = LocalInfileHandler::new(move |_, out| write_text(&records, end, out));
        self.connection.set_local_infile_handler(Some(handler));
        let load = format!("load data local infile 'rows' into table {TABLE}");
        self.connection.query_drop(load)?;
        Ok(self.connection.affected_rows() as usize)
    }

    fn make_durable(&mut self) -> Result<()> {
        Ok(self.connection.query_drop("flush engine logs")?)
    }

    /// Writes all pages of the table.
    fn settle(&mut self) -> Result<()> {
        let flush = format!("flush tables {TABLE} for export");
        self.connection.query_drop(flush)?;
        Ok(self.connection.query_drop("unlock tables")?)
    }

    /// Pages, what is written twice, and the log.
    fn bytes_written(&mut self) -> Result<u64> {
        self.status("Innodb_data_written")
    }
}

/// Writes lines of cells with tabs between them, row by row: the text of a chunk would take more
/// memory than the server can spare. Ends when it is time: the server takes text no faster than it
/// inserts, but for what lies in the socket.
fn write_text(records: &[Record], end: Option<Instant>, out: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    let mut digits = itoa::Buffer::new();
    let has_time = || end.is_none_or(|end| Instant::now() < end);
    for record in records.iter().take_while(|_| has_time()) {
        line.clear();
        for column in &COLUMNS {
            line.extend_from_slice(digits.format(column.cell(record)).as_bytes());
            line.push(b'\t');
        }
        line.pop();
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use contender::record::RECORD_BYTES;

    use super::*;

    #[test]
    fn a_row_is_a_line_of_ten_cells() {
        let mut record = [0; RECORD_BYTES];
        record[0..4].copy_from_slice(&(-5_i32).to_le_bytes());
        record[40..44].copy_from_slice(&7_i32.to_le_bytes());
        let mut text = Vec::new();
        write_text(&[record, record], None, &mut text).unwrap();
        assert_eq!(text, b"-5\t0\t0\t0\t0\t0\t0\t0\t0\t7\n".repeat(2));
        text.clear();
        write_text(&[record], Some(Instant::now()), &mut text).unwrap();
        assert!(text.is_empty(), "the time is up");
    }
}
