//! Asks the source's catalog while its log is followed, over a connection of its own.

use std::collections::HashMap;
use std::time::Duration;

use types::CommitPosition;

use super::catalog::{
    PublishedTable, Selection, first, read_listed_tables, read_published_partitions, read_tables,
};
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode, literal};
use super::drift::ListedTable;
use super::partitions::SeenPartition;
use super::pgoutput::Relation;
use super::shape::agrees;
use crate::source::Stop;

/// How often a catalog that does not show what the log shows is asked again, and how soon.
const LOOKS: usize = 5;
const LOOK: Duration = Duration::from_millis(10);

/// What is asked of the source's catalog. It answers as of now, which may be later than the place
/// in the log that is being read.
pub trait Describe: Send {
    /// A table of the publication; `None` if it has none with this object id.
    fn table(&mut self, relation: u32) -> Result<Option<PublishedTable>, ConnectionError>;

    /// The same, when the log has just shown the table as `shown`: waits a moment for a catalog
    /// that does not show it so. The log can be ahead of what other sessions see of a commit.
    fn table_shown(&mut self, shown: &Relation) -> Result<Option<PublishedTable>, ConnectionError>;

    /// All tables of the publication.
    fn published(&mut self) -> Result<Vec<ListedTable>, ConnectionError>;

    /// The partitions of the publication's partitioned tables, by the object ids of those.
    fn partitions(&mut self) -> Result<HashMap<u32, Vec<SeenPartition>>, ConnectionError>;

    /// Whether the publication leaves out inserts, updates, deletes or truncations.
    fn leaves_changes_out(&mut self) -> Result<bool, ConnectionError>;

    /// Whether there is a table with this object id, published or not.
    fn exists(&mut self, relation: u32) -> Result<bool, ConnectionError>;

    /// Where the source's log ends now, written or not: a commit can be seen before its record is written.
    fn log_end(&mut self) -> Result<CommitPosition, ConnectionError>;
}

/// The catalog of a server.
pub struct ServerCatalog {
    config: PostgresConfig,
    stop: Stop,
    /// Made when something is asked; made anew when it was lost.
    connection: Option<Connection>,
}

impl ServerCatalog {
    /// The catalog of the source at `config`.
    pub fn new(config: PostgresConfig, stop: Stop) -> Self {
        Self {
            config,
            stop,
            connection: None,
        }
    }

    /// Asks over the connection that there is; over a new one if that fails.
    fn ask<T>(
        &mut self,
        question: impl Fn(&mut Connection) -> Result<T, ConnectionError>,
    ) -> Result<T, ConnectionError> {
        if let Some(connection) = &mut self.connection
            && let Ok(answer) = question(connection)
        {
            return Ok(answer);
        }
        self.connection = None;
        let mut connection = Connection::open(&self.config, Mode::Query, &self.stop)?;
        let answer = question(&mut connection)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

impl Describe for ServerCatalog {
    fn table(&mut self, relation: u32) -> Result<Option<PublishedTable>, ConnectionError> {
        let publication = self.config.publication_name().to_owned();
        self.ask(|connection| {
            let publication = &publication;
            let selection = Selection::Relation {
                publication,
                relation,
            };
            Ok(read_tables(connection, selection)?.pop())
        })
    }

    fn table_shown(&mut self, shown: &Relation) -> Result<Option<PublishedTable>, ConnectionError> {
        let mut found = self.table(shown.id)?;
        for _ in 0..LOOKS {
            if found.as_ref().is_some_and(|table| agrees(table, shown)) {
                break;
            }
            if self.stop.wait(LOOK) {
                return Err(ConnectionError::Stopped);
            }
            found = self.table(shown.id)?;
        }
        Ok(found)
    }

    fn published(&mut self) -> Result<Vec<ListedTable>, ConnectionError> {
        let publication = self.config.publication_name().to_owned();
        self.ask(|connection| read_listed_tables(connection, &publication))
    }

    fn partitions(&mut self) -> Result<HashMap<u32, Vec<SeenPartition>>, ConnectionError> {
        let publication = self.config.publication_name().to_owned();
        self.ask(|connection| read_published_partitions(connection, &publication))
    }

    fn leaves_changes_out(&mut self) -> Result<bool, ConnectionError> {
        let sql = format!(
            "SELECT 1 FROM pg_publication \
             WHERE pubname = {} AND NOT (pubinsert AND pubupdate AND pubdelete AND pubtruncate)",
            literal(self.config.publication_name())
        );
        self.ask(|connection| Ok(!connection.query(&sql)?.is_empty()))
    }

    fn exists(&mut self, relation: u32) -> Result<bool, ConnectionError> {
        let sql = format!("SELECT 1 FROM pg_class WHERE oid = {relation}");
        self.ask(|connection| Ok(!connection.query(&sql)?.is_empty()))
    }

    fn log_end(&mut self) -> Result<CommitPosition, ConnectionError> {
        let sql = "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
                   ELSE pg_current_wal_insert_lsn() END - '0/0'";
        let next = self.ask(|connection| first(connection.query(sql)?)?.parse(0))?;
        Ok(CommitPosition(end_before(next)))
    }
}

/// Where the log ends whose next record goes to `next`. At the beginning of a page that is behind the page's
/// header, of 24 bytes or, at the beginning of a file, 40; but the server tells followers of the page's
/// beginning, so that an idle one would be waited for.
fn end_before(next: u64) -> u64 {
    const PAGE_BYTES: u64 = 8192;
    match next % PAGE_BYTES {
        header @ (24 | 40) => next - header,
        _ => next,
    }
}

#[cfg(test)]
mod tests {
    use super::end_before;

    #[test]
    fn a_header_of_a_page_is_not_waited_for() {
        assert_eq!(end_before(0x0500_0028), 0x0500_0000);
        assert_eq!(end_before(0x0500_2018), 0x0500_2000);
        assert_eq!(end_before(0x0500_2048), 0x0500_2048);
    }
}
