//! Commands: what a request asks a study to do, and the reply.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use crate::domain::{
    EpisodeRecord, EventKind, Head, Imported, MAX_STEPS, PolicyReference, RULES, Record, Rejection,
    Study, is_name, json::LenientU64, json::Name, json::from_one, validate,
};

/// An episode to open.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The name. With a name the request can be repeated safely; without one, a name is generated.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub id: Option<String>,
    /// The state in which it begins, by name or index; required where the problem lists several start states.
    pub start: Option<Name>,
    /// An id of this request, which is recorded.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
}

/// The action and feedback of a step.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Tell {
    /// The step, from 1.
    #[schema(value_type = u64, minimum = 1)]
    #[serde(deserialize_with = "from_one")]
    pub step: LenientU64,
    /// The action that was taken, by name or index.
    pub action: Name,
    /// The feedback that was observed, by name or index.
    pub feedback: Name,
    /// The reason; required if the action is not the recommended one.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: Option<String>,
    /// `fallback` if the choice was made from a `policy` while the service could not be reached: it is no override then.
    pub decided_by: Option<Fallback>,
    /// The table that it was made from; required with `decided_by`.
    pub policy: Option<PolicyReference>,
    /// An id of this request, which is recorded.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
}

/// What has decided a step, if it was not the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// A table of the policy.
    Fallback,
}

/// The end of an episode.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The step, from 1.
    #[schema(value_type = u64, minimum = 1)]
    #[serde(deserialize_with = "from_one")]
    pub step: LenientU64,
    /// The reason; required if an action was recommended.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: Option<String>,
    /// `fallback` if the choice was made from a `policy` while the service could not be reached: it is no override then.
    pub decided_by: Option<Fallback>,
    /// The table that it was made from; required with `decided_by`.
    pub policy: Option<PolicyReference>,
    /// An id of this request, which is recorded.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
}

/// The end of an episode that cannot be continued.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Abandon {
    /// The reason.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
    /// An id of this request, which is recorded.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
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
    /// Whether values outside the study's `outcome_range` are right; needs a `reason`.
    #[serde(default)]
    pub outlier: bool,
    /// The reason; required for an outlier.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: Option<String>,
    /// An id of this request. A request with the same id and content is a repetition; without an id the content decides.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
    /// Whether the caller must not learn which values are known.
    #[serde(skip)]
    pub blinded: bool,
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
    /// Whether values outside the study's `outcome_range` are right.
    #[serde(default)]
    pub outlier: bool,
    /// An id of this request. A request with the same id and content is a repetition; without an id the content decides.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
}

/// A correction of a recorded step. What is left out is unchanged.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AmendStep {
    /// The action that was taken, by name or index.
    pub action: Option<Name>,
    /// The feedback that was observed, by name or index.
    pub feedback: Option<Name>,
    /// The reason.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
    /// An id of this request. A request with the same id and content is a repetition; without an id the content decides.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
}

/// Why an episode was entered in error.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VoidEpisode {
    /// The reason.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
    /// An id of this request, which is recorded.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
}

/// Why a study is paused, resumed or reopened.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The reason.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
    /// An id of this request. A request with the id of an earlier one is a repetition and changes nothing; without an id it takes
    /// effect again.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
}

/// Why a study is closed.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseStudy {
    /// The reason.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: Option<String>,
    /// An id of this request. A request with the id of an earlier one is a repetition and changes nothing.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub request: Option<String>,
}

/// A past episode.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PastEpisode {
    /// The name.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub id: String,
    /// The state in which it began, by name or index; required where the problem lists several start states.
    pub start: Option<Name>,
    /// The actions that were taken before `stop`, by name or index.
    pub actions: Vec<Name>,
    /// The feedback to each of them, by name or index.
    pub feedbacks: Vec<Name>,
    /// The cost of each of them; `null` is an unknown value.
    pub costs: Vec<Option<f64>>,
    /// The terminal reward of every step, one more than actions; `null` is an unknown value.
    pub rewards: Vec<Option<f64>>,
    /// Whether values outside the study's `outcome_range` are right; needs a `reason`.
    #[serde(default)]
    pub outlier: bool,
    /// The reason; required for an outlier.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: Option<String>,
}

impl PastEpisode {
    /// The event that imports it; none if the same episode was imported before.
    pub fn imported(
        &self,
        study: &Study,
        existing: Option<&EpisodeRecord>,
    ) -> Result<Option<Imported>, Rejection> {
        validate::episode_name(&self.id)?;
        let start = study.start(self.start.as_ref())?;
        let (states, steps) = validate::past_steps(study, start, &self.actions, &self.feedbacks)?;
        let outcome = validate::outcome(states.len(), Some(&self.costs), Some(&self.rewards))?;
        let reason = self.reason.as_deref();
        validate::outliers(study, &outcome, self.outlier, reason, RULES)?;
        let (actions, feedbacks) = (study.spec.actions(), study.spec.feedbacks());
        let steps = steps.iter();
        let named = steps.map(|&(a, f)| (actions.name(a).into(), feedbacks.name(f).into()));
        let (actions, feedbacks) = named.unzip();
        let imported = Imported {
            episode: self.id.clone(),
            start: study.start_name(start),
            actions,
            feedbacks,
            outlier: study.outlier(&outcome).is_some(),
            costs: outcome.costs,
            rewards: outcome.rewards,
            reason: self.reason.clone(),
        };
        let Some(episode) = existing else {
            return Ok(Some(imported));
        };
        // Compared with the import itself: the outcome may have been corrected since.
        let fingerprint = EventKind::Imported(imported).fingerprint();
        let fingerprint = fingerprint.map_err(|error| Rejection::internal(error.to_string()))?;
        let requests = episode.requests.iter().map(|it| &it.fingerprint);
        let first = episode.given.iter().chain(requests).next();
        if episode.imported && first == Some(&fingerprint) {
            return Ok(None);
        }
        Err(validate::name_taken(&self.id))
    }
}

#[derive(Clone, Debug)]
pub enum Command {
    Create(Arc<Study>),
    Close(CloseStudy),
    Reopen(Reason),
    Pause(Reason),
    Resume(Reason),
    /// Open an episode with this name, or with a generated one.
    Open(Open),
    /// Record a step of an episode.
    Tell(String, Tell),
    Stop(String, Stop),
    Abandon(String, Abandon),
    GiveOutcome(String, GiveOutcome),
    Amend(String, Amend),
    /// Correct this step of an episode.
    AmendStep(String, u64, AmendStep),
    Void(String, VoidEpisode),
    /// Import past episodes, each with the number of its line.
    Import(Vec<(u64, PastEpisode)>),
    Restore(RestoreEvents),
    /// End the restoration of a study, whose last event must have this number and hash, if they are known.
    FinishRestore(Option<(u64, String)>),
    /// Remove a study that is being restored. The writer executes it without the state of the study.
    DiscardRestore,
}

/// Events of an exported study.
#[derive(Clone, Debug, Default)]
pub struct RestoreEvents {
    /// The study, if the first event is among them.
    pub study: Option<Arc<Study>>,
    /// The number and hash of the last event of the export, if its header names them.
    pub end: Option<(u64, String)>,
    pub records: Vec<Record>,
}

impl Command {
    /// The episodes that the command needs. Invalid names are left out: a store that cannot query one would fail the batch.
    /// Those of [`Command::Restore`] are loaded as the events are read.
    pub fn episodes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match self {
            Command::Create(_)
            | Command::Close(_)
            | Command::Reopen(_)
            | Command::Pause(_)
            | Command::Resume(_)
            | Command::Restore(_)
            | Command::FinishRestore(_)
            | Command::DiscardRestore => vec![],
            Command::Open(open) => open.id.as_deref().into_iter().collect(),
            Command::Tell(id, _)
            | Command::Stop(id, _)
            | Command::Abandon(id, _)
            | Command::GiveOutcome(id, _)
            | Command::Amend(id, _)
            | Command::AmendStep(id, ..)
            | Command::Void(id, _) => vec![id],
            Command::Import(list) => list.iter().map(|(_, past)| &*past.id).collect(),
        };
        names.retain(|name| is_name(name));
        names
    }

    /// The number of lines of an import; 1 for other commands.
    pub fn lines(&self) -> usize {
        match self {
            Command::Import(list) => list.len().max(1),
            Command::Restore(events) => events.records.len().max(1),
            _ => 1,
        }
    }

    /// Rejects what no study accepts, before the command is queued: lists and reasons that are too long, invalid ids.
    pub fn check_length(&self) -> Result<(), Rejection> {
        let none = &None;
        let (costs, rewards, reason, request) = match self {
            Command::Open(open) => (none, none, None, &open.request),
            Command::Close(it) => (none, none, it.reason.as_ref(), &it.request),
            Command::Tell(_, it) => (none, none, it.reason.as_ref(), &it.request),
            Command::Stop(_, it) => (none, none, it.reason.as_ref(), &it.request),
            Command::Abandon(_, it) => (none, none, Some(&it.reason), &it.request),
            Command::GiveOutcome(_, it) => {
                (&it.costs, &it.rewards, it.reason.as_ref(), &it.request)
            }
            Command::Amend(_, it) => (&it.costs, &it.rewards, Some(&it.reason), &it.request),
            Command::AmendStep(_, _, it) => (none, none, Some(&it.reason), &it.request),
            Command::Void(_, it) => (none, none, Some(&it.reason), &it.request),
            Command::Reopen(it) | Command::Pause(it) | Command::Resume(it) => {
                (none, none, Some(&it.reason), &it.request)
            }
            _ => return Ok(()),
        };
        validate::request_id(request.as_deref())?;
        for (field, list) in [("costs", costs), ("rewards", rewards)] {
            let length = list.as_ref().map_or(0, Vec::len);
            if length > MAX_STEPS {
                let most = format!("an episode has at most {MAX_STEPS} steps");
                let what = format!("`{field}` has {length} values, and {most}");
                return Err(Rejection::not_possible(what).at(format!("/{field}")));
            }
        }
        reason.map_or(Ok(()), |reason| validate::reason(reason, RULES))
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
