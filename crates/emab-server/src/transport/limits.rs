//! How much patience the edge has.

use std::time::Duration;

/// What a client may take of time and room before it is cut off. Every one of them is finite.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections; those beyond it wait in the system's queue, which is bounded too.
    pub connections: usize,
    /// From the first byte of a connection to the end of its TLS handshake.
    pub handshake: Duration,
    /// From the first byte of a request (or the start of a connection) to the end of its head.
    pub head: Duration,
    /// The largest head of a request, in bytes; more is answered with 431.
    pub head_bytes: usize,
    /// How long a connection may be kept alive without a request.
    pub idle: Duration,
    /// How long all the waits for a request's body may take together, plus what `body_rate` allows.
    pub body: Duration,
    /// Bytes of a body that buy another second: large bodies may take longer, trickles may not.
    pub body_rate: u32,
    /// How long a client may refuse to take the next bytes of an answer.
    pub stalled: Duration,
    /// After the shutdown began, how long requests in course may take to finish.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            head_bytes: 32 * 1024,
            // Longer than the 60 s of common proxies: the side that closes must not be ours.
            idle: Duration::from_secs(75),
            body: Duration::from_secs(20),
            body_rate: 1024,
            stalled: Duration::from_secs(30),
            grace: Duration::from_secs(20),
        }
    }
}
