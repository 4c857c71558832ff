//! Clients that only read the decisions of open episodes.

use std::time::Duration;

use super::generator::Client;
use crate::http::{Request, Response};
use crate::rng::Rng;

/// Episodes that each client opens first.
const EPISODES: usize = 16;

#[derive(Debug)]
pub(crate) struct ReadClient {
    episodes: String,
    number: usize,
    rng: Rng,
    reads: Vec<Request>,
    /// Latencies of reads in microseconds.
    pub latencies: Vec<u32>,
    /// Responses with an error status, and lost connections.
    pub failures: u64,
}

impl ReadClient {
    pub(crate) fn new(number: usize, study: &str) -> ReadClient {
        ReadClient {
            episodes: format!("/v1/studies/{study}/episodes"),
            number,
            rng: Rng::stream(3, number as u64),
            reads: Vec::new(),
            latencies: Vec::new(),
            failures: 0,
        }
    }

    /// The next episode to open.
    fn episode(&self) -> String {
        format!("ask{}-{}", self.number, self.reads.len())
    }
}

impl Client for ReadClient {
    fn next_request(&mut self) -> Result<Request, Duration> {
        let opened = self.reads.len() == EPISODES;
        let read = opened.then(|| self.rng.choose(&self.reads)).flatten();
        Ok(read.cloned().unwrap_or_else(|| {
            let body = format!(r#"{{"id":"{}"}}"#, self.episode());
            Request::json("POST", self.episodes.clone(), body)
        }))
    }

    fn on_response(&mut self, response: Response, latency: Duration) {
        self.failures += u64::from(!(200..300).contains(&response.status));
        if self.reads.len() < EPISODES {
            let target = format!("{}/{}:ask", self.episodes, self.episode());
            self.reads
                .push(Request::json("POST", target, String::new()));
        } else {
            self.latencies.push(latency.as_micros() as u32);
        }
    }

    fn on_disconnect(&mut self) {
        self.failures += 1;
    }
}
