//! HTTP/1.1 requests and responses: one request at a time on a persistent connection.
//!
//! The load generator shares the processors with the service that it measures. It therefore writes requests itself and
//! reads responses with `httparse`, hyper's parser; the README gives the cost of a full client library.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub status: u16,
    /// The seconds of `Retry-After`.
    pub retry_after: Option<u64>,
    pub body: Vec<u8>,
}

impl Response {
    pub(crate) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The response at the start of a buffer and its length in bytes; `None` if it is incomplete. Fails if the buffer does
    /// not start with a response of known length.
    pub(crate) fn parse(buffer: &[u8]) -> Result<Option<(Response, usize)>, String> {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut head = httparse::Response::new(&mut headers);
        let parsed = head.parse(buffer).map_err(|error| error.to_string())?;
        let httparse::Status::Complete(start) = parsed else {
            return Ok(None);
        };
        let number = |name: &str| {
            let header = head
                .headers
                .iter()
                .find(|it| it.name.eq_ignore_ascii_case(name));
            let value = std::str::from_utf8(header?.value).ok()?;
            value.trim().parse::<u64>().ok()
        };
        let length = number("content-length").ok_or("a response without Content-Length")?;
        let end = start + length as usize;
        Ok(buffer.get(start..end).map(|body| {
            let response = Response {
                status: head.code.unwrap_or_default(),
                retry_after: number("retry-after"),
                body: body.to_vec(),
            };
            (response, end)
        }))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub method: &'static str,
    pub target: String,
    pub content_type: &'static str,
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

    /// Appends the request's bytes to a buffer.
    pub(crate) fn write(&self, token: &str, out: &mut Vec<u8>) {
        let (method, target, length) = (self.method, &self.target, self.body.len());
        // Writing to a vector cannot fail.
        let _ = write!(
            out,
            "{method} {target} HTTP/1.1\r\nhost: emab\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n"
        );
        if length > 0 {
            let _ = write!(out, "content-type: {}\r\n", self.content_type);
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.body.as_bytes());
    }
}

/// A client that waits for each response.
#[derive(Debug)]
pub(crate) struct BlockingClient {
    token: String,
    stream: TcpStream,
}

impl BlockingClient {
    pub(crate) fn connect(address: SocketAddr, token: &str) -> Result<BlockingClient, String> {
        let connect = || {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            Ok(stream)
        };
        Ok(BlockingClient {
            token: token.into(),
            stream: connect().map_err(|error: std::io::Error| format!("{address}: {error}"))?,
        })
    }

    /// Sends a request and returns its response, whatever its status.
    pub(crate) fn send(&mut self, request: &Request) -> Result<Response, String> {
        let failed = |error: std::io::Error| format!("{request}: {error}");
        let mut bytes = Vec::new();
        request.write(&self.token, &mut bytes);
        self.stream.write_all(&bytes).map_err(failed)?;
        bytes.clear();
        loop {
            if let Some((response, _)) = Response::parse(&bytes)? {
                return Ok(response);
            }
            let mut chunk = [0; 65_536];
            let count = self.stream.read(&mut chunk).map_err(failed)?;
            if count == 0 {
                return Err(format!("{request}: the connection was closed"));
            }
            bytes.extend_from_slice(&chunk[..count]);
        }
    }

    /// Sends a request; fails unless its status is 2xx.
    pub(crate) fn send_ok(&mut self, request: &Request) -> Result<Response, String> {
        let response = self.send(request)?;
        match response.status {
            200..300 => Ok(response),
            status => Err(format!("{request}: {status} {}", response.text())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_response_once_it_is_complete() {
        let text = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\ncontent-length: 2\r\n\r\n{}rest";
        for cut in 0..text.len() - 4 {
            assert_eq!(Response::parse(&text[..cut]).unwrap(), None, "{cut}");
        }
        let (response, length) = Response::parse(text).unwrap().unwrap();
        assert_eq!((response.status, response.retry_after), (503, Some(7)));
        assert_eq!((&*response.body, length), (&b"{}"[..], text.len() - 4));
        assert!(Response::parse(b"SSH-2.0\r\n\r\n").is_err());
    }

    #[test]
    fn a_request_without_a_body_has_no_content_type() {
        let mut out = Vec::new();
        Request::json("POST", "/a:ask".into(), String::new()).write("t", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("POST /a:ask HTTP/1.1\r\n") && text.ends_with("\r\n\r\n"));
        assert!(!text.contains("content-type"));
    }
}
