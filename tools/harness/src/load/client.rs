//! A client: plays one episode after the other, repeats what was not answered, and asks again for what was.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::episode::{Episode, Request, recommended};
use super::journal::{Journal, Kept};
use super::key::{EVERYBODY, Key};
use super::studies::STUDIES;
use super::{Next, Talker};
use crate::chance::Chance;
use crate::check::{Check, Findings};
use crate::wire::{Answer, Message};

/// Episodes that ended and wait for their outcome, at most.
const WAITING: usize = 4;

/// How many clients tell of the same episode.
const RACERS: u32 = 6;

/// How many of a hundred times a client does something out of the ordinary.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Asks for the decision that it was just given.
    pub ask: u64,
    /// Sends once more what was answered just now, or long ago.
    pub repeat: u64,
    /// Gives an episode up.
    pub abandon: u64,
    /// Takes in an episode of the past.
    pub import: u64,
    /// Tells of an episode that others tell of at the same time.
    pub race: u64,
    /// Only the first study.
    pub hot: bool,
}

impl Habits {
    /// Those of somebody who looks for mistakes.
    pub const CURIOUS: Habits = Habits {
        ask: 15,
        repeat: 6,
        abandon: 3,
        import: 3,
        race: 4,
        hot: false,
    };
    /// Those of somebody who only works, on one study.
    pub const DILIGENT: Habits = Habits {
        ask: 0,
        repeat: 0,
        abandon: 0,
        import: 0,
        race: 0,
        hot: true,
    };
}

/// What an answer is for.
#[derive(Clone, Debug)]
enum Then {
    /// A decision of this episode, after a step was told or at its beginning.
    Decided(Episode, bool),
    /// The decision of an open episode, which it was given before.
    Asked(Episode),
    /// The end of an episode.
    Ended(Episode),
    /// A part of an outcome was taken.
    Given(Episode),
    /// A correction was taken.
    Amended(Episode),
    /// An episode of the past was taken in.
    Imported,
    /// An episode of everybody's is open.
    Met(Episode),
    /// Its first step was told by whoever came first.
    Raced,
    /// Something that was answered before, with these bytes.
    Again(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Sent {
    request: Request,
    then: Then,
    /// Whether it was sent.
    once: bool,
    /// Whether it was sent more than once, and may have been carried out before.
    before: bool,
}

impl Then {
    /// Whether this status is one that may come.
    fn allows(&self, status: u16, before: bool) -> bool {
        match self {
            // Opened by now, if it was asked for before.
            Then::Decided(_, false) => status == 201 || (before && status == 200),
            Then::Met(_) => matches!(status, 200 | 201),
            Then::Raced => matches!(status, 200 | 409),
            _ => status == 200,
        }
    }
}

/// What a client did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Requests that became an event, or should have, and were acknowledged.
    pub writes: u64,
    /// Other requests that were answered.
    pub reads: u64,
    /// Requests that were never answered.
    pub unanswered: u64,
    /// Requests that were put off (503, 429).
    pub put_off: u64,
}

impl Done {
    /// With what another one did.
    pub fn add(&mut self, other: Done) {
        self.writes += other.writes;
        self.reads += other.reads;
        self.unanswered += other.unanswered;
        self.put_off += other.put_off;
    }
}

/// A client.
#[derive(Debug)]
pub struct Client {
    number: u16,
    /// How many races all clients have begun.
    races: Arc<AtomicU32>,
    chance: Chance,
    habits: Habits,
    opened: u32,
    now: Option<Episode>,
    waiting: VecDeque<Episode>,
    sent: Option<Sent>,
    again: VecDeque<Kept>,
    last: Option<(Kept, Option<Key>)>,
    rest: Option<Duration>,
    /// What it was promised.
    pub journal: Journal,
    /// What it found.
    pub findings: Findings,
    /// What it did.
    pub done: Done,
    /// How long acknowledged writes took, in microseconds, if that is wanted.
    pub times: Option<Vec<u32>>,
}

impl Client {
    /// So many clients; a seed decides what they do.
    pub fn many(clients: u16, seed: u64, habits: Habits) -> impl Iterator<Item = Client> {
        let races = Arc::new(AtomicU32::new(0));
        (0..clients).map(move |number| Client::new(number, seed, habits, races.clone()))
    }

    fn new(number: u16, seed: u64, habits: Habits, races: Arc<AtomicU32>) -> Client {
        Client {
            number,
            races,
            chance: Chance::of(seed, u64::from(number)),
            habits,
            opened: 0,
            now: None,
            waiting: VecDeque::new(),
            sent: None,
            again: VecDeque::new(),
            last: None,
            rest: None,
            journal: Journal::default(),
            findings: Findings::default(),
            done: Done::default(),
            times: None,
        }
    }

    /// Episodes that it opened or took in.
    pub fn opened(&self) -> u64 {
        u64::from(self.opened)
    }

    fn new_episode(&mut self) -> Episode {
        let mut draw = self.chance.below(100);
        let study = STUDIES.iter().position(|study| {
            let here = draw < study.share;
            draw = draw.saturating_sub(study.share);
            here
        });
        let study = if self.habits.hot {
            0
        } else {
            study.unwrap_or(0)
        };
        self.opened += 1;
        Episode::new(study as u8, self.number, self.opened)
    }

    /// What to do next, when nothing has to be done again.
    fn decide(&mut self) -> (Request, Then) {
        let chance = &mut self.chance;
        // Outcomes come late: sooner or later, and at once where many are waiting.
        let due = self.waiting.len() >= WAITING || (chance.percent(30) && self.now.is_none());
        if due && let Some(episode) = self.waiting.pop_front() {
            match episode.outcome() {
                Some(request) => return (request, Then::Given(episode)),
                None => return (episode.amend(), Then::Amended(episode)),
            }
        }
        let Some(episode) = self.now.take() else {
            if self.chance.percent(self.habits.race) {
                let race = self.races.fetch_add(1, Ordering::Relaxed) / RACERS;
                let episode = Episode::new(0, EVERYBODY, race);
                return (episode.open(), Then::Met(episode));
            }
            let import = self.chance.percent(self.habits.import);
            let episode = self.new_episode();
            if import {
                return (episode.import(&mut self.chance), Then::Imported);
            }
            return (episode.open(), Then::Decided(episode, false));
        };
        if chance.percent(self.habits.ask) {
            return (episode.ask(), Then::Asked(episode));
        }
        if chance.percent(self.habits.abandon) {
            return (episode.abandon(), Then::Ended(episode));
        }
        let last = episode.step >= episode.study().horizon;
        // A recommendation to stop is followed more often than not, one to go on nearly always.
        let stop = match episode.recommended {
            None => chance.percent(60),
            Some(_) => chance.percent(4),
        };
        if last || stop {
            return (episode.stop(), Then::Ended(episode));
        }
        (episode.tell(chance), Then::Decided(episode, true))
    }

    /// Carried out: what follows from it.
    fn follow(&mut self, sent: Sent, answer: Answer) {
        let Sent { request, then, .. } = sent;
        let lasting = matches!(then, Then::Decided(..));
        match then {
            Then::Again(bytes) => {
                let same = bytes == answer.body;
                let Message {
                    method,
                    target,
                    body,
                    ..
                } = &request.message;
                self.findings.check(Check::SameBytes, same, || {
                    format!(
                        "{method} {target} {body}: answered before with {}, now with {}",
                        String::from_utf8_lossy(&bytes),
                        answer.text()
                    )
                });
                return;
            }
            Then::Asked(episode) => {
                let same = episode.decision == answer.body;
                self.findings.check(Check::SameBytes, same, || {
                    format!(
                        "{}: not the decision that was given",
                        request.message.target
                    )
                });
                self.now = Some(episode);
                return;
            }
            Then::Decided(mut episode, told) => match recommended(&answer.body) {
                Ok(action) => {
                    episode.step += usize::from(told);
                    episode.recommended = action;
                    episode.decision.clone_from(&answer.body);
                    self.now = Some(episode);
                }
                Err(what) => {
                    self.findings.broken(
                        Check::Answer,
                        format!("{}: {what}: {}", request.message.target, answer.text()),
                    );
                    return;
                }
            },
            Then::Ended(mut episode) => {
                episode.end(&mut self.chance);
                self.waiting.push_back(episode);
            }
            Then::Given(mut episode) => {
                episode.given();
                let corrected = episode.study().amended && self.chance.percent(40);
                if corrected || episode.outcome().is_some() {
                    self.waiting.push_back(episode);
                }
            }
            Then::Amended(mut episode) => {
                episode.amended();
                if self.chance.percent(20) {
                    self.waiting.push_back(episode);
                }
            }
            Then::Met(episode) => {
                let request = episode.race(self.number, &mut self.chance);
                self.send(request, Then::Raced);
                return;
            }
            Then::Imported | Then::Raced => return,
        }
        let kept = Kept {
            message: request.message,
            body: answer.body,
        };
        if self.habits.repeat > 0 {
            if lasting {
                self.journal.keep(kept.clone(), &mut self.chance);
            }
            self.last = Some((kept, request.key));
        }
    }

    /// This is to be sent.
    fn send(&mut self, request: Request, then: Then) {
        if let Some(key) = request.key {
            self.journal.sent(key);
        }
        self.sent = Some(Sent {
            request,
            then,
            once: false,
            before: false,
        });
    }

    /// Something that was answered before, to be asked for again.
    fn repeat(&mut self) -> Option<Kept> {
        if let Some(kept) = self.again.pop_front() {
            return Some(kept);
        }
        if !self.chance.percent(self.habits.repeat) {
            return None;
        }
        if self.chance.percent(50) {
            // Nothing has happened to the episode since.
            return self.last.as_ref().map(|(kept, _)| kept.clone());
        }
        self.journal.any(&mut self.chance).cloned()
    }
}

impl Talker for Client {
    fn next(&mut self) -> Next {
        if let Some(rest) = self.rest.take() {
            return Next::Rest(rest);
        }
        if let Some(sent) = &mut self.sent {
            // New only if it follows at once from what was answered before.
            sent.before |= sent.once;
            sent.once = true;
            return Next::Send(sent.request.message.clone());
        }
        let (request, then) = match self.repeat() {
            Some(kept) => {
                let request = Request {
                    message: kept.message,
                    key: None,
                };
                (request, Then::Again(kept.body))
            }
            None => self.decide(),
        };
        let message = request.message.clone();
        self.send(request, then);
        if let Some(sent) = &mut self.sent {
            sent.once = true;
        }
        Next::Send(message)
    }

    fn answered(&mut self, answer: Answer, took: Duration) {
        let Some(sent) = self.sent.take() else {
            return;
        };
        match answer.status {
            429 | 503 => {
                self.done.put_off += 1;
                let told = answer.retry_after.is_some();
                self.findings.check(Check::Answer, told, || {
                    format!(
                        "{}: {} without `Retry-After`",
                        sent.request.message.target, answer.status
                    )
                });
                // Sooner than it says: who is impatient must be as safe.
                self.rest = Some(Duration::from_millis(20 + self.chance.below(80)));
                self.sent = Some(sent);
                return;
            }
            _ => {}
        }
        let fits = sent.then.allows(answer.status, sent.before);
        self.findings.check(Check::Answer, fits, || {
            let Message {
                method,
                target,
                body,
                ..
            } = &sent.request.message;
            format!(
                "{method} {target} {body}: {} {}",
                answer.status,
                answer.text()
            )
        });
        if !fits {
            // Whatever it is, the rest of the episode would only tell the same again.
            self.now = None;
            self.last = None;
            return;
        }
        match sent.request.key {
            Some(key) if answer.status == 409 => self.journal.refused(key),
            Some(key) => {
                self.journal.acknowledged(key);
                self.done.writes += 1;
                if let Some(times) = &mut self.times {
                    times.push(took.as_micros() as u32);
                }
            }
            None => self.done.reads += 1,
        }
        self.follow(sent, answer);
    }

    fn broken(&mut self) {
        self.rest = None;
        if self.sent.as_ref().is_some_and(|sent| sent.once) {
            self.done.unanswered += 1;
        }
        if self.habits.repeat == 0 {
            return;
        }
        // What was promised last is what is likeliest to be lost.
        if let Some((kept, key)) = &self.last {
            let touched = |episode: &Episode| key.is_some_and(|key| episode.is(&key));
            let moved = self.sent.as_ref().is_some_and(|sent| match &sent.then {
                Then::Ended(episode) | Then::Given(episode) | Then::Amended(episode) => {
                    touched(episode)
                }
                // A decision stays what it was, whatever comes after it.
                _ => false,
            });
            if !moved {
                self.again.push_back(kept.clone());
            }
        }
        self.again
            .extend(self.journal.any(&mut self.chance).cloned());
        self.again
            .extend(self.journal.any(&mut self.chance).cloned());
    }
}
