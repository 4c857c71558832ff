//! Load generator: many clients on one thread, so that it takes little of the machine that the service runs on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::http::{Request, Response};

/// The wait before a client connects again after a failed attempt.
const RECONNECT_DELAY: Duration = Duration::from_millis(20);
/// The longest wait for events of the connections.
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

struct Connection<C> {
    client: C,
    stream: Option<TcpStream>,
    received: Vec<u8>,
    /// When the request in flight was sent.
    sent: Option<Instant>,
    waits_until: Option<Instant>,
    /// Failures so far. Each moves the connection to the next address.
    failures: usize,
}

pub(crate) struct LoadGenerator<C> {
    connections: Vec<Connection<C>>,
    token: String,
    buffer: Vec<u8>,
    /// The interval between requests of all clients, and when the next is due.
    pace: Option<(Duration, Instant)>,
}

impl<C: Client> LoadGenerator<C> {
    pub(crate) fn new(token: &str, clients: impl IntoIterator<Item = C>) -> LoadGenerator<C> {
        let connection = |client| Connection {
            client,
            stream: None,
            received: Vec::new(),
            sent: None,
            waits_until: None,
            failures: 0,
        };
        LoadGenerator {
            connections: clients.into_iter().map(connection).collect(),
            token: token.into(),
            buffer: Vec::new(),
            pace: None,
        }
    }

    /// Limits all clients together to this many requests per second.
    pub(crate) fn limit_rate(&mut self, rate: u32) {
        self.pace = Some((Duration::from_secs(1) / rate.max(1), Instant::now()));
    }

    pub(crate) fn clients(&mut self) -> impl Iterator<Item = &mut C> {
        self.connections.iter_mut().map(|it| &mut it.client)
    }

    /// Sends requests until the deadline. Each client uses one of the addresses, and another one after a failure. Requests
    /// can be in flight on return.
    pub(crate) fn run(&mut self, addresses: &[SocketAddr], until: Instant) -> Result<(), String> {
        loop {
            let now = Instant::now();
            if now >= until {
                return Ok(());
            }
            let mut wait = MAX_WAIT.min(until - now);
            for (number, connection) in self.connections.iter_mut().enumerate() {
                if connection.sent.is_some() {
                    continue;
                }
                if let Some(until) = connection.waits_until.filter(|until| *until > now) {
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
                let address = addresses[(number + connection.failures) % addresses.len()];
                let delay = connection.send_next(address, &self.token, &mut self.buffer);
                connection.waits_until = delay.map(|delay| Instant::now() + delay);
            }
            self.receive(wait)?;
        }
    }

    /// Waits for the responses to requests in flight; returns how many are missing after the timeout.
    pub(crate) fn drain(&mut self, timeout: Duration) -> Result<usize, String> {
        let end = Instant::now() + timeout;
        loop {
            let in_flight = self
                .connections
                .iter()
                .filter(|it| it.sent.is_some())
                .count();
            let now = Instant::now();
            if in_flight == 0 || now >= end {
                return Ok(in_flight);
            }
            self.receive(MAX_WAIT.min(end - now))?;
        }
    }

    /// Closes all connections.
    pub(crate) fn disconnect(&mut self) {
        let open = self.connections.iter_mut().filter(|it| it.stream.is_some());
        open.for_each(Connection::disconnect);
    }

    /// Reads what has arrived, after a wait of at most `wait`.
    fn receive(&mut self, wait: Duration) -> Result<(), String> {
        let open: Vec<usize> = (0..self.connections.len())
            .filter(|&i| self.connections[i].stream.is_some())
            .collect();
        let streams = open
            .iter()
            .filter_map(|&i| self.connections[i].stream.as_ref());
        let mut polled: Vec<PollFd<'_>> = streams
            .map(|stream| PollFd::new(stream, PollFlags::IN))
            .collect();
        let timeout = Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(format!("poll: {error}")),
        }
        let ready: Vec<bool> = polled.iter().map(|it| !it.revents().is_empty()).collect();
        for (i, _) in open.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            self.connections[i].receive();
        }
        Ok(())
    }
}

impl<C: Client> Connection<C> {
    /// Sends the client's next request; returns a delay if there is none, or no connection.
    fn send_next(
        &mut self,
        address: SocketAddr,
        token: &str,
        buffer: &mut Vec<u8>,
    ) -> Option<Duration> {
        if self.stream.is_none() {
            let connected = TcpStream::connect(address);
            let connected = connected.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
            let Ok(stream) = connected else {
                self.failures += 1;
                return Some(RECONNECT_DELAY);
            };
            self.stream = Some(stream);
        }
        match self.client.next_request() {
            Err(delay) => return Some(delay),
            Ok(request) => {
                buffer.clear();
                request.write(token, buffer);
            }
        }
        self.sent = Some(Instant::now());
        // A single small request fits into the socket's buffer, so that this does not block.
        let written = self.stream.as_mut().map(|stream| stream.write_all(buffer));
        if !matches!(written, Some(Ok(()))) {
            self.disconnect();
        }
        None
    }

    fn receive(&mut self) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let mut chunk = [0; 16_384];
        match stream.read(&mut chunk) {
            Ok(count @ 1..) => self.received.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return,
            _ => return self.disconnect(),
        }
        match Response::parse(&self.received) {
            Ok(None) => {}
            Ok(Some((response, length))) => {
                self.received.drain(..length);
                if let Some(sent) = self.sent.take() {
                    self.client.on_response(response, sent.elapsed());
                }
            }
            Err(_) => self.disconnect(),
        }
    }

    fn disconnect(&mut self) {
        self.stream = None;
        self.received.clear();
        self.sent = None;
        self.failures += 1;
        self.client.on_disconnect();
    }
}
