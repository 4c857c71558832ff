//! Many who talk, on one thread: it shares the machine with the service, so it must be cheap, and while it does not
//! run, nobody talks.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Next, Talker};
use crate::wire::parse;

/// How long somebody waits before connecting again where nobody listens.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest wait between two looks at the clock.
const LOOK: Duration = Duration::from_millis(50);

/// Somebody who talks, and the connection.
struct Seat<T> {
    talker: T,
    stream: Option<TcpStream>,
    read: Vec<u8>,
    /// When the request was sent that waits for its answer.
    since: Option<Instant>,
    /// Not before.
    rests: Option<Instant>,
    /// How often it had to look for another address.
    tries: usize,
    done: bool,
}

/// Those who talk.
pub struct Fleet<T> {
    seats: Vec<Seat<T>>,
    token: String,
    buffer: Vec<u8>,
    /// All of them together send no more often, and when the next may be sent.
    pace: Option<(Duration, Instant)>,
}

impl<T: Talker> Fleet<T> {
    /// These, with a token.
    pub fn new(token: &str, talkers: impl IntoIterator<Item = T>) -> Fleet<T> {
        let seat = |talker| Seat {
            talker,
            stream: None,
            read: Vec::new(),
            since: None,
            rests: None,
            tries: 0,
            done: false,
        };
        Fleet {
            seats: talkers.into_iter().map(seat).collect(),
            token: token.into(),
            buffer: Vec::new(),
            pace: None,
        }
    }

    /// All together send at most so many requests a second.
    pub fn paced(mut self, rate: u32) -> Fleet<T> {
        self.pace = Some((Duration::from_secs(1) / rate.max(1), Instant::now()));
        self
    }

    /// Who talks, while nobody does.
    pub fn talkers(&mut self) -> impl Iterator<Item = &mut T> {
        self.seats.iter_mut().map(|seat| &mut seat.talker)
    }

    /// Lets them talk until then, each to one of these addresses, to another where nobody listens. Requests may be on
    /// their way when it returns. Returns sooner when all are done.
    pub fn drive(&mut self, addresses: &[SocketAddr], until: Instant) -> Result<(), String> {
        loop {
            let now = Instant::now();
            if now >= until || self.seats.iter().all(|seat| seat.done) {
                return Ok(());
            }
            let mut wait = LOOK.min(until - now);
            for (number, seat) in self.seats.iter_mut().enumerate() {
                if seat.since.is_some() || seat.done {
                    continue;
                }
                if let Some(rests) = seat.rests.filter(|rests| *rests > now) {
                    wait = wait.min(rests - now);
                    continue;
                }
                seat.rests = None;
                if let Some((each, due)) = &mut self.pace {
                    if *due > now {
                        wait = wait.min(*due - now);
                        break;
                    }
                    // Lost time is not made up for at once.
                    *due = (*due + *each).max(now - LOOK);
                }
                seat.go_on(number, addresses, &self.token, &mut self.buffer);
            }
            self.listen(wait)?;
        }
    }

    /// Sends nothing more and waits for the answers to what is on its way; how many did not come in time.
    pub fn drain(&mut self, patience: Duration) -> Result<usize, String> {
        let end = Instant::now() + patience;
        loop {
            let waiting = self
                .seats
                .iter()
                .filter(|seat| seat.since.is_some())
                .count();
            let now = Instant::now();
            if waiting == 0 || now >= end {
                return Ok(waiting);
            }
            self.listen(LOOK.min(end - now))?;
        }
    }

    /// Closes every connection.
    pub fn hang_up(&mut self) {
        for seat in &mut self.seats {
            if seat.stream.is_some() {
                seat.lose();
            }
        }
    }

    /// Takes in what has come, and waits for it a while.
    fn listen(&mut self, wait: Duration) -> Result<(), String> {
        let open: Vec<usize> = (0..self.seats.len())
            .filter(|&i| self.seats[i].stream.is_some())
            .collect();
        let streams = open.iter().filter_map(|&i| self.seats[i].stream.as_ref());
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
        let ready: Vec<usize> = open
            .iter()
            .zip(&polled)
            .filter(|(_, polled)| !polled.revents().is_empty())
            .map(|(i, _)| *i)
            .collect();
        for i in ready {
            self.seats[i].hear();
        }
        Ok(())
    }
}

impl<T: Talker> Seat<T> {
    /// Says the next thing.
    fn go_on(&mut self, number: usize, addresses: &[SocketAddr], token: &str, out: &mut Vec<u8>) {
        let rest = |time: Duration| Some(Instant::now() + time);
        let Some(address) = addresses.get((number + self.tries) % addresses.len().max(1)) else {
            self.rests = rest(PAUSE);
            return;
        };
        if self.stream.is_none() {
            let connected = TcpStream::connect(address).and_then(|stream| {
                stream.set_nodelay(true)?;
                Ok(stream)
            });
            match connected {
                Ok(stream) => self.stream = Some(stream),
                Err(_) => {
                    self.tries += 1;
                    self.rests = rest(PAUSE);
                    return;
                }
            }
        }
        match self.talker.next() {
            Next::Done => self.done = true,
            Next::Rest(time) => self.rests = rest(time),
            Next::Send(message) => {
                out.clear();
                message.write(token, out);
                self.since = Some(Instant::now());
                // Requests are small, and only one is on its way: there is room for it.
                let sent = self.stream.as_mut().map(|stream| stream.write_all(out));
                if !matches!(sent, Some(Ok(()))) {
                    self.lose();
                }
            }
        }
    }

    /// Takes in what has come.
    fn hear(&mut self) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let mut some = [0; 16384];
        match stream.read(&mut some) {
            Ok(count @ 1..) => self.read.extend_from_slice(&some[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return,
            _ => return self.lose(),
        }
        match parse(&self.read) {
            Ok(None) => {}
            Ok(Some((answer, length))) => {
                self.read.drain(..length);
                if let Some(since) = self.since.take() {
                    self.talker.answered(answer, since.elapsed());
                }
            }
            Err(_) => self.lose(),
        }
    }

    fn lose(&mut self) {
        self.stream = None;
        self.read.clear();
        self.since = None;
        // Where there is another copy, it is tried next.
        self.tries += 1;
        self.talker.broken();
    }
}
