//! FeedBAL with gains estimated through the feedback distribution: a variant of this project, after Section 3 of the paper.
//!
//! FeedBAL estimates the gain of an action by the mean of `R_{t+1} - C_t` over the times it was taken. But the terminal
//! reward of the next pair is revealed whatever led there and whatever was played there, and the specification says
//! where each feedback leads. So the gain is estimated as
//!
//! `ĝ_{t,x,a} = sum_j p̂_j r̂_{t+1,j} - ĉ_{t,x,a}`,
//!
//! `p̂` being the shares of the pairs that followed and `r̂` the means over everything that reached them. With `N` the
//! times the action was taken, `M_j` the rewards seen at the next pair `j`, `D` the spread of their expectations and
//! the joint bound of `mixture.rs` on the sums of (feedback and cost, reward of each next pair), the width of exactly
//! this estimator is
//!
//! `sqrt((sigma_c^2 + D^2/4) (N + rho)/N^2 + sum_j p̂_j^2 sigma_r^2 (M_j + rho)/M_j^2)
//!  * sqrt(2 log(K'/delta) + log(1 + N/rho) + sum_j log(1 + M_j/rho))`.
//!
//! - Unknown rewards are not observed. Feedback counts also where its cost is unknown, and the width has another form there
//!   (`support/unknown_costs.rs`). So where costs or rewards are lost more often after one feedback than after another, the
//!   bounds hold; the mean of `R_{t+1} - C_t` would be biased.
//! - `D` is unknown: it is at most the range that the bounds of the rewards allow, and at most `feedback_spread`.
//! - No feedback leads to more than the best next reward: the upper bound is also at most `max_j (r̂_j + conf_j) - ĉ`
//!   and the width of `ĉ`.
//! - `K'` counts reachable pairs only: one bound for the reward of each pair and two for each of its actions, one of them
//!   for its cost alone (three with `bernstein`).
//! - `width=bernstein` removes the feedback from the joint bound and adds `sqrt(2 B/N) sd_{p̂}(r) + 7 D B / (3 N)` for
//!   it, `B = log(K'/delta)` and the excess of the Krichevsky-Trofimov mixture: it adapts to the variance of the feedback
//!   that was observed.
//! - The choice is by `trust.rs`. docs/theory.md has the proofs.

use super::prelude::*;
use crate::learners::support::estimator::{FeedbackBound, GainEstimator};
use crate::learners::support::tabular::{DELTA, SIGMA2};
use crate::learners::support::trust::{GainEstimate, Rule};
use crate::mixture;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "feedbal-model",
    title: "FeedBAL-model",
    about: "FeedBAL with gains estimated through the feedback distribution and rewards pooled over all visits of a pair",
    reference: "emab, docs/theory.md; after Tekin, van der Schaar",
    proved_bounds: ProvedBounds::Verified,
    choice_basis: ChoiceBasis::Tables,
    parameters: &[
        SIGMA2,
        DELTA,
        Parameter::new("width", "joint")
            .about("confidence width: `joint` (one bound for feedback, cost and rewards) or `bernstein` (adapts to the variance of the feedback)"),
        SIGMA2_COST,
        SIGMA2_REWARD,
        Parameter::new("feedback_spread", "1")
            .about("upper limit on how far one feedback can move the next expected reward; a smaller spread that the data supports replaces it")
            .stated(|learning| learning.spread().map(FeedbackSpread::get)),
        RULE,
        TRUST,
        EXPLORE,
        RHO,
        UNKNOWN_COSTS,
    ],
    build: |with| {
        let feedback_bound = with.word(
            "width",
            &[("joint", FeedbackBound::Joint), ("bernstein", FeedbackBound::Bernstein)],
        )?;
        BuiltLearner::other(FeedBalModel {
            estimator: GainEstimator::new(with, feedback_bound, true, feedback_bound.bounds(), with.spread()?.get())?,
            rule: rule(with)?,
            estimates: Vec::new(),
        })
    },
    ..LearnerEntry::DEFAULT
};

pub(crate) const SIGMA2_COST: Parameter = Parameter::new("sigma2_cost", "sigma2")
    .about("variance proxy of the noise on costs alone")
    .stated(|learning| learning.sigma2_cost.map(Sigma2::get))
    .part_of("sigma2");

pub(crate) const SIGMA2_REWARD: Parameter = Parameter::new("sigma2_reward", "sigma2")
    .about("variance proxy of the noise on rewards alone")
    .stated(|learning| learning.sigma2_reward.map(Sigma2::get))
    .part_of("sigma2");

pub(crate) const RULE: Parameter = Parameter::new("rule", "trust")
    .about("`trust`: the action with the largest moderate index where its estimate is precise enough; `boldest`: always the largest upper bound");

pub(crate) const TRUST: Parameter = Parameter::new("trust", "3")
    .about("number of widths by which the mean of the action with the largest moderate index must reach the largest upper bound, at least 1");

pub(crate) const EXPLORE: Parameter = Parameter::new("explore", "1")
    .about("standard errors added to the mean in the moderate index, at least 0");

pub(crate) const RHO: Parameter = Parameter::new("rho", "3")
    .about("number of observations near which widths are tight, from 0.001 to 1e6");

pub(crate) const UNKNOWN_COSTS: Parameter = Parameter::new("unknown_costs", "impute")
    .about("feedback whose cost is unknown: `impute` (it counts, and the mean of later costs stands for its cost) or `drop` (it does not count, as in earlier versions: no certificate)")
    .optional();

/// The rule as it is set.
pub(crate) fn rule(with: &Build<'_>) -> Result<Rule, LearnerError> {
    let trust = Rule::Trust {
        trust: with.within("trust", 1.0, 1e6)?,
        explore: with.within("explore", 0.0, 1e6)?,
    };
    with.word("rule", &[("trust", trust), ("boldest", Rule::UpperBound)])
}

/// `feedbal:width=bernstein`: FeedBAL's own estimates and its own rule, with this width.
pub(crate) fn unpooled(with: &Build<'_>) -> Result<FeedBalModel, LearnerError> {
    Ok(FeedBalModel {
        estimator: GainEstimator::new(
            with,
            FeedbackBound::Bernstein,
            false,
            FeedbackBound::Bernstein.bounds(),
            with.spread()?.get(),
        )?,
        rule: Rule::UpperBound,
        estimates: Vec::new(),
    })
}

/// The learner: `feedbal-model`, or `feedbal` with `width=bernstein`.
#[derive(Clone, Debug)]
pub struct FeedBalModel {
    estimator: GainEstimator,
    rule: Rule,
    estimates: Vec<(usize, GainEstimate)>,
}

/// The constants of the width of the feedback in `width=bernstein`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackTerms {
    /// `log(K'/delta)`.
    pub log: f64,
    /// The upper limit on the feedback spread.
    pub max_spread: f64,
}

/// What an engine needs to compute the indices of `feedbal:width=bernstein` from sums and counts.
impl FeedBalModel {
    /// The constants of the width of the feedback.
    pub fn feedback_terms(&self) -> FeedbackTerms {
        FeedbackTerms {
            log: self.estimator.mixture.log(),
            max_spread: self.estimator.max_spread(),
        }
    }

    /// The widths after `n` observations: of a reward, of a cost, and of a gain without its feedback.
    pub fn noise_widths(&mut self, n: u64) -> [f64; 3] {
        let estimator = &mut self.estimator;
        let (cost, reward) = (estimator.sigma2_cost, estimator.sigma2_reward);
        [reward, cost, cost + reward].map(|proxy| estimator.mixture.width(proxy, n))
    }

    /// `n log(n)`, 0 for 0: a term of the excess of the Krichevsky-Trofimov mixture.
    pub fn n_log_n(n: u64) -> f64 {
        mixture::n_log_n(n)
    }

    /// `log(gamma(m/2))`: a term of the excess of the Krichevsky-Trofimov mixture.
    pub fn log_gamma_of_half(m: u64) -> f64 {
        mixture::log_gamma_of_half(m)
    }

    /// The step-state pairs that can follow an action, in the order in which estimates add them up; none if it is not
    /// allowed.
    pub fn next_pairs(&self, t: usize, x: usize, a: usize) -> Vec<(usize, usize)> {
        let graph = &self.estimator.graph;
        let edge = graph.find(t, x).and_then(|pair| graph.edge(pair, a));
        let transitions = edge.map_or(0..0, |edge| graph.transitions(edge));
        let next = |transition| graph.step_state(graph.next(transition));
        transitions.map(next).collect()
    }
}

impl Learner for FeedBalModel {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let Some(pair) = self.estimator.graph.find(t, x) else {
            return Action::Stop;
        };
        let stop = self.estimator.reward(pair);
        self.estimates.clear();
        for edge in self.estimator.graph.edges(pair) {
            let estimates = self.estimator.gain(edge).against(stop);
            self.estimates
                .push((self.estimator.graph.action(edge), estimates));
        }
        self.rule.choose(stop, &self.estimates)
    }

    fn learn(&mut self, episode: &Episode) {
        self.estimator.learn(episode);
    }

    fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        self.estimator.estimate(t, x, action)
    }

    fn reset(&mut self, _stream: Stream) {
        self.estimator.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{after, patience};
    use crate::learners::{LearnerConfig, LearnerDefaults};

    fn build(text: &str) -> Box<dyn Learner + Send> {
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        config.build(patience().spec(), None).unwrap()
    }

    /// Three episodes: twice on to state 1, once to state 0, where one of them goes on.
    fn taught(text: &str) -> Box<dyn Learner + Send> {
        let mut learner = build(text);
        learner.learn(&after(&[(0, 1)], &[0.1], &[0.5, 1.0]));
        learner.learn(&after(&[(0, 1)], &[0.3], &[0.7, 2.0]));
        learner.learn(&after(&[(0, 0), (0, 1)], &[0.2, 0.0], &[0.6, 4.0, 7.0]));
        learner
    }

    #[test]
    fn the_pooled_estimate_and_its_joint_width_by_hand() {
        let mut learner = taught(
            "feedbal-model:sigma2_cost=0.1,sigma2_reward=0.2,feedback_spread=2,rho=3,delta=0.1",
        );
        // p̂ = (1/3, 2/3), r̂ = (4, 1.5), ĉ = 0.2. Five pairs and two bounds for each of three edges: eleven.
        let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        assert_eq!(estimate.count, 3);
        assert!((estimate.mean - (4.0 / 3.0 + 2.0 / 3.0 * 1.5 - 0.2)).abs() < 1e-12);
        let (p, q) = (1.0 / 3.0, 2.0 / 3.0);
        let spreads: f64 =
            (0.1 + 1.0) * 6.0 / 9.0 + p * p * 0.2 * 4.0 / 1.0 + q * q * 0.2 * 5.0 / 4.0;
        let logs: f64 = 2.0 * (11.0_f64 / 0.1).ln()
            + 2.0_f64.ln()
            + (4.0_f64 / 3.0).ln()
            + (5.0_f64 / 3.0).ln();
        assert!((estimate.width - (spreads * logs).sqrt()).abs() < 1e-12);
        let stop = learner.estimate(1, 0, Action::Stop).unwrap();
        assert!((stop.mean - 0.6).abs() < 1e-12);
        let width: f64 = 0.2 * 6.0 / 9.0 * (2.0 * (11.0_f64 / 0.1).ln() + 2.0_f64.ln());
        assert!((stop.width - width.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn rewards_are_pooled_over_all_visits() {
        let mut learner = taught("feedbal-model:feedback_spread=1");
        let before = learner.estimate(2, 0, Action::Continue(0)).unwrap();
        // Step 3, state 1 was reached once, from (2, 0). Now it is reached from (2, 1).
        learner.learn(&after(&[(0, 1), (0, 1)], &[0.0, 0.0], &[0.5, 0.5, 9.0]));
        let now = learner.estimate(2, 0, Action::Continue(0)).unwrap();
        assert_eq!((before.count, now.count), (1, 1));
        assert!((before.mean - 7.0).abs() < 1e-12 && (now.mean - 8.0).abs() < 1e-12);
        assert!(now.width < before.width);
    }

    #[test]
    fn bernstein_by_hand() {
        let noise = "sigma2_cost=0.1,sigma2_reward=0.2,feedback_spread=2,delta=0.1,width=bernstein";
        // Five pairs and three bounds for each of three edges: 14. KT(1, 2) = 1/2 * 1/4 * 3/6, p̂^n = 4/27.
        let log = (14.0_f64 / 0.1).ln();
        let b = (log + (4.0_f64 / 27.0 * 16.0).ln()) / 3.0;
        let width = |n: f64, rho: f64| {
            let logs = 2.0 * log + (1.0 + n / rho).ln();
            (0.2 * (n + rho) / (n * n) * logs).sqrt()
        };
        let feedback_bound = |rho: f64| {
            let sd = (16.0 / 3.0 + 2.0 / 3.0 * 2.25 - (7.0_f64 / 3.0).powi(2)).sqrt();
            let unsure = width(1.0, rho).powi(2) / 3.0 + 2.0 / 3.0 * width(2.0, rho).powi(2);
            (2.0 * b).sqrt() * (sd + unsure.sqrt()) + 7.0 / 3.0 * 2.0 * b
        };
        let mut pooled = taught(&format!("feedbal-model:rho=3,{noise}"));
        let (p, q) = (1.0 / 3.0, 2.0 / 3.0);
        let spreads: f64 = 0.1 * 6.0 / 9.0 + p * p * 0.2 * 4.0 + q * q * 0.2 * 5.0 / 4.0;
        let logs = 2.0 * log + 2.0_f64.ln() + (4.0_f64 / 3.0).ln() + (5.0_f64 / 3.0).ln();
        let estimate = pooled.estimate(1, 0, Action::Continue(0)).unwrap();
        assert!((estimate.width - (spreads * logs).sqrt() - feedback_bound(3.0)).abs() < 1e-12);
        // FeedBAL's own estimate: the mean of 0.9, 1.7 and 3.8, with the noise of both.
        let mut direct = taught(&format!("feedbal:{noise}"));
        let estimate = direct.estimate(1, 0, Action::Continue(0)).unwrap();
        assert!((estimate.mean - 6.4 / 3.0).abs() < 1e-12);
        let noise = (0.3 * 4.0 / 9.0 * (2.0 * log + 4.0_f64.ln())).sqrt();
        assert!((estimate.width - noise - feedback_bound(1.0)).abs() < 1e-12);
    }

    #[test]
    fn partly_unknown_episodes_by_hand() {
        let taught = |text: &str| {
            let mut learner = build(text);
            learner.learn(&after(&[(0, 1)], &[0.1], &[f64::NAN, 1.0]));
            learner.learn(&after(&[(0, 1)], &[0.3], &[0.7, f64::NAN]));
            learner.learn(&after(&[(0, 0)], &[f64::NAN], &[0.6, 4.0]));
            learner
        };
        let parameters = "sigma2_cost=0.1,sigma2_reward=0.2,feedback_spread=2,delta=0.1";
        let mut pooled = taught(&format!("feedbal-model:rho=3,{parameters}"));
        let stop = pooled.estimate(1, 0, Action::Stop).unwrap();
        assert_eq!(stop.count, 2);
        assert!((stop.mean - 0.65).abs() < 1e-12);
        // Two costs, and both led to state 1, whose reward was seen once: p̂ = (0, 1), r̂ = (4, 1), ĉ = 0.2. The third
        // feedback waits for a later cost, and the two parts of the width belong to two times.
        let by_hand = |learner: &mut Box<dyn Learner + Send>, logs: f64, parts: &[f64]| {
            let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
            assert_eq!(estimate.count, 2);
            assert!((estimate.mean - 0.8).abs() < 1e-12);
            let logs = 2.0 * 110.0_f64.ln() + logs + 2.0 * (4.0_f64 / 3.0).ln();
            let width: f64 = parts.iter().map(|spread| (spread * logs).sqrt()).sum();
            assert!((estimate.width - width).abs() < 1e-12);
        };
        let (own, rewards) = ((0.1 + 1.0) * 5.0 / 4.0, 0.2 * 4.0);
        by_hand(&mut pooled, 2.0_f64.ln(), &[own, rewards]);
        let mut dropping = taught(&format!(
            "feedbal-model:rho=3,unknown_costs=drop,{parameters}"
        ));
        by_hand(&mut dropping, (5.0_f64 / 3.0).ln(), &[own + rewards]);
        // After a cost of 0.5 all four feedbacks count: p̂ = (1/4, 3/4), ĉ = (0.1 + 0.3 + 0.5 + 0.5) / 4.
        for learner in [&mut pooled, &mut dropping] {
            learner.learn(&after(&[(0, 1)], &[0.5], &[f64::NAN, f64::NAN]));
        }
        let estimate = pooled.estimate(1, 0, Action::Continue(0)).unwrap();
        assert_eq!(estimate.count, 4);
        assert!((estimate.mean - (1.0 + 0.75 - 0.35)).abs() < 1e-12);
        let sums = (4.0 * 1.0 + 2.0 * 0.1 + 3.0 * 1.1) / 16.0 + 0.1 * 4.0 / 4.0;
        let spreads: f64 = sums + 0.2 * 4.0 * (1.0 / 16.0 + 9.0 / 16.0);
        let logs = 2.0 * 110.0_f64.ln() + (7.0_f64 / 3.0).ln() + 3.0 * (4.0_f64 / 3.0).ln();
        assert!((estimate.width - (spreads * logs).sqrt()).abs() < 1e-12);
        // Without the feedback of the unknown cost state 0 never followed.
        let estimate = dropping.estimate(1, 0, Action::Continue(0)).unwrap();
        assert!((estimate.mean - (1.0 - 0.3)).abs() < 1e-12);
        // FeedBAL's own estimate has one gain in it, 1 - 0.1, and so the distribution has one feedback: KT(0, 1) = 1/2.
        let mut direct = taught(&format!("feedbal:width=bernstein,{parameters}"));
        let estimate = direct.estimate(1, 0, Action::Continue(0)).unwrap();
        assert_eq!(estimate.count, 1);
        assert!((estimate.mean - 0.9).abs() < 1e-12);
        let log = 140.0_f64.ln();
        let b = log + 2.0_f64.ln();
        let noise = |proxy: f64| (proxy * 2.0 * (2.0 * log + 2.0_f64.ln())).sqrt();
        let feedback_bound = (2.0 * b).sqrt() * noise(0.2) + 7.0 / 3.0 * 2.0 * b;
        assert!((estimate.width - noise(0.3) - feedback_bound).abs() < 1e-12);
        // Its rewards are all that are known, as before.
        assert_eq!(direct.estimate(1, 0, Action::Stop).unwrap().count, 2);
        assert_eq!(direct.estimate(2, 0, Action::Stop).unwrap().count, 1);
    }

    #[test]
    fn an_unknown_outcome_is_not_observed() {
        let mut learner = build("feedbal-model");
        learner.learn(&after(&[(0, 1)], &[0.1], &[]));
        let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        assert_eq!(estimate.width, f64::INFINITY);
        assert_eq!(learner.choose(1, 0), Action::Stop);
    }
}
