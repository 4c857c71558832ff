//! Connections: accepted, timed, encrypted if need be, handed to the router, and let finish when the service ends.

mod acceptor;
mod address;
mod body;
mod catch_panic;
mod limits;
mod plain;
mod timeout_io;
mod tls;

use std::future::pending;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use address::check_address;
pub use body::BodyError;
pub use limits::Limits;
pub use tls::Tls;

use crate::app::metrics::Metrics;
use acceptor::Acceptor;
use body::TimeoutBody;
use timeout_io::{Phase, TimeoutIo};

/// Hyper asks for this much at least.
const SMALLEST_BUFFER: usize = 8192;

/// Why the service cannot listen as it was told to.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Others could reach it, and not only those who may.
    #[error(
        "{addr} can be reached from other machines, and {missing} is missing; give it, or listen on 127.0.0.1"
    )]
    Exposed {
        /// Where it should listen.
        addr: SocketAddr,
        /// What is missing, with the options that give it.
        missing: String,
    },
    /// A certificate or a key is not what it should be.
    #[error("TLS: {file}: {what}", file = file.display())]
    Tls {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// Who sent a request: in its extensions, for `Extension<Peer>`. Behind a proxy it is the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Serves `app` until `shutdown`; then requests in course may finish within [`Limits::grace`].
///
/// With TLS, SIGHUP has the certificate and the key read again.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    app: Router,
    limits: Limits,
    metrics: Metrics,
    shutdown: impl Future<Output = ()>,
) {
    let host = Host {
        tls,
        app,
        http: http(&limits),
        limits: Arc::new(limits),
    };
    let mut gate = Acceptor::new(listener, host.limits.connections);
    let mut hangup = host
        .tls
        .as_ref()
        .and_then(|_| signal(SignalKind::hangup()).ok());
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, peer, place) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            () = next_of(&mut hangup) => {
                host.reload();
                continue;
            }
            next = gate.next() => next,
        };
        let (host, stopped, open) = (host.clone(), stopped.clone(), metrics.connection());
        tasks.spawn(async move {
            host.meet(stream, peer, stopped).await;
            drop((place, open));
        });
        // As many as have ended since; so the set is never much larger than the room.
        while tasks.try_join_next().is_some() {}
    }
    drop(gate);
    finish(tasks, stop, host.limits.grace).await;
}

/// Lets connections end, and drops those that do not.
async fn finish(mut tasks: JoinSet<()>, stop: watch::Sender<bool>, grace: std::time::Duration) {
    // Nobody listens any more when there is no connection.
    let _ = stop.send(true);
    let all = async { while tasks.join_next().await.is_some() {} };
    if timeout(grace, all).await.is_err() {
        let connections = tasks.len();
        tracing::warn!(
            connections,
            "still busy at the end of the grace period: dropped"
        );
        tasks.shutdown().await;
    }
}

async fn next_of(signal: &mut Option<Signal>) {
    let came = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if came.is_none() {
        pending().await
    }
}

fn http(limits: &Limits) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        // From idle to the end of the next head; that the head itself is quick is up to `TimeoutIo`.
        .header_read_timeout(limits.idle.saturating_add(limits.head))
        .max_header_size(limits.head_bytes)
        .max_buf_size(limits.head_bytes.max(SMALLEST_BUFFER));
    http
}

/// What every connection needs.
#[derive(Clone)]
struct Host {
    tls: Option<Tls>,
    app: Router,
    http: http1::Builder,
    limits: Arc<Limits>,
}

impl Host {
    fn reload(&self) {
        match self.tls.as_ref().map(Tls::reload) {
            Some(Err(error)) => tracing::error!(%error, "the certificate read before stays"),
            Some(Ok(())) => tracing::info!("certificate read again"),
            None => {}
        }
    }

    async fn meet(&self, stream: TcpStream, peer: SocketAddr, mut stopped: watch::Receiver<bool>) {
        // Answers are small and waited for.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "TCP_NODELAY");
        }
        let Some(tls) = &self.tls else {
            return self.talk(stream, peer, stopped).await;
        };
        let greeting = async {
            if plain::is_plain(&stream).await {
                plain::refuse(stream).await;
                return None;
            }
            let met = tls.acceptor().accept(stream).await;
            met.inspect_err(|error| tracing::debug!(%peer, %error, "TLS"))
                .ok()
        };
        let met = tokio::select! {
            met = timeout(self.limits.handshake, greeting) => met,
            () = end_of(&mut stopped) => return,
        };
        if let Ok(Some(stream)) = met {
            self.talk(stream, peer, stopped).await;
        }
    }

    async fn talk(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: SocketAddr,
        mut stopped: watch::Receiver<bool>,
    ) {
        let phase = Phase::new();
        let io = TimeoutIo::new(stream, phase.clone(), self.limits.head, self.limits.stalled);
        let app = TowerToHyperService::new(self.app.clone());
        let service = service_fn(|request: Request<Incoming>| {
            phase.busy();
            let mut request = request.map(|body| TimeoutBody::new(body, &self.limits));
            request.extensions_mut().insert(Peer(peer));
            let answer = catch_panic::catch_panic(app.call(request));
            let phase = &phase;
            async move {
                let answer = answer.await;
                phase.idle();
                answer
            }
        });
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(io), service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = end_of(&mut stopped) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        // Clients break off all the time; it is for those who look into one of them.
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection");
        }
    }
}

async fn end_of(stopped: &mut watch::Receiver<bool>) {
    // The sender gone means the same: nobody serves any more.
    let _ = stopped.wait_for(|stop| *stop).await;
}
