//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677), the server's side.
//!
//! 1. The client sends its nonce; the server answers with both nonces, salt and iterations.
//! 2. The client proves that it knows the password; the server proves it in turn.
//!
//! With PLUS both also agree on which certificate the client was shown (`tls-server-end-point`):
//! somebody in between with a certificate of their own is found out. Whoever takes PLUS off the
//! list of mechanisms on the way is found out too, because the client then says that it could
//! have bound the channel and was not offered to.
//!
//! Only keys derived from the password are kept in memory. An unknown user gets the same
//! dialogue, with a salt that is fixed for its name, and fails at the same point after the same
//! work. Comparisons take the same time whatever they find.
//!
//! Does not: normalise passwords (SASLprep). Ours are generated and plain ASCII.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The mechanism that every client has.
const MECHANISM: &str = "SCRAM-SHA-256";
/// The one that binds the dialogue to the server's certificate.
const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";
/// GS2 flag of the only channel binding that is known here.
const BINDING_FLAG: &str = "p=tls-server-end-point";

/// Four times the RFC's minimum: about 5 ms for a client.
const ITERATIONS: u32 = 16_384;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 18;
const KEY_BYTES: usize = 32;

type Key = [u8; KEY_BYTES];

/// Why a client is not let in. Which reason it was is not told to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    /// The message does not follow the RFC.
    #[error("malformed SCRAM message")]
    Malformed,
    /// The proof does not fit the password, or there is no such user.
    #[error("wrong password or unknown user")]
    Refused,
    /// The client was told by somebody else that the channel cannot be bound.
    #[error(
        "SCRAM channel binding negotiation error: the server offers channel binding, but the \
         client has not been told so"
    )]
    Downgraded,
    /// The client was shown another certificate.
    #[error("SCRAM channel binding check failed")]
    OtherCertificate,
}

/// How a dialogue hangs together with the channel that it runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding<'a> {
    /// There is nothing to bind to: PLUS was not offered.
    Unavailable,
    /// PLUS was offered, and the client took the other one.
    Declined,
    /// PLUS, bound to the certificate with this hash.
    Bound(&'a [u8]),
}

impl<'a> Binding<'a> {
    /// The mechanisms that can be offered over a channel whose certificate has this hash, the
    /// best one first.
    pub fn mechanisms(certificate_hash: Option<&[u8]>) -> &'static [&'static str] {
        match certificate_hash {
            Some(_) => &[MECHANISM_PLUS, MECHANISM],
            None => &[MECHANISM],
        }
    }

    /// What the client's choice means; `None` if that mechanism was not offered.
    pub fn chosen(mechanism: &str, certificate_hash: Option<&'a [u8]>) -> Option<Self> {
        match (mechanism, certificate_hash) {
            (MECHANISM, None) => Some(Self::Unavailable),
            (MECHANISM, Some(_)) => Some(Self::Declined),
            (MECHANISM_PLUS, Some(hash)) => Some(Self::Bound(hash)),
            _ => None,
        }
    }

    /// Whether the client's GS2 flag fits.
    fn check(self, flag: &str) -> Result<(), ScramError> {
        match (self, flag) {
            (Self::Unavailable, "n" | "y") | (Self::Declined, "n") => Ok(()),
            (Self::Declined, "y") => Err(ScramError::Downgraded),
            (Self::Bound(_), BINDING_FLAG) => Ok(()),
            _ => Err(ScramError::Malformed),
        }
    }

    /// What the client has to repeat: its header, and what it is bound to.
    fn input(self, header: &str) -> String {
        match self {
            Self::Unavailable | Self::Declined => BASE64.encode(header),
            Self::Bound(hash) => BASE64.encode([header.as_bytes(), hash].concat()),
        }
    }
}

/// What the server knows: one user and keys derived from its password.
pub struct Verifier {
    user: String,
    salt: [u8; SALT_BYTES],
    stored_key: Key,
    server_key: Key,
    /// Makes up salts for unknown users.
    mock_key: Key,
}

impl Verifier {
    /// Derives the keys; takes some milliseconds.
    pub fn new(user: &str, password: &str) -> Self {
        let salt: [u8; SALT_BYTES] = rand::random();
        let salted = salted_password(password.as_bytes(), &salt);
        let client_key = hmac(&salted, b"Client Key");
        Self {
            user: user.to_owned(),
            salt,
            stored_key: Sha256::digest(client_key).into(),
            server_key: hmac(&salted, b"Server Key"),
            mock_key: rand::random(),
        }
    }

    /// Answers the client-first-message of somebody who says to be `user`.
    pub fn first(
        &self,
        user: &str,
        message: &[u8],
        binding: Binding<'_>,
    ) -> Result<Exchange<'_>, ScramError> {
        let message = std::str::from_utf8(message).map_err(|_| ScramError::Malformed)?;
        let (flag, header, bare) = split_header(message)?;
        binding.check(flag)?;
        let client_nonce = attribute(bare.split(',').nth(1), "r=")?;
        let server_nonce = BASE64.encode(rand::random::<[u8; NONCE_BYTES]>());
        let known = user == self.user;
        let salt = if known {
            self.salt
        } else {
            self.mock_salt(user)
        };
        let nonce = format!("{client_nonce}{server_nonce}");
        let answer = format!("r={nonce},s={},i={ITERATIONS}", BASE64.encode(salt));
        Ok(Exchange {
            verifier: self,
            known,
            channel: binding.input(header),
            nonce,
            client_first_bare: bare.to_owned(),
            answer,
        })
    }

    fn mock_salt(&self, user: &str) -> [u8; SALT_BYTES] {
        let full = hmac(&self.mock_key, user.as_bytes());
        let mut salt = [0; SALT_BYTES];
        salt.copy_from_slice(&full[..SALT_BYTES]);
        salt
    }
}

/// A dialogue after its first half.
pub struct Exchange<'a> {
    verifier: &'a Verifier,
    known: bool,
    /// The client's GS2 header and the channel, as it has to repeat them.
    channel: String,
    nonce: String,
    client_first_bare: String,
    /// The server-first-message.
    pub answer: String,
}

impl Exchange<'_> {
    /// Checks the client-final-message; gives the server-final-message.
    pub fn last(&self, message: &[u8]) -> Result<String, ScramError> {
        let message = std::str::from_utf8(message).map_err(|_| ScramError::Malformed)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(ScramError::Malformed)?;
        let mut attributes = without_proof.split(',');
        let channel = attribute(attributes.next(), "c=")?;
        let nonce = attribute(attributes.next(), "r=")?;
        if nonce != self.nonce {
            return Err(ScramError::Malformed);
        }
        if channel != self.channel {
            return Err(ScramError::OtherCertificate);
        }
        let proof = BASE64.decode(proof).map_err(|_| ScramError::Malformed)?;
        let proof = Key::try_from(proof).map_err(|_| ScramError::Malformed)?;
        let auth_message = format!("{},{},{without_proof}", self.client_first_bare, self.answer);
        self.check(&proof, auth_message.as_bytes())
    }

    fn check(&self, proof: &Key, auth_message: &[u8]) -> Result<String, ScramError> {
        let signature = hmac(&self.verifier.stored_key, auth_message);
        let client_key: Key = std::array::from_fn(|i| proof[i] ^ signature[i]);
        let stored_key: Key = Sha256::digest(client_key).into();
        let proven = bool::from(stored_key.ct_eq(&self.verifier.stored_key));
        if !(self.known & proven) {
            return Err(ScramError::Refused);
        }
        Ok(format!(
            "v={}",
            BASE64.encode(hmac(&self.verifier.server_key, auth_message))
        ))
    }
}

/// Splits the client-first-message into the flag of its GS2 header, the whole of that header
/// (`n,,`, an authorisation identity allowed), and the rest.
fn split_header(message: &str) -> Result<(&str, &str, &str), ScramError> {
    let flag_end = message.find(',').ok_or(ScramError::Malformed)?;
    let identity = &message[flag_end + 1..];
    let identity_end = identity.find(',').ok_or(ScramError::Malformed)?;
    let (header, bare) = message.split_at(flag_end + 1 + identity_end + 1);
    Ok((&message[..flag_end], header, bare))
}

fn attribute<'a>(part: Option<&'a str>, prefix: &str) -> Result<&'a str, ScramError> {
    let value = part
        .and_then(|part| part.strip_prefix(prefix))
        .ok_or(ScramError::Malformed)?;
    if value.is_empty() {
        Err(ScramError::Malformed)
    } else {
        Ok(value)
    }
}

fn hmac(key: &[u8], message: &[u8]) -> Key {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.chain_update(message).finalize().into_bytes().into()
}

/// PBKDF2 with one block, which is all that SHA-256 keys need.
fn salted_password(password: &[u8], salt: &[u8]) -> Key {
    let keyed = Hmac::<Sha256>::new_from_slice(password).expect("HMAC takes keys of any length");
    let round = |message: &[&[u8]]| -> Key {
        let mac = message
            .iter()
            .fold(keyed.clone(), |mac, part| mac.chain_update(part));
        mac.finalize().into_bytes().into()
    };
    let mut block = round(&[salt, &1_u32.to_be_bytes()]);
    let mut key = block;
    for _ in 1..ITERATIONS {
        block = round(&[&block]);
        key.iter_mut().zip(block).for_each(|(k, b)| *k ^= b);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that knows "right".
    fn server() -> Verifier {
        Verifier::new("hedgerow", "right")
    }

    /// A client's final message, made from what a client knows.
    fn client_last(salted: &Key, first_bare: &str, answer: &str, channel: &[u8]) -> String {
        let nonce = attribute(answer.split(',').next(), "r=").expect("a nonce");
        let client_key = hmac(salted, b"Client Key");
        let stored_key: Key = Sha256::digest(client_key).into();
        let without_proof = format!("c={},r={nonce}", BASE64.encode(channel));
        let auth_message = format!("{first_bare},{answer},{without_proof}");
        let signature = hmac(&stored_key, auth_message.as_bytes());
        let proof: Key = std::array::from_fn(|i| client_key[i] ^ signature[i]);
        format!("{without_proof},p={}", BASE64.encode(proof))
    }

    /// What a client makes of its password and the server's answer.
    fn salted(password: &str, answer: &str) -> Key {
        let salt = attribute(answer.split(',').nth(1), "s=").expect("a salt");
        let salt = BASE64.decode(salt).expect("base64");
        salted_password(password.as_bytes(), &salt)
    }

    fn attempt(user: &str, password: &str) -> Result<String, ScramError> {
        let server = server();
        let exchange = server.first(user, b"n,,n=,r=abc", Binding::Unavailable)?;
        let salted = salted(password, &exchange.answer);
        let last = client_last(&salted, "n=,r=abc", &exchange.answer, b"n,,");
        exchange.last(last.as_bytes())
    }

    #[test]
    fn only_the_right_password_of_the_right_user_is_accepted() {
        assert!(
            attempt("hedgerow", "right")
                .expect("accepted")
                .starts_with("v=")
        );
        assert_eq!(attempt("hedgerow", "wrong"), Err(ScramError::Refused));
        assert_eq!(attempt("nobody", "right"), Err(ScramError::Refused));
    }

    #[test]
    fn a_dialogue_can_be_bound_to_the_certificate() {
        let server = server();
        let offer = server.first("hedgerow", b"n,,n=,r=abc", Binding::Unavailable);
        let salted = salted("right", &offer.expect("an exchange").answer);
        // A client that chooses `mechanism`, says `flag`, and was shown the certificate `seen`.
        let attempt = |mechanism: &str, offered: Option<&[u8]>, flag: &str, seen: &[u8]| {
            let binding = Binding::chosen(mechanism, offered).ok_or(ScramError::Malformed)?;
            let first = format!("{flag},,n=,r=abc");
            let exchange = server.first("hedgerow", first.as_bytes(), binding)?;
            let channel = [flag.as_bytes(), b",,", seen].concat();
            let last = client_last(&salted, "n=,r=abc", &exchange.answer, &channel);
            exchange.last(last.as_bytes())
        };
        let own: &[u8] = b"own certificate";
        let bound = attempt(MECHANISM_PLUS, Some(own), BINDING_FLAG, own);
        assert!(bound.is_ok_and(|answer| answer.starts_with("v=")));
        let between = attempt(MECHANISM_PLUS, Some(own), BINDING_FLAG, b"another");
        assert_eq!(between, Err(ScramError::OtherCertificate));
        // Nobody has to bind; but who would have and was told that it cannot be was lied to.
        assert!(attempt(MECHANISM, Some(own), "n", b"").is_ok());
        let downgraded = attempt(MECHANISM, Some(own), "y", b"");
        assert_eq!(downgraded, Err(ScramError::Downgraded));
        assert!(attempt(MECHANISM, None, "y", b"").is_ok());
        for (mechanism, offered, flag) in [
            (MECHANISM_PLUS, None, BINDING_FLAG),
            (MECHANISM_PLUS, Some(own), "n"),
            (MECHANISM_PLUS, Some(own), "p=tls-unique"),
            (MECHANISM, Some(own), BINDING_FLAG),
            ("SCRAM-SHA-1", None, "n"),
        ] {
            let refused = attempt(mechanism, offered, flag, own);
            assert_eq!(refused, Err(ScramError::Malformed), "{mechanism} {flag}");
        }
    }

    #[test]
    fn an_unknown_user_keeps_its_salt() {
        let verifier = Verifier::new("hedgerow", "right");
        let salt = |user| {
            let exchange = verifier
                .first(user, b"n,,n=,r=abc", Binding::Unavailable)
                .expect("an exchange");
            exchange.answer.split(',').nth(1).map(str::to_owned)
        };
        assert_eq!(salt("nobody"), salt("nobody"));
        assert_ne!(salt("nobody"), salt("somebody"));
    }

    /// The key schedule against RFC 7677's example (which has 4096 iterations, so only the
    /// steps after the salted password are compared).
    #[test]
    fn signatures_follow_the_rfc() {
        let salted = BASE64
            .decode("xKSVEDI6tPlSysH6mUQZOeeOp01r6B3fcJbodRPcYV0=")
            .expect("base64");
        let server_key = hmac(&salted, b"Server Key");
        let auth_message = "n=user,r=rOprNGfwEbeRWgbNEkqO,\
            r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
            c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let signature = BASE64.encode(hmac(&server_key, auth_message.as_bytes()));
        assert_eq!(signature, "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn malformed_messages_are_refused() {
        let verifier = Verifier::new("hedgerow", "right");
        for message in [
            "",
            "n",
            "n,,",
            "n,,n=",
            "p=tls-unique,,n=,r=abc",
            "n,,n=,x=abc",
            "n,,n=,r=",
        ] {
            assert!(
                verifier
                    .first("hedgerow", message.as_bytes(), Binding::Unavailable)
                    .is_err(),
                "{message}"
            );
        }
        let exchange = verifier
            .first("hedgerow", b"n,,n=,r=abc", Binding::Unavailable)
            .expect("an exchange");
        for message in ["", "c=biws", "c=biws,r=abc,p=AA==", "c=eSws,r=abc,p="] {
            assert_eq!(
                exchange.last(message.as_bytes()),
                Err(ScramError::Malformed),
                "{message}"
            );
        }
    }
}
