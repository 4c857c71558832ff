//! TLS of connections that the service opens, with the same library as TLS to its clients.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A configuration that trusts these authorities.
pub(crate) fn trusting(store: RootCertStore) -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?;
    Ok(config.with_root_certificates(store).with_no_client_auth())
}

/// The authorities of the system.
pub(crate) fn system_authorities() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    // Unreadable ones are ignored.
    store.add_parsable_certificates(found.certs);
    match store.is_empty() {
        true => Err("this system has no trusted authorities".into()),
        false => Ok(store),
    }
}
