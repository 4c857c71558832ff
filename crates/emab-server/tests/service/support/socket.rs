//! A service on a real socket, and a raw client.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use emab_server::app::metrics::Metrics;
use emab_server::transport::{Limits, Tls, serve};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A timeout that no passing test reaches.
pub const LONG: Duration = Duration::from_secs(20);

pub const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
pub const GET_AND_CLOSE: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

/// An application that answers `hello`.
pub fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn data(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).join(name)
}

pub struct Running {
    pub addr: SocketAddr,
    pub metrics: Metrics,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    pub async fn start(app: Router, limits: Limits, tls: Option<Tls>) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let metrics = Metrics::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(serve(listener, tls, app, limits, metrics.clone(), shutdown));
        Running {
            addr,
            metrics,
            stop: Some(stop),
            task,
        }
    }

    /// Without TLS, with some limits set.
    pub async fn with(app: Router, set: impl FnOnce(&mut Limits)) -> Running {
        let mut limits = Limits::default();
        set(&mut limits);
        Running::start(app, limits, None).await
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.addr).await.unwrap()
    }

    pub fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    pub async fn ended(self) {
        timeout(LONG, self.task).await.unwrap().unwrap();
    }

    /// Waits until this many connections are open.
    pub async fn open(&self, connections: u32) {
        let line = format!("emab_open_connections {connections}");
        let wait = async {
            while !self.metrics.encode().lines().any(|l| l == line) {
                tokio::time::sleep(ms(10)).await;
            }
        };
        timeout(LONG, wait).await.expect(&line);
    }
}

/// Reads until the connection is closed or reset.
pub async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut bytes))
        .await
        .expect("the other side never closed");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until this text has come this many times.
pub async fn until(stream: &mut (impl AsyncRead + Unpin), words: &str, times: usize) -> String {
    let mut text = String::new();
    let wait = async {
        while text.matches(words).count() < times {
            let mut bytes = [0; 4096];
            let n = stream.read(&mut bytes).await.unwrap();
            assert!(n > 0, "closed after {text:?}");
            text += &String::from_utf8_lossy(&bytes[..n]);
        }
    };
    timeout(LONG, wait).await.expect("no answer");
    text
}

/// One request on a new connection.
pub async fn ask(addr: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request).await.unwrap();
    rest(&mut stream).await
}

/// A connection over TLS that trusts this certificate alone.
pub async fn connect_tls(addr: SocketAddr, cert: &Path) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let cert = CertificateDer::from_pem_file(cert).unwrap();
    roots.add(cert).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(addr).await?;
    let name = "localhost".try_into().unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await
}
