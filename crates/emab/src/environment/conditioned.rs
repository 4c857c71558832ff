//! Plays a problem under [`Conditions`]: one episode begins after another, each under the law of the moment, and what
//! became of it reaches the learner when it does. Decisions are made before the outcomes that are still out.

use std::sync::Arc;

use thiserror::Error;

use super::delayed_outcomes::DelayedOutcomes;
use crate::conditions::Conditions;
use crate::environment::RegretBreakdown;
use crate::environment::{Environment, PlayError, RegretEstimator};
use crate::learner::Learner;
use crate::model::Problem;
use crate::oracle::{Benchmark, OracleError};

/// The law that holds from an episode on.
#[derive(Clone, Debug)]
pub struct ModelPhase {
    /// Its first episode; episodes count from 1.
    pub first: u64,
    /// The problem from there on: of the same specification and noise as the one before.
    pub problem: Arc<Problem>,
}

/// What a problem is played under: conditions, and the laws that follow its own. Nothing by default.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The conditions.
    pub conditions: Conditions,
    /// The laws that follow the problem's own, by their first episode; those that its drift leads to, if it drifts.
    pub phases: Vec<ModelPhase>,
}

impl Scenario {
    /// Whether everything is as the paper has it.
    pub fn is_none(&self) -> bool {
        self.conditions.is_none() && self.phases.is_empty()
    }
}

/// A world that cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ScenarioError {
    /// The truth cannot be worked out.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A law that cannot follow the one before.
    #[error("the law of episode {first} on must {rule}")]
    ModelPhase {
        /// Its first episode.
        first: u64,
        /// What it must be.
        rule: &'static str,
    },
    /// Parameters drift, and nobody said what becomes of the problem.
    #[error("the conditions let parameters drift ({0}), and there are no laws that they lead to")]
    MissingPhases(String),
}

/// A problem under conditions, with its randomness.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Circumstances, Conditions, Learner, Model, Names, Problem, Spec, World};
/// use emab::learners::{FeedBal, FeedBalParameters};
///
/// let spec = Spec::new(3, Names::Count(3, ""), Names::Count(1, "a"), Names::Count(2, "")).unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, x, _a, _f| x as f64).cost(|_t, _x, _a, _f| 0.2);
/// let problem = Arc::new(Problem::new("coins", spec, model));
///
/// let conditions = Conditions::default().with(["delay=3", "dropout=0.1"]).unwrap();
/// let circumstances = Circumstances { conditions, ..Circumstances::default() };
/// let mut learner = FeedBal::new(problem.spec().clone(), FeedBalParameters::new(0.1, 0.05).unwrap());
/// let mut world = World::new(problem, &circumstances, 100).unwrap();
/// world.restart(1, 0); // seed 1, run 0
/// for episode in 1..=100 {
///     world.play(&mut learner).unwrap();
///     if episode <= 4 {
///         assert_eq!(world.environment().episode().steps(), 1); // nothing has come back yet
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ConditionedEnvironment {
    /// Holds the oracle of the law of the moment.
    environment: Environment,
    /// The others; the place of that one is taken by another.
    phases: Vec<(u64, Benchmark)>,
    current: usize,
    /// Episodes begun.
    started: u64,
    episodes: u64,
    delayed_outcomes: DelayedOutcomes,
}

impl ConditionedEnvironment {
    /// A problem under circumstances, for runs of so many episodes.
    ///
    /// Regret is exact where the pairs of all laws together are no more than [`Environment::EXACT_PAIRS`].
    pub fn new(
        problem: Arc<Problem>,
        scenario: &Scenario,
        episodes: u64,
    ) -> Result<ConditionedEnvironment, ScenarioError> {
        let Scenario {
            conditions,
            phases: later,
        } = scenario;
        if later.is_empty() && !conditions.drift.is_empty() {
            let drift: Vec<String> = conditions.drift.iter().map(ToString::to_string).collect();
            return Err(ScenarioError::MissingPhases(drift.join(", ")));
        }
        check(&problem, later)?;
        // What no episode meets need not be solved.
        let later = later.iter().filter(|phase| phase.first <= episodes);
        let all: Vec<(u64, Arc<Problem>)> = [(1, &problem)]
            .into_iter()
            .chain(later.map(|phase| (phase.first, &phase.problem)))
            .map(|(first, problem)| {
                let problem = match conditions.dropout.is_none() {
                    true => problem.clone(),
                    false => Arc::new(problem.with_dropout(conditions.dropout)),
                };
                (first, problem)
            })
            .collect();
        let solve = |limit| -> Result<Vec<Environment>, OracleError> {
            all.iter()
                .map(|(_, problem)| Environment::exact_within(problem.clone(), limit))
                .collect()
        };
        let mut solved = solve(Environment::EXACT_PAIRS / all.len())?;
        let exact = |environment: &Environment| environment.estimator() == RegretEstimator::Exact;
        if !solved.iter().all(exact) && solved.iter().any(exact) {
            solved = solve(0)?;
        }
        let mut environment = solved[0].clone();
        environment.set_overrides(conditions.overrides);
        let mut phases: Vec<(u64, Benchmark)> = all
            .iter()
            .zip(solved)
            .map(|((first, _), environment)| (*first, environment.into_oracle()))
            .collect();
        // The first law is in the environment; what stands in its place here is never asked.
        phases[0].1 = Benchmark::new(all[0].1.clone())?;
        Ok(ConditionedEnvironment {
            environment,
            phases,
            current: 0,
            started: 0,
            episodes,
            delayed_outcomes: DelayedOutcomes::new(conditions),
        })
    }

    /// Takes up the streams of this seed and run, at the first episode.
    pub fn restart(&mut self, seed: u64, run: u64) {
        self.environment.restart(seed, run);
        self.delayed_outcomes.restart(seed, run);
        self.started = 0;
        self.take_up(0);
    }

    /// The law under which the next episode is played: 0 for the problem's own, then those that follow.
    pub fn next_phase(&self) -> usize {
        let next = self.started + 1;
        let later = self.phases[self.current + 1..].iter();
        self.current + later.take_while(|(first, _)| *first <= next).count()
    }

    fn take_up(&mut self, phase: usize) {
        if phase != self.current {
            let oracle = self.environment.oracle();
            std::mem::swap(oracle, &mut self.phases[self.current].1);
            std::mem::swap(oracle, &mut self.phases[phase].1);
            self.current = phase;
        }
    }

    /// Plays the next episode and returns its regret by cause, against the benchmark of the law of the moment. Before it
    /// begins, the learner learns from the outcomes that are due.
    pub fn play<L: Learner + ?Sized>(
        &mut self,
        learner: &mut L,
    ) -> Result<RegretBreakdown, PlayError> {
        self.take_up(self.next_phase());
        self.started += 1;
        if self.delayed_outcomes.is_immediate() {
            return self.environment.play(learner);
        }
        self.delayed_outcomes.deliver(self.started, learner);
        let regret = self.environment.play_without_learning(learner)?;
        let (episode, left) = (self.environment.episode(), self.environment.dropped_out());
        self.delayed_outcomes
            .send(self.started, self.episodes, episode, left);
        Ok(regret)
    }

    /// The environment of the episode that was played last.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The same, to ask its oracle.
    pub fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    /// The problem of a law, with people who leave if they do.
    pub fn problem(&self, phase: usize) -> &Arc<Problem> {
        match phase == self.current {
            true => self.environment.pairs().problem(),
            false => self.phases[phase].1.pairs().problem(),
        }
    }

    /// How many laws there are.
    pub fn phases(&self) -> usize {
        self.phases.len()
    }

    /// What the benchmark of the moment earns in an episode, on average over all of them, if people follow it; and the
    /// standard error where that is estimated.
    pub fn benchmark_value(&mut self, seed: u64) -> Result<(f64, f64), OracleError> {
        if self.phases.len() == 1 {
            return self.environment.benchmark_value(seed);
        }
        let (mut mean, mut variance) = (0.0, 0.0);
        for (phase, share) in self.shares() {
            self.take_up(phase);
            let (value, stderr) = self.environment.benchmark_value(seed)?;
            mean += share * value;
            variance += (share * stderr) * (share * stderr);
        }
        Ok((mean, variance.sqrt()))
    }

    /// What the optimal policy of the moment earns in an episode, on average over all of them, if people follow it; none
    /// where too much can be reached to know.
    pub fn optimal_value(&mut self) -> Result<Option<f64>, OracleError> {
        let mut mean = 0.0;
        for (phase, share) in self.shares() {
            self.take_up(phase);
            let Some(value) = self.environment.optimal_value()? else {
                return Ok(None);
            };
            mean += share * value;
        }
        Ok(Some(mean))
    }

    /// The share of the episodes that each law has.
    fn shares(&self) -> Vec<(usize, f64)> {
        let ends = self.phases[1..].iter().map(|(first, _)| *first);
        let ends = ends.chain([self.episodes.saturating_add(1)]);
        let phases = self.phases.iter().zip(ends).enumerate();
        phases
            .map(|(phase, ((first, _), end))| {
                (phase, (end - first) as f64 / self.episodes.max(1) as f64)
            })
            .collect()
    }
}

/// Whether the laws may follow one another: what a learner knows stays as it is.
fn check(problem: &Problem, later: &[ModelPhase]) -> Result<(), ScenarioError> {
    let mut before = 1;
    for ModelPhase {
        first,
        problem: phase,
    } in later
    {
        let wrong = |rule| {
            let first = *first;
            Err(ScenarioError::ModelPhase { first, rule })
        };
        if *first <= before {
            return wrong("come after the one before it, and after episode 1");
        }
        before = *first;
        if !Arc::ptr_eq(problem.spec(), phase.spec()) {
            return wrong(
                "have the specification of the first: learners know it and are told of no change",
            );
        }
        let noise = |problem: &Problem| (problem.model().cost_noise, problem.model().reward_noise);
        if noise(problem) != noise(phase) {
            return wrong("have the noise of the first");
        }
    }
    Ok(())
}
