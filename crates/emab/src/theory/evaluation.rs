//! All statements of Section 4 at once, on one problem: the output of `emab bounds`.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{
    Bound, Lower, Onset, Premises, assumption1, assumption2, corollary2, informative_from,
    theorem1, theorem2, trivial, uncovered,
};
use crate::learners::FeedBalParameters;
use crate::model::Problem;
use crate::oracle::{
    Benchmark, Gaps, LargestRegret, Optimal, OracleError, Pairs, Triplet, Variation,
};
use crate::spec::{Action, Spec};
use crate::width::{Coefficients, WidthKind};

/// The paper's bounds for FeedBAL with these parameters on a problem.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Problem, Spec, learners::FeedBalParameters, theory::Bounds};
/// let spec = Spec::numbered(2, 2, 1, 2).unwrap()
///     .transition(|_t, _x, _a, f| f as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |t, x, _a, _f| if t == 1 { 0.45 } else { x as f64 });
/// let parameters = FeedBalParameters::new(0.25, 0.01).unwrap();
/// let bounds = Bounds::new(Arc::new(Problem::new("coin", spec, model)), &parameters, 1000).unwrap();
/// assert!(bounds.theorem1.derived > bounds.largest_regret); // not informative yet
/// assert!(bounds.informative_from_episode.unwrap() > 1000);
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Bounds {
    /// The problem's name.
    pub problem: String,
    /// The number of episodes.
    pub episodes: u64,
    /// The paper's `K`.
    #[serde(serialize_with = "whole")]
    pub k: f64,
    /// The probability with which some confidence bound may fail.
    pub delta: f64,
    /// Variance proxy of the noise on rewards, as set for the learner.
    pub sigma2: f64,
    /// Variance proxy of the noise on costs, as set for the learner.
    pub sigma2_cost: f64,
    /// The kind of width.
    pub width: &'static str,
    /// Added to the gain of `stop`.
    pub stop_bias: f64,
    /// The coefficients of the widths used.
    pub coefficients: Coefficients,
    /// The coefficients for which Lemma 1 is proved on this problem.
    pub needed: Coefficients,
    /// Whether those used are at least those needed.
    pub sound: bool,
    /// The largest expected shortfall of one episode.
    pub omega_max: f64,
    /// Assumption 1.
    pub assumption1: Assumption,
    /// Assumption 2.
    pub assumption2: Assumption,
    /// Choices that no theorem counts and that may cost regret in every episode.
    pub uncovered: Vec<TripletAt>,
    /// Theorem 1, at `delta`.
    pub theorem1: Bound,
    /// Theorem 2, at `delta = 1 / episodes`.
    pub theorem2: Bound,
    /// Corollary 2, at `delta = 1 / episodes`; a bound only where Assumption 2 holds.
    pub corollary2: Bound,
    /// The trivial bound on expected regret: episodes times `omega_max`. Theorem 2 and Corollary 2 are vacuous from it on.
    pub trivial: f64,
    /// What the regret of no learner exceeds but with probability `delta`. Theorem 1 is vacuous from it on.
    pub largest_regret: f64,
    /// The first number of episodes after which Theorem 1 as derived is not vacuous.
    pub informative_from_episode: Option<u64>,
    /// The same for each statement and reading.
    pub informative_from: Informative,
    /// The triplets that the sums run over.
    pub triplets: Vec<TripletBound>,
    /// The lower bound for every learner, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<Lower>,
}

/// Whether an assumption holds, and where it does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Assumption {
    /// Whether it holds.
    pub holds: bool,
    /// Where it does not.
    pub violations: Vec<TripletAt>,
}

/// A step-state-action triplet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TripletAt {
    /// The step, from 1.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// The state's name, or its index where the states have no names.
    pub state: String,
    /// The action's name.
    pub a: String,
}

/// From which episode on the bounds are informative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Informative {
    /// Theorem 1.
    pub theorem1: Onset,
    /// Theorem 2.
    pub theorem2: Onset,
    /// Corollary 2.
    pub corollary2: Onset,
}

/// One triplet with its gaps and its count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TripletBound {
    /// The triplet.
    #[serde(flatten)]
    pub place: TripletAt,
    /// `Delta`.
    pub delta_gap: f64,
    /// `Omega`.
    pub omega: f64,
    /// The maximum number of times that it is chosen.
    pub lemma2: Bound,
}

impl Bounds {
    /// Evaluates all statements.
    pub fn new(
        problem: Arc<Problem>,
        parameters: &FeedBalParameters,
        episodes: u64,
    ) -> Result<Bounds, OracleError> {
        let spec = problem.spec().clone();
        let name = problem.name().to_owned();
        let variation = Variation::of(&mut Pairs::new(problem.clone())?, Optimal::LIMIT)?;
        let largest = LargestRegret::of(&mut Benchmark::new(problem.clone())?)?;
        let gaps = Gaps::new(problem, parameters.stop_bias)?;
        let premises = Premises {
            gaps: &gaps,
            coefficients: parameters.coefficients(),
        };
        let delta = parameters.delta.get();
        let place = |triplet: &Triplet| TripletAt::new(&spec, triplet);
        let assumption = |broken: Vec<Triplet>| Assumption {
            holds: broken.is_empty(),
            violations: broken.iter().map(place).collect(),
        };
        let theorem1 = theorem1(&premises, delta);
        let expected = |n| trivial(&gaps, n);
        let from2 = Onset::of(|n| theorem2(&premises, n), expected);
        let informative_from = Informative {
            // It bounds the regret of a run, the others its expectation.
            theorem1: Onset::of(|_| theorem1, |n| largest.in_episodes(n, delta)),
            theorem2: from2,
            corollary2: Onset {
                tight: from2.tight, // in the tight reading both are one
                ..Onset::of(
                    |n| Bound {
                        tight: 0.0,
                        ..corollary2(&premises, n)
                    },
                    expected,
                )
            },
        };
        Ok(Bounds {
            problem: name,
            episodes,
            k: gaps.k,
            delta,
            sigma2: parameters.sigma2_reward.get(),
            sigma2_cost: parameters.sigma2_cost.get(),
            width: parameters.width.name(),
            stop_bias: parameters.stop_bias,
            coefficients: premises.coefficients,
            needed: variation.needed,
            sound: premises.coefficients.cover(variation.needed),
            omega_max: gaps.omega_max,
            assumption1: assumption(assumption1(&gaps)),
            assumption2: assumption(assumption2(&gaps)),
            uncovered: uncovered(&gaps).iter().map(place).collect(),
            theorem1,
            theorem2: theorem2(&premises, episodes),
            corollary2: corollary2(&premises, episodes),
            trivial: trivial(&gaps, episodes),
            largest_regret: largest.in_episodes(episodes, delta),
            informative_from_episode: informative_from.theorem1.derived,
            informative_from,
            triplets: gaps
                .suboptimal()
                .map(|triplet| TripletBound {
                    place: place(triplet),
                    delta_gap: triplet.delta,
                    omega: triplet.omega,
                    lemma2: premises.counts(triplet, delta),
                })
                .collect(),
            lower: None,
        })
    }

    /// Whether the paper's width was used.
    pub fn is_paper(&self) -> bool {
        self.width == WidthKind::Paper.name()
    }
}

impl TripletAt {
    fn new(spec: &Spec, triplet: &Triplet) -> TripletAt {
        TripletAt::at(spec, triplet.t, triplet.x, triplet.action)
    }

    pub(super) fn at(spec: &Spec, t: usize, x: usize, action: Action) -> TripletAt {
        TripletAt {
            t,
            x,
            state: spec.states().name(x).into_owned(),
            a: spec.action_name(action).into_owned(),
        }
    }
}

impl Onset {
    /// As printed and as derived they are `constant + slope * log n`: two values determine them.
    fn of(bound: impl Fn(u64) -> Bound, most: impl Fn(u64) -> f64) -> Onset {
        const FAR: u64 = 1 << 40;
        let (one, far) = (bound(1), bound(FAR));
        let reading = |of: fn(Bound) -> f64| {
            let slope = (of(far) - of(one)) / libm::log(FAR as f64);
            informative_from(|n| of(one) + slope * libm::log(n as f64), &most)
        };
        Onset {
            printed: reading(|bound| bound.printed),
            derived: reading(|bound| bound.derived),
            tight: informative_from(|n| bound(n).tight, &most),
        }
    }
}

/// `K` is a count: without a decimal point as long as it is exact.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn whole<S: Serializer>(k: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if *k < 9e15 {
        serializer.serialize_u64(*k as u64)
    } else {
        serializer.serialize_f64(*k)
    }
}
