//! Fixed policies computed from the model: the benchmark, the optimal policy, the best fixed sequence.
//!
//! Experiments play them for comparison with learners.

use super::prelude::*;
use crate::model::Problem;
use crate::oracle::{Benchmark, FixedSequence, Optimal, OracleError, Pairs, best_fixed};
use crate::slots::Slots;

/// The maximum number of outcomes in the search for the best fixed sequence: some seconds.
pub const MAX_FIXED_OUTCOMES: usize = 20_000_000;

pub(crate) static BENCHMARK: LearnerEntry = LearnerEntry {
    name: "benchmark",
    title: "benchmark",
    about: "Algorithm 1: takes the action with the best next step",
    reference: "Tekin, van der Schaar, Algorithm 1",
    access: Access::Problem,
    choice_basis: ChoiceBasis::Tables,
    build: |with| {
        let policy = Policy::benchmark(with.problem()?).map_err(|e| with.oracle(e))?;
        Ok(BuiltLearner::Policy(policy))
    },
    ..LearnerEntry::DEFAULT
};

pub(crate) static OPTIMAL: LearnerEntry = LearnerEntry {
    name: "optimal",
    title: "optimal",
    about: "plays the optimal policy, found by backward induction",
    reference: "backward induction",
    access: Access::Problem,
    choice_basis: ChoiceBasis::Tables,
    build: |with| {
        let policy = Policy::optimal(with.problem()?).map_err(|e| with.oracle(e))?;
        Ok(BuiltLearner::Policy(policy))
    },
    ..LearnerEntry::DEFAULT
};

pub(crate) static BEST_FIXED: LearnerEntry = LearnerEntry {
    name: "best-fixed",
    title: "best fixed",
    about: "plays the best sequence of actions that ignores feedback",
    reference: "Tekin, van der Schaar, Section 2",
    access: Access::Problem,
    choice_basis: ChoiceBasis::Tables,
    build: |with| {
        let mut pairs = Pairs::new(with.problem()?).map_err(|e| with.oracle(e))?;
        let optimal = Optimal::new(&mut pairs).map_err(|e| with.oracle(e))?;
        let best = best_fixed(&pairs, &optimal, MAX_FIXED_OUTCOMES)
            .ok_or(LearnerError::Sequences(with.learner))?;
        let policy = Policy::fixed(with.spec.clone(), &best);
        Ok(BuiltLearner::Policy(policy))
    },
    ..LearnerEntry::DEFAULT
};

/// Plays a policy: an action for every step-state pair.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Action, Learner, Model, Problem, Spec, learners::Policy};
/// let spec = Spec::numbered(2, 1, 1, 1).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| t as f64);
/// let mut learner = Policy::benchmark(Arc::new(Problem::new("wait", spec, model))).unwrap();
/// assert_eq!(learner.choose(1, 0), Action::Continue(0));
/// ```
pub struct Policy {
    decide: Box<dyn FnMut(usize, usize) -> Action + Send>,
    slots: Slots,
    actions: Vec<Action>,
}

impl Policy {
    /// The policy of a function, which is called once per pair.
    pub fn new(spec: &Spec, decide: impl FnMut(usize, usize) -> Action + Send + 'static) -> Policy {
        Policy {
            decide: Box::new(decide),
            slots: Slots::new(spec.horizon(), spec.states().len()),
            actions: Vec::new(),
        }
    }

    /// Algorithm 1.
    pub fn benchmark(problem: Arc<Problem>) -> Result<Policy, OracleError> {
        let spec = problem.spec().clone();
        let mut benchmark = Benchmark::new(problem)?;
        // The environment has expanded this pair before and reported errors.
        let decide = move |t, x| {
            let pair = benchmark.pairs_mut().find_or_add(t, x);
            pair.and_then(|pair| benchmark.choice(pair))
                .unwrap_or(Action::Stop)
        };
        Ok(Policy::new(&spec, decide))
    }

    /// Backward induction.
    pub fn optimal(problem: Arc<Problem>) -> Result<Policy, OracleError> {
        let spec = problem.spec().clone();
        let mut pairs = Pairs::new(problem)?;
        let optimal = Optimal::new(&mut pairs)?;
        let decide = move |t, x| {
            pairs
                .find(t, x)
                .map_or(Action::Stop, |pair| optimal.choice(pair))
        };
        Ok(Policy::new(&spec, decide))
    }

    /// A sequence of actions that ignores feedback.
    pub fn fixed(spec: Arc<Spec>, sequence: &FixedSequence) -> Policy {
        let actions = sequence.actions.clone();
        let known = spec.clone();
        Policy::new(&spec, move |t, x| match actions.get(t - 1) {
            Some(&a) if known.is_allowed(t, x, a) => Action::Continue(a),
            _ => Action::Stop,
        })
    }
}

impl Learner for Policy {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let (slot, new) = self.slots.of(t, x);
        if new {
            let action = (self.decide)(t, x);
            self.actions.push(action);
        }
        self.actions[slot]
    }

    fn learn(&mut self, _episode: &Episode) {}

    fn reset(&mut self, _stream: Stream) {}
}
