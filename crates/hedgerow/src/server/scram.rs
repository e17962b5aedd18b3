//! SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side, without channel binding.
//!
//! 1. The client sends its nonce; the server answers with both nonces, salt and iterations.
//! 2. The client proves that it knows the password; the server proves it in turn.
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

/// The only mechanism that is offered without TLS.
pub const MECHANISM: &str = "SCRAM-SHA-256";

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
    pub fn first(&self, user: &str, message: &[u8]) -> Result<Exchange<'_>, ScramError> {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        self.first_with_nonce(user, message, &BASE64.encode(nonce))
    }

    fn first_with_nonce(
        &self,
        user: &str,
        message: &[u8],
        server_nonce: &str,
    ) -> Result<Exchange<'_>, ScramError> {
        let message = std::str::from_utf8(message).map_err(|_| ScramError::Malformed)?;
        let (header, bare) = split_header(message)?;
        let client_nonce = attribute(bare.split(',').nth(1), "r=")?;
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
            header: BASE64.encode(header),
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
    /// The client's GS2 header, as it has to repeat it.
    header: String,
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
        let header = attribute(attributes.next(), "c=")?;
        let nonce = attribute(attributes.next(), "r=")?;
        if header != self.header || nonce != self.nonce {
            return Err(ScramError::Malformed);
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

/// Splits the client-first-message into its GS2 header (`n,,` or `y,,`, an authorisation
/// identity allowed) and the rest.
fn split_header(message: &str) -> Result<(&str, &str), ScramError> {
    let binding_end = message.find(',').ok_or(ScramError::Malformed)?;
    let identity = &message[binding_end + 1..];
    let identity_end = identity.find(',').ok_or(ScramError::Malformed)?;
    if !matches!(&message[..binding_end], "n" | "y") {
        return Err(ScramError::Malformed);
    }
    Ok(message.split_at(binding_end + 1 + identity_end + 1))
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

    /// A client's final message, made from what a client knows.
    fn client_last(password: &str, first_bare: &str, answer: &str) -> String {
        let mut parts = answer.split(',');
        let nonce = attribute(parts.next(), "r=").expect("a nonce");
        let salt = BASE64
            .decode(attribute(parts.next(), "s=").expect("a salt"))
            .expect("base64");
        let salted = salted_password(password.as_bytes(), &salt);
        let client_key = hmac(&salted, b"Client Key");
        let stored_key: Key = Sha256::digest(client_key).into();
        let without_proof = format!("c={},r={nonce}", BASE64.encode("n,,"));
        let auth_message = format!("{first_bare},{answer},{without_proof}");
        let signature = hmac(&stored_key, auth_message.as_bytes());
        let proof: Key = std::array::from_fn(|i| client_key[i] ^ signature[i]);
        format!("{without_proof},p={}", BASE64.encode(proof))
    }

    fn attempt(user: &str, password: &str) -> Result<String, ScramError> {
        let verifier = Verifier::new("hedgerow", "right");
        let exchange = verifier.first(user, b"n,,n=,r=abc")?;
        exchange.last(client_last(password, "n=,r=abc", &exchange.answer).as_bytes())
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
    fn an_unknown_user_keeps_its_salt() {
        let verifier = Verifier::new("hedgerow", "right");
        let salt = |user| {
            let exchange = verifier.first(user, b"n,,n=,r=abc").expect("an exchange");
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
                verifier.first("hedgerow", message.as_bytes()).is_err(),
                "{message}"
            );
        }
        let exchange = verifier
            .first("hedgerow", b"n,,n=,r=abc")
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
