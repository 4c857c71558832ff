//! Load generator: many clients on one thread, so that the service keeps most of the machine.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::http::{self, Connection, Request, Response};

/// The wait before a client connects again after a failed attempt.
const RECONNECT_DELAY: Duration = Duration::from_millis(20);
/// The longest wait for a response before the clients are looked at again.
const MAX_WAIT: Duration = Duration::from_millis(50);

/// A client of the service: it has at most one request in flight.
pub(crate) trait Client {
    /// The next request, or how long to wait before asking again.
    fn next_request(&mut self) -> Result<Request, Duration>;
    /// The last request was answered after `latency`.
    fn on_response(&mut self, response: Response, latency: Duration);
    /// The connection was lost; a request in flight will not be answered.
    fn on_disconnect(&mut self);
}

struct Slot<C> {
    client: C,
    /// `None` while disconnected, or while the task of a request owns it.
    connection: Option<Connection>,
    /// Whether a request is in flight.
    busy: bool,
    waits_until: Option<Instant>,
    /// Failures so far. Each moves the client to the next address.
    failures: usize,
}

/// The number of a client, and the result of its request.
type Exchange = (usize, crate::Result<(Connection, Response, Duration)>);

pub(crate) struct LoadGenerator<C> {
    slots: Vec<Slot<C>>,
    token: String,
    /// The interval between requests of all clients, and when the next is due.
    pace: Option<(Duration, Instant)>,
    in_flight: JoinSet<Exchange>,
    connections: JoinSet<()>,
    runtime: Runtime,
}

impl<C: Client> LoadGenerator<C> {
    pub(crate) fn new(token: &str, clients: impl Iterator<Item = C>) -> crate::Result<Self> {
        let slots = clients.map(|client| Slot {
            client,
            connection: None,
            busy: false,
            waits_until: None,
            failures: 0,
        });
        Ok(LoadGenerator {
            slots: slots.collect(),
            token: token.into(),
            pace: None,
            in_flight: JoinSet::new(),
            connections: JoinSet::new(),
            runtime: http::runtime()?,
        })
    }

    /// Limits all clients together to this many requests per second.
    pub(crate) fn limit_rate(&mut self, rate: u32) {
        self.pace = Some((Duration::from_secs(1) / rate.max(1), Instant::now()));
    }

    pub(crate) fn clients(&mut self) -> impl Iterator<Item = &mut C> {
        self.slots.iter_mut().map(|slot| &mut slot.client)
    }

    /// Sends requests until the deadline. Each client uses one of the addresses, and another one after a failure. Requests
    /// can be in flight on return.
    pub(crate) fn run(&mut self, addresses: &[SocketAddr], until: Instant) {
        let in_flight = &mut self.in_flight;
        self.runtime.block_on(async {
            loop {
                let now = Instant::now();
                if now >= until {
                    return;
                }
                let mut wait = MAX_WAIT.min(until - now);
                for (number, slot) in self.slots.iter_mut().enumerate() {
                    if slot.busy {
                        continue;
                    }
                    if let Some(until) = slot.waits_until.filter(|until| *until > now) {
                        wait = wait.min(until - now);
                        continue;
                    }
                    if let Some((interval, due)) = &mut self.pace {
                        if *due > now {
                            wait = wait.min(*due - now);
                            break;
                        }
                        // A delay is not made up for by a burst.
                        *due = (*due + *interval).max(now - MAX_WAIT);
                    }
                    let address = addresses[(number + slot.failures) % addresses.len()];
                    let connections = &mut self.connections;
                    match slot.next_request(address, &self.token, connections).await {
                        Ok((connection, request)) => {
                            in_flight.spawn(send(number, connection, request));
                        }
                        Err(delay) => slot.waits_until = Some(now + delay),
                    }
                }
                match timeout(wait, in_flight.join_next()).await {
                    Ok(None) => sleep(wait).await,
                    Ok(Some(Ok(exchange))) => complete(&mut self.slots, exchange),
                    _ => {}
                }
                while let Some(Ok(exchange)) = in_flight.try_join_next() {
                    complete(&mut self.slots, exchange);
                }
            }
        });
    }

    /// Waits for the responses to requests in flight; returns how many are missing after the timeout.
    pub(crate) fn drain(&mut self, time: Duration) -> usize {
        let (slots, in_flight) = (&mut self.slots, &mut self.in_flight);
        let completed = async {
            while let Some(Ok(exchange)) = in_flight.join_next().await {
                complete(slots, exchange);
            }
        };
        // Dropped by the timeout, the loop loses no exchange.
        let _ = self
            .runtime
            .block_on(async { timeout(time, completed).await });
        self.in_flight.len()
    }

    /// Closes all connections.
    pub(crate) fn disconnect(&mut self) {
        self.runtime.block_on(self.in_flight.shutdown());
        for slot in &mut self.slots {
            if slot.busy || slot.connection.is_some() {
                slot.on_disconnect();
            }
        }
        self.runtime.block_on(self.connections.shutdown());
    }
}

async fn send(number: usize, mut connection: Connection, request: Request) -> Exchange {
    let sent = Instant::now();
    let result = connection.send(request).await;
    let result = result.map(|response| (connection, response, sent.elapsed()));
    (number, result)
}

fn complete<C: Client>(slots: &mut [Slot<C>], (number, result): Exchange) {
    let slot = &mut slots[number];
    match result {
        Ok((connection, response, latency)) => {
            (slot.connection, slot.busy) = (Some(connection), false);
            slot.client.on_response(response, latency);
        }
        Err(_) => slot.on_disconnect(),
    }
}

impl<C: Client> Slot<C> {
    /// A connection and the client's next request; the slot is busy then. A delay if there is neither.
    async fn next_request(
        &mut self,
        address: SocketAddr,
        token: &str,
        connections: &mut JoinSet<()>,
    ) -> Result<(Connection, Request), Duration> {
        if self.connection.as_ref().is_some_and(Connection::is_closed) {
            self.on_disconnect();
        }
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let opened = Connection::open(address, token, connections).await;
                opened.map_err(|_| {
                    self.failures += 1;
                    RECONNECT_DELAY
                })?
            }
        };
        let request = self.client.next_request();
        self.busy = request.is_ok();
        match request {
            Ok(request) => Ok((connection, request)),
            Err(delay) => {
                self.connection = Some(connection);
                Err(delay)
            }
        }
    }

    fn on_disconnect(&mut self) {
        (self.connection, self.busy) = (None, false);
        self.failures += 1;
        self.client.on_disconnect();
    }
}
