//! Whom a source has to prove to be: libpq's `sslmode` and what belongs to it.
//!
//! | `sslmode` | encrypted | the certificate is |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer`, and where nothing is said | if the server can | anybody's |
//! | `require` | yes | anybody's; with `sslrootcert` as for `verify-ca` |
//! | `verify-ca` | yes | signed by one of the roots |
//! | `verify-full` | yes | the same, and the host's |
//!
//! Roots are those in the file `sslrootcert`, or the system's for `sslrootcert=system` (then `verify-full`
//! only, because anybody can have some certificate of theirs). Without it libpq's own file counts.
//!
//! A certificate that is itself in the file is as good as one that is signed by it: many servers
//! have one of their own making. Its dates are not looked at then: the file says that it counts.
//!
//! `sslnegotiation=direct` (PostgreSQL 17's) saves the question whether the server can.
//!
//! Whatever the mode, a password's proof by SCRAM covers the certificate where the server can
//! (`channel_binding`).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::connection_string::Parameters;

/// What [`TlsConfig::of`] reads.
pub(super) const PARAMETERS: [&str; 5] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslnegotiation",
];

/// `sslrootcert` for the roots that the operating system trusts.
const SYSTEM: &str = "system";

/// PostgreSQL's protocol among those that TLS clients can ask for.
pub const PROTOCOL: &[u8] = b"postgresql";

/// Parameters that cannot be honoured.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TlsError {
    /// An unknown mode.
    #[error(
        "sslmode={0} is unknown; the modes are disable, prefer, require, verify-ca and verify-full"
    )]
    Mode(String),
    /// Certificates should be compared with nothing.
    #[error(
        "sslmode={0} needs the certificate of the server's authority: give its file with \
         sslrootcert=FILE, or sslrootcert=system if it is one that this machine trusts"
    )]
    NoRoots(String),
    /// The system's roots prove nothing without the host's name.
    #[error("sslrootcert=system needs sslmode=verify-full: its authorities sign for anybody")]
    SystemRoots,
    /// An unknown way to begin.
    #[error(
        "sslnegotiation={0} is unknown; it is postgres, or direct with a mode that requires TLS"
    )]
    Negotiation(String),
    /// One of the two is missing.
    #[error("sslcert and sslkey belong together")]
    Unpaired,
    /// A file that cannot be used.
    #[error("{file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
}

/// How to talk to a server.
#[derive(Clone, Default)]
pub enum TlsConfig {
    /// In the clear.
    #[default]
    Plain,
    /// Encrypted, if the server can.
    Preferred(Arc<ClientConfig>),
    /// Encrypted or not at all.
    Required(Arc<ClientConfig>),
    /// Encrypted from the first byte, without asking.
    Direct(Arc<ClientConfig>),
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Preferred(_) => "Preferred",
            Self::Required(_) => "Required",
            Self::Direct(_) => "Direct",
        })
    }
}

/// What is compared with the roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    Nothing,
    Authority,
    AuthorityAndName,
}

impl TlsConfig {
    /// What the parameters of a connection string say. Reads the files that they name.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, TlsError> {
        let given = |name: &str| parameters.get(name).map(String::as_str);
        let mode = given("sslmode").unwrap_or("prefer");
        let root = given("sslrootcert");
        if root == Some(SYSTEM) && mode != "verify-full" {
            return Err(TlsError::SystemRoots);
        }
        let proof = match mode {
            "disable" => return Ok(Self::Plain),
            "prefer" => Proof::Nothing,
            "require" if root.is_none() => Proof::Nothing,
            "require" | "verify-ca" => Proof::Authority,
            "verify-full" => Proof::AuthorityAndName,
            other => return Err(TlsError::Mode(other.to_owned())),
        };
        let provider = Arc::new(ring::default_provider());
        let verifier = match proof {
            Proof::Nothing => Verifier::of_anybody(&provider),
            _ => {
                let roots = Roots::of(mode, root)?;
                Verifier::of_roots(&provider, roots, proof)?
            }
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions' suites")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match (given("sslcert"), given("sslkey")) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let chain = certificates(Path::new(certificate))?;
                let pair = builder.with_client_auth_cert(chain, private_key(Path::new(key))?);
                pair.map_err(|error| file_error(Path::new(key), &error))?
            }
            _ => return Err(TlsError::Unpaired),
        };
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        let config = Arc::new(config);
        match (mode, given("sslnegotiation").unwrap_or("postgres")) {
            ("prefer", "postgres") => Ok(Self::Preferred(config)),
            (_, "postgres") => Ok(Self::Required(config)),
            (mode, "direct") if mode != "prefer" => Ok(Self::Direct(config)),
            (_, other) => Err(TlsError::Negotiation(other.to_owned())),
        }
    }
}

fn file_error(file: &Path, reason: &dyn fmt::Display) -> TlsError {
    TlsError::File {
        file: file.display().to_string(),
        reason: reason.to_string(),
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates: Vec<_> = read.map_err(|error| file_error(file, &error))?;
    match certificates.is_empty() {
        true => Err(file_error(file, &"has no certificate in PEM form")),
        false => Ok(certificates),
    }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| file_error(file, &error))
}

/// Certificates that others are compared with.
struct Roots {
    store: RootCertStore,
    /// Those that were given in a file: a server may have one of them itself.
    own: Vec<CertificateDer<'static>>,
}

impl Roots {
    fn of(mode: &str, root: Option<&str>) -> Result<Self, TlsError> {
        if root == Some(SYSTEM) {
            return Self::of_system();
        }
        let file = root.map(PathBuf::from).or_else(usual_file);
        let file = file.ok_or_else(|| TlsError::NoRoots(mode.to_owned()))?;
        let own = certificates(&file)?;
        let mut store = RootCertStore::empty();
        for certificate in &own {
            let added = store.add(certificate.clone());
            added.map_err(|error| file_error(&file, &error))?;
        }
        Ok(Self { store, own })
    }

    fn of_system() -> Result<Self, TlsError> {
        let mut store = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        // One that cannot be read does not make the others useless.
        store.add_parsable_certificates(found.certs);
        match store.is_empty() {
            true => Err(TlsError::NoRoots("verify-full".to_owned())),
            false => Ok(Self {
                store,
                own: Vec::new(),
            }),
        }
    }
}

/// Where libpq looks for roots, if there are any.
fn usual_file() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    let file = PathBuf::from(home).join(".postgresql/root.crt");
    file.is_file().then_some(file)
}

/// Takes every certificate whose owner has its key: for whoever has another proof.
pub fn any_certificate(provider: &Arc<CryptoProvider>) -> Arc<dyn ServerCertVerifier> {
    Arc::new(Verifier::of_anybody(provider))
}

/// Compares a server's certificate with what the mode asks for.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: anybody will do.
    trusted: Option<Trusted>,
}

#[derive(Debug)]
struct Trusted {
    by_authority: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
    proof: Proof,
}

impl Verifier {
    fn of_anybody(provider: &Arc<CryptoProvider>) -> Self {
        Self {
            provider: Arc::clone(provider),
            trusted: None,
        }
    }

    fn of_roots(
        provider: &Arc<CryptoProvider>,
        roots: Roots,
        proof: Proof,
    ) -> Result<Self, TlsError> {
        let store = Arc::new(roots.store);
        let built =
            WebPkiServerVerifier::builder_with_provider(store, Arc::clone(provider)).build();
        let by_authority = built.map_err(|error| TlsError::File {
            file: "sslrootcert".to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self {
            provider: Arc::clone(provider),
            trusted: Some(Trusted {
                by_authority,
                own: roots.own,
                proof,
            }),
        })
    }
}

impl Trusted {
    fn check(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        if self.own.iter().any(|own| own == certificate) {
            return self.check_name(certificate, host);
        }
        let checked =
            self.by_authority
                .verify_server_cert(certificate, intermediates, host, ocsp, now);
        match checked {
            // The name is looked at last: all else holds.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.proof == Proof::Authority => Ok(()),
            checked => checked.map(drop),
        }
    }

    fn check_name(
        &self,
        certificate: &CertificateDer<'_>,
        host: &ServerName<'_>,
    ) -> Result<(), rustls::Error> {
        if self.proof == Proof::Authority {
            return Ok(());
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        rustls::client::verify_server_name(&parsed, host)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(trusted) = &self.trusted {
            trusted.check(certificate, intermediates, host, ocsp, now)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
