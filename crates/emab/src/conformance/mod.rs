//! Properties that every [`Problem`] and every [`Learner`] must have, as functions for tests.

mod tables;

use std::sync::Arc;

use thiserror::Error;

use crate::conditions::Conditions;
use crate::environment::PlayError;
use crate::environment::{ConditionedEnvironment, Scenario, ScenarioError};
use crate::episode::Episode;
use crate::learner::Learner;
use crate::model::Problem;
use crate::reach::{Reachable, traverse};
use crate::rng::{Role, Stream};
use crate::spec::{Action, PointError, Spec};

pub use tables::check_tables;

/// A violated property.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Violation {
    /// An episode could not be played to its end.
    #[error("in episode {episode}: {error}")]
    Play {
        /// The episode, from 1.
        episode: u64,
        /// The error.
        error: PlayError,
    },
    /// The problem is invalid.
    #[error(transparent)]
    Problem(#[from] ScenarioError),
    /// The learner made another choice though everything relevant was the same.
    #[error(
        "{what}: in episode {episode} at t = {t}, x = {x} the learner chose {second:?} after {first:?}"
    )]
    Differs {
        /// What should not have made a difference.
        what: &'static str,
        /// The episode, from 1.
        episode: u64,
        /// The step.
        t: usize,
        /// The state.
        x: usize,
        /// The first choice.
        first: Action,
        /// The second.
        second: Action,
    },
    /// An estimate of the learner is invalid.
    #[error("after {episodes} episodes the estimate of {action:?} at t = {t}, x = {x} {what}")]
    Estimate {
        /// The reason.
        what: &'static str,
        /// The number of learned episodes.
        episodes: usize,
        /// The step.
        t: usize,
        /// The state.
        x: usize,
        /// The action.
        action: Action,
    },
}

/// A summary of the reachable pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReachSummary {
    /// The number of step-state pairs.
    pub pairs: usize,
    /// Whether these are all, or the limit was reached.
    pub complete: bool,
    /// The least expected reward among them; infinite without a model.
    pub least_reward: f64,
    /// The least expected cost of an allowed action among them; infinite without a model.
    pub least_cost: f64,
}

impl ReachSummary {
    fn new(reachable: &Reachable, (least_reward, least_cost): (f64, f64)) -> ReachSummary {
        ReachSummary {
            pairs: reachable.pairs.len(),
            complete: reachable.complete,
            least_reward,
            least_cost,
        }
    }
}

/// Checks every reachable pair, until there are more than `limit` of them or ten times as many outcomes.
///
/// Probabilities of starts and feedback sum to 1, transitions lead to states, all values are finite.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Problem, Spec, conformance::check_problem};
/// let spec = Spec::numbered(3, 2, 1, 2).unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, x, _a, _f| x as f64);
/// let error = check_problem(&Problem::new("runs over", spec, model), 1000).unwrap_err();
/// assert_eq!(error.to_string(),
///     "`transition` at t = 2, x = 1, a = 0, f = 1: got 2, expected a state, an integer from 0 to 1");
/// ```
pub fn check_problem(problem: &Problem, limit: usize) -> Result<ReachSummary, PointError> {
    let spec = problem.spec();
    problem.start_distribution()?;
    let mut least = (f64::INFINITY, f64::INFINITY);
    let mut phase = vec![0.0; spec.feedbacks().len()];
    let reachable = traverse(spec, limit, |t, x, actions, next| {
        least.0 = least.0.min(problem.reward(t, x)?);
        for &a in actions {
            problem.feedback_distribution(t, x, a, &mut phase)?;
            least.1 = least.1.min(problem.cost(t, x, a)?);
            for (f, _) in phase.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                next.insert(spec.next(t, x, a, f)?);
                problem.dropout_at(t, x, a, f)?;
            }
        }
        Ok(())
    })?;
    Ok(ReachSummary::new(&reachable, least))
}

/// Checks every pair that can be reached by any action and feedback, until there are more than `limit` of them.
///
/// For a live study, where there is no model: the mask has a value and transitions lead to states.
pub fn check_spec(spec: &Spec, limit: usize) -> Result<ReachSummary, PointError> {
    let reachable = spec.reachable(limit)?;
    Ok(ReachSummary::new(
        &reachable,
        (f64::INFINITY, f64::INFINITY),
    ))
}

/// Checks a learner on a problem over `episodes` episodes.
///
/// It chooses allowed actions only and stops at the horizon; the same stream and episodes give the same choices; `reset`
/// restores the initial state. This also holds with delayed, lost and unknown outcomes and with overrides.
pub fn check_learner<L: Learner>(
    problem: &Arc<Problem>,
    mut make: impl FnMut() -> L,
    episodes: u64,
    seed: u64,
) -> Result<(), Violation> {
    for conditions in [Conditions::default(), real_life()] {
        let phases = Vec::new();
        let scenario = Scenario { conditions, phases };
        let mut environment = ConditionedEnvironment::new(problem.clone(), &scenario, episodes)?;
        let mut learner = make();
        let mut choices = |learner: &mut L, seed| {
            let played = Recorder::play(&mut environment, learner, episodes, seed);
            played.map(|recorder| recorder.choices)
        };
        let first = choices(&mut learner, seed)?;
        let again = choices(&mut make(), seed)?;
        same("the same seed", &first, &again)?;
        // Another run, then a reset, which must remove every trace of it.
        choices(&mut learner, seed.wrapping_add(1))?;
        let reset = choices(&mut learner, seed)?;
        same("a reset", &first, &reset)?;
    }
    Ok(())
}

/// Conditions with delay, dropout, lost outcomes and overrides.
fn real_life() -> Conditions {
    let texts = [
        "delay=geometric:3",
        "dropout=0.2",
        "lost=0.1",
        "override=0.2",
    ];
    Conditions::default().with(texts).unwrap_or_default()
}

/// One choice: the episode, the pair and the action.
type Choice = (u64, usize, usize, Action);

fn same(what: &'static str, first: &[Choice], second: &[Choice]) -> Result<(), Violation> {
    match first.iter().zip(second).find(|(a, b)| a != b) {
        None => Ok(()),
        Some((&(episode, t, x, first), &(_, _, _, second))) => Err(Violation::Differs {
            what,
            episode,
            t,
            x,
            first,
            second,
        }),
    }
}

/// A learner with a record of its choices and of the episodes that it learned from.
struct Recorder<'a, L> {
    learner: &'a mut L,
    episode: u64,
    choices: Vec<Choice>,
    learned: Vec<Episode>,
}

impl<'a, L: Learner> Recorder<'a, L> {
    /// Plays the learner from a reset.
    fn play(
        environment: &mut ConditionedEnvironment,
        learner: &'a mut L,
        episodes: u64,
        seed: u64,
    ) -> Result<Recorder<'a, L>, Violation> {
        environment.restart(seed, 0);
        let mut recorder = Recorder {
            learner,
            episode: 1,
            choices: Vec::new(),
            learned: Vec::new(),
        };
        recorder.reset(Stream::new(seed, 0, Role::Learner));
        for episode in 1..=episodes {
            recorder.episode = episode;
            environment
                .play(&mut recorder)
                .map_err(|error| Violation::Play { episode, error })?;
        }
        Ok(recorder)
    }
}

impl<L: Learner> Learner for Recorder<'_, L> {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let action = self.learner.choose(t, x);
        self.choices.push((self.episode, t, x, action));
        action
    }
    fn learn(&mut self, episode: &Episode) {
        self.learned.push(episode.clone());
        self.learner.learn(episode);
    }
    fn reset(&mut self, stream: Stream) {
        self.learner.reset(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_change_what_learners_receive() {
        let conditions = real_life();
        assert!(!conditions.delay.is_none() && !conditions.dropout.is_none());
        assert!(!conditions.lost.is_none() && !conditions.overrides.is_none());
    }
}
