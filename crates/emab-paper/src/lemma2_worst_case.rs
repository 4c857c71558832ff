//! Worst case of Lemma 2: FeedBAL with the most misleading observations that the event of Lemma 1 allows.

use std::sync::Arc;

use emab::learners::{FeedBal, FeedBalParameters};
use emab::theory::lemma2;
use emab::{Action, Episode, Learner, Names, Spec, Width};

use crate::runner::LedgerError;

/// A path on which every mean stays within its confidence number and the wrong action looks as good as possible.
pub(crate) struct WorstCasePath {
    pub(crate) chosen: u64,
    pub(crate) printed: f64,
    pub(crate) derived: f64,
    /// The largest distance of an observation from its mean, in standard deviations of the noise.
    pub(crate) furthest: f64,
}

impl WorstCasePath {
    pub(crate) fn simulate() -> Result<WorstCasePath, LedgerError> {
        // 4w / gap^2 = 3.4 at K / delta = 400: in the narrow band in which the printed count is below the inequality's.
        let (sigma2, delta, gap) = (0.053125, 0.01, 0.5);
        let names = |n| Names::Count(n, "");
        let spec = Arc::new(Spec::new(2, names(1), names(1), names(1))?);
        let parameters = FeedBalParameters::new(sigma2, delta)
            .map_err(|error| emab::learners::LearnerError::Parameter("feedbal", error))?;
        let w = parameters.coefficients().action;
        let width = Width::new(w, spec.k(), parameters.delta);
        let mut learner = FeedBal::new(spec.clone(), parameters);
        let mut furthest = 0.0_f64;
        let mut chosen = 0;
        // The observation that brings the mean of `count` earlier ones to `target`.
        let next =
            |count: u64, mean: f64, target: f64| target * (count + 1) as f64 - mean * count as f64;
        let within = |n: u64| width.at(n) * (1.0 - 1e-9);
        for _ in 0..100_000 {
            let action = learner.choose(1, 0);
            let mut observed = |t: usize, action: Action, truth: f64, side: f64| {
                let known = learner.estimate(t, 0, action);
                let (count, mean) = known.map_or((0, 0.0), |known| (known.count, known.mean));
                let value = next(count, mean, truth + side * within(count + 1));
                furthest = furthest.max((value - truth).abs() / sigma2.sqrt());
                value
            };
            // Stopping is worth `gap` and continuing nothing; observations favour continuing as much as possible.
            let mut episode = Episode {
                states: vec![0],
                rewards: vec![observed(1, Action::Stop, gap, -1.0)],
                ..Episode::default()
            };
            if let Action::Continue(a) = action {
                let reward = observed(1, action, 0.0, 1.0);
                chosen += 1;
                episode.states.push(0);
                episode.actions.push(a);
                episode.feedbacks.push(0);
                episode.costs.push(0.0);
                episode.rewards.push(reward);
            }
            learner.learn(&episode);
        }
        let bound = lemma2(gap, w, (spec.k() / delta).ln());
        Ok(WorstCasePath {
            chosen,
            printed: bound.printed,
            derived: bound.derived,
            furthest,
        })
    }
}
