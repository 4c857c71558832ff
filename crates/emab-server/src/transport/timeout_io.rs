//! A connection with timeouts for slow request heads and stalled writes.
//!
//! hyper has one timer for the request head, which also runs while a connection is idle. An idle connection may last a minute,
//! but a head that has begun must end within seconds, which is checked here.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Between requests.
const IDLE: u8 = 0;
/// A part of a head was read, or the connection is new.
const HEAD: u8 = 1;
/// A handler is running.
const BUSY: u8 = 2;

/// The phase of a connection, shared by its I/O and its handler.
#[derive(Clone)]
pub struct Phase(Arc<AtomicU8>);

impl Phase {
    /// A new connection, which must send a head.
    pub fn new() -> Phase {
        Phase(Arc::new(AtomicU8::new(HEAD)))
    }

    /// The head is complete.
    pub fn busy(&self) {
        self.0.store(BUSY, Ordering::Relaxed);
    }

    /// The handler has answered. Further bytes belong to the next head, or to an unread body.
    pub fn idle(&self) {
        self.0.store(IDLE, Ordering::Relaxed);
    }

    /// Whether a handler is running.
    pub fn is_busy(&self) -> bool {
        self.0.load(Ordering::Relaxed) == BUSY
    }

    fn is_head(&self) -> bool {
        self.0.load(Ordering::Relaxed) == HEAD
    }

    /// Starts a head; true at its first byte.
    fn begin(&self) -> bool {
        let order = Ordering::Relaxed;
        let swapped = self.0.compare_exchange(IDLE, HEAD, order, order);
        swapped.is_ok()
    }
}

pub struct TimeoutIo<S> {
    io: S,
    phase: Phase,
    head: Duration,
    stalled: Duration,
    head_end: Pin<Box<Sleep>>,
    /// Runs while the client accepts no bytes.
    write_end: Option<Pin<Box<Sleep>>>,
    /// Runs after the last byte was sent.
    linger_end: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutIo<S> {
    pub fn new(io: S, phase: Phase, head: Duration, stalled: Duration) -> TimeoutIo<S> {
        TimeoutIo {
            io,
            phase,
            head,
            stalled,
            head_end: Box::pin(sleep(head)),
            write_end: None,
            linger_end: None,
        }
    }

    fn write_timeout<T>(&mut self, cx: &mut Context<'_>, poll: Poll<T>) -> Poll<io::Result<T>> {
        if let Poll::Ready(result) = poll {
            self.write_end = None;
            return Poll::Ready(Ok(result));
        }
        let stalled = self.stalled;
        let end = self
            .write_end
            .get_or_insert_with(|| Box::pin(sleep(stalled)));
        end.as_mut()
            .poll(cx)
            .map(|()| Err(late("the client accepts no bytes of the response")))
    }
}

/// How long unread input is drained before closing: a client that is still sending would get a reset and lose the response.
const LINGER: Duration = Duration::from_secs(1);

impl<S: AsyncRead + Unpin> TimeoutIo<S> {
    /// Discards input until the client closes its side.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let end = self
            .linger_end
            .get_or_insert_with(|| Box::pin(sleep(LINGER)));
        loop {
            let mut bytes = [0; 4096];
            let mut buf = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.io).poll_read(cx, &mut buf) {
                Poll::Pending => return end.as_mut().poll(cx),
                // By the clock: the timer is not polled while there is more to read.
                Poll::Ready(Ok(()))
                    if !buf.filled().is_empty() && Instant::now() < end.deadline() => {}
                Poll::Ready(_) => return Poll::Ready(()),
            }
        }
    }
}

fn late(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if let Poll::Ready(result) = Pin::new(&mut self.io).poll_read(cx, buf) {
            if buf.filled().len() > before && self.phase.begin() {
                self.head_end = Box::pin(sleep(self.head));
            }
            return Poll::Ready(result);
        }
        if !self.phase.is_head() {
            return Poll::Pending;
        }
        let end = self.head_end.as_mut().poll(cx);
        end.map(|()| Err(late("the request head takes too long")))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimeoutIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.io).poll_write(cx, buf);
        self.write_timeout(cx, poll).map(Result::flatten)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.write_timeout(cx, poll).map(Result::flatten)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.io).poll_flush(cx);
        self.write_timeout(cx, poll).map(Result::flatten)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger_end.is_none() {
            let poll = Pin::new(&mut self.io).poll_shutdown(cx);
            ready!(self.write_timeout(cx, poll))??;
        }
        self.linger(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, join, repeat, sink};
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn stops_draining_a_client_that_never_stops_sending() {
        let long = Duration::from_secs(20);
        let mut io = TimeoutIo::new(join(repeat(0), sink()), Phase::new(), long, long);
        let ended = timeout(5 * LINGER, io.shutdown()).await;
        ended.expect("draining does not end").unwrap();
    }
}
