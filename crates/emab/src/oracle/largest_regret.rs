//! The largest regret that any learner can have, whatever it chooses: a bound above it is vacuous.

use super::benchmark::Benchmark;
use super::optimal::Optimal;
use super::pairs::{OracleError, Pair};
use crate::spec::Action;

/// The regret of one episode, over all learners.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Problem, Spec, oracle::{Benchmark, LargestRegret}};
/// // Two steps: continuing shows a fair coin worth 1, stopping at once pays 0.45 and loses 0.05.
/// let spec = Spec::numbered(2, 2, 1, 2).unwrap()
///     .transition(|_t, _x, _a, f| f as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |t, x, _a, _f| if t == 1 { 0.45 } else { x as f64 });
/// let mut benchmark = Benchmark::new(Arc::new(Problem::new("coin", spec, model))).unwrap();
/// let largest = LargestRegret::of(&mut benchmark).unwrap();
/// assert!((largest.expected - 0.05).abs() < 1e-15 && (largest.on_path - 0.05).abs() < 1e-15);
/// assert!((largest.in_episodes(1000, 0.01) - 50.0).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LargestRegret {
    /// The largest expected regret of an episode: the value of the benchmark less that of the worst policy.
    pub expected: f64,
    /// The largest sum of `V - Q` along a path.
    pub on_path: f64,
    /// The smallest sum of `V - Q` along a path; below 0 where other choices earn more than the benchmark's.
    pub least_on_path: f64,
}

impl LargestRegret {
    /// By backward induction over all reachable pairs.
    pub fn of(benchmark: &mut Benchmark) -> Result<LargestRegret, OracleError> {
        let what = "the largest regret";
        benchmark.pairs_mut().expand_all(Optimal::LIMIT, what)?;
        let order = benchmark.pairs().backwards();
        let mut worst = vec![0.0; order.len()];
        let mut range = vec![(0.0, 0.0); order.len()];
        for pair in order {
            let stop = benchmark.regret(pair, Action::Stop)?;
            let (mut least, mut most) = (stop, stop);
            let mut value = benchmark.pairs().reward(pair);
            let allowed: Vec<usize> = benchmark.pairs().allowed(pair).collect();
            for a in allowed {
                let regret = benchmark.regret(pair, Action::Continue(a))?;
                let pairs = benchmark.pairs();
                for (next, _) in pairs.follow(pair, a) {
                    let (low, high): (f64, f64) = range[next.index()];
                    least = least.min(regret + low);
                    most = most.max(regret + high);
                }
                let after = |next: Pair| worst[next.index()];
                value = value.min(pairs.action_value(pair, a, after));
            }
            range[pair.index()] = (least, most);
            worst[pair.index()] = value;
        }
        let expected = benchmark.start_value()?;
        let pairs = benchmark.pairs();
        let starts = || pairs.starts().map(|(start, _)| range[start.index()]);
        Ok(LargestRegret {
            expected: expected - pairs.start_value(|start| worst[start.index()]),
            on_path: starts().map(|(_, most)| most).fold(0.0, f64::max),
            least_on_path: starts().map(|(least, _)| least).fold(0.0, f64::min),
        })
    }

    /// What the sum of `V - Q` along the paths of this many episodes never exceeds at any time, for any learner, but with
    /// probability `delta`: the smaller of the largest sum, and of the expectation and the deviation that the inequality of
    /// Hoeffding and Azuma allows.
    pub fn in_episodes(&self, episodes: u64, delta: f64) -> f64 {
        let n = episodes as f64;
        let range = self.on_path - self.least_on_path;
        let deviation = range * libm::sqrt(-0.5 * n * libm::log(delta));
        (n * self.on_path).min(n * self.expected + deviation)
    }
}
