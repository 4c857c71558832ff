//! TLS to the server.

use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::client_tls::{system_authorities, trusting};

/// A connector that trusts the authorities of a PEM file, or those of the system.
pub(super) fn connector(roots: Option<&str>) -> Result<MakeRustlsConnect, String> {
    let store = match roots {
        None | Some("system") => {
            system_authorities().map_err(|what| format!("{what}; set `sslrootcert=FILE`"))?
        }
        Some(file) => of_file(file)?,
    };
    let mut config = trusting(store)?;
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
