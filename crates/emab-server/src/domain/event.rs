//! Events: what happened in a study, in order, each with the hash of the one before it.
//!
//! An event is one line of JSON. Its hash is the SHA-256 of that line, and the line holds the hash of the line before,
//! so that no byte of the past can change unnoticed. In files and answers the line ends with its own hash.

pub use emab_problem::sha256_hex as sha256;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

/// The hash before the first event.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its sequence number in the study, from 1, without gaps.
    pub seq: u64,
    /// The line, without its own hash.
    pub text: String,
    /// SHA-256 of the line, in hexadecimal.
    pub hash: String,
}

/// A line that cannot be read as an event.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not an event: {0}")]
pub struct NotAnEvent(pub String);

impl Record {
    /// The event of this line.
    pub fn new(seq: u64, text: String) -> Record {
        let hash = sha256(text.as_bytes());
        Record { seq, text, hash }
    }

    /// The line with its hash at the end, as it is exported.
    pub fn line(&self) -> String {
        let open = self.text.strip_suffix('}').unwrap_or(&self.text);
        format!("{open},\"hash\":\"{}\"}}", self.hash)
    }

    /// Reads an exported line; the hash in it is taken as it stands, [`Record::is_intact`] checks it.
    ///
    /// ```
    /// use emab_server::domain::event::Record;
    /// let record = Record::new(1, r#"{"seq":1,"kind":"closed"}"#.into());
    /// let back = Record::from_line(&record.line()).unwrap();
    /// assert!(back == record && back.is_intact());
    /// let planted = Record::from_line(&record.line().replace("closed", "cloned")).unwrap();
    /// assert!(!planted.is_intact());
    /// ```
    pub fn from_line(line: &str) -> Result<Record, NotAnEvent> {
        #[derive(Deserialize)]
        struct Seq {
            seq: u64,
        }
        // `,"hash":"` and 64 digits and `"}`
        let cut = line.len().saturating_sub(9 + 64 + 2);
        let (Some(open), Some(end)) = (line.get(..cut), line.get(cut..)) else {
            return Err(NotAnEvent("it has no hash at its end".into()));
        };
        let hash = end
            .strip_prefix(",\"hash\":\"")
            .and_then(|rest| rest.strip_suffix("\"}"))
            .ok_or_else(|| NotAnEvent("it has no hash at its end".into()))?;
        let text = format!("{open}}}");
        let Seq { seq } =
            serde_json::from_str(&text).map_err(|error| NotAnEvent(error.to_string()))?;
        Ok(Record {
            seq,
            text,
            hash: hash.into(),
        })
    }

    /// Whether the hash is that of the line.
    pub fn is_intact(&self) -> bool {
        sha256(self.text.as_bytes()) == self.hash
    }

    /// What it says. A line that says the same in other bytes, or says more, is not one of ours.
    pub fn read(&self) -> Result<Event, NotAnEvent> {
        let wrong = |error: serde_json::Error| NotAnEvent(error.to_string());
        let envelope: Envelope<'_> = serde_json::from_str(&self.text).map_err(wrong)?;
        let event = Event {
            seq: envelope.seq,
            at: envelope.at.into_owned(),
            by: envelope.by.into_owned(),
            previous: envelope.previous.into_owned(),
            what: EventKind::read(&envelope.kind, envelope.data).map_err(wrong)?,
        };
        if event.text().map_err(wrong)? == self.text {
            Ok(event)
        } else {
            Err(NotAnEvent(
                "it is not written as this service writes".into(),
            ))
        }
    }
}

/// What every event has, around what is its own.
#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    seq: u64,
    #[serde(borrow)]
    at: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    by: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    previous: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// An event, read.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its sequence number.
    pub seq: u64,
    /// When, by the clock of the machine that wrote it (RFC 3339); the order is that of `seq`, whatever the clock did.
    pub at: String,
    /// The token that asked for it, by its id.
    pub by: String,
    /// The hash of the event before it.
    pub previous: String,
    /// What happened.
    pub what: EventKind,
}

impl Event {
    /// As it is stored.
    pub fn record(&self) -> Result<Record, serde_json::Error> {
        Ok(Record::new(self.seq, self.text()?))
    }

    fn text(&self) -> Result<String, serde_json::Error> {
        let data = self.what.data()?;
        serde_json::to_string(&Envelope {
            seq: self.seq,
            at: self.at.as_str().into(),
            by: self.by.as_str().into(),
            previous: self.previous.as_str().into(),
            kind: self.what.kind().into(),
            data: &data,
        })
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $kind:literal,)*) => {
        /// What happened.
        #[derive(Clone, Debug)]
        pub enum EventKind {
            $($(#[$doc])* $name($name),)*
        }

        impl EventKind {
            /// The name of its kind.
            pub fn kind(&self) -> &'static str {
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

kinds! {
    /// The study was created.
    Created "created",
    /// An episode was opened.
    Opened "opened",
    /// A step was told.
    StepRecorded "told",
    /// An episode was stopped.
    Stopped "stopped",
    /// An episode was given up.
    Abandoned "abandoned",
    /// An outcome, or a part of one, was given.
    Revealed "outcome",
    /// An outcome was corrected.
    Amended "amended",
    /// A past episode was taken in whole.
    Imported "imported",
    /// The study takes no more episodes.
    Closed "closed",
}

/// The study was created.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Created {
    /// The study's name.
    pub study: String,
    /// What it was created from, as canonical JSON.
    pub spec: Box<RawValue>,
    /// SHA-256 of that.
    pub spec_hash: String,
}

/// What a learner that is only listened to would have recommended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shadow {
    /// The learner as the study names it.
    pub learner: String,
    /// An action by name, or `stop`.
    pub action: String,
}

/// An episode was opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    /// The episode.
    pub episode: String,
    /// The first decision, as it was answered.
    pub decision: Box<RawValue>,
    /// What the shadow learners would have recommended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadow: Vec<Shadow>,
}

/// A step was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepRecorded {
    /// The episode.
    pub episode: String,
    /// The step, from 1.
    pub step: usize,
    /// The action that was taken, by name.
    pub action: String,
    /// The feedback that was seen, by name.
    pub feedback: String,
    /// Whether another action had been recommended.
    #[serde(rename = "override")]
    pub overridden: bool,
    /// Why, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The decision of the next step, as it was answered.
    pub decision: Box<RawValue>,
    /// What the shadow learners would have recommended there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadow: Vec<Shadow>,
}

/// An episode was stopped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stopped {
    /// The episode.
    pub episode: String,
    /// The step at which.
    pub step: usize,
    /// Whether an action had been recommended.
    #[serde(rename = "override")]
    pub overridden: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An episode was given up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Abandoned {
    /// The episode.
    pub episode: String,
    /// The step at which.
    pub step: usize,
    /// Why.
    pub reason: String,
}

/// An outcome, or a part of one, was given: `null` is what is not known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Revealed {
    /// The episode.
    pub episode: String,
    /// As given; the cost of every step but the last.
    pub costs: Vec<Option<f64>>,
    /// As given; the terminal reward of every step.
    pub rewards: Vec<Option<f64>>,
    /// Whether nothing more will come.
    #[serde(rename = "final")]
    pub last: bool,
}

/// An outcome was corrected: `null` is what stays as it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Amended {
    /// The episode.
    pub episode: String,
    /// As given.
    pub costs: Vec<Option<f64>>,
    /// As given.
    pub rewards: Vec<Option<f64>>,
    /// Why.
    pub reason: String,
}

/// A past episode was taken in whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Imported {
    /// The episode.
    pub episode: String,
    /// The actions that were taken, by name.
    pub actions: Vec<String>,
    /// The feedbacks that were seen, by name.
    pub feedbacks: Vec<String>,
    /// The costs.
    pub costs: Vec<Option<f64>>,
    /// The terminal rewards.
    pub rewards: Vec<Option<f64>>,
}

/// The study takes no more episodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Closed {}

impl EventKind {
    /// What it gives, in short: the same again has the same. For what a retry could otherwise undo.
    pub fn fingerprint(&self) -> Result<String, serde_json::Error> {
        let mut hash = sha256(self.data()?.get().as_bytes());
        hash.truncate(32);
        Ok(hash)
    }

    /// The episode it is about, if it is about one.
    pub fn episode(&self) -> Option<&str> {
        match self {
            EventKind::Created(_) | EventKind::Closed(_) => None,
            EventKind::Opened(Opened { episode, .. })
            | EventKind::StepRecorded(StepRecorded { episode, .. })
            | EventKind::Stopped(Stopped { episode, .. })
            | EventKind::Abandoned(Abandoned { episode, .. })
            | EventKind::Revealed(Revealed { episode, .. })
            | EventKind::Amended(Amended { episode, .. })
            | EventKind::Imported(Imported { episode, .. }) => Some(episode),
        }
    }
}
