//! The variation of observations according to the model, which a confidence width has to cover.

use super::pairs::{OracleError, Pair, Pairs};
use crate::model::Noise;
use crate::width::Coefficients;

/// The largest variation of the observations of a problem.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Noise, Problem, Spec, oracle::{Pairs, Variation}};
/// // Continuing shows a fair coin worth 1: the noise alone would need 4 * 0.0025.
/// let spec = Spec::numbered(2, 2, 1, 2).unwrap()
///     .transition(|_t, _x, _a, f| f as f64);
/// let noise = Noise::normal(0.0025).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |t, x, _a, _f| if t == 1 { 0.45 } else { x as f64 })
///     .noise(noise, noise);
/// let mut pairs = Pairs::new(Arc::new(Problem::new("coin", spec, model))).unwrap();
/// let variation = Variation::of(&mut pairs, 1000).unwrap();
/// assert_eq!(variation.spread, 1.0);
/// assert!((variation.needed.action - 0.51).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// The largest spread `D` of the next expected reward after one action.
    pub spread: f64,
    /// The step, state and action it belongs to.
    pub at: (usize, usize, usize),
    /// The smallest and the largest expected terminal reward.
    pub rewards: (f64, f64),
    /// The variance proxies of the noise on costs and on rewards.
    pub proxies: (f64, f64),
    /// The coefficients of the widths for which Lemma 1 is proved on this problem.
    pub needed: Coefficients,
}

impl Variation {
    /// The variation over all reachable pairs; fails above `limit` pairs.
    pub fn of(pairs: &mut Pairs, limit: usize) -> Result<Variation, OracleError> {
        pairs.expand_all(limit, "the spread of the rewards")?;
        let start = Pair::default();
        let mut spread = 0.0;
        let mut at = (1, pairs.state(start), 0);
        let mut rewards = (pairs.reward(start), pairs.reward(start));
        for pair in pairs.iter() {
            let reward = pairs.reward(pair);
            rewards = (rewards.0.min(reward), rewards.1.max(reward));
            for a in pairs.allowed(pair) {
                let here = spread_after(pairs, pair, a);
                if here > spread {
                    spread = here;
                    at = (pairs.step(pair), pairs.state(pair), a);
                }
            }
        }
        let model = pairs.problem().model();
        let (cost, reward) = (model.cost_noise.proxy(), model.reward_noise.proxy());
        let after = match model.reward_noise {
            // Bernoulli rewards are 0 or 1 in every state: the feedback adds nothing.
            Noise::Bernoulli => reward,
            _ => reward + spread * spread / 4.0,
        };
        Ok(Variation {
            spread,
            at,
            rewards,
            proxies: (cost, reward),
            needed: Coefficients {
                action: 2.0 * (cost + after),
                stop: 2.0 * reward,
            },
        })
    }
}

/// How far the feedback of an action can move the next expected reward.
fn spread_after(pairs: &Pairs, pair: Pair, a: usize) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (next, _) in pairs.follow(pair, a) {
        low = low.min(pairs.reward(next));
        high = high.max(pairs.reward(next));
    }
    (high - low).max(0.0)
}
