//! The service from its options to its end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::metrics::Metrics;
use crate::app::service::Service;
use crate::http::{App, Rates, app};
use crate::store::{Backend, StoreError};
use crate::tokens::{Secret, TokenError, TokenFile, Tokens};
use crate::transport::{Limits, ListenError, Tls, check_address, serve as listen};

/// How the service is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 is any that is free.
    pub listen: SocketAddr,
    /// The file of its tokens.
    pub tokens: PathBuf,
    /// Whether that file was named, and not only taken because nothing else was said.
    pub tokens_named: bool,
    /// Certificate chain and key, in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether a proxy in front of it does the encryption.
    pub behind_proxy: bool,
    /// Calls a second for each token; 0 is no limit.
    pub rate: u32,
}

/// Why it does not run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The tokens.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The address or the certificate.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
    /// No threads or signals to be had.
    #[error("cannot start: {0}")]
    Start(std::io::Error),
}

/// What is told once it listens.
pub struct Ready {
    /// Where.
    pub address: SocketAddr,
    /// Whether it speaks TLS.
    pub tls: bool,
    /// The first admin's token, at the first start: the only time it can be shown.
    pub first: Option<Secret>,
}

/// Runs the service over a store until it is told to stop (SIGINT or SIGTERM).
pub fn serve(
    backend: std::sync::Arc<dyn Backend>,
    options: &Options,
    ready: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    check_address(
        options.listen,
        options.tokens_named,
        options.tls.is_some(),
        options.behind_proxy,
    )?;
    let tls = match &options.tls {
        Some((cert, key)) => Some(Tls::from_files(cert, key)?),
        None => None,
    };
    let metrics = Metrics::new();
    let service = Service::start(backend, metrics.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Start)?;
    let served = runtime.block_on(async {
        let bound = TcpListener::bind(options.listen).await;
        let taken = |error| ServeError::Bind {
            address: options.listen,
            error,
        };
        let listener = bound.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Start)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Start)?;
        // Not before it is sure that it can be shown.
        let first = TokenFile::at(&options.tokens).create_first_admin()?;
        let tokens = Tokens::watch(&options.tokens)?;
        let parts = App::new(
            service.clone(),
            tokens,
            Rates::new(options.rate),
            metrics.clone(),
        );
        let app = app(parts.clone());
        let stop = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("stopping: requests in course are finished");
            parts.end_streams();
        };
        ready(&Ready {
            address,
            tls: tls.is_some(),
            first,
        });
        listen(listener, tls, app, Limits::default(), metrics, stop).await;
        Ok(())
    });
    // What was taken is written before we go.
    service.finish();
    runtime.shutdown_timeout(Duration::from_secs(5));
    served
}
