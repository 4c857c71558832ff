//! What a request asks a study to do, and what it is answered.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use crate::domain::episode::EpisodeRecord;
use crate::domain::error::ApiError;
use crate::domain::event::Record;
use crate::domain::given::required_reason;
use crate::domain::json::{LenientU64, Name};
use crate::domain::study::{MAX_STEPS, Study, is_name};
use crate::store::Head;

/// What was done and seen at a step.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Tell {
    /// The step, from 1.
    #[schema(value_type = u64, minimum = 1)]
    pub step: LenientU64,
    /// The action that was taken, by name or index.
    pub action: Name,
    /// The feedback that was seen, by name or index.
    pub feedback: Name,
    /// Why another action was taken than the recommended one; then required.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: Option<String>,
}

/// The end of an episode.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The step, from 1.
    #[schema(value_type = u64, minimum = 1)]
    pub step: LenientU64,
    /// Why it was stopped where going on was recommended; then required.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: Option<String>,
}

/// The end of an episode that cannot be gone on with.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Abandon {
    /// Why.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
}

/// An outcome, or a part of one: `null` is what is not known yet.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// The cost of every step but the last; left out is not known.
    pub costs: Option<Vec<Option<f64>>>,
    /// The terminal reward of every step; left out is not known.
    pub rewards: Option<Vec<Option<f64>>>,
    /// Whether nothing more will come.
    #[serde(default, rename = "final")]
    pub last: bool,
}

/// A correction of an outcome: `null` is what stays as it was.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Amend {
    /// The cost of every step but the last; left out stays as it was.
    pub costs: Option<Vec<Option<f64>>>,
    /// The terminal reward of every step; left out stays as it was.
    pub rewards: Option<Vec<Option<f64>>>,
    /// Why.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
}

/// An episode of the past, whole.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Past {
    /// Its name.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub id: String,
    /// The actions that were taken before `stop`, by name or index.
    pub actions: Vec<Name>,
    /// The feedback to each of them, by name or index.
    pub feedbacks: Vec<Name>,
    /// The cost of each of them; `null` is what is not known.
    pub costs: Vec<Option<f64>>,
    /// The terminal reward of every step: one more; `null` is what is not known.
    pub rewards: Vec<Option<f64>>,
}

/// What a request asks for.
#[derive(Clone, Debug)]
pub enum Command {
    /// Create the study.
    Create(Arc<Study>),
    /// Take no new episodes.
    Close,
    /// Open an episode, with this name or one that is made up.
    Open(Option<String>),
    /// A step of this episode was told.
    Tell(String, Tell),
    /// This episode was stopped.
    Stop(String, Stop),
    /// This episode was given up.
    Abandon(String, Abandon),
    /// Something of the outcome of this episode became known.
    Reveal(String, Reveal),
    /// The outcome of this episode is corrected.
    Amend(String, Amend),
    /// Past episodes, with the number of the line that each came from.
    Import(Vec<(u64, Past)>),
    /// Events of an exported study.
    Restore(Vec<Record>),
}

impl Command {
    /// The episodes that must be at hand to carry it out. What cannot be a name is not looked for: a store that cannot even
    /// ask for it would fail all that stands in the same group.
    pub fn episodes(&self) -> Vec<&str> {
        let mut names = self.names();
        names.retain(|name| is_name(name));
        names
    }

    fn names(&self) -> Vec<&str> {
        match self {
            Command::Create(_) | Command::Close | Command::Open(None) => Vec::new(),
            Command::Open(Some(id))
            | Command::Tell(id, _)
            | Command::Stop(id, _)
            | Command::Abandon(id, _)
            | Command::Reveal(id, _)
            | Command::Amend(id, _) => vec![id],
            Command::Import(list) => list.iter().map(|(_, past)| past.id.as_str()).collect(),
            // Known only once they are read.
            Command::Restore(_) => Vec::new(),
        }
    }
}

impl Command {
    /// Refuses what is longer than any study allows, before it waits in the queue.
    pub fn check_length(&self) -> Result<(), ApiError> {
        let values = |field: &str, list: Option<&Vec<Option<f64>>>| match list {
            Some(list) if list.len() > MAX_STEPS => Err(ApiError::impossible(format!(
                "`{field}` has {} values, and no episode more than {MAX_STEPS} steps",
                list.len()
            ))
            .at(format!("/{field}"))),
            _ => Ok(()),
        };
        let reason = |reason: Option<&String>| match reason {
            Some(reason) => required_reason(reason).map(drop),
            None => Ok(()),
        };
        match self {
            Command::Tell(_, tell) => reason(tell.reason.as_ref()),
            Command::Stop(_, stop) => reason(stop.reason.as_ref()),
            Command::Abandon(_, abandon) => reason(Some(&abandon.reason)),
            Command::Reveal(_, reveal) => {
                values("costs", reveal.costs.as_ref())?;
                values("rewards", reveal.rewards.as_ref())
            }
            Command::Amend(_, amend) => {
                values("costs", amend.costs.as_ref())?;
                values("rewards", amend.rewards.as_ref())?;
                reason(Some(&amend.reason))
            }
            _ => Ok(()),
        }
    }
}

/// What is answered to a command that was carried out.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Whether it changed anything; the same again does not.
    pub new: bool,
    /// What it says.
    pub body: Body,
}

/// What an answer says.
#[derive(Clone, Debug)]
pub enum Body {
    /// A decision, byte for byte.
    Decision(String),
    /// The episode as it now is, and the study it is of.
    EpisodeRecord(Box<EpisodeRecord>, Arc<Study>),
    /// The study as it now is.
    Study(Box<Head>),
    /// How many lines were taken, and how many had been there before.
    Taken {
        /// New ones.
        new: u64,
        /// Those that were there.
        repeated: u64,
    },
}
