//! A request body with a minimum rate.
//!
//! Only time spent waiting counts, not the time of the handler between two reads. Every received byte extends the time, so that a
//! large import over a slow line succeeds and a trickle does not.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use super::Limits;
use crate::http::SlowBody;

/// Why a body is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The client was too slow.
    #[error("{0}")]
    Slow(#[source] SlowBody),
    /// The connection was lost, or the body is malformed.
    #[error("the body cannot be read: {0}")]
    Broken(#[from] hyper::Error),
}

/// A body under [`Limits::body`] and [`Limits::body_rate`].
pub struct TimeoutBody {
    inner: Incoming,
    limit: Duration,
    rate: u32,
    received: u64,
    waited: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    failed: bool,
}

impl TimeoutBody {
    pub fn new(inner: Incoming, limits: &Limits) -> TimeoutBody {
        TimeoutBody {
            inner,
            limit: limits.body,
            rate: limits.body_rate.max(1),
            received: 0,
            waited: Duration::ZERO,
            waiting: None,
            failed: false,
        }
    }

    fn left(&self) -> Duration {
        let earned = Duration::from_secs(self.received / u64::from(self.rate));
        self.limit
            .saturating_add(earned)
            .saturating_sub(self.waited)
    }
}

impl Body for TimeoutBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.failed {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            if let Some((since, _)) = self.waiting.take() {
                self.waited += since.elapsed();
            }
            let data = frame
                .as_ref()
                .and_then(|frame| frame.as_ref().ok()?.data_ref());
            self.received += data.map_or(0, |data| data.len() as u64);
            return Poll::Ready(frame.map(|frame| frame.map_err(BodyError::Broken)));
        }
        let left = self.left();
        let (since, end) = self
            .waiting
            .get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        let since = *since;
        if end.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.failed = true;
        Poll::Ready(Some(Err(BodyError::Slow(SlowBody {
            received: self.received,
            waited: self.waited + since.elapsed(),
        }))))
    }

    fn is_end_stream(&self) -> bool {
        self.failed || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
