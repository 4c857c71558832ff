//! Permits by token: a limit for each token, and one for all together.
//!
//! A token that has all its permits waits, and so does everyone while all permits are taken. Each token has at most as many
//! requests in the common queue as it may have permits, and that queue is in order of arrival: tokens take turns. While other
//! tokens are in use, the limit of a token may be lower.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// The number of tokens from which unused entries are dropped.
const MANY: usize = 1_024;

/// A kind of permit.
pub struct TokenPermits {
    each: usize,
    /// The limit of a token while others are in use.
    shared: usize,
    most: usize,
    /// The number of requests of a token that may wait; the others are rejected at once.
    waiting: usize,
    all: Arc<Semaphore>,
    tokens: Mutex<HashMap<String, Arc<OfToken>>>,
}

struct OfToken {
    /// Permits to hold a permit or wait for one.
    present: Arc<Semaphore>,
    permits: Arc<Semaphore>,
    shared: Arc<Semaphore>,
}

/// A permit; dropping it gives it back.
pub struct Permit {
    _shared: Option<OwnedSemaphorePermit>,
    _permits: [OwnedSemaphorePermit; 3],
}

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPermit {
    /// The token has this many, or as many wait as may.
    Token(usize),
    /// All of this many are taken.
    All(usize),
    /// No more are given.
    Closed,
}

impl TokenPermits {
    /// Permits, at most `each` for a token and `all` together. Up to `waiting` requests of a token wait for one; with 0 none
    /// waits.
    pub fn new(each: usize, all: usize, waiting: usize) -> TokenPermits {
        TokenPermits {
            each,
            shared: each,
            most: all,
            waiting,
            all: Arc::new(Semaphore::new(all)),
            tokens: Mutex::default(),
        }
    }

    /// With another limit of a token while others are in use.
    pub fn shared(self, shared: usize) -> TokenPermits {
        TokenPermits { shared, ..self }
    }

    /// A permit of a token.
    pub async fn acquire(&self, token: &str) -> Result<Permit, NoPermit> {
        self.acquire_beside(token, false).await
    }

    /// A permit of a token, while others are in use or not.
    pub async fn acquire_beside(&self, token: &str, others: bool) -> Result<Permit, NoPermit> {
        let of_token = self.of_token(token);
        let waits = self.waiting > 0;
        let of_token_full = |error| no_permit(error, NoPermit::Token(self.each));
        let present = of_token.present.clone().try_acquire_owned();
        let present = present.map_err(of_token_full)?;
        let shared = match others {
            true => Some(take(&of_token.shared, waits).await.map_err(of_token_full)?),
            false => None,
        };
        let permit = take(&of_token.permits, waits)
            .await
            .map_err(of_token_full)?;
        let all = take(&self.all, waits).await;
        let all = all.map_err(|error| no_permit(error, NoPermit::All(self.most)))?;
        Ok(Permit {
            _shared: shared,
            _permits: [present, permit, all],
        })
    }

    /// Gives no more permits.
    pub fn close(&self) {
        self.all.close();
    }

    pub fn is_closed(&self) -> bool {
        self.all.is_closed()
    }

    fn of_token(&self, token: &str) -> Arc<OfToken> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tokens.get(token) {
            return known.clone();
        }
        if tokens.len() >= MANY {
            let unused = self.each + self.waiting;
            tokens.retain(|_, it| it.present.available_permits() < unused);
        }
        let new = Arc::new(OfToken {
            present: Arc::new(Semaphore::new(self.each + self.waiting)),
            permits: Arc::new(Semaphore::new(self.each)),
            shared: Arc::new(Semaphore::new(self.shared)),
        });
        tokens.insert(token.into(), new.clone());
        new
    }
}

async fn take(
    permits: &Arc<Semaphore>,
    waits: bool,
) -> Result<OwnedSemaphorePermit, TryAcquireError> {
    match waits {
        true => permits
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| TryAcquireError::Closed),
        false => permits.clone().try_acquire_owned(),
    }
}

fn no_permit(error: TryAcquireError, full: NoPermit) -> NoPermit {
    match error {
        TryAcquireError::Closed => NoPermit::Closed,
        TryAcquireError::NoPermits => full,
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    /// Polls once.
    async fn try_now<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
        std::future::poll_fn(
            |context| match std::pin::Pin::new(&mut *future).poll(context) {
                Poll::Ready(value) => Poll::Ready(Some(value)),
                Poll::Pending => Poll::Ready(None),
            },
        )
        .await
    }

    #[tokio::test]
    async fn a_token_cannot_take_all_permits() {
        let permits = TokenPermits::new(2, 3, 0);
        let one = [permits.acquire("a").await, permits.acquire("a").await];
        assert!(one.iter().all(Result::is_ok));
        assert_eq!(permits.acquire("a").await.err(), Some(NoPermit::Token(2)));
        let other = permits.acquire("b").await;
        assert!(other.is_ok());
        assert_eq!(permits.acquire("c").await.err(), Some(NoPermit::All(3)));
        drop(one);
        assert!(permits.acquire("c").await.is_ok());
        permits.close();
        assert_eq!(permits.acquire("c").await.err(), Some(NoPermit::Closed));
    }

    #[tokio::test]
    async fn waiting_tokens_take_turns() {
        let permits = TokenPermits::new(1, 1, 2);
        let running = permits.acquire("loud").await.unwrap();
        let mut loud = [0, 1].map(|_| Box::pin(permits.acquire("loud")));
        for waiting in &mut loud {
            assert!(try_now(waiting).await.is_none());
        }
        // More may not wait, but another token may.
        assert_eq!(
            permits.acquire("loud").await.err(),
            Some(NoPermit::Token(1))
        );
        let mut quiet = Box::pin(permits.acquire("quiet"));
        assert!(try_now(&mut quiet).await.is_none());
        drop(running);
        // The first waiting request of the loud token joins the common queue only now, behind the quiet one.
        assert!(try_now(&mut loud[0]).await.is_none());
        let quiet = try_now(&mut quiet).await.unwrap().unwrap();
        assert!(try_now(&mut loud[0]).await.is_none());
        drop(quiet);
        assert!(try_now(&mut loud[0]).await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn while_others_are_in_use_a_token_has_fewer() {
        let permits = TokenPermits::new(2, 3, 0).shared(1);
        let one = permits.acquire_beside("a", true).await.unwrap();
        assert_eq!(
            permits.acquire_beside("a", true).await.err(),
            Some(NoPermit::Token(2))
        );
        assert!(permits.acquire_beside("b", true).await.is_ok());
        assert!(permits.acquire("a").await.is_ok());
        drop(one);
        assert!(permits.acquire_beside("a", true).await.is_ok());
    }
}
