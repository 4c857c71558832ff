//! A client that goes through episodes, resends unanswered requests, and repeats answered ones to compare the responses.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;

use super::ack_journal::{AckJournal, Exchange};
use super::episode::{Episode, KeyedRequest, Policy, change_study, recommended};
use super::event_key::{EventKey, SHARED};
use super::generator::Client;
use super::studies::STUDIES;
use crate::checks::{Check, Findings};
use crate::http::{Request, Response};
use crate::rng::Rng;

/// Ended episodes without an outcome, at most.
const MAX_ENDED: usize = 4;
/// Clients that report the first step of the same shared episode.
const CLIENTS_PER_SHARED_EPISODE: u32 = 6;

/// Percentages of unusual requests of [`ClientBehaviour::Varied`]: reads of the current decision, repetitions of answered
/// requests, abandoned and imported episodes, and episodes that several clients share.
const ASKS: u64 = 15;
const REPETITIONS: u64 = 6;
const ABANDONED: u64 = 3;
const IMPORTED: u64 = 3;
const SHARED_EPISODES: u64 = 4;
/// Episodes whose first step is decided from a table of the policy, and changes of a study by the first client.
const FALLBACKS: u64 = 4;
const STUDY_CHANGES: u64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientBehaviour {
    /// Every kind of request, in all studies: for correctness.
    Varied,
    /// Whole episodes of the first study: for measurements.
    Steady,
}

/// What the response to a request must be.
#[derive(Clone, Debug)]
enum Expected {
    /// A decision; `true` if it follows a step, `false` if it opens the episode.
    Decision(Episode, bool),
    Ended(Episode),
    OutcomeAccepted(Episode),
    AmendmentAccepted(Episode),
    StepAmended(Episode),
    Voided(Episode),
    Imported,
    /// The study that is paused and closed has changed.
    StudyChanged,
    /// The policy of the study, before this episode is opened.
    Policy(Episode),
    /// A shared episode is open, by this client or by another one.
    SharedOpen(Episode),
    /// A step of a shared episode is recorded, or conflicts with that of another client.
    SharedTold,
    /// The bytes of an earlier response.
    SameBytes(Bytes),
}

impl Expected {
    fn allows(&self, status: u16, resent: bool) -> bool {
        match self {
            Expected::Decision(_, false) => status == 201 || (resent && status == 200),
            Expected::SharedOpen(_) => matches!(status, 200 | 201),
            Expected::SharedTold => matches!(status, 200 | 409),
            _ => status == 200,
        }
    }
}

/// A request without a response.
#[derive(Clone, Debug)]
struct Pending {
    request: Request,
    key: Option<EventKey>,
    expected: Expected,
    /// How often it was sent.
    attempts: u32,
}

impl Pending {
    fn new((request, key): KeyedRequest, expected: Expected) -> Pending {
        Pending {
            request,
            key,
            expected,
            attempts: 0,
        }
    }
}

/// How many requests clients sent, by result.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestCounts {
    /// Acknowledged requests that write an event.
    pub writes: u64,
    /// Other answered requests.
    pub reads: u64,
    /// Requests without a response.
    pub unanswered: u64,
    /// Requests that were deferred with status 429 or 503.
    pub deferred: u64,
}

impl RequestCounts {
    pub(crate) fn add(self, other: RequestCounts) -> RequestCounts {
        RequestCounts {
            writes: self.writes + other.writes,
            reads: self.reads + other.reads,
            unanswered: self.unanswered + other.unanswered,
            deferred: self.deferred + other.deferred,
        }
    }
}

#[derive(Debug)]
pub(crate) struct EpisodeClient {
    number: u16,
    /// Shared episodes of all clients, counted once per participant.
    shared: Arc<AtomicU32>,
    rng: Rng,
    behaviour: ClientBehaviour,
    /// Episodes that this client opened or imported.
    pub episodes: u32,
    /// Changes of a study that this client requested.
    study_changes: u32,
    /// Corrections that this client requested.
    corrections: u32,
    open: Option<Episode>,
    /// Ended episodes whose outcome is not complete.
    ended: VecDeque<Episode>,
    pending: Option<Pending>,
    /// Exchanges to repeat first.
    repetitions: VecDeque<Exchange>,
    last: Option<(Exchange, Option<EventKey>)>,
    delay: Option<Duration>,
    pub journal: AckJournal,
    pub findings: Findings,
    pub counts: RequestCounts,
    /// Latencies of acknowledged writes in microseconds, if they are measured.
    pub latencies: Option<Vec<u32>>,
}

impl EpisodeClient {
    /// Creates clients whose requests depend on the seed.
    pub(crate) fn create(
        clients: u16,
        seed: u64,
        behaviour: ClientBehaviour,
    ) -> impl Iterator<Item = EpisodeClient> {
        let shared = Arc::new(AtomicU32::new(0));
        (0..clients).map(move |number| EpisodeClient {
            number,
            shared: shared.clone(),
            rng: Rng::stream(seed, u64::from(number)),
            behaviour,
            episodes: 0,
            study_changes: 0,
            corrections: 0,
            open: None,
            ended: VecDeque::new(),
            pending: None,
            repetitions: VecDeque::new(),
            last: None,
            delay: None,
            journal: AckJournal::default(),
            findings: Findings::default(),
            counts: RequestCounts::default(),
            latencies: None,
        })
    }

    fn is_varied(&self) -> bool {
        self.behaviour == ClientBehaviour::Varied
    }

    /// Draws whether to send an unusual request.
    fn unusual(&mut self, percent: u64) -> bool {
        self.is_varied() && self.rng.percent(percent)
    }

    fn new_episode(&mut self) -> Episode {
        let mut draw = self.rng.below(100);
        let study = STUDIES.iter().position(|study| {
            let drawn = draw < study.share;
            draw = draw.saturating_sub(study.share);
            drawn
        });
        let study = study.filter(|_| self.is_varied());
        self.episodes += 1;
        Episode::new(study.unwrap_or(0) as u8, self.number, self.episodes)
    }

    /// The next request of an episode.
    fn advance(&mut self) -> (KeyedRequest, Expected) {
        // Outcomes come late.
        let late = self.rng.percent(30) && self.open.is_none();
        let due = self.ended.len() >= MAX_ENDED || late;
        if due && let Some(episode) = self.ended.pop_front() {
            return match episode.outcome() {
                Some(request) => (request, Expected::OutcomeAccepted(episode)),
                None => self.correct(episode),
            };
        }
        let Some(episode) = self.open.take() else {
            if self.unusual(SHARED_EPISODES) {
                let count = self.shared.fetch_add(1, Ordering::Relaxed);
                let episode = Episode::new(0, SHARED, count / CLIENTS_PER_SHARED_EPISODE);
                return (episode.open(), Expected::SharedOpen(episode));
            }
            if self.number == 0 && self.unusual(STUDY_CHANGES) {
                return (change_study(0, self.study_changes), Expected::StudyChanged);
            }
            let import = self.unusual(IMPORTED);
            let episode = self.new_episode();
            if !import && self.unusual(FALLBACKS) {
                return (episode.read_policy(), Expected::Policy(episode));
            }
            if import {
                return (episode.import(&mut self.rng), Expected::Imported);
            }
            return (episode.open(), Expected::Decision(episode, false));
        };
        if self.unusual(ASKS) {
            let expected = Expected::SameBytes(episode.decision.clone());
            return (self.open.insert(episode).ask(), expected);
        }
        if self.unusual(ABANDONED) {
            return (episode.abandon(), Expected::Ended(episode));
        }
        // Recommendations are followed most of the time.
        let rng = &mut self.rng;
        let stop = rng.percent(if episode.recommended.is_none() { 60 } else { 4 });
        if stop || episode.step >= episode.study().horizon {
            return (episode.stop(), Expected::Ended(episode));
        }
        let mut episode = episode;
        (episode.tell(rng), Expected::Decision(episode, true))
    }

    /// A correction of an episode whose outcome was given. The kinds take turns, and clients begin with different ones, so
    /// that short runs contain all of them.
    fn correct(&mut self, episode: Episode) -> (KeyedRequest, Expected) {
        let turn = u32::from(self.number) + self.corrections;
        self.corrections += 1;
        match (turn % 5, episode.amend_step()) {
            (0, _) => (episode.void(), Expected::Voided(episode)),
            (1 | 2, Some(request)) => (request, Expected::StepAmended(episode)),
            _ => (episode.amend(), Expected::AmendmentAccepted(episode)),
        }
    }

    /// An answered request to repeat.
    fn repetition(&mut self) -> Option<Exchange> {
        if let Some(exchange) = self.repetitions.pop_front() {
            return Some(exchange);
        }
        if !self.unusual(REPETITIONS) {
            return None;
        }
        if self.rng.percent(50) {
            return self.last.as_ref().map(|(exchange, _)| exchange.clone());
        }
        self.journal.draw_from_sample(&mut self.rng)
    }

    /// Checks the body of a response with an allowed status, and continues the episode.
    fn accept(&mut self, pending: Pending, response: Response) {
        let (request, key, expected) = (pending.request, pending.key, pending.expected);
        let permanent = matches!(expected, Expected::Decision(..));
        match expected {
            Expected::SameBytes(bytes) => {
                let same = bytes == response.body;
                return self.findings.check(Check::SameBytes, same, || {
                    format!(
                        "{request}: answered before with {}, now with {}",
                        String::from_utf8_lossy(&bytes),
                        response.text()
                    )
                });
            }
            Expected::Decision(mut episode, told) => match recommended(&response.body) {
                Ok(action) => {
                    episode.step += usize::from(told);
                    episode.recommended = action;
                    episode.decision = response.body.clone();
                    self.open = Some(episode);
                }
                Err(error) => {
                    let finding = format!("{request}: {error}: {}", response.text());
                    return self.findings.violated(Check::Response, finding);
                }
            },
            Expected::Ended(mut episode) => {
                episode.draw_outcome(&mut self.rng);
                self.ended.push_back(episode);
            }
            Expected::OutcomeAccepted(mut episode) => {
                episode.outcome_accepted();
                let corrected = episode.study().amended && self.rng.percent(40);
                if corrected || episode.outcome().is_some() {
                    self.ended.push_back(episode);
                }
            }
            Expected::AmendmentAccepted(mut episode) => {
                episode.amendment_accepted();
                if self.rng.percent(20) {
                    self.ended.push_back(episode);
                }
            }
            Expected::StepAmended(mut episode) => {
                episode.step_amended();
                if self.rng.percent(50) {
                    self.ended.push_back(episode);
                }
            }
            Expected::SharedOpen(episode) => {
                let tell = episode.tell_shared(self.number, &mut self.rng);
                self.pending = Some(Pending::new(tell, Expected::SharedTold));
                return;
            }
            Expected::StudyChanged => {
                self.study_changes += 1;
                return;
            }
            Expected::Policy(mut episode) => {
                episode.policy = Policy::read(&response.body, &episode);
                let open = episode.open();
                self.pending = Some(Pending::new(open, Expected::Decision(episode, false)));
                return;
            }
            Expected::Voided(_) => {}
            Expected::Imported | Expected::SharedTold => return,
        }
        if self.is_varied() {
            let exchange = Exchange {
                request,
                body: response.body,
            };
            if permanent {
                self.journal.add_to_sample(&exchange, &mut self.rng);
            }
            self.last = Some((exchange, key));
        }
    }
}

impl Client for EpisodeClient {
    fn next_request(&mut self) -> Result<Request, Duration> {
        if let Some(delay) = self.delay.take() {
            return Err(delay);
        }
        let mut pending = match self.pending.take() {
            Some(pending) => pending,
            None => {
                let (request, expected) = match self.repetition() {
                    Some(old) => ((old.request, None), Expected::SameBytes(old.body)),
                    None => self.advance(),
                };
                Pending::new(request, expected)
            }
        };
        if let Some(key) = pending.key {
            self.journal.record_sent(key);
        }
        pending.attempts += 1;
        Ok(self.pending.insert(pending).request.clone())
    }

    fn on_response(&mut self, response: Response, latency: Duration) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let (request, status) = (&pending.request, response.status);
        if matches!(status, 429 | 503) {
            self.counts.deferred += 1;
            let complete = response.retry_after.is_some();
            self.findings.check(Check::Response, complete, || {
                format!("{request}: {status} without `Retry-After`")
            });
            // Sooner than `Retry-After` says: an impatient client must be as safe.
            self.delay = Some(Duration::from_millis(20 + self.rng.below(80)));
            self.pending = Some(pending);
            return;
        }
        let allowed = pending.expected.allows(status, pending.attempts > 1);
        self.findings.check(Check::Response, allowed, || {
            format!("{request}: {status} {}", response.text())
        });
        if !allowed {
            // Further requests of the episode would fail for the same reason.
            self.open = None;
            self.last = None;
            return;
        }
        match pending.key {
            Some(key) if status == 409 => self.journal.record_rejected(key),
            Some(key) => {
                self.journal.record_acknowledged(key);
                self.counts.writes += 1;
                if let Some(latencies) = &mut self.latencies {
                    latencies.push(latency.as_micros() as u32);
                }
            }
            None => self.counts.reads += 1,
        }
        self.accept(pending, response);
    }

    fn on_disconnect(&mut self) {
        self.delay = None;
        if self.pending.as_ref().is_some_and(|it| it.attempts > 0) {
            self.counts.unanswered += 1;
        }
        if !self.is_varied() {
            return;
        }
        // The last acknowledgement is the likeliest to be lost, so it is repeated. A decision never changes; another response
        // changes if the pending request took effect in the same episode.
        if let Some((exchange, key)) = &self.last {
            let changing = match self.pending.as_ref().map(|pending| &pending.expected) {
                Some(
                    Expected::Ended(episode)
                    | Expected::OutcomeAccepted(episode)
                    | Expected::AmendmentAccepted(episode)
                    | Expected::StepAmended(episode)
                    | Expected::Voided(episode),
                ) => Some(episode),
                _ => None,
            };
            if !changing
                .zip(*key)
                .is_some_and(|(episode, key)| episode.is_of(&key))
            {
                self.repetitions.push_back(exchange.clone());
            }
        }
        for _ in 0..2 {
            let exchange = self.journal.draw_from_sample(&mut self.rng);
            self.repetitions.extend(exchange);
        }
    }
}
