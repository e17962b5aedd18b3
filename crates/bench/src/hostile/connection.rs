//! A hostile client's connection: it speaks PostgreSQL's protocol, at once or a byte at a time.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use bytes::BytesMut;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::sleep;

use crate::accounts::Login;

/// How long a slow client waits after each byte.
pub const BYTE_PAUSE: Duration = Duration::from_millis(100);
/// What the kernel keeps of what has arrived, bytes: little, so that a result that is not read
/// waits in the server.
const RECEIVE_BYTES: u32 = 4 << 10;

/// How fast a client talks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Whole messages.
    AtOnce,
    /// A byte, then a pause.
    ByteByByte,
}

/// See the module.
pub struct Connection {
    socket: TcpStream,
    pace: Pace,
    input: BytesMut,
}

impl Connection {
    /// Opens one.
    pub async fn open(login: &Login, pace: Pace) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(RECEIVE_BYTES)?;
        let address = ([127, 0, 0, 1], login.port).into();
        let socket = socket.connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            pace,
            input: BytesMut::new(),
        })
    }

    /// Talks at another pace from now on.
    pub fn at_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Sends bytes.
    pub async fn say(&mut self, bytes: &[u8]) -> Result<()> {
        match self.pace {
            Pace::AtOnce => self.socket.write_all(bytes).await?,
            Pace::ByteByByte => {
                for byte in bytes {
                    self.socket.write_all(&[*byte]).await?;
                    sleep(BYTE_PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// Takes the next message.
    pub async fn hear(&mut self) -> Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.input)? {
                return Ok(message);
            }
            let read = self.socket.read_buf(&mut self.input).await?;
            ensure!(read > 0, "the server has ended the connection");
        }
    }

    /// Takes a byte after the other, whatever they mean; comes back when there is no more.
    pub async fn hear_slowly(&mut self) -> Result<()> {
        loop {
            let read = self.socket.read(&mut [0]).await?;
            ensure!(read > 0, "the server has ended the connection");
            sleep(BYTE_PAUSE).await;
        }
    }

    /// Says who it is.
    pub async fn introduce(&mut self, login: &Login) -> Result<()> {
        let mut out = BytesMut::new();
        let parameters = [("user", &login.user), ("database", &login.database)];
        let parameters = parameters.map(|(name, value)| (name, value.as_str()));
        frontend::startup_message(parameters, &mut out)?;
        self.say(&out).await
    }

    /// Begins the password dialogue, and takes the server's half of the nonce.
    pub async fn begin_proof(&mut self, first: &[u8]) -> Result<Vec<u8>> {
        let Message::AuthenticationSasl(_) = self.hear().await? else {
            bail!("no password is asked for");
        };
        let mut out = BytesMut::new();
        frontend::sasl_initial_response(SCRAM_SHA_256, first, &mut out)?;
        self.say(&out).await?;
        match self.hear().await? {
            Message::AuthenticationSaslContinue(body) => Ok(body.data().to_vec()),
            _ => bail!("the dialogue does not go on"),
        }
    }

    /// Ends the password dialogue; gives what the server says to that.
    pub async fn end_proof(&mut self, last: &[u8]) -> Result<Message> {
        let mut out = BytesMut::new();
        frontend::sasl_response(last, &mut out)?;
        self.say(&out).await?;
        self.hear().await
    }

    /// Logs in with the right password.
    pub async fn log_in(&mut self, login: &Login) -> Result<()> {
        self.introduce(login).await?;
        let password = login.password.as_bytes();
        let mut scram = ScramSha256::new(password, ChannelBinding::unsupported());
        let answer = self.begin_proof(scram.message()).await?;
        scram.update(&answer)?;
        let Message::AuthenticationSaslFinal(last) = self.end_proof(scram.message()).await? else {
            bail!("the password is refused");
        };
        scram.finish(last.data())?;
        self.until_ready().await
    }

    /// Asks for rows.
    pub async fn query(&mut self, sql: &str) -> Result<()> {
        let mut out = BytesMut::new();
        frontend::query(sql, &mut out)?;
        self.say(&out).await
    }

    /// Takes messages up to the one that says that the server is ready.
    pub async fn until_ready(&mut self) -> Result<()> {
        loop {
            match self.hear().await? {
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(_) => bail!("the server refuses"),
                _ => {}
            }
        }
    }
}
