//! The head of a study: the end of its log, and its counters.

use serde::{Deserialize, Serialize};

use utoipa::ToSchema;

use crate::domain::{
    Amended, Awaited, Event, EventKind, GENESIS, Imported, OutcomeGiven, Recent, StepRecorded,
    Stopped,
};

/// The head of a study. Stores keep it in one row, which writers lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Head {
    /// The key of the study in its store; 0 before it is created.
    #[serde(skip)]
    pub key: i64,
    pub name: String,
    /// SHA-256 of the specification, in hexadecimal.
    pub spec_hash: String,
    /// The sequence number of the last event.
    pub seq: u64,
    /// The hash of the last event, in hexadecimal.
    pub hash: String,
    /// Whether the study accepts no new episodes.
    pub closed: bool,
    /// The number of episodes, opened or imported.
    pub episodes: u64,
    /// The number of open episodes.
    pub open: u64,
    /// The number of learned episodes, which is the position of the next one.
    pub learned: u64,
    /// The number of episodes whose outcome is missing for good, in whole or in part.
    pub missing: u64,
    /// The sequence number of the last event that changed a learned episode; 0 if there is none.
    pub relearned: u64,
    /// The version of the rules that the study keeps for ever, as its first event says.
    pub rules: u32,
    /// Whether an event has a salt; every later one has one too.
    pub salted: bool,
    /// Counters since rules 3.
    pub details: Details,
    /// Whether its restore has not ended. It is read from the restores, not from the log.
    #[serde(skip)]
    pub restoring: bool,
}

/// What the heads of studies with rules 3 or later have in addition; all 0 for earlier rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Details {
    /// Whether the study is paused.
    #[serde(skip_serializing_if = "is_default")]
    pub paused: bool,
    /// The number of episodes that were voided.
    #[serde(skip_serializing_if = "is_default")]
    pub voided: u64,
    /// The number of voided episodes that had been learned.
    #[serde(skip_serializing_if = "is_default")]
    pub voided_learned: u64,
    /// The number of episodes that were opened.
    #[serde(skip_serializing_if = "is_default")]
    pub opened: u64,
    /// The number of choices that were reported: steps and stops.
    #[serde(skip_serializing_if = "is_default")]
    pub choices: u64,
    /// The number of them that were not recommended.
    #[serde(skip_serializing_if = "is_default")]
    pub overrides: u64,
    /// The ids of the last requests to pause, resume or reopen the study, each with the fingerprint of its event.
    #[serde(skip_serializing_if = "is_default")]
    pub requests: Vec<(String, String)>,
    /// The number of accepted values outside `outcome_range`, each event counted once.
    #[serde(skip_serializing_if = "is_default")]
    pub outliers: u64,
    /// The number of corrections of outcomes and steps.
    #[serde(skip_serializing_if = "is_default")]
    pub corrections: u64,
    /// From rules 4 on, the number of reports: choices, outcomes and corrections.
    #[serde(skip_serializing_if = "is_default")]
    pub reports: u64,
    /// Which of the last choices were not recommended.
    #[serde(skip_serializing_if = "is_default")]
    pub recent_overrides: Recent,
    /// Which of the last reports were corrections.
    #[serde(skip_serializing_if = "is_default")]
    pub recent_corrections: Recent,
    /// The outcomes that are awaited.
    #[serde(skip_serializing_if = "is_default")]
    pub awaited: Awaited,
    /// From rules 4 on, the last event that created, paused, resumed, closed or reopened the study.
    #[serde(skip_serializing_if = "is_default")]
    pub change: Option<StudyChange>,
    /// The time of the last event, from rules 4 on.
    #[serde(skip_serializing_if = "is_default")]
    pub at: Option<String>,
}

/// A change of the status of a study: when, by whom and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StudyChange {
    /// `created`, `paused`, `resumed`, `closed` or `reopened`.
    pub kind: String,
    /// The time, RFC 3339.
    pub at: String,
    /// The person.
    pub by: String,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl StudyChange {
    /// The change that an event makes, if it makes one and names a person.
    pub fn of(event: &Event) -> Option<StudyChange> {
        let reason = match &event.kind {
            EventKind::Created(_) => None,
            EventKind::Closed(it) => it.reason.clone(),
            EventKind::Paused(it) => Some(it.reason.clone()),
            EventKind::Resumed(it) => Some(it.reason.clone()),
            EventKind::Reopened(it) => Some(it.reason.clone()),
            _ => return None,
        };
        Some(StudyChange {
            kind: event.kind.name().into(),
            at: event.at.clone(),
            by: event.person.clone()?,
            reason,
        })
    }
}

impl Details {
    /// The number of ids that are remembered.
    const REQUESTS: usize = 100;

    /// Updates the counters of an event. They count reports as first made: a correction changes no earlier count.
    pub fn count(&mut self, kind: &EventKind) {
        if let EventKind::OutcomeGiven(OutcomeGiven { outlier, .. })
        | EventKind::Amended(Amended { outlier, .. })
        | EventKind::Imported(Imported { outlier, .. }) = kind
        {
            self.outliers += u64::from(*outlier);
        }
        match kind {
            EventKind::Opened(_) => self.opened += 1,
            EventKind::StepRecorded(StepRecorded { overridden, .. })
            | EventKind::Stopped(Stopped { overridden, .. }) => {
                self.choices += 1;
                self.overrides += u64::from(*overridden);
            }
            EventKind::Amended(_) | EventKind::StepAmended(_) => self.corrections += 1,
            EventKind::Voided(_) => self.voided += 1,
            _ => {}
        }
    }

    /// Updates the counters of recent reports.
    pub fn count_recent(&mut self, kind: &EventKind) {
        if let EventKind::StepRecorded(StepRecorded { overridden, .. })
        | EventKind::Stopped(Stopped { overridden, .. }) = kind
        {
            self.recent_overrides.add(*overridden);
        }
        let is_correction = match kind {
            EventKind::Amended(_) | EventKind::StepAmended(_) | EventKind::Voided(_) => true,
            EventKind::StepRecorded(_)
            | EventKind::Stopped(_)
            | EventKind::Abandoned(_)
            | EventKind::OutcomeGiven(_) => false,
            _ => return,
        };
        self.reports += 1;
        self.recent_corrections.add(is_correction);
    }

    /// Remembers a request, and forgets the oldest one if there are many.
    pub fn remember(&mut self, id: &str, fingerprint: String) {
        if self.requests.len() >= Self::REQUESTS {
            self.requests.remove(0);
        }
        self.requests.push((id.into(), fingerprint));
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Head {
    /// The head of a study before its first event.
    pub fn new(name: &str, spec_hash: &str, rules: u32) -> Head {
        Head {
            name: name.into(),
            spec_hash: spec_hash.into(),
            hash: GENESIS.into(),
            rules,
            ..Head::default()
        }
    }

    /// The number of episodes that count: without those entered in error.
    pub fn counted_episodes(&self) -> u64 {
        self.episodes.saturating_sub(self.details.voided)
    }

    /// The number of learned episodes that count.
    pub fn counted_learned(&self) -> u64 {
        self.learned.saturating_sub(self.details.voided_learned)
    }
}
