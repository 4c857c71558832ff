//! Accepts connections up to a limit; further ones wait in the queue of the operating system.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// The pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(200);
/// The shortest time between two log lines.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// A listener with a connection limit.
pub struct Acceptor {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    limit: usize,
    logged: Option<Instant>,
}

impl Acceptor {
    pub fn new(listener: TcpListener, connections: usize) -> Acceptor {
        let limit = connections.clamp(1, Semaphore::MAX_PERMITS);
        Acceptor {
            listener,
            permits: Arc::new(Semaphore::new(limit)),
            limit,
            logged: None,
        }
    }

    /// The next connection, with its permit. Cancel safe.
    pub async fn next(&mut self) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
        loop {
            let full = self.permits.available_permits() == 0;
            if full && self.may_log() {
                tracing::warn!(
                    connections = self.limit,
                    "connection limit reached, further connections wait"
                );
            }
            // Before accepting, so that further connections wait in the queue of the operating system.
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
                // The semaphore is never closed.
                return std::future::pending().await;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => return (stream, peer, permit),
                Err(error) if is_client_fault(&error) => {}
                // Such as too many open files, which ends when connections close.
                Err(error) => {
                    if self.may_log() {
                        tracing::error!(%error, "cannot accept connections");
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn may_log(&mut self) -> bool {
        let due = self.logged.is_none_or(|at| at.elapsed() >= LOG_EVERY);
        if due {
            self.logged = Some(Instant::now());
        }
        due
    }
}

/// The client disconnected before the connection was accepted.
fn is_client_fault(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
