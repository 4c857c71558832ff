//! The benchmark (Algorithm 1) and the exact regret of every choice against it.
//!
//! With `V` the benchmark's value and `Q(t,x,a)` that of playing `a` once and the benchmark after, the expected
//! regret of an episode is the expected sum of `V - Q` along the learner's own path (performance-difference lemma).

use std::sync::Arc;

use super::best_action;
use super::pairs::{OracleError, Pair, Pairs};
use crate::model::Problem;
use crate::spec::Action;

/// The benchmark of a problem, computed for requested pairs.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Action, Model, Problem, Spec, oracle::Benchmark};
/// // Two steps: continuing shows a fair coin worth 1, stopping at once pays 0.45.
/// let spec = Spec::numbered(2, 2, 1, 2).unwrap()
///     .transition(|_t, _x, _a, f| f as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |t, x, _a, _f| if t == 1 { 0.45 } else { x as f64 });
/// let mut benchmark = Benchmark::new(Arc::new(Problem::new("coin", spec, model))).unwrap();
/// let start = benchmark.pairs().find(1, 0).unwrap();
/// assert_eq!(benchmark.choice(start).unwrap(), Action::Continue(0));
/// assert_eq!(benchmark.value(start).unwrap(), 0.5);
/// assert!((benchmark.regret(start, Action::Stop).unwrap() - 0.05).abs() < 1e-15);
/// ```
#[derive(Clone, Debug)]
pub struct Benchmark {
    pairs: Pairs,
    actions: usize,
    choice: Vec<Option<Action>>,
    /// NaN until computed.
    value: Vec<f64>,
    /// By row of a pair and action, `stop` last; NaN until computed.
    regret: Vec<f64>,
}

impl Benchmark {
    /// The benchmark of this problem.
    pub fn new(problem: Arc<Problem>) -> Result<Benchmark, OracleError> {
        let actions = problem.spec().actions().len();
        Ok(Benchmark {
            pairs: Pairs::new(problem)?,
            actions,
            choice: Vec::new(),
            value: Vec::new(),
            regret: Vec::new(),
        })
    }

    /// The visited pairs.
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// The visited pairs, mutable.
    pub fn pairs_mut(&mut self) -> &mut Pairs {
        &mut self.pairs
    }

    fn resize(&mut self) {
        let known = self.pairs.len();
        self.choice.resize(known, None);
        self.value.resize(known, f64::NAN);
        let rows = self.pairs.rows();
        self.regret.resize(rows * (self.actions + 1), f64::NAN);
    }

    /// The choice of the benchmark in a pair: the action with the largest gain; `stop` wins ties.
    #[inline]
    pub fn choice(&mut self, pair: Pair) -> Result<Action, OracleError> {
        match self.choice.get(pair.index()) {
            Some(&Some(action)) => Ok(action),
            _ => self.choose_now(pair),
        }
    }

    #[cold]
    fn choose_now(&mut self, pair: Pair) -> Result<Action, OracleError> {
        self.pairs.expand(pair)?;
        self.resize();
        let pairs = &self.pairs;
        let reward = |next| pairs.reward(next);
        let gains = pairs.allowed(pair).map(|a| {
            let (gain, size) = pairs.expected_value_with_size(pair, a, reward);
            (a, gain, size)
        });
        let (action, _) = best_action(pairs.reward(pair), gains);
        self.choice[pair.index()] = Some(action);
        Ok(action)
    }

    /// `V(t,x)`: the value of the benchmark from a pair on.
    pub fn value(&mut self, pair: Pair) -> Result<f64, OracleError> {
        self.resize();
        // Depth first with an explicit stack, because horizons can exceed the call stack.
        let mut stack = vec![pair];
        while let Some(&top) = stack.last() {
            if !self.value[top.index()].is_nan() {
                stack.pop();
                continue;
            }
            let Action::Continue(a) = self.choice(top)? else {
                self.value[top.index()] = self.pairs.reward(top);
                stack.pop();
                continue;
            };
            let waiting = stack.len();
            let (pairs, value) = (&self.pairs, &self.value);
            let next = pairs.follow(top, a).map(|(next, _)| next);
            stack.extend(next.filter(|next| value[next.index()].is_nan()));
            if stack.len() == waiting {
                let after = |next: Pair| value[next.index()];
                self.value[top.index()] = pairs.action_value(top, a, after);
                stack.pop();
            }
        }
        Ok(self.value[pair.index()])
    }

    /// Its expected gain per episode.
    pub fn start_value(&mut self) -> Result<f64, OracleError> {
        let starts = self.pairs.starts().len();
        for i in 0..starts {
            self.value(Pair(i as u32))?;
        }
        Ok(self.pairs.start_value(|start| self.value[start.index()]))
    }

    /// `Q(t,x,a)`: what an allowed action earns when the benchmark follows it.
    fn action_value(&mut self, pair: Pair, action: Action) -> Result<f64, OracleError> {
        let Action::Continue(a) = action else {
            return Ok(self.pairs.reward(pair));
        };
        self.pairs.expand(pair)?;
        let next: Vec<Pair> = self.pairs.follow(pair, a).map(|(next, _)| next).collect();
        for next in next {
            self.value(next)?;
        }
        let (pairs, value) = (&self.pairs, &self.value);
        Ok(pairs.action_value(pair, a, |next| value[next.index()]))
    }

    /// `V(t,x) - Q(t,x,a)`: the expected regret of this choice; exactly 0 for the benchmark's own.
    #[inline]
    pub fn regret(&mut self, pair: Pair, action: Action) -> Result<f64, OracleError> {
        let row = self.pairs.row(pair);
        let slot = row.map(|row| self.regret_slot(row, action));
        match slot.and_then(|slot| self.regret.get(slot)) {
            Some(regret) if !regret.is_nan() => Ok(*regret),
            _ => self.regret_now(pair, action),
        }
    }

    #[inline]
    fn regret_slot(&self, row: usize, action: Action) -> usize {
        let column = match action {
            Action::Continue(a) => a,
            Action::Stop => self.actions,
        };
        row * (self.actions + 1) + column
    }

    #[cold]
    fn regret_now(&mut self, pair: Pair, action: Action) -> Result<f64, OracleError> {
        let regret = if self.choice(pair)? == action {
            0.0
        } else {
            self.value(pair)? - self.action_value(pair, action)?
        };
        self.resize();
        if let Some(row) = self.pairs.row(pair) {
            let slot = self.regret_slot(row, action);
            self.regret[slot] = regret;
        }
        Ok(regret)
    }
}
