//! Problem details for requests that hyper answers by itself.
//!
//! hyper answers a head that it cannot parse with a status and no body, and has no hook for it. This layer below hyper recognises
//! that response, which is always the last one of its connection, and writes problem details instead.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::timeout_io::Phase;
use crate::http::error::ApiError;

pub struct ParseErrorIo<S> {
    io: S,
    phase: Phase,
    /// What is left of the response that replaces the one of hyper.
    response: Option<Vec<u8>>,
    head_bytes: usize,
}

impl<S> ParseErrorIo<S> {
    pub fn new(io: S, phase: Phase, head_bytes: usize) -> ParseErrorIo<S> {
        ParseErrorIo {
            io,
            phase,
            response: None,
            head_bytes,
        }
    }

    fn problem(&self, status: u16) -> ApiError {
        match status {
            431 => {
                let most = self.head_bytes;
                let what = format!(
                    "the request line and the headers have at most {most} bytes and 100 fields"
                );
                ApiError::head_too_large(what)
            }
            _ => ApiError::malformed("the request line or a header field is not HTTP/1.1"),
        }
    }
}

/// The bytes before an automatic response at the end of a buffer, and its status.
fn automatic_response(buf: &[u8]) -> Option<(usize, u16)> {
    const LONGEST: usize = 160;
    let tail = buf.len().saturating_sub(LONGEST);
    let at = tail
        + buf[tail..]
            .windows(7)
            .rposition(|word| word == b"HTTP/1.")?;
    let head = std::str::from_utf8(&buf[at..]).ok()?;
    let mut lines = head.strip_suffix("\r\n\r\n")?.split("\r\n");
    let status = lines.next()?.get(9..12)?.parse().ok()?;
    let fields = ["connection: close", "content-length: 0", "date: "];
    let mut count = 0;
    for line in lines {
        count += 1;
        if !fields.iter().any(|field| line.starts_with(field)) {
            return None;
        }
    }
    (count == 3 && [400, 431].contains(&status)).then_some((at, status))
}

/// An error as the bytes of a response that ends its connection.
pub fn response_bytes(error: &ApiError) -> Vec<u8> {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    let body = serde_json::to_string(error).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

impl<S: AsyncRead + Unpin> AsyncRead for ParseErrorIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ParseErrorIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.response.is_none() {
            match automatic_response(buf).filter(|_| !self.phase.is_busy()) {
                None => return Pin::new(&mut self.io).poll_write(cx, buf),
                Some((0, status)) => self.response = Some(response_bytes(&self.problem(status))),
                Some((before, _)) => return Pin::new(&mut self.io).poll_write(cx, &buf[..before]),
            }
        }
        let ParseErrorIo { io, response, .. } = &mut *self;
        let left = response.get_or_insert_default();
        while !left.is_empty() {
            let n = ready!(Pin::new(&mut *io).poll_write(cx, left))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            left.drain(..n);
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match bufs {
            // An automatic response has no body: it is in the only buffer.
            [only] => self.poll_write(cx, only),
            bufs => Pin::new(&mut self.io).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
