//! A log of decisions: episodes with what was done, seen and revealed, in the order in which it happened.

use emab::stats::Moments;
use emab::{Action, Episode, Spec};
use emab_problem::{OutcomeRange, ProblemFile};
use serde::Serialize;

/// The status of a logged episode, as in the decision service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Steps can still be recorded.
    Open,
    /// Ended by `stop`, and its outcome is not complete.
    Stopped,
    /// Abandoned.
    Abandoned,
    /// Ended, and its outcome is complete or final.
    Learned,
    /// Entered in error: it is ignored.
    Voided,
}

impl Status {
    /// The status of this name.
    pub fn named(name: &str) -> Option<Status> {
        Some(match name {
            "open" => Status::Open,
            "stopped" => Status::Stopped,
            "abandoned" => Status::Abandoned,
            "learned" => Status::Learned,
            "voided" => Status::Voided,
            _ => return None,
        })
    }
}

/// The decision of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedDecision {
    /// When it was made: a number that grows with time, such as that of its event. A decision that was made anew, after a correction
    /// of an earlier step, has the time of the correction.
    pub at: u64,
    /// The state as it was known then; a later correction may have changed it.
    pub state: usize,
    /// What was recommended, if anything was.
    pub recommended: Option<Action>,
    /// Whether the learner of the log recommended it, and not a protocol.
    pub by_learner: bool,
    /// Whether something else was done.
    pub overridden: bool,
}

/// A change of the choices of an episode that count as pending: their outcome is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingChange {
    /// When, on the scale of [`LoggedDecision::at`].
    pub at: u64,
    /// The number of choices that stay, from the first step on.
    pub keep: usize,
    /// Those that follow: the state and the action of each step. An episode without any choice after the change is no longer pending.
    pub choices: Vec<(usize, Action)>,
}

impl PendingChange {
    /// Applies the change to the choices of the steps.
    pub fn apply(&self, choices: &mut Vec<(usize, Action)>) {
        choices.truncate(self.keep);
        choices.extend_from_slice(&self.choices);
    }
}

/// A logged episode.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedEpisode {
    /// Its name.
    pub id: String,
    /// Its status.
    pub status: Status,
    /// Its path, with NaN for costs and rewards that are not known.
    pub episode: Episode,
    /// Whether the last step is `stop`; otherwise nothing is known to have been done there.
    pub stopped: bool,
    /// One for each step.
    pub decisions: Vec<LoggedDecision>,
    /// When it was learned, on the scale of [`LoggedDecision::at`].
    pub learned: Option<u64>,
    /// What was learned of it before it was corrected or voided, in order.
    pub earlier: Vec<EarlierVersion>,
    /// How its pending choices changed, in order; none where the log does not say when what happened.
    pub pending: Vec<PendingChange>,
}

/// An episode as it was learned until it was corrected.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierVersion {
    /// When it was corrected, on the scale of [`LoggedDecision::at`].
    pub until: u64,
    /// The episode before; empty if nothing was learned of it.
    pub episode: Episode,
}

impl LoggedEpisode {
    /// A past episode, of which nothing is known but its path and its outcome. It was decided and learned at this time.
    pub fn past(id: String, episode: Episode, at: u64) -> LoggedEpisode {
        let decision = |&state: &usize| LoggedDecision {
            at,
            state,
            recommended: None,
            by_learner: false,
            overridden: false,
        };
        LoggedEpisode {
            id,
            status: Status::Learned,
            stopped: true,
            decisions: episode.states.iter().map(decision).collect(),
            learned: Some(at),
            earlier: Vec::new(),
            pending: Vec::new(),
            episode,
        }
    }

    /// What was learned of it at a time; none if nothing was, or it was voided.
    pub fn learned_at(&self, at: u64) -> Option<&Episode> {
        let earlier = self.earlier.iter().find(|it| at < it.until);
        let current = Some(&self.episode).filter(|_| self.is_learned());
        let episode = earlier.map_or(current, |it| Some(&it.episode));
        episode.filter(|it| !it.states.is_empty())
    }

    /// What was done at a step, from 1; none if it is not known, or the episode was voided.
    pub fn logged_action(&self, t: usize) -> Option<Action> {
        self.action(t).filter(|_| self.status != Status::Voided)
    }

    /// What was done at a step, from 1; none if it is not known.
    pub fn action(&self, t: usize) -> Option<Action> {
        match self.episode.actions.get(t - 1) {
            Some(&a) => Some(Action::Continue(a)),
            None => (self.stopped && t == self.episode.steps()).then_some(Action::Stop),
        }
    }

    /// The first step at which something else was done than recommended.
    pub fn first_override(&self) -> Option<usize> {
        let mut decisions = self.decisions.iter();
        decisions.position(|it| it.overridden).map(|i| i + 1)
    }

    /// Whether the decision service learned from it.
    pub fn is_learned(&self) -> bool {
        self.status == Status::Learned
    }

    /// Its gain, where all its costs and its last reward are known.
    pub fn known_gain(&self) -> Option<f64> {
        let costs = (1..self.episode.steps()).map(|t| self.episode.known_cost(t));
        let costs = costs.sum::<Option<f64>>()?;
        Some(self.episode.known_reward(self.episode.steps())? - costs)
    }
}

/// Something that happened, in the order of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEntry {
    /// The decision of a step, from 1, of the episode with this index.
    Decision(usize, usize),
    /// The episode with this index was learned.
    Learned(usize),
    /// What was learned of an episode was corrected.
    Corrected,
    /// The pending choices of the episode with this index changed: the change with this index of it.
    Pending(usize, usize),
}

/// A log of decisions on one problem.
#[derive(Clone, Debug)]
pub struct DecisionLog {
    /// The problem; its model, if it has one, is not used.
    pub file: ProblemFile,
    /// The learner that recommended, as on the command line, if the log says so.
    pub learner: Option<String>,
    /// The ranges of observed values, where they are stated.
    pub outcome_range: OutcomeRange,
    /// The episodes; those that were learned come first, in the order of learning, voided ones among them.
    pub episodes: Vec<LoggedEpisode>,
}

/// How many episodes of a log have each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogCounts {
    /// All episodes.
    pub episodes: u64,
    /// Those that are learned from: their outcome is complete or final.
    pub learned: u64,
    /// Of these, those with a cost or a reward that is not known.
    pub incomplete: u64,
    /// Those that are open.
    pub open: u64,
    /// Those that ended without a complete outcome.
    pub stopped: u64,
    /// Those that were abandoned without a final outcome.
    pub abandoned: u64,
    /// Those that were entered in error.
    pub voided: u64,
    /// Learned episodes in which something else was done than recommended.
    pub overridden: u64,
}

impl LogCounts {
    /// Those whose outcome is missing.
    pub fn without_outcome(&self) -> u64 {
        self.open + self.stopped + self.abandoned
    }
}

impl DecisionLog {
    /// A log of these episodes; puts them into the order of learning.
    pub fn new(
        file: ProblemFile,
        outcome_range: OutcomeRange,
        mut episodes: Vec<LoggedEpisode>,
    ) -> DecisionLog {
        episodes.sort_by_key(|it| (it.learned.is_none(), it.learned));
        DecisionLog {
            file,
            learner: None,
            outcome_range,
            episodes,
        }
    }

    /// What learners may use of the problem.
    pub fn spec(&self) -> &Spec {
        self.file.spec()
    }

    /// The episodes that are learned from, in the order of learning.
    pub fn learned(&self) -> impl Iterator<Item = &LoggedEpisode> {
        self.episodes.iter().filter(|it| it.is_learned())
    }

    /// How many episodes have each status.
    pub fn counts(&self) -> LogCounts {
        let mut counts = LogCounts::default();
        for it in &self.episodes {
            counts.episodes += 1;
            *match it.status {
                Status::Open => &mut counts.open,
                Status::Stopped => &mut counts.stopped,
                Status::Abandoned => &mut counts.abandoned,
                Status::Voided => &mut counts.voided,
                Status::Learned => &mut counts.learned,
            } += 1;
            if it.is_learned() {
                counts.incomplete += u64::from(!it.episode.is_known());
                counts.overridden += u64::from(it.first_override().is_some());
            }
        }
        counts
    }

    /// What happened, in order. Of what happened at the same time, decisions come first, then what was learned.
    pub fn entries(&self) -> Vec<LogEntry> {
        const DECIDED: u8 = 0;
        const LEARNED: u8 = 1;
        const CHANGED: u8 = 2;
        let mut entries = Vec::new();
        for (i, it) in self.episodes.iter().enumerate() {
            for (k, decision) in it.decisions.iter().enumerate() {
                entries.push(((decision.at, DECIDED, i, k), LogEntry::Decision(i, k + 1)));
            }
            if let Some(at) = it.learned {
                entries.push(((at, LEARNED, i, 0), LogEntry::Learned(i)));
                for version in &it.earlier {
                    entries.push(((version.until, LEARNED, i, 1), LogEntry::Corrected));
                }
            }
            for (k, change) in it.pending.iter().enumerate() {
                entries.push(((change.at, CHANGED, i, k), LogEntry::Pending(i, k)));
            }
        }
        entries.sort_unstable_by_key(|(key, _)| *key);
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// The mean gain of the learned episodes whose gain is known, with its standard error and their number.
    pub fn logged_gain(&self) -> Option<LoggedGain> {
        let mut gains = Moments::default();
        for gain in self.learned().filter_map(LoggedEpisode::known_gain) {
            gains.add(gain);
        }
        (gains.count() > 0).then(|| LoggedGain {
            mean: gains.mean(),
            stderr: (gains.count() > 1).then(|| gains.stderr()),
            episodes: gains.count(),
        })
    }
}

/// What the logged episodes earned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedGain {
    /// The mean.
    pub mean: f64,
    /// Its standard error; none for one episode.
    pub stderr: Option<f64>,
    /// The number of episodes.
    pub episodes: u64,
}
