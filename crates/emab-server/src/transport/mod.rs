//! The listener: accepts connections, applies TLS and the limits of [`Limits`], and hands requests to the router.
//!
//! hyper is used directly, because `axum::serve` has no limits for slow clients: `TimeoutIo` bounds the request head and stalled
//! writes, `TimeoutBody` the request body.

mod acceptor;
mod address;
mod connection_limits;
mod host;
mod parse_errors;
mod plain;
mod timeout_body;
mod timeout_io;
mod tls;

use std::any::Any;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_http::catch_panic::CatchPanic;

pub use address::check_address;
pub use connection_limits::Limits;
pub use tls::Tls;

use crate::app::Metrics;
use crate::http::Peer;
use crate::http::error::ApiError;
use crate::platform::Hangup;
use acceptor::Acceptor;
use host::check_host;
use parse_errors::ParseErrorIo;
use timeout_body::TimeoutBody;
use timeout_io::{Phase, TimeoutIo};

/// The smallest buffer that hyper accepts.
const SMALLEST_BUFFER: usize = 8192;

/// Why the service cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is reachable from other machines without protection.
    #[error(
        "{0} can be reached from other machines, and {1} is missing; add it, or listen on 127.0.0.1"
    )]
    Exposed(SocketAddr, String),
    /// The file of a certificate or a key has this fault.
    #[error("TLS: {path}: {1}", path = .0.display())]
    Tls(PathBuf, String),
}

/// Serves `app` until `shutdown`. Running requests may then finish within [`Limits::grace`].
///
/// With TLS, SIGHUP reloads the certificate and the key; without, it is ignored.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    app: Router,
    limits: Limits,
    metrics: Metrics,
    shutdown: impl Future<Output = ()>,
) {
    let server = Server {
        tls,
        app,
        http: http(&limits),
        limits: Arc::new(limits),
    };
    let mut acceptor = Acceptor::new(listener, server.limits.connections);
    let mut hangup = Hangup::new();
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, peer, permit) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            () = hangup.recv() => {
                server.reload();
                continue;
            }
            next = acceptor.next() => next,
        };
        let (server, stopped, open) = (server.clone(), stopped.clone(), metrics.connection());
        tasks.spawn(async move {
            server.accept(stream, peer, stopped).await;
            drop((permit, open));
        });
        // Removes ended tasks, so that the set does not grow.
        while tasks.try_join_next().is_some() {}
    }
    drop(acceptor);
    finish(tasks, stop, server.limits.grace).await;
}

/// Waits for connections to end, and drops those that exceed the grace period.
async fn finish(mut tasks: JoinSet<()>, stop: watch::Sender<bool>, grace: std::time::Duration) {
    // Fails only if there is no connection.
    let _ = stop.send(true);
    let all = async { while tasks.join_next().await.is_some() {} };
    if timeout(grace, all).await.is_err() {
        let connections = tasks.len();
        tracing::warn!(
            connections,
            "connections dropped at the end of the grace period"
        );
        tasks.shutdown().await;
    }
}

fn http(limits: &Limits) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        // From idle to the end of the next head; `TimeoutIo` bounds the head itself.
        .header_read_timeout(limits.idle.saturating_add(limits.head))
        // A client may close its side after a request: the request is executed and answered.
        .half_close(true)
        .max_header_size(limits.head_bytes)
        .max_buf_size(limits.head_bytes.max(SMALLEST_BUFFER));
    http
}

/// What every connection needs.
#[derive(Clone)]
struct Server {
    tls: Option<Tls>,
    app: Router,
    http: http1::Builder,
    limits: Arc<Limits>,
}

impl Server {
    fn reload(&self) {
        match self.tls.as_ref().map(Tls::reload) {
            Some(Err(error)) => tracing::error!(%error, "the previous certificate stays in use"),
            Some(Ok(())) => tracing::info!("certificate reloaded"),
            None => tracing::info!("SIGHUP is ignored: there is no certificate to reload"),
        }
    }

    async fn accept(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        mut stopped: watch::Receiver<bool>,
    ) {
        // Responses are small, and clients wait for them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "TCP_NODELAY");
        }
        let Some(tls) = &self.tls else {
            return self.serve(stream, peer, stopped).await;
        };
        let handshake = async {
            if plain::is_plain(&stream).await {
                plain::reject(stream).await;
                return None;
            }
            let accepted = tls.acceptor().accept(stream).await;
            accepted
                .inspect_err(|error| tracing::debug!(%peer, %error, "TLS"))
                .ok()
        };
        let accepted = tokio::select! {
            accepted = timeout(self.limits.handshake, handshake) => accepted,
            () = end_of(&mut stopped) => return,
        };
        if let Ok(Some(stream)) = accepted {
            self.serve(stream, peer, stopped).await;
        }
    }

    async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: SocketAddr,
        mut stopped: watch::Receiver<bool>,
    ) {
        let phase = Phase::new();
        let io = TimeoutIo::new(stream, phase.clone(), self.limits.head, self.limits.stalled);
        let io = ParseErrorIo::new(io, phase.clone(), self.limits.head_bytes);
        let app = CatchPanic::custom(self.app.clone(), panic_response);
        let app = TowerToHyperService::new(app);
        let service = service_fn(|request: Request<Incoming>| {
            phase.busy();
            let mut request = request.map(|body| TimeoutBody::new(body, &self.limits));
            request.extensions_mut().insert(Peer(peer));
            let (app, phase) = (&app, &phase);
            async move {
                let answer = match check_host(&request) {
                    Ok(()) => app.call(request).await.map(|answer| answer.map(Body::new)),
                    Err(error) => Ok(closing(error)),
                };
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
        // Clients disconnect at any time: not worth a warning.
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection");
        }
    }
}

/// The response of an error, after which the connection is closed.
fn closing(error: ApiError) -> Response {
    let mut response = error.into_response();
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

async fn end_of(stopped: &mut watch::Receiver<bool>) {
    // A dropped sender means the same.
    let _ = stopped.wait_for(|stop| *stop).await;
}

fn panic_response(panic: Box<dyn Any + Send>) -> Response {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    let panic = text.or_else(owned).unwrap_or("no message");
    tracing::error!(panic, "a handler panicked");
    ApiError::internal(
        "the service failed, see its log; the request may have been recorded: repeat it, repeating is harmless",
    )
    .into_response()
}
