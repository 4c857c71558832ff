//! One episode of a study: what was recommended, done and seen, how it ended, and what is known of its outcome.

use emab::Episode;
use serde::{Deserialize, Serialize};

/// Where an episode stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Steps may be told.
    Open,
    /// Ended by `stop`; its outcome is to come, in whole or in part.
    Stopped,
    /// Given up; its outcome may still come.
    Abandoned,
    /// Ended, and learned from.
    Learned,
}

/// One step that was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The action that was taken.
    pub action: usize,
    /// The feedback that was seen.
    pub feedback: usize,
    /// Whether another action had been recommended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overridden: bool,
    /// Why, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How an episode ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Whether it was given up, and not stopped.
    pub abandoned: bool,
    /// Whether it was stopped against the recommendation.
    pub overridden: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What is known of an outcome; `null` is what is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The cost of every step but the last.
    pub costs: Vec<Option<f64>>,
    /// The terminal reward of every step.
    pub rewards: Vec<Option<f64>>,
    /// Whether it was said that nothing more will come.
    #[serde(rename = "final")]
    pub last: bool,
}

impl Outcome {
    /// Whether every value is known.
    pub fn is_whole(&self) -> bool {
        self.costs.iter().chain(&self.rewards).all(Option::is_some)
    }
}

/// An episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRecord {
    /// Its name.
    pub id: String,
    /// The state of every step, from the first to the current one.
    pub states: Vec<usize>,
    /// The steps that were told: one less than states.
    pub steps: Vec<Step>,
    /// What is recommended at the current step; none is `stop`.
    pub recommended: Option<usize>,
    /// How it ended, if it did.
    pub end: Option<End>,
    /// What is known of its outcome.
    pub outcome: Outcome,
    /// Its place in the order of learning, once it has been learned from.
    pub place: Option<u64>,
    /// The sequence number of the event that opened it.
    pub opened: u64,
    /// The sequence number of the last event about it.
    pub touched: u64,
    /// What was given of its outcome, each time, in short: to recognise it when it comes again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// Whether it was taken in whole from the past.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

impl EpisodeRecord {
    /// The step where it is, from 1.
    pub fn step(&self) -> usize {
        self.states.len()
    }

    /// The state where it is.
    pub fn state(&self) -> usize {
        self.states.last().copied().unwrap_or(0)
    }

    /// Where it stands.
    pub fn status(&self) -> Status {
        match (&self.end, self.place) {
            (None, _) => Status::Open,
            (Some(_), Some(_)) => Status::Learned,
            (Some(end), None) if end.abandoned => Status::Abandoned,
            (Some(_), None) => Status::Stopped,
        }
    }

    /// Whether its outcome is missing for good: in part, by what was said, or in whole, because it was given up.
    pub fn is_missing(&self) -> bool {
        match &self.end {
            None => false,
            Some(end) => (end.abandoned || self.outcome.last) && !self.outcome.is_whole(),
        }
    }

    /// Whether it is to be learned from: its outcome is whole, or what there is of it is said to be all.
    pub fn is_settled(&self) -> bool {
        self.end.is_some()
            && (self.outcome.last || self.outcome.is_whole())
            && !self.outcome.rewards.is_empty()
    }

    /// As a learner takes it in: what is not known is NaN.
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
