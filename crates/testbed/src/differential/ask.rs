//! What a server makes of a query.

use postgres::error::SqlState;
use postgres::{Client, SimpleQueryMessage};

/// Columns with rows, or an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The query has an answer.
    Rows {
        /// Names and type ids.
        columns: Vec<(String, u32)>,
        /// Cells as the server's text.
        rows: Vec<Vec<Option<String>>>,
    },
    /// It has none.
    Failed {
        /// The SQLSTATE; empty if the connection broke.
        code: String,
        /// For people.
        message: String,
    },
}

impl From<postgres::Error> for Outcome {
    fn from(error: postgres::Error) -> Self {
        let code = error.code().map_or("", SqlState::code).to_owned();
        let message = match error.as_db_error() {
            Some(error) => error.message().to_owned(),
            None => error.to_string(),
        };
        Self::Failed { code, message }
    }
}

/// Asks for the types of a query's columns, then for its rows.
pub fn ask(client: &mut Client, query: &str) -> Outcome {
    let columns = match client.prepare(query) {
        Ok(statement) => {
            let columns = statement.columns().iter();
            columns
                .map(|column| (column.name().to_owned(), column.type_().oid()))
                .collect()
        }
        Err(error) => return error.into(),
    };
    let messages = match client.simple_query(query) {
        Ok(messages) => messages,
        Err(error) => return error.into(),
    };
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(
            (0..row.len())
                .map(|index| row.get(index).map(str::to_owned))
                .collect(),
        ),
        _ => None,
    });
    Outcome::Rows {
        columns,
        rows: rows.collect(),
    }
}
