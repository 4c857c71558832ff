//! Gaussian Thompson sampling: Agrawal, Goyal, *Further Optimal Regret Bounds for Thompson Sampling* (AISTATS 2013),
//! Algorithm 2, on FeedBAL's tables.
//!
//! At each play, a mean is drawn for every arm from `N(mu, 1/(k+1))`, `k` being how often it was played and `mu` the sum
//! of its rewards divided by `k + 1`; the arm of the largest draw is played. That is the posterior for the prior `N(0, 1)`
//! and noise of variance 1; the published regret, `O(sqrt(N T ln N))`, is that of `N` arms with rewards in [0, 1].
//!
//! Adaptations:
//! - Every step-state pair is a separate bandit whose arms are the allowed actions and `stop`; observations are those of
//!   FeedBAL's tables, where `stop` is observed by passing.
//! - Rewards lie in `[reward_least, reward_most]`, and their noise is given by parameters. So the prior is
//!   `N(m, s^2)`, `m` the middle of the range and `s` its length times `prior_sd`, and observations have the variance `v` that
//!   FeedBAL's sound width assumes: `sigma2` for `stop`, `2 sigma2 + feedback_spread^2 / 4` for an action. After `n`
//!   observations of sum `y` the draw is from `N((v m + s^2 y) / (v + n s^2), v s^2 / (v + n s^2))`; with
//!   `s^2 = v` this is the published `N((m + y) / (n + 1), v / (n + 1))`.
//! - Without observations the draws come from the prior, where FeedBAL stops.

use super::prelude::*;
use crate::learners::support::gains::Gains;
use crate::learners::support::tabular::{
    LEAST, MOST, Normal, PRIOR_SD, SIGMA2, TabularParameters, prior_sd,
};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "thompson",
    title: "Thompson sampling",
    about: "samples the gain of each action from its posterior, by step and state, and takes the largest",
    reference: "Agrawal, Goyal 2013, Further Optimal Regret Bounds for Thompson Sampling",
    choice_basis: ChoiceBasis::Draws,
    parameters: &[
        SIGMA2,
        Parameter::new("feedback_spread", "0")
            .about("how far one feedback can move the next expected reward")
            .stated(|learning| learning.spread().map(FeedbackSpread::get)),
        PRIOR_SD,
        LEAST,
        MOST,
    ],
    build: |with| {
        let spread =
            FeedbackSpread::new(with.number("feedback_spread")?).map_err(|e| with.wrong(e))?;
        let (parameters, sd) = (TabularParameters::new(with)?, prior_sd(with)?);
        let prior = Normal::of_rewards(&parameters, sd);
        let learner = Thompson::new(with.spec.clone(), prior, parameters.sigma2, spread.get());
        Ok(BuiltLearner::Thompson(learner))
    },
    ..LearnerEntry::DEFAULT
};

/// Posteriors of gains.
#[derive(Clone, Copy, Debug)]
struct Beliefs {
    prior: Normal,
    /// The variance of an observation of an action, and of `stop`.
    action: f64,
    stop: f64,
}

impl Beliefs {
    /// The posterior of a cell of a row.
    fn of(&self, gains: &Gains, row: usize, cell: usize) -> Normal {
        let noise = if cell == gains.stop(row) {
            self.stop
        } else {
            self.action
        };
        let gain = gains.cells[cell];
        self.prior.after(gain.count, gain.sum, noise)
    }
}

/// Gaussian Thompson sampling by step-state pair.
#[derive(Clone, Debug)]
pub struct Thompson {
    gains: Gains,
    beliefs: Beliefs,
    stream: Stream,
}

impl Thompson {
    fn new(spec: Arc<Spec>, prior: Normal, sigma2: f64, spread: f64) -> Thompson {
        Thompson {
            gains: Gains::empty(spec),
            beliefs: Beliefs {
                prior,
                action: 2.0 * sigma2 + spread * spread / 4.0,
                stop: sigma2,
            },
            stream: Stream::new(0, 0, Role::Learner),
        }
    }
}

/// What [`Thompson`] assumes of the gain of an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianBeliefs {
    /// The mean before the first observation.
    pub prior_mean: f64,
    /// The variance of that mean.
    pub prior_variance: f64,
    /// The variance of an observation of a continuation action.
    pub noise_action: f64,
    /// The variance of an observation of `stop`.
    pub noise_stop: f64,
}

impl Thompson {
    /// What it assumes of the gain of an action.
    pub fn beliefs(&self) -> GaussianBeliefs {
        GaussianBeliefs {
            prior_mean: self.beliefs.prior.mean,
            prior_variance: self.beliefs.prior.variance,
            noise_action: self.beliefs.action,
            noise_stop: self.beliefs.stop,
        }
    }
}

impl Learner for Thompson {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let (beliefs, stream) = (self.beliefs, &mut self.stream);
        self.gains.choose(t, x, |gains, row| {
            gains.best(row, |cell, _| beliefs.of(gains, row, cell).draw(stream))
        })
    }

    fn learn(&mut self, episode: &Episode) {
        self.gains.learn(episode);
    }

    fn reset(&mut self, stream: Stream) {
        self.gains.clear();
        self.stream = stream;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::gains::testing::crossing;
    use crate::learners::support::tabular::testing::{after, assert_close, assert_shares, play};

    fn learner(mean: f64, variance: f64) -> Thompson {
        let spec = crossing().spec().clone();
        Thompson::new(spec, Normal { mean, variance }, 0.08, 0.6)
    }

    #[test]
    fn posteriors_by_hand() {
        // v = 2 * 0.08 + 0.6^2 / 4 = 0.25 for an action, and so is the prior's variance: the published formula.
        let mut learner = learner(0.5, 0.25);
        let episode = after(&[(1, 1)], &[0.25], &[1.0, 2.0]);
        learner.learn(&episode);
        learner.learn(&episode);
        let row = learner.gains.of(1, 0);
        let near = |belief: Normal, mean: f64, variance: f64| {
            assert_close(belief.mean, mean);
            assert_close(belief.variance, variance);
        };
        let belief = |cell| learner.beliefs.of(&learner.gains, row, cell);
        near(belief(row), 0.5, 0.25);
        near(belief(row + 1), (0.5 + 3.5) / 3.0, 0.25 / 3.0);
        // `stop`, twice passed: precisions 4 and 2 / 0.08.
        near(belief(row + 2), (2.0 + 25.0) / 29.0, 1.0 / 29.0);
    }

    #[test]
    fn choice_frequencies_match_the_posterior() {
        // Both actions have N(1.5, 1/12); `stop` was observed so often that it is known to be 1.5 as well.
        let mut learner = learner(0.5, 0.25);
        for a in [0, 0, 1, 1] {
            learner.learn(&after(&[(a, 1)], &[0.25], &[1.5, 2.25]));
        }
        for _ in 0..100_000 {
            learner.learn(&after(&[], &[], &[1.5]));
        }
        learner.stream = Stream::new(1, 0, Role::Learner);
        let mut taken = [0_u32; 3];
        for _ in 0..20_000 {
            taken[match learner.choose(1, 0) {
                Action::Continue(a) => a,
                Action::Stop => 2,
            }] += 1;
        }
        // `stop` wins where both are below: 1/4.
        assert_shares(taken, [0.375, 0.375, 0.25], 0.005);
    }

    #[test]
    fn finds_the_benchmark() {
        let played = play(&crossing(), &mut learner(0.5, 0.25), 4000, |_| 0.0);
        played.assert_benchmark();
    }
}
