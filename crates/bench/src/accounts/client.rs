//! A client that does nothing but look rows up by a prepared statement.
//!
//! It writes and reads protocol messages itself, so that what is measured is the server and not a
//! driver's bookkeeping.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use testbed::patience::PATIENCE;

const STATEMENT: &str = "look_up";
const SQL: &str = "select id, owner, balance, opened, note from accounts where id = $1";
/// `bigint`
const BIGINT: u32 = 20;
const BINARY: i16 = 1;
const READ_BYTES: usize = 64 << 10;

/// Where to connect, and as whom.
#[derive(Clone, Debug)]
pub struct Login {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The user.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The database.
    pub database: String,
}

/// A connection with the statement prepared.
pub struct Client {
    socket: TcpStream,
    out: BytesMut,
    input: BytesMut,
}

impl Client {
    /// Connects, proves the password and prepares the statement.
    pub fn connect(login: &Login) -> Result<Self> {
        let socket = TcpStream::connect(("127.0.0.1", login.port))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        let mut client = Self {
            socket,
            out: BytesMut::new(),
            input: BytesMut::new(),
        };
        let startup = [("user", &login.user), ("database", &login.database)];
        let startup = startup.map(|(name, value)| (name, value.as_str()));
        frontend::startup_message(startup, &mut client.out)?;
        client.flush()?;
        client.authenticate(login)?;
        frontend::parse(STATEMENT, SQL, [BIGINT], &mut client.out)?;
        frontend::sync(&mut client.out);
        client.flush()?;
        client.until_ready()?;
        Ok(client)
    }

    /// Asks for the rows of ids, with one Sync behind them.
    pub fn ask(&mut self, ids: &[i64]) -> Result<()> {
        for &id in ids {
            let bound = frontend::bind(
                "",
                STATEMENT,
                [BINARY],
                [id],
                |id, out| {
                    out.put_i64(id);
                    Ok(IsNull::No)
                },
                [BINARY],
                &mut self.out,
            );
            bound.map_err(|_| anyhow!("an id cannot be bound"))?;
            frontend::execute("", 0, &mut self.out)?;
        }
        frontend::sync(&mut self.out);
        self.flush()
    }

    /// Takes the answers to one `ask`: a row an id, in their order.
    pub fn take(&mut self, ids: &[i64]) -> Result<()> {
        let mut wanted = ids.iter();
        loop {
            match self.message()? {
                Message::DataRow(row) => {
                    let id = wanted.next().context("a row that nobody asked for")?;
                    // The first cell's length stands in front of it.
                    let cell = row.buffer().get(4..12);
                    ensure!(
                        cell == Some(&id.to_be_bytes()[..]),
                        "not the row of id {id}"
                    );
                }
                Message::BindComplete | Message::CommandComplete(_) => {}
                Message::ReadyForQuery(_) => break,
                other => bail!("unexpected: {}", shown(&other)),
            }
        }
        ensure!(wanted.next().is_none(), "a row is missing");
        Ok(())
    }

    fn authenticate(&mut self, login: &Login) -> Result<()> {
        let password = login.password.as_bytes();
        let mut scram = ScramSha256::new(password, ChannelBinding::unsupported());
        loop {
            match self.message()? {
                Message::AuthenticationSasl(_) => {
                    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut self.out)?;
                    self.flush()?;
                }
                Message::AuthenticationSaslContinue(body) => {
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut self.out)?;
                    self.flush()?;
                }
                Message::AuthenticationSaslFinal(body) => scram.finish(body.data())?,
                Message::AuthenticationOk => return self.until_ready(),
                other => bail!("cannot log in: {}", shown(&other)),
            }
        }
    }

    fn until_ready(&mut self) -> Result<()> {
        loop {
            match self.message()? {
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(_) => bail!("the server refuses"),
                _ => {}
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.socket.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    fn message(&mut self) -> Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.input)? {
                return Ok(message);
            }
            let filled = self.input.len();
            self.input.resize(filled + READ_BYTES, 0);
            let read = self.socket.read(&mut self.input[filled..])?;
            self.input.truncate(filled + read);
            ensure!(read > 0, "the server has closed the connection");
        }
    }
}

fn shown(message: &Message) -> &'static str {
    match message {
        Message::ErrorResponse(_) => "an error",
        _ => "another message",
    }
}
