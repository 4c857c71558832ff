//! Events: the log of a study, one line of JSON each.

use std::borrow::Cow;

use emab_problem::json_error;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::policy::PolicyReference;

pub use super::hash_chain::{GENESIS, HASH_FIELD, MAX_LINE, NotAnEvent, Record, sha256};

impl Record {
    /// Parses the line. A line with the same values in other bytes, or with more fields, is rejected.
    pub fn read(&self) -> Result<Event, NotAnEvent> {
        let wrong = |error: serde_json::Error| NotAnEvent(json_error(&error, "the event"));
        let event = self.read_leniently()?;
        if event.text().map_err(wrong)? == self.text {
            return Ok(event);
        }
        let what = "it is not written as this service writes";
        Err(NotAnEvent(what.into()))
    }

    /// Parses the line, also if it is written otherwise than this service writes.
    pub fn read_leniently(&self) -> Result<Event, NotAnEvent> {
        let wrong = |error: serde_json::Error| NotAnEvent(json_error(&error, "the event"));
        let envelope: Envelope<'_> = serde_json::from_str(&self.text).map_err(wrong)?;
        Ok(Event {
            seq: envelope.seq,
            at: envelope.at.into_owned(),
            by: envelope.by.into_owned(),
            person: envelope.person.map(Cow::into_owned),
            previous: envelope.previous.into_owned(),
            salt: envelope.salt.map(Cow::into_owned),
            kind: EventKind::read(&envelope.kind, envelope.data).map_err(wrong)?,
        })
    }
}

/// The fields that all events share, around their data.
#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    seq: u64,
    #[serde(borrow)]
    at: Cow<'a, str>,
    #[serde(borrow)]
    by: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    person: Option<Cow<'a, str>>,
    #[serde(borrow)]
    previous: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    salt: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub seq: u64,
    /// The time by the clock of the machine that wrote it (RFC 3339). The order of events is that of `seq`.
    pub at: String,
    /// The id of the token that requested it.
    pub by: String,
    /// The person who requested it, from rules 4 on.
    pub person: Option<String>,
    /// The hash of the event before it.
    pub previous: String,
    /// 128 random bits in hexadecimal, so that values cannot be found by trying which ones have the hash. Events of earlier
    /// versions have none.
    pub salt: Option<String>,
    pub kind: EventKind,
}

impl Event {
    pub fn record(&self) -> Result<Record, serde_json::Error> {
        Ok(Record::new(self.seq, self.text()?))
    }

    /// The decision that it records: the episode, the step and the JSON text.
    pub fn decision(&self) -> Option<(&str, u32, &str)> {
        match &self.kind {
            EventKind::Opened(opened) => Some((&opened.episode, 1, opened.decision.get())),
            EventKind::StepRecorded(recorded) => {
                let step = u32::try_from(recorded.step).ok()?.checked_add(1)?;
                Some((&recorded.episode, step, recorded.decision.get()))
            }
            EventKind::StepAmended(amended) => {
                let decision = amended.decision.as_ref()?;
                let step = u32::try_from(amended.current).ok()?;
                Some((&amended.episode, step, decision.get()))
            }
            _ => None,
        }
    }

    fn text(&self) -> Result<String, serde_json::Error> {
        let data = self.kind.data()?;
        serde_json::to_string(&Envelope {
            seq: self.seq,
            at: self.at.as_str().into(),
            by: self.by.as_str().into(),
            person: self.person.as_deref().map(Into::into),
            previous: self.previous.as_str().into(),
            salt: self.salt.as_deref().map(Into::into),
            kind: self.kind.name().into(),
            data: &data,
        })
    }
}

/// A kind of event, for the reference.
pub struct KindDescription {
    /// The name in the log.
    pub name: &'static str,
    pub description: &'static str,
    pub fields: &'static [FieldDescription],
}

/// A field of the data of an event, as it is declared.
pub struct FieldDescription {
    pub name: &'static str,
    /// The Rust type.
    pub kind: &'static str,
    /// The arguments of its `serde` attribute.
    pub serde: &'static str,
    pub description: &'static str,
}

/// Declares the kinds of events: the name in the log, and the data.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident $kind:literal {
        $($(#[doc = $field_doc:literal])* $(#[serde($($serde:tt)*)])? $field:ident: $type:ty,)*
    })*) => {
        /// All kinds of events.
        pub const KINDS: &[KindDescription] = &[$(KindDescription {
            name: $kind,
            description: concat!($($doc),*),
            fields: &[$(FieldDescription {
                name: stringify!($field),
                kind: stringify!($type),
                serde: stringify!($($($serde)*)?),
                description: concat!($($field_doc),*),
            }),*],
        }),*];

        $($(#[doc = $doc])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub struct $name {
            $($(#[doc = $field_doc])* $(#[serde($($serde)*)])? pub $field: $type,)*
        })*

        #[derive(Clone, Debug)]
        pub enum EventKind {
            $($(#[doc = $doc])* $name($name),)*
        }

        impl EventKind {
            /// The name of the kind in the log.
            pub fn name(&self) -> &'static str {
                match self {
                    $(EventKind::$name(_) => $kind,)*
                }
            }

            fn data(&self) -> Result<Box<RawValue>, serde_json::Error> {
                match self {
                    $(EventKind::$name(data) => serde_json::value::to_raw_value(data),)*
                }
            }

            fn read(kind: &str, data: &RawValue) -> Result<EventKind, serde_json::Error> {
                match kind {
                    $($kind => serde_json::from_str(data.get()).map(EventKind::$name),)*
                    other => Err(serde::de::Error::custom(format!("unknown kind `{other}`"))),
                }
            }
        }
    };
}

/// The choice of a shadow learner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shadow {
    /// The learner, as the study names it.
    pub learner: String,
    /// An action by name, or `stop`.
    pub action: String,
}

kinds! {
    /// The study was created.
    Created "created" {
        study: String,
        /// The specification, as canonical JSON.
        spec: Box<RawValue>,
        /// SHA-256 of the specification.
        spec_hash: String,
        /// The version of the rules that the study follows; 1 is not written.
        #[serde(default = "first_rules", skip_serializing_if = "is_first_rules")]
        rules: u32,
    }
    /// An episode was opened.
    Opened "opened" {
        episode: String,
        /// The state in which it begins, where the study has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<String>,
        decision: Box<RawValue>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shadow: Vec<Shadow>,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// A step was recorded.
    StepRecorded "told" {
        episode: String,
        step: usize,
        action: String,
        feedback: String,
        /// Whether another action was recommended.
        #[serde(rename = "override")]
        overridden: bool,
        /// The reason of an override.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The table that the choice was made from while the service could not be reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<PolicyReference>,
        /// The decision for the next step, as it was answered.
        decision: Box<RawValue>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shadow: Vec<Shadow>,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// An episode was stopped.
    Stopped "stopped" {
        episode: String,
        step: usize,
        /// Whether an action was recommended.
        #[serde(rename = "override")]
        overridden: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The table that the choice was made from while the service could not be reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<PolicyReference>,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// An episode was abandoned.
    Abandoned "abandoned" {
        episode: String,
        step: usize,
        reason: String,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// An outcome, or a part of one, was given; `null` is an unknown value.
    OutcomeGiven "outcome" {
        episode: String,
        /// The given costs, one for every step but the last.
        costs: Vec<Option<f64>>,
        /// The given terminal rewards, one for every step.
        rewards: Vec<Option<f64>>,
        #[serde(rename = "final")]
        last: bool,
        /// Whether a value is outside the range that the study states.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        outlier: bool,
        /// The reason of an outlier.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// An outcome was corrected; `null` is an unchanged value.
    Amended "amended" {
        episode: String,
        costs: Vec<Option<f64>>,
        rewards: Vec<Option<f64>>,
        reason: String,
        /// Whether a value is outside the range that the study states.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        outlier: bool,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// A step was corrected; the states after it are recomputed.
    StepAmended "step_amended" {
        episode: String,
        /// The corrected step.
        step: usize,
        /// The action, if it was corrected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// The feedback, if it was corrected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
        /// Whether another action was recommended.
        #[serde(rename = "override")]
        overridden: bool,
        reason: String,
        /// The current step of the episode.
        current: usize,
        /// The new decision for the current step of an open episode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Box<RawValue>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shadow: Vec<Shadow>,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// An episode was entered in error: it counts for nothing.
    Voided "voided" {
        episode: String,
        reason: String,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// A request about an outcome was acknowledged that changed nothing. It is recorded so that a late copy of it changes nothing
    /// either.
    Repeated "repeated" {
        episode: String,
        /// The kind of event that the request would have become: `outcome` or `amended`.
        of: String,
        /// The fingerprint of that event.
        fingerprint: String,
        /// Which values the request gave: their positions, costs before rewards.
        values: Vec<usize>,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// A past episode was imported.
    Imported "imported" {
        episode: String,
        /// The state in which it begins, where the study has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<String>,
        actions: Vec<String>,
        feedbacks: Vec<String>,
        costs: Vec<Option<f64>>,
        rewards: Vec<Option<f64>>,
        /// Whether a value is outside the range that the study states.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        outlier: bool,
        /// The reason of an outlier.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
    /// The study was closed to new episodes.
    Closed "closed" {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// A closed study was opened again.
    Reopened "reopened" {
        reason: String,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// The study was paused: no episode is opened.
    Paused "paused" {
        reason: String,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
    /// A paused study was resumed.
    Resumed "resumed" {
        reason: String,
        /// The id that the client gave the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    }
}

/// Whether a text is this many hexadecimal digits in lower case.
pub fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

/// The rules of a study whose first event names none.
pub const FIRST_RULES: u32 = 1;
/// The rules of new studies.
///
/// 2: every event has a salt, times and token ids are checked, a reason contains a letter or a digit, and an outcome that changes
/// nothing is not recorded as one.
///
/// 3: steps are corrected, episodes voided, studies paused, resumed and reopened.
///
/// 4: every event names a person, decisions have a time, and an episode may begin in one of several states.
///
/// 5: feedback counts where its cost is unknown, and a mean of gains has no certificate where one of them is unknown.
pub const RULES: u32 = RULES_5;
/// The first rules with corrections of steps.
pub const RULES_3: u32 = 3;
/// The first rules with persons in events.
pub const RULES_4: u32 = 4;
/// The first rules under which learners count feedback whose cost is unknown.
pub const RULES_5: u32 = 5;

fn first_rules() -> u32 {
    FIRST_RULES
}

fn is_first_rules(rules: &u32) -> bool {
    *rules == FIRST_RULES
}

impl EventKind {
    /// A short hash of its data without the id of the request, to recognise a repeated request that would otherwise undo a later
    /// correction.
    pub fn fingerprint(&self) -> Result<String, serde_json::Error> {
        let mut content = self.clone();
        match &mut content {
            EventKind::OutcomeGiven(OutcomeGiven { request, .. })
            | EventKind::Amended(Amended { request, .. }) => *request = None,
            // What the request does not state depends on when it arrives.
            EventKind::StepAmended(amended) => {
                (amended.request, amended.decision) = (None, None);
                (amended.overridden, amended.current) = (false, 0);
                amended.shadow.clear();
            }
            _ => {}
        }
        let mut hash = sha256(content.data()?.get().as_bytes());
        hash.truncate(32);
        Ok(hash)
    }

    /// The id that the client gave the request, if it gave one.
    pub fn request(&self) -> Option<&str> {
        match self {
            EventKind::Created(_) | EventKind::Imported(_) => None,
            EventKind::Closed(Closed { request, .. })
            | EventKind::Reopened(Reopened { request, .. })
            | EventKind::Paused(Paused { request, .. })
            | EventKind::Resumed(Resumed { request, .. })
            | EventKind::Opened(Opened { request, .. })
            | EventKind::StepRecorded(StepRecorded { request, .. })
            | EventKind::Stopped(Stopped { request, .. })
            | EventKind::Abandoned(Abandoned { request, .. })
            | EventKind::OutcomeGiven(OutcomeGiven { request, .. })
            | EventKind::Amended(Amended { request, .. })
            | EventKind::StepAmended(StepAmended { request, .. })
            | EventKind::Voided(Voided { request, .. })
            | EventKind::Repeated(Repeated { request, .. }) => request.as_deref(),
        }
    }

    /// Whether it changes the outcome of its episode.
    pub fn changes_outcome(&self) -> bool {
        use EventKind::{Amended, Imported, OutcomeGiven};
        matches!(self, OutcomeGiven(_) | Amended(_) | Imported(_))
    }

    /// Whether it changes what is learned of its episode, if that was learned.
    pub fn changes_learned(&self) -> bool {
        use EventKind::{StepAmended, Voided};
        self.changes_outcome() || matches!(self, StepAmended(_) | Voided(_))
    }

    /// The decision that it records and the choices of the shadow learners.
    pub fn recorded(&self) -> Option<(&str, &[Shadow])> {
        match self {
            EventKind::Opened(it) => Some((it.decision.get(), &it.shadow)),
            EventKind::StepRecorded(it) => Some((it.decision.get(), &it.shadow)),
            EventKind::StepAmended(it) => Some((it.decision.as_ref()?.get(), &it.shadow)),
            _ => None,
        }
    }

    /// The episode of the event, if it has one.
    pub fn episode(&self) -> Option<&str> {
        match self {
            EventKind::Created(_)
            | EventKind::Closed(_)
            | EventKind::Reopened(_)
            | EventKind::Paused(_)
            | EventKind::Resumed(_) => None,
            EventKind::Opened(Opened { episode, .. })
            | EventKind::StepRecorded(StepRecorded { episode, .. })
            | EventKind::Stopped(Stopped { episode, .. })
            | EventKind::Abandoned(Abandoned { episode, .. })
            | EventKind::OutcomeGiven(OutcomeGiven { episode, .. })
            | EventKind::Amended(Amended { episode, .. })
            | EventKind::StepAmended(StepAmended { episode, .. })
            | EventKind::Voided(Voided { episode, .. })
            | EventKind::Repeated(Repeated { episode, .. })
            | EventKind::Imported(Imported { episode, .. }) => Some(episode),
        }
    }
}
