//! The gaps of Section 4: the shortfall of each action one step ahead (`Delta`) and at worst (`Omega`).

use std::sync::Arc;

use super::pairs::{OracleError, Pairs};
use super::{Optimal, exceeds};
use crate::model::Problem;
use crate::spec::Action;

/// One step-state-action triplet and its gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triplet {
    /// The step, from 1.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// The action.
    pub action: Action,
    /// `g_{t,x,a}`: the expected reward of stopping right after it, less its cost.
    pub gain: f64,
    /// `Delta_{t,x,a} = g*_{t,x} - g_{t,x,a}`; exactly 0 for the actions of `O_{t,x}`.
    pub delta: f64,
    /// `Omega_{t,x,a} = mu*_{t,x} - worst continuation after a`.
    pub omega: f64,
    /// The value of the benchmark from the pair on, less its value after this action; at most `omega`.
    pub regret: f64,
    /// Whether `stop` is in `O_{t,x}`.
    pub stop_is_best: bool,
}

/// The gaps of every reachable triplet, in the order of step, state and action, `stop` last.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Action, Model, Problem, Spec, oracle::Gaps};
/// // Two steps: continuing shows a fair coin worth 1, stopping at once pays 0.45.
/// let spec = Spec::numbered(2, 2, 1, 2).unwrap()
///     .transition(|_t, _x, _a, f| f as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |t, x, _a, _f| if t == 1 { 0.45 } else { x as f64 });
/// let gaps = Gaps::new(Arc::new(Problem::new("coin", spec, model)), 0.0).unwrap();
/// let wrong: Vec<_> = gaps.suboptimal().collect();
/// assert_eq!((wrong.len(), wrong[0].action), (1, Action::Stop));
/// assert!((wrong[0].delta - 0.05).abs() < 1e-15 && (gaps.omega_max - 0.05).abs() < 1e-15);
/// ```
#[derive(Clone, Debug)]
pub struct Gaps {
    /// The paper's `K`: steps times states times actions, `stop` among them.
    pub k: f64,
    /// `l_max`.
    pub horizon: usize,
    /// All reachable triplets; at the last step `stop` alone.
    pub triplets: Vec<Triplet>,
    /// `Omega_max`: the largest expected shortfall of one episode.
    pub omega_max: f64,
}

impl Gaps {
    /// The gaps of a problem, for a learner that adds `stop_bias` to the gain of `stop` (0 for the paper's).
    ///
    /// The bias changes `Delta` and `O` as in Section 4; `Omega` and the regret are those of the problem without bias.
    pub fn new(problem: Arc<Problem>, stop_bias: f64) -> Result<Gaps, OracleError> {
        let mut pairs = Pairs::new(problem)?;
        pairs.expand_all(Optimal::LIMIT, "the gaps")?;
        let spec = pairs.problem().spec().clone();
        // Backward induction of the benchmark with the best tie-breaking, and of the worst policy.
        let mut best = vec![0.0; pairs.len()];
        let mut worst = vec![0.0; pairs.len()];
        let mut triplets = Vec::new();
        for pair in pairs.backwards() {
            let stop = pairs.reward(pair);
            let mut size = 0.0_f64;
            let mut gains: Vec<(usize, f64)> = Vec::new();
            for a in pairs.allowed(pair) {
                let (gain, terms) =
                    pairs.expected_value_with_size(pair, a, |next| pairs.reward(next));
                gains.push((a, gain));
                size = size.max(terms);
            }
            let exceeds = |a, b| exceeds(a, b, size);
            let largest = |stop: f64| gains.iter().map(|(_, gain)| *gain).fold(stop, f64::max);
            let true_best = largest(stop);
            let stays = !exceeds(true_best, stop);
            let value = |a: usize, of: &[f64]| pairs.action_value(pair, a, |next| of[next.index()]);
            let mu = if stays {
                stop
            } else {
                let tied = gains.iter().filter(|(_, gain)| !exceeds(true_best, *gain));
                tied.map(|(a, _)| value(*a, &best))
                    .fold(f64::NEG_INFINITY, f64::max)
            };
            let target = largest(stop + stop_bias);
            let stop_is_best = !exceeds(target, stop + stop_bias);
            let triplet = |action, gain: f64, index: f64, after: f64, at_worst: f64| Triplet {
                t: pairs.step(pair),
                x: pairs.state(pair),
                action,
                gain,
                delta: if exceeds(target, index) {
                    target - index
                } else {
                    0.0
                },
                omega: mu - at_worst,
                regret: mu - after,
                stop_is_best,
            };
            let mut least = stop;
            for &(a, gain) in &gains {
                let at_worst = value(a, &worst);
                least = least.min(at_worst);
                let after = value(a, &best);
                triplets.push(triplet(Action::Continue(a), gain, gain, after, at_worst));
            }
            triplets.push(triplet(Action::Stop, stop, stop + stop_bias, stop, stop));
            best[pair.index()] = mu;
            worst[pair.index()] = least;
        }
        triplets.sort_by_key(|triplet| {
            let column = match triplet.action {
                Action::Continue(a) => a,
                Action::Stop => usize::MAX,
            };
            (triplet.t, triplet.x, column)
        });
        let omegas = triplets.iter().map(|triplet| triplet.omega);
        Ok(Gaps {
            k: spec.k(),
            horizon: spec.horizon(),
            omega_max: omegas.fold(0.0, f64::max),
            triplets,
        })
    }

    /// The triplets with `a` not in `O_{t,x}`: those that the theorems sum over.
    pub fn suboptimal(&self) -> impl Iterator<Item = &Triplet> {
        self.triplets.iter().filter(|triplet| triplet.delta > 0.0)
    }
}
