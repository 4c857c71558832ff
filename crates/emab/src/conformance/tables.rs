//! The property of learners that choose from their tables alone.

use std::sync::Arc;

use super::{Recorder, Violation, real_life};
use crate::environment::{ConditionedEnvironment, Scenario};
use crate::episode::Episode;
use crate::learner::Learner;
use crate::learners::Random;
use crate::model::Problem;
use crate::rng::{Role, Stream};
use crate::spec::{Action, Spec};

/// The number of comparisons with fresh learners, and of pairs in each.
const TIMES: usize = 8;
const PAIRS: usize = 8;

/// Checks that the choice of a learner in a pair is a function of the learned episodes and of nothing else, over `episodes`
/// episodes with random actions.
///
/// One learner chooses in pairs in any order, repeatedly, while it learns. It is compared with others that have learned the
/// same episodes with another random stream and make one choice each. All choices must agree, and estimates bit by bit.
///
/// Some episodes are partly or completely unknown, see [`Episode`]; no estimate may become NaN.
///
/// ```
/// use std::sync::Arc;
/// use emab::learners::{FeedBal, FeedBalParameters, Random};
/// use emab::{Model, Problem, Spec, conformance::check_tables};
/// let spec = Spec::numbered(3, 2, 2, 2).unwrap()
///     .transition(|_t, _x, _a, f| f as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |t, x, _a, _f| (t * x) as f64);
/// let problem = Arc::new(Problem::new("coin", spec, model));
/// let parameters = FeedBalParameters::new(0.1, 0.1).unwrap();
/// assert!(check_tables(&problem, || FeedBal::new(problem.spec().clone(), parameters), 50, 1).is_ok());
/// assert!(check_tables(&problem, || Random::new(problem.spec().clone()), 50, 1).is_err());
/// ```
pub fn check_tables<L: Learner>(
    problem: &Arc<Problem>,
    mut make: impl FnMut() -> L,
    episodes: u64,
    seed: u64,
) -> Result<(), Violation> {
    let spec = problem.spec();
    let mut episodes = arrived(problem, episodes, seed)?;
    let mut chance = Stream::new(seed, 1, Role::Learner);
    for episode in &mut episodes {
        blot_out(episode, &mut chance);
    }
    let mut any_pair = || {
        (
            1 + chance.below(spec.horizon()),
            chance.below(spec.states().len()),
        )
    };
    let mut run = 2;
    let mut new = || {
        let mut learner = make();
        // Random streams must differ, so that draws show.
        learner.reset(Stream::new(seed, run, Role::Learner));
        run += 1;
        learner
    };
    let mut asked = new();
    for (n, episode) in episodes.iter().enumerate() {
        for _ in 0..PAIRS {
            let (t, x) = any_pair();
            asked.choose(t, x);
        }
        // Choices in flight leave no trace once they are settled.
        for (i, &x) in episode.states.iter().enumerate() {
            let taken = episode.actions.get(i);
            let action = taken.map_or(Action::Stop, |&a| Action::Continue(a));
            asked.announce(n as u64, i + 1, x, action);
        }
        asked.settle(n as u64);
        asked.learn(episode);
        if (n + 1) % episodes.len().div_ceil(TIMES) != 0 {
            continue;
        }
        for _ in 0..PAIRS {
            let pair = any_pair();
            let mut silent = new();
            for episode in &episodes[..=n] {
                silent.learn(episode);
            }
            same_answers(spec, &mut silent, &mut asked, pair, n + 1)?;
        }
    }
    Ok(())
}

/// The episodes that reach a learner, with random actions under all conditions.
fn arrived(problem: &Arc<Problem>, episodes: u64, seed: u64) -> Result<Vec<Episode>, Violation> {
    let scenario = Scenario {
        conditions: real_life(),
        phases: Vec::new(),
    };
    let mut environment = ConditionedEnvironment::new(problem.clone(), &scenario, episodes)?;
    let mut random = Random::new(problem.spec().clone());
    Ok(Recorder::play(&mut environment, &mut random, episodes, seed)?.learned)
}

/// Makes half of the episodes partly unknown.
fn blot_out(episode: &mut Episode, chance: &mut Stream) {
    if chance.below(2) == 0 {
        return;
    }
    for value in episode.costs.iter_mut().chain(&mut episode.rewards) {
        if chance.below(3) == 0 {
            *value = f64::NAN;
        }
    }
}

/// Compares the choices and estimates of both in a pair.
fn same_answers(
    spec: &Spec,
    silent: &mut impl Learner,
    asked: &mut impl Learner,
    (t, x): (usize, usize),
    episodes: usize,
) -> Result<(), Violation> {
    let (first, second) = (silent.choose(t, x), asked.choose(t, x));
    if first != second {
        return Err(Violation::Differs {
            what: "what was asked before",
            episode: episodes as u64,
            t,
            x,
            first,
            second,
        });
    }
    let actions = (0..spec.actions().len()).map(Action::Continue);
    for action in actions.chain([Action::Stop]) {
        let wrong = |what| Violation::Estimate {
            what,
            episodes,
            t,
            x,
            action,
        };
        let estimates = (silent.estimate(t, x, action), asked.estimate(t, x, action));
        if let Some(estimate) = estimates.1
            && [estimate.mean, estimate.width, estimate.index]
                .iter()
                .any(|value| value.is_nan())
        {
            return Err(wrong("is not a number"));
        }
        if estimates.0 != estimates.1 {
            return Err(wrong("is another where nothing was asked before"));
        }
    }
    Ok(())
}
