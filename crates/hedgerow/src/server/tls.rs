//! The server's certificate: read from two files, and read again when they change.
//!
//! TLS 1.3 and 1.2, as rustls has them. Sessions are not resumed, so that nothing of a client is
//! kept when it has gone.
//!
//! Invariants: certificate and key are taken up together and fit each other; files that cannot be
//! used leave the server with those it has; nobody but owner and group may read the key.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::NoServerSessionStorage;
use tokio_rustls::rustls::{self, ServerConfig};

use replication::postgres::certificate_hash::certificate_hash;
use replication::postgres::tls::PROTOCOL;
/// How often the files are looked at. Reading them costs some microseconds.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// Permission bits of everybody who is neither owner nor group.
const OTHERS: u32 = 0o007;

/// The certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {file}: {error}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Everybody may read the private key.
    #[error("{0}: everybody can read this private key; chmod 600 it")]
    KeyIsPublic(PathBuf),
    /// A file is not what it should be.
    #[error("{file} is not {what} in PEM form: {error}")]
    NotPem {
        /// The file.
        file: PathBuf,
        /// What it should have.
        what: &'static str,
        /// Why.
        error: pem::Error,
    },
    /// The two do not fit, or are of a kind that is not supported.
    #[error("{certificate} and {key} cannot be used together: {error}")]
    Refused {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why.
        error: rustls::Error,
    },
}

/// Where a server's certificate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and those above it, in PEM form.
    pub certificate: PathBuf,
    /// Its private key, in PEM form.
    pub key: PathBuf,
}

/// A certificate in use.
pub struct Identity {
    config: Arc<ServerConfig>,
    /// Binds password dialogues to the certificate.
    pub certificate_hash: Option<Vec<u8>>,
    /// Of the files' bytes.
    digest: [u8; 32],
}

impl Identity {
    /// Carries out the handshakes of connections.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.clone())
    }

    fn new(files: &TlsFiles, bytes: &FileBytes) -> Result<Self, TlsError> {
        let not_pem = |file: &Path, what| {
            let file = file.to_owned();
            move |error| TlsError::NotPem { file, what, error }
        };
        let chain = CertificateDer::pem_slice_iter(&bytes.certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(not_pem(&files.certificate, "a certificate"))?;
        let certificate_hash = chain.first().and_then(|own| certificate_hash(own));
        let key = PrivateKeyDer::from_pem_slice(&bytes.key)
            .map_err(not_pem(&files.key, "a private key"))?;
        let refused = |error| TlsError::Refused {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            error,
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(refused)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(refused)?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self {
            config: Arc::new(config),
            certificate_hash,
            digest: bytes.digest(),
        })
    }
}

struct FileBytes {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl FileBytes {
    fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        use std::os::unix::fs::PermissionsExt;
        let unreadable = |file: &Path| {
            let file = file.to_owned();
            move |error| TlsError::Unreadable { file, error }
        };
        let key_facts = std::fs::metadata(&files.key).map_err(unreadable(&files.key))?;
        if key_facts.permissions().mode() & OTHERS != 0 {
            return Err(TlsError::KeyIsPublic(files.key.clone()));
        }
        let read = |file: &Path| std::fs::read(file).map_err(unreadable(file));
        Ok(Self {
            certificate: read(&files.certificate)?,
            key: read(&files.key)?,
        })
    }

    fn digest(&self) -> [u8; 32] {
        let hash = Sha256::new().chain_update(self.certificate.len().to_be_bytes());
        let hash = hash.chain_update(&self.certificate).chain_update(&self.key);
        hash.finalize().into()
    }
}

/// A server's certificate, the newest that could be read.
pub struct Tls {
    files: TlsFiles,
    identity: RwLock<Arc<Identity>>,
}

impl Tls {
    /// Reads the files.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let identity = Identity::new(&files, &FileBytes::read(&files)?)?;
        Ok(Self {
            files,
            identity: RwLock::new(Arc::new(identity)),
        })
    }

    /// The certificate in use.
    pub fn identity(&self) -> Arc<Identity> {
        self.identity.read().clone()
    }

    /// Takes up the files if they have changed; whether they had.
    fn reload(&self) -> Result<bool, TlsError> {
        let bytes = FileBytes::read(&self.files)?;
        if bytes.digest() == self.identity().digest {
            return Ok(false);
        }
        let identity = Identity::new(&self.files, &bytes)?;
        *self.identity.write() = Arc::new(identity);
        Ok(true)
    }

    /// Takes up the files whenever they change, for ever. While one of the two has been replaced
    /// and the other has not, they do not fit, and the next look finds both.
    pub async fn follow_files(&self) {
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        let mut told = String::new();
        loop {
            looks.tick().await;
            match self.reload() {
                Ok(true) => tracing::info!("a new TLS certificate is in use"),
                Ok(false) => told.clear(),
                Err(error) if error.to_string() == told => {}
                Err(error) => {
                    tracing::warn!("{error}; the former TLS certificate stays in use");
                    told = error.to_string();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    fn write_pair(files: &TlsFiles) -> Vec<u8> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        std::fs::write(&files.certificate, cert.pem()).expect("written");
        write_key(files, &signing_key.serialize_pem());
        cert.der().to_vec()
    }

    fn write_key(files: &TlsFiles, text: &str) {
        std::fs::write(&files.key, text).expect("written");
        set_mode(files, 0o600);
    }

    fn set_mode(files: &TlsFiles, mode: u32) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&files.key, permissions).expect("set");
    }

    fn files(folder: &Path) -> TlsFiles {
        TlsFiles {
            certificate: folder.join("server.crt"),
            key: folder.join("server.key"),
        }
    }

    #[test]
    fn changed_files_are_taken_up_once_both_fit() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path());
        let first = write_pair(&files);
        let tls = Tls::load(files.clone()).expect("loaded");
        assert_eq!(tls.identity().certificate_hash, certificate_hash(&first));
        assert!(!tls.reload().expect("unchanged"));

        let former_key = std::fs::read_to_string(&files.key).expect("read");
        let second = write_pair(&files);
        let new_key = std::fs::read_to_string(&files.key).expect("read");
        write_key(&files, &former_key);
        assert!(tls.reload().is_err(), "the new certificate, the former key");
        assert_eq!(tls.identity().certificate_hash, certificate_hash(&first));
        write_key(&files, &new_key);
        assert!(tls.reload().expect("a new pair"));
        assert_eq!(tls.identity().certificate_hash, certificate_hash(&second));
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path());
        let refused = || match Tls::load(files.clone()) {
            Ok(_) => panic!("loaded"),
            Err(error) => error.to_string(),
        };
        assert!(refused().contains("server.key"));
        write_pair(&files);
        set_mode(&files, 0o644);
        assert!(refused().contains("chmod 600"));
        write_key(&files, "no key");
        assert!(refused().contains("not a private key"));
        std::fs::write(&files.certificate, "").expect("written");
        assert!(Tls::load(files.clone()).is_err());
    }
}
