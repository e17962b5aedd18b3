//! The kinds of hostile clients, and what each of them does from one connection to the next.

use anyhow::{Result, bail};
use postgres_protocol::message::backend::Message;

use super::connection::{Connection, Pace};
use super::tally::Tally;
use crate::accounts::Login;

/// A startup packet for protocol 3.0 that says it has 1,000 bytes, and ends here.
const HALF_A_STARTUP: [u8; 8] = [0, 0, 0x03, 0xe8, 0, 3, 0, 0];
/// Takes six seconds, byte by byte.
const SMALL_QUERY: &str = "select sum(balance) from accounts where id <= 1000";
/// Megabytes of rows.
const LARGE_QUERY: &str = "select * from accounts";
/// The first half of a guess: any nonce will do.
const FIRST: &[u8] = b"n,,n=,r=hawthorn";
/// A proof that fits no password but by the wildest chance. The server does the same for it as for
/// one that was computed from a password.
const PROOF: &str = "aGF3dGhvcm4gYW5kIGhhemVsIGFuZCBicmFtYmxlLi4=";

/// What a client does to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Begins its first packet and says no more.
    HalfOpen,
    /// Logs in a byte at a time.
    SlowLogin,
    /// Is logged in, and sends statements a byte at a time.
    SlowStatement,
    /// Is logged in, and takes a large result a byte at a time.
    SlowReader,
    /// Tries passwords, one after the other.
    Guessing,
}

impl Kind {
    /// The kinds that know the password, and take a place of the server's for good.
    pub const INSIDE: [Self; 2] = [Self::SlowStatement, Self::SlowReader];

    /// A connection as this kind begins with.
    pub async fn connect(self, login: &Login) -> Result<Connection> {
        match self {
            Self::HalfOpen | Self::Guessing => Connection::open(login, Pace::AtOnce).await,
            Self::SlowLogin => Connection::open(login, Pace::ByteByByte).await,
            Self::SlowStatement | Self::SlowReader => {
                let mut connection = Connection::open(login, Pace::AtOnce).await?;
                connection.log_in(login).await?;
                Ok(connection)
            }
        }
    }

    /// What it does with its connection until that ends.
    pub async fn bother(
        self,
        mut connection: Connection,
        login: &Login,
        tally: &Tally,
    ) -> Result<()> {
        match self {
            Self::HalfOpen => {
                connection.say(&HALF_A_STARTUP).await?;
                connection.hear().await.map(drop)
            }
            Self::SlowLogin => connection.log_in(login).await,
            Self::SlowStatement => {
                let _inside = tally.come_inside();
                let mut connection = connection.at_pace(Pace::ByteByByte);
                loop {
                    connection.query(SMALL_QUERY).await?;
                    connection.until_ready().await?;
                }
            }
            Self::SlowReader => {
                let _inside = tally.come_inside();
                connection.query(LARGE_QUERY).await?;
                connection.hear_slowly().await
            }
            Self::Guessing => guess(connection, login, tally).await,
        }
    }
}

async fn guess(mut connection: Connection, login: &Login, tally: &Tally) -> Result<()> {
    connection.introduce(login).await?;
    let answer = String::from_utf8(connection.begin_proof(FIRST).await?)?;
    let Some((nonce, _)) = answer.split_once(',') else {
        bail!("no nonce in {answer}");
    };
    let last = format!("c=biws,{nonce},p={PROOF}");
    match connection.end_proof(last.as_bytes()).await? {
        Message::ErrorResponse(_) => tally.guess_refused(),
        _ => tally.guess_let_in(),
    }
    Ok(())
}
