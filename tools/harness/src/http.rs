//! HTTP requests and responses, and connections that carry one request at a time (hyper).

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::HeaderMap;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::Result;

#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub status: u16,
    /// The seconds of `Retry-After`.
    pub retry_after: Option<u64>,
    pub headers: HeaderMap,
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
    pub headers: Vec<(&'static str, String)>,
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
            headers: Vec::new(),
            body,
        }
    }

    /// A page of the console, with the cookie of a session.
    pub(crate) fn page(target: &str, cookie: &str) -> Request {
        let headers = vec![
            ("accept", "text/html".to_owned()),
            ("cookie", cookie.to_owned()),
        ];
        Request {
            headers,
            ..Request::json("GET", target.into(), String::new())
        }
    }

    /// The form by which a person signs in.
    pub(crate) fn sign_in(token: &str) -> Request {
        Request {
            headers: vec![("origin", "http://emab".to_owned())],
            content_type: "application/x-www-form-urlencoded",
            ..Request::json("POST", "/sign-in".into(), format!("token={token}"))
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
    ) -> Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
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
    pub(crate) async fn send(&mut self, request: Request) -> Result<Response> {
        let mut head = hyper::Request::builder()
            .method(request.method)
            .uri(request.target)
            .header(HOST, "emab")
            .header(AUTHORIZATION, &self.authorization);
        for (name, value) in &request.headers {
            head = head.header(*name, value);
        }
        if !request.body.is_empty() {
            head = head.header(CONTENT_TYPE, request.content_type);
        }
        let request = head.body(Full::from(request.body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let retry_after = response.headers().get(RETRY_AFTER);
        Ok(Response {
            status: response.status().as_u16(),
            retry_after: retry_after.and_then(|value| value.to_str().ok()?.parse().ok()),
            headers: response.headers().clone(),
            body: response.into_body().collect().await?.to_bytes(),
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
    pub(crate) fn connect(address: SocketAddr, token: &str) -> Result<BlockingClient> {
        let (runtime, mut tasks) = (runtime()?, JoinSet::new());
        let connection = runtime.block_on(Connection::open(address, token, &mut tasks))?;
        Ok(BlockingClient {
            connection,
            _tasks: tasks,
            runtime,
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Sends a request and returns its response, whatever its status; fails if none comes within a minute.
    pub(crate) fn exchange(&mut self, request: Request) -> Result<Response> {
        let description = format!("{} {}", request.method, request.target);
        let timeout = Duration::from_secs(60);
        let send = async { tokio::time::timeout(timeout, self.connection.send(request)).await };
        match self.runtime.block_on(send) {
            Ok(sent) => sent.map_err(|error| format!("{description}: {error}").into()),
            Err(_) => Err(format!("{description}: no response within {timeout:?}").into()),
        }
    }

    /// Like [`BlockingClient::exchange`]; fails unless the status is 2xx.
    pub(crate) fn send(&mut self, request: Request) -> Result<Response> {
        let description = format!("{} {}", request.method, request.target);
        let sent = self.exchange(request)?;
        match sent.status {
            200..300 => Ok(sent),
            status => Err(format!("{description}: {status} {}", sent.text()).into()),
        }
    }
}

/// A runtime that uses the thread that calls it and no other.
pub(crate) fn runtime() -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}
