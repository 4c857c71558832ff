//! Connection limits and timeouts.

use std::time::Duration;

/// The limits of a connection. All are finite.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections; further ones wait in the queue of the operating system, which is bounded too.
    pub connections: usize,
    /// From the first byte of a connection to the end of its TLS handshake.
    pub handshake: Duration,
    /// From the first byte of a request (or the start of a connection) to the end of its head.
    pub head: Duration,
    /// The largest request head, in bytes; a larger one is answered with 431.
    pub head_bytes: usize,
    /// How long an idle connection is kept open.
    pub idle: Duration,
    /// The total time of waiting for a request body, plus what `body_rate` allows.
    pub body: Duration,
    /// Bytes of a body that extend the time by one second: a large body may take longer.
    pub body_rate: u32,
    /// How long a client may accept no bytes of a response.
    pub stalled: Duration,
    /// How long running requests may take after the shutdown began.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            head_bytes: 32 * 1024,
            // Longer than the 60 s of common proxies, so that the proxy closes first.
            idle: Duration::from_secs(75),
            body: Duration::from_secs(20),
            body_rate: 1024,
            stalled: Duration::from_secs(30),
            grace: Duration::from_secs(20),
        }
    }
}
