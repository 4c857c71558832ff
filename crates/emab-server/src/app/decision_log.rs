//! The log of a study as decisions that can be replayed, evaluated and fitted ([`emab_logs`]).
//!
//! Every event is checked as a replay checks it: its hash, the chain and the rules of the study. Episodes are as the service has
//! them after the last event: corrections are applied, voided episodes are marked, and an episode without a complete outcome is not
//! learned.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::sync::mpsc;

use emab::Action;
use emab_logs::log::EarlierVersion;
use emab_logs::{
    DecisionLog, LoggedDecision, LoggedEpisode, PendingChange, Status as LoggedStatus,
};
use emab_problem::{Format, ProblemFile};
use serde::Deserialize;
use thiserror::Error;

use crate::app::export::ExportHeader;
use crate::app::{CHANGED, PAGE, Replay};
use crate::domain::{
    DecidedBy, EpisodeRecord, Event, Head, MAX_LINE, Record, Status, Study, pending_choices,
    under_rules, unpack,
};
use crate::store::{Store, StoreError, Which};

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum LogReadError {
    /// The log is not as the service wrote it.
    #[error("{place}: {what}; `emab audit` checks the whole log")]
    Broken {
        /// The line or the event.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// It has no events.
    #[error("the log has no events")]
    Empty,
    /// The input failed.
    #[error("the log cannot be read: {0}")]
    Input(#[from] std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads the events of a study in order.
#[derive(Default)]
pub struct DecisionLogReader {
    replay: Replay,
    episodes: HashMap<String, Observed>,
}

/// What the events say of an episode beside its record.
#[derive(Default)]
struct Observed {
    decisions: Vec<LoggedDecision>,
    learned: Option<u64>,
    earlier: Vec<EarlierVersion>,
    pending: Vec<PendingChange>,
    /// The pending choices after the last change.
    choices: Vec<(usize, Action)>,
}

#[derive(Deserialize)]
struct RecommendedAction<'a> {
    #[serde(borrow)]
    action: std::borrow::Cow<'a, str>,
    /// None under earlier rules, which have no protocol.
    decided_by: Option<DecidedBy>,
}

/// Parses an event whose hash matches its line.
fn read_event(record: &Record) -> Result<Event, LogReadError> {
    let broken = |what: String| LogReadError::Broken {
        place: format!("event {}", record.seq),
        what,
    };
    if !record.is_intact() {
        return Err(broken(CHANGED.into()));
    }
    let event = record.read_leniently();
    event.map_err(|error| broken(error.to_string()))
}

impl DecisionLogReader {
    /// Checks and applies the next event, whose line has this hash.
    pub fn take(&mut self, event: &Event, hash: &str) -> Result<(), LogReadError> {
        let broken = |what: String| LogReadError::Broken {
            place: format!("event {}", event.seq),
            what,
        };
        let position = |replay: &Replay| {
            let id = event.kind.episode()?;
            replay.episodes.get(id)?.position
        };
        let before = position(&self.replay).filter(|_| event.kind.changes_learned());
        let before = before.and_then(|it| unpack(self.replay.learned.get(it as usize)?));
        self.replay.pass(event, hash).map_err(broken)?;
        let Some(state) = &self.replay.state else {
            return Ok(());
        };
        let Some(id) = event.kind.episode() else {
            return Ok(());
        };
        let Some(record) = self.replay.episodes.get(id) else {
            return Ok(());
        };
        let observed = match self.episodes.get_mut(id) {
            Some(observed) => observed,
            None => self.episodes.entry(id.to_owned()).or_default(),
        };
        let decision = event.decision();
        if let Some((_, step, text)) = decision {
            let decision: RecommendedAction<'_> =
                serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
            // A correction of an earlier step makes the decision of the current one anew.
            observed.decisions.truncate(step as usize - 1);
            observed.decisions.push(LoggedDecision {
                at: event.seq,
                state: record.state(),
                recommended: state.study.action_of(&decision.action),
                by_learner: decision.decided_by != Some(DecidedBy::Protocol),
                overridden: false,
            });
        }
        let choices = pending_choices(record);
        let both = choices.iter().zip(&observed.choices);
        let keep = both.take_while(|(one, other)| one == other).count();
        if decision.is_some() || keep < choices.len().max(observed.choices.len()) {
            observed.pending.push(PendingChange {
                at: event.seq,
                keep,
                choices: choices[keep..].to_vec(),
            });
            observed.choices = choices;
        }
        if record.position.is_some() || before.is_some() {
            observed.learned = observed.learned.or(Some(event.seq));
            observed
                .earlier
                .extend(before.map(|episode| EarlierVersion {
                    until: event.seq,
                    episode,
                }));
        }
        Ok(())
    }

    /// The log up to the last event.
    pub fn finish(mut self) -> Result<DecisionLog, LogReadError> {
        let Some(state) = self.replay.state.take() else {
            return Err(LogReadError::Empty);
        };
        let mut records: Vec<Box<EpisodeRecord>> =
            self.replay.episodes.drain().map(|it| it.1).collect();
        records.sort_by_key(|it| it.opened);
        let episodes = records.iter().map(|record| {
            let observed = self.episodes.remove(&record.id).unwrap_or_default();
            logged_episode(record, observed)
        });
        let episodes = episodes.collect();
        decision_log(&state.study, state.head.rules, episodes)
    }

    /// The number and hash of the last event.
    fn end(&self) -> Option<(u64, &str)> {
        let head = &self.replay.state.as_ref()?.head;
        Some((head.seq, &head.hash))
    }
}

fn decision_log(
    study: &Study,
    rules: u32,
    episodes: Vec<LoggedEpisode>,
) -> Result<DecisionLog, LogReadError> {
    let broken = |what: String| LogReadError::Broken {
        place: "event 1".into(),
        what,
    };
    let problem = study.problem_json().map_err(|it| broken(it.detail))?;
    let file = ProblemFile::parse_as(Format::Json, "problem", &problem)
        .map_err(|error| broken(error.sentence()))?;
    Ok(DecisionLog {
        learner: Some(under_rules(&study.learner, rules).label().into()),
        ..DecisionLog::new(file, study.outcome_range, episodes)
    })
}

fn logged_episode(record: &EpisodeRecord, mut observed: Observed) -> LoggedEpisode {
    let steps = record.step();
    // An imported episode is decided when it is learned.
    let decided = observed.decisions.len();
    let none = |&state: &usize| LoggedDecision {
        at: observed.learned.unwrap_or(record.opened),
        state,
        recommended: None,
        by_learner: false,
        overridden: false,
    };
    let missing = record.states.iter().skip(decided).map(none);
    observed.decisions.extend(missing);
    let ends = record.end.as_ref().is_some_and(|end| end.overridden);
    for (i, decision) in observed.decisions.iter_mut().enumerate() {
        let step = record.steps.get(i);
        decision.overridden = step.map_or(ends, |step| step.overridden);
    }
    // An open episode has no outcome yet.
    let mut episode = record.episode();
    episode.rewards.resize(steps, f64::NAN);
    episode.costs.resize(steps - 1, f64::NAN);
    LoggedEpisode {
        id: record.id.clone(),
        status: match record.status() {
            Status::Open => LoggedStatus::Open,
            Status::Stopped => LoggedStatus::Stopped,
            Status::Abandoned => LoggedStatus::Abandoned,
            Status::Learned => LoggedStatus::Learned,
            Status::Voided => LoggedStatus::Voided,
        },
        stopped: record.end.as_ref().is_some_and(|end| !end.abandoned),
        episode,
        decisions: observed.decisions,
        learned: observed.learned.filter(|_| record.position.is_some()),
        earlier: observed.earlier,
        pending: observed.pending,
    }
}

/// Lines that are parsed at once.
const BATCH: usize = 1_000;

/// Events with their hashes, in order.
type Events = Vec<(Event, String)>;

/// Reads an export, and calls `progress` with the number of events so far. Another thread parses the lines.
pub fn of_export(
    reader: impl BufRead + Send,
    mut progress: impl FnMut(u64),
) -> Result<DecisionLog, LogReadError> {
    let (sender, receiver) = mpsc::sync_channel(8);
    std::thread::scope(|scope| {
        let parser = scope.spawn(move || parse_export(reader, &sender));
        let mut log = DecisionLogReader::default();
        let applied: Result<(), LogReadError> = receiver.iter().try_for_each(|events: Events| {
            for (event, hash) in &events {
                log.take(event, hash)?;
            }
            progress(events.last().map_or(0, |(event, _)| event.seq));
            Ok(())
        });
        // The parser ends when its next batch is not received.
        drop(receiver);
        let parsed = parser.join().unwrap_or_else(|_| {
            let what = "the lines could not be parsed";
            Err(LogReadError::Input(std::io::Error::other(what)))
        });
        // An event that cannot be applied comes before a line that cannot be parsed.
        applied?;
        if let (Some(header), Some((seq, hash))) = (parsed?, log.end())
            && header.hash != hash
        {
            let last = header.seq;
            return Err(LogReadError::Broken {
                place: "line 1".into(),
                what: format!(
                    "it names event {last} as the last one, and the export ends with event {seq}"
                ),
            });
        }
        log.finish()
    })
}

/// Sends the events of an export in batches, and returns its first line, if it has one. What was parsed before an error is sent.
fn parse_export(
    mut reader: impl BufRead,
    sender: &mpsc::SyncSender<Events>,
) -> Result<Option<ExportHeader>, LogReadError> {
    let (mut bytes, mut header, mut events) = (Vec::new(), None, Events::new());
    for line in 1_u64.. {
        bytes.clear();
        let most = MAX_LINE as u64 + 1;
        if reader.by_ref().take(most).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let broken = |what: String| LogReadError::Broken {
            place: format!("line {line}"),
            what,
        };
        let mut parse = || {
            if bytes.len() > MAX_LINE {
                return Err(broken("it is too long for an event".into()));
            }
            let text = std::str::from_utf8(&bytes).map_err(|error| broken(error.to_string()))?;
            let text = text.trim_end();
            if line == 1 && ExportHeader::matches(text) {
                header = Some(ExportHeader::parse(text).map_err(broken)?);
            } else if !text.is_empty() {
                let record = Record::from_line(text);
                let record = record.map_err(|error| broken(error.to_string()))?;
                events.push((read_event(&record)?, record.hash));
            }
            Ok(())
        };
        if let Err(error) = parse() {
            // The receiver may have ended.
            let _ = sender.send(events);
            return Err(error);
        }
        if events.len() >= BATCH && sender.send(std::mem::take(&mut events)).is_err() {
            return Ok(header);
        }
    }
    let _ = sender.send(events);
    Ok(header)
}

/// Reads the log of a study in a store, up to its head.
pub fn of_store(
    store: &mut dyn Store,
    head: &Head,
    mut progress: impl FnMut(u64),
) -> Result<DecisionLog, LogReadError> {
    let (mut log, mut at) = (DecisionLogReader::default(), 0);
    while at < head.seq {
        let page = store.events(head.key, at, PAGE.min((head.seq - at) as usize))?;
        let missing = || LogReadError::Broken {
            place: format!("event {}", at + 1),
            what: "missing".into(),
        };
        let last = page.last().ok_or_else(missing)?.seq;
        for record in &page {
            log.take(&read_event(record)?, &record.hash)?;
        }
        at = last;
        progress(at);
    }
    log.finish()
}

/// The episodes of a study as they are in its store, without its decisions: enough to evaluate policies.
pub fn of_episodes(
    study: &Study,
    store: &mut dyn Store,
    head: &Head,
) -> Result<DecisionLog, LogReadError> {
    const EPISODES: usize = 1_000;
    let (mut episodes, mut after) = (Vec::new(), String::new());
    loop {
        let page = store.episodes_after(head.key, &after, Which::All, EPISODES)?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.id);
        episodes.extend(page.iter().map(|record| {
            let observed = Observed {
                learned: record.position,
                ..Observed::default()
            };
            logged_episode(record, observed)
        }));
        std::thread::yield_now();
    }
    decision_log(study, head.rules, episodes)
}
