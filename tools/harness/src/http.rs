//! HTTP requests and responses, and connections that carry one request at a time (hyper).

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub status: u16,
    /// The seconds of `Retry-After`.
    pub retry_after: Option<u64>,
    pub body: Bytes,
}

impl Response {
    pub(crate) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: &'static str,
    target: String,
    content_type: &'static str,
    pub body: String,
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.method, self.target, self.body)
    }
}

impl Request {
    pub(crate) fn json(method: &'static str, target: String, body: String) -> Request {
        Request {
            method,
            target,
            content_type: "application/json",
            body,
        }
    }

    pub(crate) fn ndjson(target: String, body: String) -> Request {
        Request {
            content_type: "application/x-ndjson",
            ..Request::json("POST", target, body)
        }
    }
}

/// A connection of a client with a token.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authorization: String,
}

impl Connection {
    /// Connects, and adds the task that reads and writes the connection to `tasks`.
    pub(crate) async fn open(
        address: SocketAddr,
        token: &str,
        tasks: &mut JoinSet<()>,
    ) -> Result<Connection, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{address}: {error}");
        let stream = TcpStream::connect(address).await.map_err(|e| failed(&e))?;
        stream.set_nodelay(true).map_err(|e| failed(&e))?;
        let opened = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(|e| failed(&e))?;
        tasks.spawn(async {
            // An error also fails the request in flight.
            let _ = connection.await;
        });
        Ok(Connection {
            sender,
            authorization: format!("Bearer {token}"),
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a request and returns its response, whatever its status.
    pub(crate) async fn send(&mut self, request: Request) -> Result<Response, String> {
        let failed = |error: hyper::Error| error.to_string();
        let mut head = hyper::Request::builder()
            .method(request.method)
            .uri(request.target)
            .header(HOST, "emab")
            .header(AUTHORIZATION, &self.authorization);
        if !request.body.is_empty() {
            head = head.header(CONTENT_TYPE, request.content_type);
        }
        let request = head.body(Full::from(request.body));
        let request = request.map_err(|error| error.to_string())?;
        self.sender.ready().await.map_err(failed)?;
        let response = self.sender.send_request(request).await.map_err(failed)?;
        let retry_after = response.headers().get(RETRY_AFTER);
        Ok(Response {
            status: response.status().as_u16(),
            retry_after: retry_after.and_then(|value| value.to_str().ok()?.parse().ok()),
            body: response
                .into_body()
                .collect()
                .await
                .map_err(failed)?
                .to_bytes(),
        })
    }
}

/// A client that waits for each response.
#[derive(Debug)]
pub(crate) struct BlockingClient {
    connection: Connection,
    _tasks: JoinSet<()>,
    runtime: Runtime,
}

impl BlockingClient {
    pub(crate) fn connect(address: SocketAddr, token: &str) -> Result<BlockingClient, String> {
        let (runtime, mut tasks) = (runtime()?, JoinSet::new());
        let connection = runtime.block_on(Connection::open(address, token, &mut tasks))?;
        Ok(BlockingClient {
            connection,
            _tasks: tasks,
            runtime,
        })
    }

    /// Sends a request; fails unless its status is 2xx and the response comes within a minute.
    pub(crate) fn send(&mut self, request: Request) -> Result<Response, String> {
        let description = format!("{} {}", request.method, request.target);
        let timeout = Duration::from_secs(60);
        let send = async { tokio::time::timeout(timeout, self.connection.send(request)).await };
        let sent = self.runtime.block_on(send);
        let sent = sent.unwrap_or_else(|_| Err(format!("no response within {timeout:?}")));
        match sent {
            Ok(response) if (200..300).contains(&response.status) => Ok(response),
            Ok(response) => Err(format!(
                "{description}: {} {}",
                response.status,
                response.text()
            )),
            Err(error) => Err(format!("{description}: {error}")),
        }
    }
}

/// A runtime that uses the thread that calls it and no other.
pub(crate) fn runtime() -> Result<Runtime, String> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    built.map_err(|error| format!("runtime: {error}"))
}
