//! TLS to the server, with the same library as TLS to clients.

use std::sync::Arc;

use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A connector that trusts the authorities of a PEM file, or those of the system.
pub(super) fn connector(roots: Option<&str>) -> Result<MakeRustlsConnect, String> {
    let store = match roots {
        None | Some("system") => of_system()?,
        Some(file) => of_file(file)?,
    };
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?
        .with_root_certificates(store)
        .with_no_client_auth();
    // Required for `sslnegotiation=direct`; ignored by servers before PostgreSQL 17.
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

fn of_file(file: &str) -> Result<RootCertStore, String> {
    let wrong = |why: String| format!("`sslrootcert={file}`: {why}");
    let mut store = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for certificate in certificates.map_err(|error| wrong(error.to_string()))? {
        let added = store.add(certificate);
        added.map_err(|error| wrong(error.to_string()))?;
    }
    if store.is_empty() {
        return Err(wrong("it contains no certificate".into()));
    }
    Ok(store)
}

fn of_system() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    // Unreadable ones are ignored.
    store.add_parsable_certificates(found.certs);
    if store.is_empty() {
        return Err("this system has no trusted authorities; set `sslrootcert=FILE`".into());
    }
    Ok(store)
}
