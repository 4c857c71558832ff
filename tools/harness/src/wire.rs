//! HTTP/1.1 as far as a client of the service needs it: one request after the other on a connection that stays.
//!
//! It is written by hand because it shares the machine with what it measures.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// The seconds of `Retry-After`, if it has one.
    pub retry_after: Option<u64>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Its body as text.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

/// What is sent with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The method.
    pub method: &'static str,
    /// The path and what comes after it.
    pub target: String,
    /// The type of the body.
    pub kind: &'static str,
    /// The body; without one there is no type either.
    pub body: String,
}

impl Message {
    /// JSON to somewhere.
    pub fn json(method: &'static str, target: String, body: String) -> Message {
        Message {
            method,
            target,
            kind: "application/json",
            body,
        }
    }

    /// Writes it out for a token.
    pub fn write(&self, token: &str, out: &mut Vec<u8>) {
        let Message {
            method,
            target,
            kind,
            body,
        } = self;
        // Writing to a vector cannot fail.
        let _ = write!(
            out,
            "{method} {target} HTTP/1.1\r\nhost: emab\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n",
            body.len()
        );
        if !body.is_empty() {
            let _ = write!(out, "content-type: {kind}\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body.as_bytes());
    }
}

/// The answer at the start of what was read, and how many bytes it has; none if it is not whole yet.
pub fn parse(read: &[u8]) -> Result<Option<(Answer, usize)>, String> {
    let Some(head) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&read[..head]).map_err(|error| error.to_string())?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| {
        let digits = rest.get(..3)?;
        digits.parse().ok()
    });
    let status = status.ok_or_else(|| format!("not an answer: {first}"))?;
    let (mut length, mut retry_after) = (None, None);
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse::<usize>().ok();
        } else if name.eq_ignore_ascii_case("retry-after") {
            retry_after = value.trim().parse().ok();
        }
    }
    let length = length.ok_or_else(|| format!("an answer of unknown length: {text}"))?;
    let (start, end) = (head + 4, head + 4 + length);
    Ok(read.get(start..end).map(|body| {
        let body = body.to_vec();
        let answer = Answer {
            status,
            retry_after,
            body,
        };
        (answer, end)
    }))
}

/// One who calls and waits.
#[derive(Debug)]
pub struct Caller {
    address: SocketAddr,
    token: String,
    stream: TcpStream,
}

impl Caller {
    /// Connects.
    pub fn new(address: SocketAddr, token: &str) -> Result<Caller, String> {
        let wrong = |error: std::io::Error| format!("{address}: {error}");
        let stream = TcpStream::connect(address).map_err(wrong)?;
        stream.set_nodelay(true).map_err(wrong)?;
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).map_err(wrong)?;
        Ok(Caller {
            address,
            token: token.into(),
            stream,
        })
    }

    /// Calls and waits for the answer.
    pub fn call(&mut self, message: &Message) -> Result<Answer, String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", self.address);
        let mut bytes = Vec::new();
        message.write(&self.token, &mut bytes);
        self.stream.write_all(&bytes).map_err(wrong)?;
        let mut read = Vec::new();
        loop {
            if let Some((answer, _)) = parse(&read)? {
                return Ok(answer);
            }
            let mut some = [0; 65536];
            let count = self.stream.read(&mut some).map_err(wrong)?;
            if count == 0 {
                return Err(format!("{}: closed before it answered", self.address));
            }
            read.extend_from_slice(&some[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_once_it_is_whole() {
        let text = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\ncontent-length: 2\r\n\r\n{}rest";
        for cut in 0..text.len() - 4 {
            assert_eq!(parse(&text[..cut]).unwrap(), None, "{cut}");
        }
        let (answer, length) = parse(text).unwrap().unwrap();
        assert_eq!((answer.status, answer.retry_after), (503, Some(7)));
        assert_eq!((&*answer.body, length), (&b"{}"[..], text.len() - 4));
        assert!(parse(b"SSH-2.0\r\n\r\n").is_err());
    }

    #[test]
    fn a_message_is_what_a_server_reads() {
        let mut out = Vec::new();
        Message::json("POST", "/a:ask".into(), String::new()).write("t", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("POST /a:ask HTTP/1.1\r\n") && text.ends_with("\r\n\r\n"));
        assert!(!text.contains("content-type"));
    }
}
