//! From the first byte to ReadyForQuery: who is there, is the password right, is there a place?

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use sql::{Session, SessionStart};
use tokio::sync::OwnedSemaphorePermit;

use super::backend;
use super::cancel::Registration;
use super::encryption::{Channel, Opened};
use super::failure::Failure;
use super::handshakes::{Handshake, Stage};
use super::listener::Shared;
use super::wire::{Ended, Input, Output};
use protocol::frontend::{self, FirstPacket, Startup};
use protocol::scram::{Binding, ScramError};

/// A client that has been let in.
pub struct Client {
    /// Its session.
    pub session: Session,
    /// Its place among the cancellable.
    pub _registration: Registration,
    /// Its place among the served.
    pub _place: OwnedSemaphorePermit,
}

/// SQLSTATE for a wrong password, and for an unknown user.
const WRONG_PASSWORD: &str = "28P01";
/// SQLSTATE for a client that may not come in this way.
const NOT_AUTHORIZED: &str = "28000";

/// Lets the client in; `None` when it only wanted to cancel, or was refused and told so.
pub async fn admit(
    opened: &mut Opened,
    address: IpAddr,
    handshake: &Handshake,
    shared: &Arc<Shared>,
) -> Result<Option<Client>, Ended> {
    handshake.reach(Stage::Asking);
    match negotiate(opened, address, handshake, shared).await? {
        Ok(client) => Ok(client),
        Err(failure) => {
            handshake.reach(Stage::Refused);
            if failure.code == WRONG_PASSWORD {
                let delay = shared.throttle.delay(address, Instant::now());
                tracing::warn!(%address, "{}", failure.message);
                tokio::time::sleep(delay).await;
            }
            backend::error_response(&failure, &mut opened.output.buffer);
            opened.output.flush().await?;
            Ok(None)
        }
    }
}

type Admission<T> = Result<Result<T, Failure>, Ended>;

async fn negotiate(
    opened: &mut Opened,
    address: IpAddr,
    handshake: &Handshake,
    shared: &Arc<Shared>,
) -> Admission<Option<Client>> {
    let startup = match opened.first.clone() {
        Ok(FirstPacket::Startup(startup)) => startup,
        Ok(FirstPacket::Cancel(key)) => {
            shared.cancels.cancel(key);
            return Ok(Ok(None));
        }
        Ok(FirstPacket::SslRequest | FirstPacket::GssRequest) => return Ok(Ok(None)),
        Err(failure) => return Ok(Err(failure)),
    };
    let Some(user) = startup.parameter("user").filter(|user| !user.is_empty()) else {
        let message = "no PostgreSQL user name specified in startup packet";
        return Ok(Err(Failure::fatal(NOT_AUTHORIZED, message)));
    };
    if opened.channel == Channel::Plain && !shared.options.takes_plain(address) {
        return Ok(Err(unencrypted(address)));
    }
    negotiate_version(&startup, &mut opened.output);
    if let Err(failure) = authenticate(user, opened, handshake, shared).await? {
        return Ok(Err(failure));
    }
    Ok(open(&startup, user, &mut opened.output, shared).map(Some))
}

fn unencrypted(address: IpAddr) -> Failure {
    let message = format!("no encryption: connections from {address} have to be encrypted");
    Failure::fatal(NOT_AUTHORIZED, message)
        .with_hint("Connect with sslmode=require, or better with sslmode=verify-full.")
}

/// Tells a client that asks for more than protocol 3.0 what it gets.
fn negotiate_version(startup: &Startup, output: &mut Output) {
    let names = startup.parameters.iter().map(|(name, _)| name.as_str());
    let options: Vec<&str> = names.filter(|name| name.starts_with("_pq_.")).collect();
    if startup.minor > 0 || !options.is_empty() {
        backend::negotiate_protocol_version(&options, &mut output.buffer);
    }
}

/// The SCRAM dialogue.
async fn authenticate(
    user: &str,
    opened: &mut Opened,
    handshake: &Handshake,
    shared: &Shared,
) -> Admission<()> {
    let Opened {
        input,
        output,
        channel,
        ..
    } = opened;
    let certificate_hash = channel.certificate_hash();
    backend::authentication_sasl(Binding::mechanisms(certificate_hash), &mut output.buffer);
    output.flush().await?;
    let first = match password_message(input).await? {
        Ok(body) => body,
        Err(failure) => return Ok(Err(failure)),
    };
    let (mechanism, data) = match frontend::read_sasl_initial(first) {
        Ok(initial) => initial,
        Err(error) => return Ok(Err(error.into())),
    };
    let Some(binding) = Binding::chosen(&mechanism, certificate_hash) else {
        let message = format!("SASL mechanism {mechanism:?} is not offered");
        return Ok(Err(Failure::fatal("08P01", message)));
    };
    let exchange = match shared.verifier.first(user, &data, binding) {
        Ok(exchange) => exchange,
        Err(error) => return Ok(Err(refusal(user, error))),
    };
    handshake.reach(Stage::Proving);
    backend::authentication_sasl_continue(&exchange.answer, &mut output.buffer);
    output.flush().await?;
    let last = match password_message(input).await? {
        Ok(body) => body,
        Err(failure) => return Ok(Err(failure)),
    };
    match exchange.last(&last) {
        Ok(answer) => {
            backend::authentication_sasl_final(&answer, &mut output.buffer);
            backend::authentication_ok(&mut output.buffer);
            Ok(Ok(()))
        }
        Err(error) => Ok(Err(refusal(user, error))),
    }
}

async fn password_message(input: &mut Input) -> Admission<bytes::Bytes> {
    loop {
        match frontend::take_password(&mut input.buffer) {
            Ok(Some(body)) => return Ok(Ok(body)),
            Ok(None) => input.read().await?,
            Err(error) => return Ok(Err(error.into())),
        }
    }
}

fn refusal(user: &str, error: ScramError) -> Failure {
    match error {
        ScramError::Malformed => Failure::fatal("08P01", error.to_string()),
        ScramError::Downgraded | ScramError::OtherCertificate => {
            tracing::warn!("{error}: somebody may be between {user:?} and this server");
            Failure::fatal(NOT_AUTHORIZED, error.to_string())
        }
        ScramError::Refused => {
            let message = format!("password authentication failed for user {user:?}");
            Failure::fatal(WRONG_PASSWORD, message).with_hint(
                "The user is hedgerow; its password is in the file named password in the data \
                 directory.",
            )
        }
    }
}

/// Opens the session of an authenticated client and tells it all it needs to begin.
fn open(
    startup: &Startup,
    user: &str,
    output: &mut Output,
    shared: &Arc<Shared>,
) -> Result<Client, Failure> {
    let database = startup.parameter("database").unwrap_or(user);
    if database != shared.options.database {
        let message = format!("database {database:?} does not exist");
        let hint = format!("The one database is {:?}.", shared.options.database);
        return Err(Failure::fatal("3D000", message).with_hint(hint));
    }
    if startup
        .parameter("replication")
        .is_some_and(|value| !matches!(value, "false" | "off" | "no" | "0"))
    {
        return Err(Failure::fatal(
            "0A000",
            "replication connections are not supported",
        ));
    }
    let place = shared.places.clone().try_acquire_owned();
    let place = place.map_err(|_| Failure::fatal("53300", "sorry, too many clients already"))?;
    let key = shared.cancels.new_key();
    let start = SessionStart {
        user: user.to_owned(),
        settings: settings(startup),
        process_id: key.process.cast_signed(),
    };
    let session = shared
        .engine
        .session(&start)
        .map_err(|error| Failure::from(error).into_fatal())?;
    let registration = shared.cancels.register(key, session.canceller());
    for (name, value) in session.reported_settings() {
        backend::parameter_status(&name, &value, &mut output.buffer);
    }
    backend::backend_key_data(key.process, key.secret, &mut output.buffer);
    backend::ready_for_query(backend::TransactionIndicator::Idle, &mut output.buffer);
    Ok(Client {
        session,
        _registration: registration,
        _place: place,
    })
}

/// The settings in a startup packet: its parameters, and those inside `options`.
fn settings(startup: &Startup) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for (name, value) in &startup.parameters {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            "options" => settings.extend(split_options(value)),
            name if name.starts_with("_pq_.") => {}
            _ => settings.push((name.clone(), value.clone())),
        }
    }
    settings
}

/// Splits `-c name=value --name=value`; a backslash keeps the character after it.
fn split_options(text: &str) -> Vec<(String, String)> {
    let mut words = vec![String::new()];
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, words.last_mut()) {
            ('\\', Some(word)) => word.extend(characters.next()),
            (c, Some(word)) if !c.is_whitespace() => word.push(c),
            _ => words.push(String::new()),
        }
    }
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut settings = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let assignment = match word.strip_prefix("--") {
            Some(assignment) => Some(assignment),
            None if word == "-c" => words.next().map(String::as_str),
            None => word.strip_prefix("-c"),
        };
        if let Some((name, value)) = assignment.and_then(|a| a.split_once('=')) {
            settings.push((name.replace('-', "_"), value.to_owned()));
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_split_as_postgresql_splits_them() {
        let expected = [
            ("statement_timeout".to_owned(), "5s".to_owned()),
            ("search_path".to_owned(), "a b".to_owned()),
            ("geqo".to_owned(), "off".to_owned()),
        ];
        let text = r"-c statement_timeout=5s --search-path=a\ b -cgeqo=off -d 5";
        assert_eq!(split_options(text), expected);
        assert!(split_options("").is_empty());
    }
}
