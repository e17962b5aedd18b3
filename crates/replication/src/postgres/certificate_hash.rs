//! What a certificate adds to a password dialogue: the `tls-server-end-point` binding of RFC
//! 5929, section 4.
//!
//! 1. Walk to the certificate's second element, the algorithm that it is signed with.
//! 2. Hash the whole certificate with the hash of that algorithm; where that is MD5 or SHA-1,
//!    with SHA-256.
//!
//! Signatures without a hash of their own (Ed25519) and those that name it in their parameters
//! (RSA-PSS) have no binding that clients agree on: then there is none.

use sha2::{Digest, Sha256, Sha384, Sha512};

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// 1.2.840.113549.1.1: RSA with PKCS#1 padding; one byte follows.
const RSA: [u8; 8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 1.2.840.10045.4.3: ECDSA with a SHA-2 hash; one byte follows.
const ECDSA: [u8; 7] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];

/// The hash of a certificate (DER) that binds a dialogue to it; `None` if it has none.
pub fn certificate_hash(certificate: &[u8]) -> Option<Vec<u8>> {
    let (content, _) = element(certificate, SEQUENCE)?;
    let (_, after_body) = element(content, SEQUENCE)?;
    let (algorithm, _) = element(after_body, SEQUENCE)?;
    let (identifier, _) = element(algorithm, OBJECT_IDENTIFIER)?;
    let (last, family) = identifier.split_last()?;
    match (family, last) {
        // MD5 and SHA-1 are replaced by SHA-256.
        (family, 4 | 5 | 11) if family == RSA => Some(Sha256::digest(certificate).to_vec()),
        (family, 12) if family == RSA => Some(Sha384::digest(certificate).to_vec()),
        (family, 13) if family == RSA => Some(Sha512::digest(certificate).to_vec()),
        (family, 2) if family == ECDSA => Some(Sha256::digest(certificate).to_vec()),
        (family, 3) if family == ECDSA => Some(Sha384::digest(certificate).to_vec()),
        (family, 4) if family == ECDSA => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// The content of the DER element at the front of `bytes`, and what comes after it; `None` if it
/// has another tag or ends early.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // So many bytes of length follow; four are more than any certificate needs.
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = digits
                .iter()
                .fold(0, |length, &digit| length << 8 | usize::from(digit));
            (length, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SignatureAlgorithm};

    use super::*;

    fn certificate(algorithm: &'static SignatureAlgorithm) -> Vec<u8> {
        let key = KeyPair::generate_for(algorithm).expect("a key");
        let parameters = CertificateParams::new(["localhost".to_owned()]).expect("parameters");
        let signed = parameters.self_signed(&key).expect("signed");
        signed.der().to_vec()
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        let small = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        assert_eq!(
            certificate_hash(&small),
            Some(Sha256::digest(&small).to_vec())
        );
        let large = certificate(&rcgen::PKCS_ECDSA_P384_SHA384);
        assert_eq!(
            certificate_hash(&large),
            Some(Sha384::digest(&large).to_vec())
        );
        assert_eq!(certificate_hash(&certificate(&rcgen::PKCS_ED25519)), None);
    }

    #[test]
    fn what_is_cut_short_has_none() {
        let whole = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        for length in 0..whole.len() {
            // Cut anywhere, the outermost element is no longer whole.
            assert_eq!(certificate_hash(&whole[..length]), None, "{length}");
        }
    }
}
