//! One episode of a study: recommendations, steps, end and outcome.

use std::collections::BTreeMap;

use emab::Episode;
use serde::{Deserialize, Serialize};

use crate::domain::Stamp;

/// The status of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Steps can be recorded.
    Open,
    /// Ended by `stop`; its outcome is incomplete.
    Stopped,
    /// Ended by `abandon`; its outcome can still be given.
    Abandoned,
    /// Ended, and learned.
    Learned,
    /// Entered in error: it counts for nothing.
    Voided,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub action: usize,
    pub feedback: usize,
    /// Whether another action was recommended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overridden: bool,
    /// The reason of an override.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// From rules 3 on, the recommended action of an override; none is `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<usize>,
    /// Whether it was decided from a table of the policy, while the service could not be reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
    /// The reason of its last correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<String>,
    /// The action and the feedback before its first correction, to recognise a repeated report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<(usize, usize)>,
    /// When and by whom it was reported, from rules 4 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<Stamp>,
    /// When and by whom it was last corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_stamp: Option<Stamp>,
}

impl Step {
    /// The action and the feedback as they were reported first.
    pub fn as_reported(&self) -> (usize, usize) {
        self.reported.unwrap_or((self.action, self.feedback))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Whether it was abandoned rather than stopped.
    pub abandoned: bool,
    /// Whether it was stopped although an action was recommended.
    pub overridden: bool,
    /// Whether it was stopped by a table of the policy, while the service could not be reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When and by whom it was ended, from rules 4 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<Stamp>,
}

/// The known part of an outcome; `null` is an unknown value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Outcome {
    /// The cost of every step but the last.
    pub costs: Vec<Option<f64>>,
    /// The terminal reward of every step.
    pub rewards: Vec<Option<f64>>,
    /// Whether it was declared final: no further values will come.
    #[serde(rename = "final")]
    pub last: bool,
}

/// The positions of the known values, costs before rewards.
pub fn known_positions(costs: &[Option<f64>], rewards: &[Option<f64>]) -> Vec<usize> {
    let values = costs.iter().chain(rewards).enumerate();
    let known = values.filter_map(|(i, value)| value.map(|_| i));
    known.collect()
}

impl Outcome {
    /// Whether every value is known.
    pub fn is_complete(&self) -> bool {
        self.costs.iter().chain(&self.rewards).all(Option::is_some)
    }

    /// The positions of the known values, costs before rewards.
    pub fn positions(&self) -> Vec<usize> {
        known_positions(&self.costs, &self.rewards)
    }

    /// Replaces values by those that are given.
    pub fn merge(&mut self, given: &Outcome) {
        let known = self.costs.iter_mut().chain(&mut self.rewards);
        for (known, given) in known.zip(given.costs.iter().chain(&given.rewards)) {
            *known = given.or(*known);
        }
    }
}

/// An episode as the service keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRecord {
    pub id: String,
    /// The state of every step, from the first to the current one.
    pub states: Vec<usize>,
    /// The recorded steps: one fewer than states.
    pub steps: Vec<Step>,
    /// The recommended action at the current step; none is `stop`.
    pub recommended: Option<usize>,
    pub end: Option<End>,
    /// The known part of its outcome.
    pub outcome: Outcome,
    /// Its position in the learning order, once it is learned.
    #[serde(rename = "place")]
    pub position: Option<u64>,
    /// The sequence number of the event that opened it.
    pub opened: u64,
    /// The sequence number of the last event about it.
    pub touched: u64,
    /// When and by whom it was opened, from rules 4 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_stamp: Option<Stamp>,
    /// When and by whom the last event about it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_stamp: Option<Stamp>,
    /// The sequence number and the time of the event by which it was first learned, from rules 4 on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub settled: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<String>,
    /// When and by whom it was voided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided_stamp: Option<Stamp>,
    /// When and by whom its outcome was last given or corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_stamp: Option<Stamp>,
    /// Fingerprints of the outcomes and corrections in events without a salt, which earlier versions wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// From rules 3 on, its number among the opened episodes, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Why it was voided, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<String>,
    /// The acknowledged outcomes and corrections, to recognise a repeated one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<OutcomeRequest>,
    /// The token that gave each known value last: for a token, the positions of its values, costs before rewards. A value in an
    /// event without a salt is not listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub givers: BTreeMap<String, Vec<usize>>,
}

fn is_zero(seq: &u64) -> bool {
    *seq == 0
}

/// An acknowledged request about the outcome of an episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeRequest {
    /// See [`crate::domain::EventKind::fingerprint`].
    pub fingerprint: String,
    /// The id of the token.
    pub by: String,
    /// The id that the client gave the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl EpisodeRecord {
    /// The current step, from 1.
    pub fn step(&self) -> usize {
        self.states.len()
    }

    pub fn state(&self) -> usize {
        self.states.last().copied().unwrap_or(0)
    }

    pub fn status(&self) -> Status {
        match (&self.end, self.position) {
            _ if self.voided.is_some() => Status::Voided,
            (None, _) => Status::Open,
            (Some(_), Some(_)) => Status::Learned,
            (Some(end), None) if end.abandoned => Status::Abandoned,
            (Some(_), None) => Status::Stopped,
        }
    }

    /// When it ended, in seconds since 1970, if its outcome is awaited; none for a study of rules before 4.
    pub fn awaited_since(&self) -> Option<u64> {
        let end = self
            .end
            .as_ref()
            .filter(|_| self.status() == Status::Stopped)?;
        let at = humantime::parse_rfc3339(&end.stamp.as_ref()?.at).ok()?;
        let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(since.as_secs())
    }

    /// Ends it at the current step, with an unknown outcome.
    pub fn finish(&mut self, end: End) {
        self.end = Some(end);
        self.recommended = None;
        self.outcome.costs = vec![None; self.step() - 1];
        self.outcome.rewards = vec![None; self.step()];
    }

    /// Whether values of its outcome are missing for good: it was declared final, or the episode was abandoned.
    pub fn is_missing(&self) -> bool {
        match &self.end {
            _ if self.voided.is_some() => false,
            None => false,
            Some(end) => (end.abandoned || self.outcome.last) && !self.outcome.is_complete(),
        }
    }

    /// Whether it can be learned: its outcome is complete or final.
    pub fn is_settled(&self) -> bool {
        self.end.is_some()
            && self.voided.is_none()
            && (self.outcome.last || self.outcome.is_complete())
            && !self.outcome.rewards.is_empty()
    }

    /// Records that a token gave the values at these positions.
    pub fn set_giver(&mut self, positions: &[usize], by: &str) {
        for values in self.givers.values_mut() {
            values.retain(|i| !positions.contains(i));
        }
        let own = self.givers.entry(by.into()).or_default();
        own.extend(positions);
        own.sort_unstable();
        self.givers.retain(|_, values| !values.is_empty());
    }

    /// Whether every known value among those given was given by this token.
    pub fn has_only_values_of(&self, by: &str, given: &Outcome) -> bool {
        let own = self.givers.get(by);
        let known = self.outcome.costs.iter().chain(&self.outcome.rewards);
        let pairs = known.zip(given.costs.iter().chain(&given.rewards));
        pairs.enumerate().all(|(i, (known, given))| {
            known.is_none() || given.is_none() || own.is_some_and(|own| own.contains(&i))
        })
    }

    /// The episode as learners take it; an unknown value is NaN.
    pub fn episode(&self) -> Episode {
        let known = |values: &[Option<f64>]| {
            let values = values.iter().map(|value| value.unwrap_or(f64::NAN));
            values.collect()
        };
        Episode {
            states: self.states.clone(),
            actions: self.steps.iter().map(|step| step.action).collect(),
            feedbacks: self.steps.iter().map(|step| step.feedback).collect(),
            costs: known(&self.outcome.costs),
            rewards: known(&self.outcome.rewards),
        }
    }
}
