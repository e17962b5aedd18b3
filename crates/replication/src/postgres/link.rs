//! The two ways on which the log's messages come: as a stream, and by statement while there is a backlog.
//!
//! Does not: choose between them (see [`super::stream`]), or say what the messages mean.

use std::time::Duration;

use postgres_protocol::message::backend;

use super::backlog::Backlog;
use super::connection::{Connection, ConnectionError, server_error};
use super::pgoutput::{DecodeError, Wrapper, unwrap};

/// No next message can be had.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The stream's connection, or its server.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// What came on the stream cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The backlog cannot be read by statement.
    #[error("the backlog cannot be read by statement: {0}")]
    Backlog(#[source] ConnectionError),
    /// A message that does not belong there.
    #[error("message {0:?} on the replication stream")]
    Message(char),
    /// The server wants to send no more.
    #[error("the server ended the replication stream")]
    Ended,
}

/// Where messages come from.
pub enum Link {
    /// The replication stream.
    Stream(Connection),
    /// Statements.
    Backlog(Box<Backlog>),
}

impl Link {
    /// The next message, if all of it has been received.
    pub fn next(&mut self) -> Result<Option<Wrapper<'_>>, LinkError> {
        match self {
            Self::Stream(connection) => next_of_stream(connection),
            Self::Backlog(backlog) => backlog.next().map_err(LinkError::Backlog),
        }
    }

    /// Receives what there is, waiting for at most about `timeout`; how many bytes.
    pub fn fill(&mut self, timeout: Duration) -> Result<usize, LinkError> {
        match self {
            Self::Stream(connection) => Ok(connection.fill(timeout)?),
            Self::Backlog(backlog) => backlog.fill(timeout).map_err(LinkError::Backlog),
        }
    }
}

fn next_of_stream(connection: &mut Connection) -> Result<Option<Wrapper<'_>>, LinkError> {
    while let Some(backend::NOTICE_RESPONSE_TAG | backend::PARAMETER_STATUS_TAG) =
        connection.next_tag()?
    {
        connection.buffered_frame()?;
    }
    let Some(frame) = connection.buffered_frame()? else {
        return Ok(None);
    };
    match frame.tag {
        backend::COPY_DATA_TAG => Ok(Some(unwrap(frame.body)?)),
        backend::ERROR_RESPONSE_TAG => Err(server_error(frame.body).into()),
        backend::COPY_DONE_TAG | backend::COMMAND_COMPLETE_TAG | backend::READY_FOR_QUERY_TAG => {
            Err(LinkError::Ended)
        }
        tag => Err(LinkError::Message(char::from(tag))),
    }
}
