//! Commands: what a request asks a study to do, and the reply.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use crate::domain::{
    EpisodeRecord, EventKind, Head, Imported, MAX_STEPS, Record, Rejection, Study, is_name,
    json::LenientU64, json::Name, validate,
};

/// The action and feedback of a step.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Tell {
    /// The step, from 1.
    #[schema(value_type = u64, minimum = 1)]
    pub step: LenientU64,
    /// The action that was taken, by name or index.
    pub action: Name,
    /// The feedback that was observed, by name or index.
    pub feedback: Name,
    /// The reason; required if the action is not the recommended one.
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
    /// The reason; required if an action was recommended.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: Option<String>,
}

/// The end of an episode that cannot be continued.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Abandon {
    /// The reason.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
}

/// An outcome, or a part of one; `null` is a value that is not known yet.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveOutcome {
    /// The cost of every step but the last; all unknown if left out.
    pub costs: Option<Vec<Option<f64>>>,
    /// The terminal reward of every step; all unknown if left out.
    pub rewards: Option<Vec<Option<f64>>>,
    /// Whether the outcome is final: no further values will come.
    #[serde(default, rename = "final")]
    pub last: bool,
}

/// A correction of an outcome; `null` is an unchanged value.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Amend {
    /// The cost of every step but the last; unchanged if left out.
    pub costs: Option<Vec<Option<f64>>>,
    /// The terminal reward of every step; unchanged if left out.
    pub rewards: Option<Vec<Option<f64>>>,
    /// The reason.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
}

/// A past episode.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PastEpisode {
    /// The name.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub id: String,
    /// The actions that were taken before `stop`, by name or index.
    pub actions: Vec<Name>,
    /// The feedback to each of them, by name or index.
    pub feedbacks: Vec<Name>,
    /// The cost of each of them; `null` is an unknown value.
    pub costs: Vec<Option<f64>>,
    /// The terminal reward of every step, one more than actions; `null` is an unknown value.
    pub rewards: Vec<Option<f64>>,
}

impl PastEpisode {
    /// The event that imports it; none if the same episode was imported before.
    pub fn imported(
        &self,
        study: &Study,
        existing: Option<&EpisodeRecord>,
    ) -> Result<Option<Imported>, Rejection> {
        validate::episode_name(&self.id)?;
        let (states, steps) = validate::past_steps(study, &self.actions, &self.feedbacks)?;
        let outcome = validate::outcome(states.len(), Some(&self.costs), Some(&self.rewards))?;
        let (actions, feedbacks) = (study.spec.actions(), study.spec.feedbacks());
        let steps = steps.iter();
        let named = steps.map(|&(a, f)| (actions.name(a).into(), feedbacks.name(f).into()));
        let (actions, feedbacks) = named.unzip();
        let imported = Imported {
            episode: self.id.clone(),
            actions,
            feedbacks,
            costs: outcome.costs,
            rewards: outcome.rewards,
        };
        let Some(episode) = existing else {
            return Ok(Some(imported));
        };
        // Compared with the import itself: the outcome may have been corrected since.
        let fingerprint = EventKind::Imported(imported).fingerprint();
        let fingerprint = fingerprint.map_err(|error| Rejection::internal(error.to_string()))?;
        if episode.imported && episode.given.first() == Some(&fingerprint) {
            return Ok(None);
        }
        Err(validate::name_taken(&self.id))
    }
}

#[derive(Clone, Debug)]
pub enum Command {
    Create(Arc<Study>),
    Close,
    /// Open an episode with this name, or with a generated one.
    Open(Option<String>),
    /// Record a step of an episode.
    Tell(String, Tell),
    Stop(String, Stop),
    Abandon(String, Abandon),
    GiveOutcome(String, GiveOutcome),
    Amend(String, Amend),
    /// Import past episodes, each with the number of its line.
    Import(Vec<(u64, PastEpisode)>),
    /// Restore the events of an exported study.
    Restore(Vec<Record>),
}

impl Command {
    /// The episodes that the command needs. Invalid names are left out: a store that cannot query one would fail the batch.
    /// Those of [`Command::Restore`] are loaded as the events are read.
    pub fn episodes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match self {
            Command::Create(_) | Command::Close | Command::Open(None) | Command::Restore(_) => {
                vec![]
            }
            Command::Open(Some(id))
            | Command::Tell(id, _)
            | Command::Stop(id, _)
            | Command::Abandon(id, _)
            | Command::GiveOutcome(id, _)
            | Command::Amend(id, _) => vec![id],
            Command::Import(list) => list.iter().map(|(_, past)| &*past.id).collect(),
        };
        names.retain(|name| is_name(name));
        names
    }

    /// Rejects lists and reasons that are too long for any study, before the command is queued.
    pub fn check_length(&self) -> Result<(), Rejection> {
        let (costs, rewards, reason) = match self {
            Command::Tell(_, tell) => (&None, &None, tell.reason.as_ref()),
            Command::Stop(_, stop) => (&None, &None, stop.reason.as_ref()),
            Command::Abandon(_, abandon) => (&None, &None, Some(&abandon.reason)),
            Command::GiveOutcome(_, given) => (&given.costs, &given.rewards, None),
            Command::Amend(_, amend) => (&amend.costs, &amend.rewards, Some(&amend.reason)),
            _ => return Ok(()),
        };
        for (field, list) in [("costs", costs), ("rewards", rewards)] {
            let length = list.as_ref().map_or(0, Vec::len);
            if length > MAX_STEPS {
                let most = format!("an episode has at most {MAX_STEPS} steps");
                let what = format!("`{field}` has {length} values, and {most}");
                return Err(Rejection::not_possible(what).at(format!("/{field}")));
            }
        }
        reason.map_or(Ok(()), |reason| validate::reason(reason))
    }
}

/// The reply to an accepted command.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Whether it changed anything; a repeated command does not.
    pub new: bool,
    pub body: ReplyBody,
}

#[derive(Clone, Debug)]
pub enum ReplyBody {
    /// A decision, byte for byte.
    Decision(String),
    /// The episode after the command, and its study.
    Episode(Box<EpisodeRecord>, Arc<Study>),
    /// The study after the command.
    Study(Box<Head>),
    Imported {
        new: u64,
        repeated: u64,
    },
}
