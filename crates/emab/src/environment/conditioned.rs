//! Plays a problem under [`Conditions`]: each episode under the model of its phase, with outcomes that can reach the learner
//! late or never, and several episodes open at once. Choices are made without the outcomes that are still pending.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;

use thiserror::Error;

use super::delayed_outcomes::DelayedOutcomes;
use super::open_episode::OpenEpisode;
use crate::conditions::Conditions;
use crate::environment::{Environment, PlayError, RegretBreakdown, RegretEstimator};
use crate::learner::Learner;
use crate::model::Problem;
use crate::oracle::{Benchmark, OracleError};
use crate::parameter::ParameterError;

/// The model that holds from an episode on.
#[derive(Clone, Debug)]
pub struct ModelPhase {
    /// The first episode; episodes count from 1.
    pub first: u64,
    /// The problem from there on, with the same specification and noise as before.
    pub problem: Arc<Problem>,
}

/// Conditions, and the phases that drift leads to. Empty by default.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The conditions.
    pub conditions: Conditions,
    /// The phases after the problem's initial model, in the order of their first episodes.
    pub phases: Vec<ModelPhase>,
}

impl Scenario {
    /// Whether the setting is that of the paper: no conditions, no drift.
    pub fn is_none(&self) -> bool {
        self.conditions.is_none() && self.phases.is_empty()
    }
}

/// An invalid scenario.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ScenarioError {
    /// The problem cannot be solved.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// Missing values that do not belong to the feedbacks of the problem.
    #[error(transparent)]
    Missing(#[from] ParameterError),
    /// A phase that cannot follow the one before.
    #[error("the phase from episode {first} on must {rule}")]
    ModelPhase {
        /// Its first episode.
        first: u64,
        /// The rule.
        rule: &'static str,
    },
    /// Parameters drift, and no phases are given.
    #[error("the conditions have drift ({0}), but the scenario has no phases for it")]
    MissingPhases(String),
    /// Several open episodes, and a model that changes.
    #[error(
        "`open` and `drift` cannot be combined: an episode would begin under one model and end under another; remove one of \
         them"
    )]
    OpenWithDrift,
}

/// A problem under conditions, with its random streams.
///
/// ```
/// use std::sync::Arc;
/// use emab::{ConditionedEnvironment, Conditions, Learner, Model, Problem, Scenario, Spec};
/// use emab::learners::{FeedBal, FeedBalParameters};
///
/// let spec = Spec::numbered(3, 3, 1, 2).unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, x, _a, _f| x as f64).cost(|_t, _x, _a, _f| 0.2);
/// let problem = Arc::new(Problem::new("coins", spec, model));
///
/// let conditions = Conditions::default().with(["delay=3", "dropout=0.1"]).unwrap();
/// let scenario = Scenario { conditions, ..Scenario::default() };
/// let mut learner = FeedBal::new(problem.spec().clone(), FeedBalParameters::new(0.1, 0.05).unwrap());
/// let mut environment = ConditionedEnvironment::new(problem, &scenario, 100).unwrap();
/// environment.restart(1, 0); // seed 1, run 0
/// for episode in 1..=100 {
///     environment.play(&mut learner).unwrap();
///     if episode <= 4 {
///         assert_eq!(environment.environment().episode().steps(), 1); // no outcome has arrived yet
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ConditionedEnvironment {
    /// With the benchmark of the current phase.
    environment: Environment,
    /// By phase: its first episode and its benchmark; that of the current phase is in `environment`.
    phases: Vec<(u64, Benchmark)>,
    current: usize,
    /// Number of episodes started.
    started: u64,
    episodes: u64,
    delayed_outcomes: DelayedOutcomes,
    most_open: NonZeroU64,
    /// The open episodes where several may be open; the first one takes the next step.
    open: VecDeque<OpenEpisode>,
    /// Allocations for reuse.
    spare: Vec<OpenEpisode>,
}

impl ConditionedEnvironment {
    /// A problem in a scenario, for runs of this number of episodes.
    ///
    /// Regret is exact where the pairs of all phases together are at most [`Environment::EXACT_PAIRS`].
    pub fn new(
        problem: Arc<Problem>,
        scenario: &Scenario,
        episodes: u64,
    ) -> Result<ConditionedEnvironment, ScenarioError> {
        let (conditions, later) = (&scenario.conditions, &scenario.phases);
        if later.is_empty() && !conditions.drift.is_empty() {
            let drift: Vec<String> = conditions.drift.iter().map(ToString::to_string).collect();
            return Err(ScenarioError::MissingPhases(drift.join(", ")));
        }
        check(&problem, later)?;
        if conditions.open.get() > 1 && !later.is_empty() {
            return Err(ScenarioError::OpenWithDrift);
        }
        let with_dropout = |problem: &Arc<Problem>| match conditions.dropout.is_none() {
            true => problem.clone(),
            // A function of parameters that drift: the problem of a later phase has its own values.
            false if *problem.dropout() == conditions.dropout => problem.clone(),
            false => Arc::new(problem.with_dropout(conditions.dropout.clone())),
        };
        let mut all = vec![(1, with_dropout(&problem))];
        // Phases after the last episode are not solved.
        let later = later.iter().filter(|phase| phase.first <= episodes);
        all.extend(later.map(|phase| (phase.first, with_dropout(&phase.problem))));
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
        environment.set_missing(conditions)?;
        let solved = solved.into_iter().map(Environment::into_oracle);
        let firsts = all.iter().map(|(first, _)| *first);
        let mut phases: Vec<(u64, Benchmark)> = firsts.zip(solved).collect();
        // The benchmark of the first phase is in the environment; this entry is a placeholder.
        phases[0].1 = Benchmark::new(all[0].1.clone())?;
        Ok(ConditionedEnvironment {
            environment,
            phases,
            current: 0,
            started: 0,
            episodes,
            delayed_outcomes: DelayedOutcomes::new(conditions),
            most_open: conditions.open,
            open: VecDeque::new(),
            spare: Vec::new(),
        })
    }

    /// Switches to the streams of this seed and run, at the first episode.
    pub fn restart(&mut self, seed: u64, run: u64) {
        self.environment.restart(seed, run);
        self.delayed_outcomes.restart(seed, run);
        self.spare.extend(self.open.drain(..));
        self.started = 0;
        self.switch_to(0);
    }

    /// The phase of the next episode; 0 is the initial model.
    pub fn next_phase(&self) -> usize {
        let next = self.started + 1;
        let later = self.phases[self.current + 1..].iter();
        self.current + later.take_while(|(first, _)| *first <= next).count()
    }

    fn switch_to(&mut self, phase: usize) {
        if phase != self.current {
            let oracle = self.environment.oracle();
            std::mem::swap(oracle, &mut self.phases[self.current].1);
            std::mem::swap(oracle, &mut self.phases[phase].1);
            self.current = phase;
        }
    }

    /// Plays the next episode and returns its regret by cause, against the benchmark of its phase. Outcomes that are due are
    /// passed to the learner first. Where several episodes may be open, plays until one of them ends.
    pub fn play<L: Learner + ?Sized>(
        &mut self,
        learner: &mut L,
    ) -> Result<RegretBreakdown, PlayError> {
        if self.most_open.get() > 1 {
            return self.play_until_one_ends(learner);
        }
        self.switch_to(self.next_phase());
        self.started += 1;
        if self.delayed_outcomes.is_immediate() {
            return self.environment.play(learner);
        }
        self.delayed_outcomes.deliver(self.started, learner);
        let regret = self.environment.play_without_learning(learner)?;
        self.environment.last().number = self.started;
        if learner.counts_pending() {
            self.environment.last().announce_all(learner);
        }
        self.send_outcome(learner);
        Ok(regret)
    }

    /// Each open episode takes a step in its turn, until one ends. Where one has ended, the next begins.
    fn play_until_one_ends<L: Learner + ?Sized>(
        &mut self,
        learner: &mut L,
    ) -> Result<RegretBreakdown, PlayError> {
        loop {
            while (self.open.len() as u64) < self.most_open.get()
                && (self.started < self.episodes || self.open.is_empty())
            {
                self.started += 1;
                self.delayed_outcomes.deliver(self.started, learner);
                let mut next = self.spare.pop().unwrap_or_default();
                self.environment.begin(&mut next);
                next.number = self.started;
                self.open.push_back(next);
            }
            let Some(mut first) = self.open.pop_front() else {
                continue;
            };
            let stays_open = self.environment.step(&mut first, learner)?;
            if learner.counts_pending() {
                first.announce_last(learner);
            }
            if stays_open {
                self.open.push_back(first);
                continue;
            }
            let regret = self.environment.end(&mut first)?;
            self.environment.swap_last(&mut first);
            self.spare.push(first);
            if self.delayed_outcomes.is_immediate() {
                let last = self.environment.last();
                learner.settle(last.number);
                last.teach(learner);
            } else {
                self.send_outcome(learner);
            }
            return Ok(regret);
        }
    }

    /// Schedules the outcome of the last episode.
    fn send_outcome<L: Learner + ?Sized>(&mut self, learner: &mut L) {
        let due = (self.started, self.episodes);
        let last = self.environment.last();
        self.delayed_outcomes
            .send(due, last, learner.counts_pending());
    }

    /// The environment of the last episode.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The same, mutable, for its oracle.
    pub fn environment_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }

    /// The problem of a phase, with dropout where the conditions have it.
    pub fn problem(&self, phase: usize) -> &Arc<Problem> {
        match phase == self.current {
            true => self.environment.pairs().problem(),
            false => self.phases[phase].1.pairs().problem(),
        }
    }

    /// The number of phases.
    pub fn phases(&self) -> usize {
        self.phases.len()
    }

    /// The mean expected gain per episode of each phase's benchmark without overrides, and its standard error where it is
    /// estimated.
    pub fn benchmark_value(&mut self, seed: u64) -> Result<(f64, f64), OracleError> {
        if self.phases.len() == 1 {
            return self.environment.benchmark_value(seed);
        }
        let (mut mean, mut variance) = (0.0, 0.0);
        for (phase, share) in self.shares() {
            self.switch_to(phase);
            let (value, stderr) = self.environment.benchmark_value(seed)?;
            mean += share * value;
            variance += (share * stderr) * (share * stderr);
        }
        Ok((mean, variance.sqrt()))
    }

    /// The mean expected gain per episode of each phase's optimal policy without overrides; none where there are too many
    /// pairs to solve.
    pub fn optimal_value(&mut self) -> Result<Option<f64>, OracleError> {
        let mut mean = 0.0;
        for (phase, share) in self.shares() {
            self.switch_to(phase);
            let Some(value) = self.environment.optimal_value()? else {
                return Ok(None);
            };
            mean += share * value;
        }
        Ok(Some(mean))
    }

    /// The share of the episodes in each phase.
    fn shares(&self) -> Vec<(usize, f64)> {
        let ends = self.phases[1..].iter().map(|(first, _)| *first);
        let ends = ends.chain([self.episodes.saturating_add(1)]);
        let phases = self.phases.iter().zip(ends);
        let lengths = phases.map(|((first, _), end)| end - first);
        let shares = lengths.map(|length| length as f64 / self.episodes.max(1) as f64);
        shares.enumerate().collect()
    }
}

/// Checks that phases follow one another and leave the specification and the noise unchanged.
fn check(problem: &Problem, later: &[ModelPhase]) -> Result<(), ScenarioError> {
    let mut before = 1;
    let noise = |problem: &Problem| (problem.model().cost_noise, problem.model().reward_noise);
    for phase in later {
        let first = phase.first;
        let wrong = |rule| Err(ScenarioError::ModelPhase { first, rule });
        if first <= before {
            return wrong("come after the one before it, and after episode 1");
        }
        before = first;
        if !Arc::ptr_eq(problem.spec(), phase.problem.spec()) {
            return wrong("have the specification of the first: learners are built with it");
        }
        if noise(problem) != noise(&phase.problem) {
            return wrong("have the noise of the first");
        }
    }
    Ok(())
}
