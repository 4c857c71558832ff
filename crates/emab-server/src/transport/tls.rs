//! TLS from two PEM files, which can be replaced while the service runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::ListenError;

/// A certificate chain and its key. Clones share the effect of [`Tls::reload`].
#[derive(Clone)]
pub struct Tls {
    cert: PathBuf,
    key: PathBuf,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

impl std::fmt::Debug for Tls {
    // Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tls({})", self.cert.display())
    }
}

impl Tls {
    /// Reads a certificate chain (that of the service first) and its private key.
    pub fn from_files(cert: &Path, key: &Path) -> Result<Tls, ListenError> {
        let config = read(cert, key)?;
        Ok(Tls {
            cert: cert.into(),
            key: key.into(),
            config: Arc::new(RwLock::new(config)),
        })
    }

    /// Reads both files again, for new connections; after an error the previous ones stay in use.
    pub fn reload(&self) -> Result<(), ListenError> {
        let new = read(&self.cert, &self.key)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&config))
    }
}

fn read(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, ListenError> {
    let wrong = |file: &Path, what: String| ListenError::Tls(file.into(), what);
    let bytes = |file: &Path| {
        fs::read(file).map_err(|error| wrong(file, format!("cannot be read: {error}")))
    };

    let chain = CertificateDer::pem_slice_iter(&bytes(cert)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| wrong(cert, format!("invalid PEM: {}", shown(&error))))?;
    if chain.is_empty() {
        let what = "it contains no certificate; expected PEM, `-----BEGIN CERTIFICATE-----`";
        return Err(wrong(cert, what.into()));
    }

    let text = bytes(key)?;
    let secret = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        let encrypted = String::from_utf8_lossy(&text).contains("ENCRYPTED PRIVATE KEY");
        let what = match error {
            pem::Error::NoItemsFound if encrypted => {
                "its key has a passphrase; remove it with `openssl pkey -in FILE -out NEW`".into()
            }
            pem::Error::NoItemsFound => {
                "it contains no private key; expected PEM, `-----BEGIN PRIVATE KEY-----`".into()
            }
            other => format!("invalid PEM: {}", shown(&other)),
        };
        wrong(key, what)
    })?;

    let pair = |error: tokio_rustls::rustls::Error| {
        let cert = cert.display();
        wrong(
            key,
            format!("it cannot be used with the certificate {cert}: {error}"),
        )
    };
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// A PEM error without its bytes, which may be those of a key.
fn shown(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no end line",
        pem::Error::IllegalSectionStart { .. } => "a section has a malformed first line",
        pem::Error::Base64Decode(_) => "a section is not base64",
        pem::Error::SectionTooLarge => "a section is too large",
        pem::Error::NoItemsFound => "it is empty",
        _ => "unknown error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

    fn data(name: &str) -> PathBuf {
        Path::new(DATA).join(name)
    }

    #[track_caller]
    fn refused(cert: &Path, key: &Path, words: &[&str]) {
        let error = Tls::from_files(cert, key).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in {error}");
        }
    }

    #[test]
    fn names_the_fault_of_each_file() {
        let (cert, key) = (data("localhost.crt"), data("localhost.key"));
        Tls::from_files(&cert, &key).unwrap();

        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let none = folder.path().join("none.pem");
        refused(&none, &key, &["none.pem", "cannot be read"]);
        refused(&cert, &none, &["none.pem", "cannot be read"]);
        refused(&key, &key, &["localhost.key", "no certificate"]);
        refused(&cert, &cert, &["localhost.crt", "no private key"]);
        let words = ["other.key", "localhost.crt", "cannot be used"];
        refused(&cert, &data("other.key"), &words);

        let text = fs::read_to_string(&key).unwrap();
        let cut = write("cut.key", text.rsplit_once("-----END").unwrap().0);
        refused(&cert, &cut, &["cut.key", "no end line"]);
        let locked = text.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        let locked = write("locked.key", &locked);
        refused(&cert, &locked, &["locked.key", "passphrase"]);
        let second = text.lines().nth(1).unwrap();
        let odd = write("odd.key", &text.replace(second, &second.replace('A', "?")));
        refused(&cert, &odd, &["odd.key", "not base64"]);
        let said = Tls::from_files(&cert, &odd).unwrap_err().to_string();
        assert!(!said.contains(&second[..10]), "{said}");
    }

    #[test]
    fn a_failed_reload_keeps_the_previous_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("it.key");
        fs::copy(data("localhost.key"), &key).unwrap();
        let tls = Tls::from_files(&data("localhost.crt"), &key).unwrap();
        let first = Arc::clone(&tls.config.read().unwrap());
        fs::write(&key, "rubbish").unwrap();
        tls.reload().unwrap_err();
        assert!(Arc::ptr_eq(&first, &tls.config.read().unwrap()));
        fs::copy(data("localhost.key"), &key).unwrap();
        tls.reload().unwrap();
        assert!(!Arc::ptr_eq(&first, &tls.config.read().unwrap()));
    }
}
