//! Replay: a learner learns from a log in its order, and is asked before each step what it would do.
//!
//! Agreement says how alike two ways of deciding are; it is not a value. Where the learner would have stopped earlier on the logged
//! path, the difference in gain is known exactly: the terminal reward of that step was revealed, and the later costs would have been
//! saved. Where it takes another action, what would have followed is not in the log, and nothing is claimed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use emab::learners::{LearnerConfig, LearnerError};
use emab::stats::Moments;
use emab::{Action, Learner, Role, Stream};
use serde::Serialize;

use crate::log::{DecisionLog, LogEntry, LoggedDecision, LoggedEpisode, PendingChange};

/// The number of parts of the log for which agreement is reported.
const PARTS: usize = 10;
/// A choice without an outcome counts as pending for so many events, as in the decision service.
const PENDING_EVENTS: u64 = 10_000;

/// What a learner would have done.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Replayed {
    /// The learner.
    pub learner: String,
    /// The number of logged decisions.
    pub decisions: u64,
    /// Those at which it would have done the same.
    pub agreed: u64,
    /// The decisions at which another action than `stop` was allowed.
    pub choices: u64,
    /// Those at which it would have done the same.
    pub choices_agreed: u64,
    /// The recommendations of the learner of the log, not those of a protocol, also in open and voided episodes.
    pub recommended: u64,
    /// Those at which it would have recommended the same.
    pub recommended_same: u64,
    /// Episodes in which it would have stopped earlier.
    pub earlier_stops: EarlierStops,
    /// By step and state.
    pub by_pair: Vec<PairAgreement>,
    /// By part of the log, in its order.
    pub over_time: Vec<PartAgreement>,
}

/// Episodes in which a learner would have stopped earlier, at the first step at which it would.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EarlierStops {
    /// Their number, where the difference is known.
    #[serde(flatten)]
    pub all: Differences,
    /// Those with a cost or reward that is not known: the difference is not known either.
    pub unknown: u64,
    /// Those of them in which it would have done the same at every step before: the learner alone would have earned the
    /// difference.
    pub after_agreement: Differences,
}

/// Differences in gain: what stopping earlier would have earned, less what was earned.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Differences {
    /// Their number.
    pub count: u64,
    /// Their mean; none without any.
    pub gain_difference: Option<f64>,
    /// Its standard error; none for fewer than two.
    pub stderr: Option<f64>,
    /// Their sum.
    pub total: f64,
}

/// Agreement at one step-state pair.
#[derive(Clone, Debug, Serialize)]
pub struct PairAgreement {
    /// The step.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// The state's name.
    pub state: String,
    /// The number of logged decisions.
    pub decisions: u64,
    /// Those at which the learner would have done the same.
    pub agreed: u64,
    /// What it would have done instead, the most frequent first.
    pub instead: Vec<Disagreement>,
}

/// Another choice than the logged one.
#[derive(Clone, Debug, Serialize)]
pub struct Disagreement {
    /// What was done.
    pub logged: String,
    /// What the learner would have done.
    pub learner: String,
    /// How often.
    pub count: u64,
}

/// Agreement in a part of the log.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PartAgreement {
    /// The number of logged decisions.
    pub decisions: u64,
    /// Those at which the learner would have done the same.
    pub agreed: u64,
}

/// The difference in gain if an episode had been stopped at this step; none if a value is not known.
///
/// ```
/// use emab::Episode;
/// use emab_logs::{LoggedEpisode, replay::stop_difference};
/// let episode = Episode {
///     states: vec![0, 0, 0], actions: vec![0, 0], feedbacks: vec![0, 0], costs: vec![1.0, 0.5], rewards: vec![0.0, 3.0, 2.0],
/// };
/// let logged = LoggedEpisode::past("p1".into(), episode, 0);
/// assert_eq!(stop_difference(&logged, 2), Some(3.0 - 2.0 + 0.5));
/// assert_eq!(stop_difference(&logged, 1), Some(0.0 - 2.0 + 1.5));
/// ```
pub fn stop_difference(it: &LoggedEpisode, t: usize) -> Option<f64> {
    let (episode, last) = (&it.episode, it.episode.steps());
    let saved = (t..last)
        .map(|t| episode.known_cost(t))
        .sum::<Option<f64>>()?;
    let [stop, end] = [t, last].map(|t| episode.known_reward(t));
    Some(stop? - end? + saved).filter(|_| it.stopped && it.is_learned())
}

/// Replays a log through a learner; its own random draws, if it makes any, are those of the seed.
pub fn replay(
    log: &DecisionLog,
    config: &LearnerConfig,
    seed: u64,
) -> Result<Replayed, LearnerError> {
    let truth = log.file.problem().ok();
    let mut learner = config.build(log.file.spec(), truth.as_ref())?;
    let mut replayed = Replayed::default();
    config.in_thread_context(&mut || {
        learner.reset(Stream::new(seed, 0, Role::Learner));
        replayed = replay_learner(log, config.label(), &mut *learner, seed);
    });
    Ok(replayed)
}

/// Replays a log through a learner that has learned nothing yet.
fn replay_learner(
    log: &DecisionLog,
    label: &str,
    learner: &mut (dyn Learner + Send),
    seed: u64,
) -> Replayed {
    let spec = log.spec();
    let entries = log.entries();
    let decisions = entries.iter().filter_map(|entry| match *entry {
        LogEntry::Decision(i, t) => log.episodes[i].logged_action(t),
        _ => None,
    });
    let total = decisions.count();
    let mut parts = vec![PartAgreement::default(); PARTS.min(total)];
    let mut pairs: BTreeMap<(usize, usize), PairTally> = BTreeMap::new();
    let mut episodes = vec![EpisodeReplay::default(); log.episodes.len()];
    let mut pending = learner.counts_pending().then(Pending::default);
    // The episodes that were learned so far, and whether one was corrected since the learner was last asked.
    let (mut learned, mut corrected) = (Vec::new(), false);
    let (mut asked, mut choices, mut choices_agreed) = (0, 0, 0);
    let (mut recommended, mut recommended_same) = (0, 0);
    for entry in entries {
        match entry {
            LogEntry::Learned(i) => {
                let it = &log.episodes[i];
                learned.push(i);
                let at = it.learned.unwrap_or_default();
                if let Some(episode) = it.learned_at(at).filter(|_| !corrected) {
                    learner.learn(episode);
                }
            }
            LogEntry::Corrected => corrected = true,
            LogEntry::Pending(i, k) => {
                if let Some(pending) = &mut pending {
                    let it = &log.episodes[i];
                    pending.change(learner, number(it), &it.pending[k]);
                }
            }
            LogEntry::Decision(i, t) => {
                let it = &log.episodes[i];
                let LoggedDecision {
                    at,
                    state: x,
                    recommended: advice,
                    by_learner,
                    ..
                } = it.decisions[t - 1];
                if std::mem::take(&mut corrected) {
                    // As the decision service does: the right values, in the order of learning.
                    learner.reset(Stream::new(seed, 0, Role::Learner));
                    learned
                        .iter()
                        .filter_map(|&i: &usize| log.episodes[i].learned_at(at))
                        .for_each(|it| learner.learn(it));
                    if let Some(pending) = &pending {
                        pending.announce_again(learner);
                    }
                }
                if let Some(pending) = &mut pending {
                    pending.expire(learner, at);
                    pending.forget_step(learner, number(it), t);
                }
                let choice = learner.choose(t, x);
                if by_learner {
                    recommended += 1;
                    recommended_same += u64::from(advice == Some(choice));
                }
                let Some(done) = it.logged_action(t) else {
                    continue;
                };
                let agrees = u64::from(choice == done);
                let part = &mut parts[asked * PARTS.min(total) / total];
                part.decisions += 1;
                part.agreed += agrees;
                asked += 1;
                let mut actions = 0..spec.actions().len();
                if actions.any(|a| spec.is_allowed(t, x, a)) {
                    choices += 1;
                    choices_agreed += agrees;
                }
                let pair = pairs.entry((t, x)).or_default();
                pair.decisions += 1;
                if choice == done {
                    pair.agreed += 1;
                } else {
                    *pair.instead.entry((done, choice)).or_default() += 1;
                    let episode = &mut episodes[i];
                    if choice == Action::Stop && episode.stop.is_none() {
                        episode.stop = Some((t, !episode.departed));
                    }
                    episode.departed = true;
                }
            }
        }
    }
    let by_pair: Vec<PairAgreement> = pairs
        .into_iter()
        .map(|((t, x), tally)| {
            let mut instead: Vec<Disagreement> = tally
                .instead
                .into_iter()
                .map(|((done, choice), count)| Disagreement {
                    logged: spec.action_name(done).into_owned(),
                    learner: spec.action_name(choice).into_owned(),
                    count,
                })
                .collect();
            instead.sort_by_key(|it| std::cmp::Reverse(it.count));
            PairAgreement {
                t,
                x,
                state: spec.states().name(x).into_owned(),
                decisions: tally.decisions,
                agreed: tally.agreed,
                instead,
            }
        })
        .collect();
    Replayed {
        learner: label.into(),
        decisions: total as u64,
        agreed: by_pair.iter().map(|pair| pair.agreed).sum(),
        choices,
        choices_agreed,
        recommended,
        recommended_same,
        earlier_stops: EarlierStops::of(log, &episodes),
        by_pair,
        over_time: parts,
    }
}

#[derive(Default)]
struct PairTally {
    decisions: u64,
    agreed: u64,
    instead: BTreeMap<(Action, Action), u64>,
}

/// What a learner would have done in one episode so far.
#[derive(Clone, Default)]
struct EpisodeReplay {
    /// Whether it would have done something else at some step.
    departed: bool,
    /// The first step at which it would have stopped, and whether it agreed before.
    stop: Option<(usize, bool)>,
}

/// The number by which the pending choices of an episode are announced: that of the event that opened it.
fn number(it: &LoggedEpisode) -> u64 {
    it.decisions[0].at
}

/// Choices whose outcome is not known yet, announced to the learner as the decision service does: by the number of their episode,
/// the state and the action of every step.
#[derive(Default)]
struct Pending {
    choices: HashMap<u64, Vec<(usize, Action)>>,
    /// The episodes whose choices are announced.
    announced: BTreeSet<u64>,
}

impl Pending {
    fn change(&mut self, learner: &mut (dyn Learner + Send), number: u64, change: &PendingChange) {
        self.settle(learner, number);
        let choices = self.choices.entry(number).or_default();
        change.apply(choices);
        if choices.is_empty() {
            self.choices.remove(&number);
        } else {
            announce(learner, number, choices);
            self.announced.insert(number);
        }
    }

    fn announce_again(&self, learner: &mut (dyn Learner + Send)) {
        for number in &self.announced {
            announce(learner, *number, &self.choices[number]);
        }
    }

    /// A decision that is made anew is made as if it had not been made before.
    fn forget_step(&mut self, learner: &mut (dyn Learner + Send), number: u64, t: usize) {
        let known = self.choices.get(&number).map_or(0, Vec::len);
        if known >= t {
            self.settle(learner, number);
        }
    }

    fn settle(&mut self, learner: &mut (dyn Learner + Send), number: u64) {
        if self.announced.remove(&number) {
            learner.settle(number);
        }
    }

    fn expire(&mut self, learner: &mut (dyn Learner + Send), at: u64) {
        while let Some(&first) = self.announced.first() {
            if first + PENDING_EVENTS > at.saturating_sub(1) {
                break;
            }
            self.settle(learner, first);
        }
    }
}

fn announce(learner: &mut (dyn Learner + Send), number: u64, choices: &[(usize, Action)]) {
    for (i, &(x, action)) in choices.iter().enumerate() {
        learner.announce(number, i + 1, x, action);
    }
}

impl EarlierStops {
    fn of(log: &DecisionLog, episodes: &[EpisodeReplay]) -> EarlierStops {
        let (mut all, mut agreed, mut unknown) = (Vec::new(), Vec::new(), 0);
        for (it, episode) in log.episodes.iter().zip(episodes) {
            let Some((t, after_agreement)) = episode.stop else {
                continue;
            };
            match stop_difference(it, t) {
                None => unknown += 1,
                Some(difference) => {
                    all.push(difference);
                    agreed.extend(after_agreement.then_some(difference));
                }
            }
        }
        EarlierStops {
            all: Differences::of(&all),
            unknown,
            after_agreement: Differences::of(&agreed),
        }
    }
}

impl Differences {
    fn of(values: &[f64]) -> Differences {
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.add(value));
        Differences {
            count: moments.count(),
            gain_difference: (moments.count() > 0).then(|| moments.mean()),
            stderr: (moments.count() > 1).then(|| moments.stderr()),
            // The sum of no values would be -0.
            total: values.iter().fold(0.0, |sum, value| sum + value),
        }
    }
}
