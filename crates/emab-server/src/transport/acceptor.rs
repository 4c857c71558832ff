//! The door: one connection after another, as long as there is room.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// Long enough not to spin, short enough not to be felt.
const PAUSE: Duration = Duration::from_millis(200);
/// The same trouble is not worth more than a line a minute.
const REMIND: Duration = Duration::from_secs(60);

/// A listener with room for so many.
pub struct Acceptor {
    listener: TcpListener,
    room: Arc<Semaphore>,
    size: usize,
    said: Option<Instant>,
}

impl Acceptor {
    pub fn new(listener: TcpListener, connections: usize) -> Acceptor {
        let size = connections.clamp(1, Semaphore::MAX_PERMITS);
        Acceptor {
            listener,
            room: Arc::new(Semaphore::new(size)),
            size,
            said: None,
        }
    }

    /// The next connection, with its place in the room. Cancelling it loses none.
    pub async fn next(&mut self) -> (TcpStream, SocketAddr, OwnedSemaphorePermit) {
        loop {
            let full = self.room.available_permits() == 0;
            if full && self.remind() {
                tracing::warn!(
                    connections = self.size,
                    "no room for more connections, they wait"
                );
            }
            // Asked before accepting, so that those who wait do so in the system's queue and take nothing of ours.
            let Ok(place) = Arc::clone(&self.room).acquire_owned().await else {
                // Nobody closes the room.
                return std::future::pending().await;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => return (stream, peer, place),
                Err(error) if of_the_client(&error) => {}
                // Such as too many open files: those that are open will close, and it goes on.
                Err(error) => {
                    if self.remind() {
                        tracing::error!(%error, "cannot accept connections for the moment");
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn remind(&mut self) -> bool {
        let due = self.said.is_none_or(|said| said.elapsed() >= REMIND);
        if due {
            self.said = Some(Instant::now());
        }
        due
    }
}

/// The client was gone before we came to the door.
fn of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
