//! Verification: the number of runs in which a learner violates each guarantee of the paper.
//!
//! - Lemma 1: a sample mean is further from its gain than its confidence number, for some triplet at some time.
//! - Lemma 2: an action is chosen more often than its count allows.
//! - Corollary 1: an action is chosen that falls short of the best by more than twice its confidence number.
//! - Theorem 1: the regret, as the sum of `V - Q`, exceeds its bound at some time.
//!
//! A learner whose widths are not of the paper's form guarantees only the first: all of its estimates, of gains or of values
//! under the optimal policy, stay within their widths at all times. Those of values are all checked every 1024 episodes and at
//! the end, in between those of visited pairs and of actions that may lead there.
//!
//! Each guarantee has a control, which is wrong on purpose and must violate it if the test is able to fail. The control of
//! a statement on widths (Lemma 1, coverage) is half of each width in the same runs. That of a statement on choices (Lemma 2,
//! Corollary 1, Theorem 1) is the same learner with its choices drawn at random, in [`CONTROL_RUNS`] runs of the same length.
//! A guarantee that no learner can violate is vacuous.

mod triplets;
mod vacuous;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::results::{Guarantee, Power, ViolationCount, fixed};
use emab::environment::{RegretEstimator, ScenarioError};
use emab::learners::LearnerConfig;
use emab::oracle::{Gaps, LargestRegret, Optimal, OracleError};
use emab::theory::{Bound, Premises, theorem2, uncovered};
use emab::{Action, Conditions, Delta, Environment, Problem};

use self::triplets::TripletTable;
use self::worker::{Block, Choices, VerificationWorker, WidthRecorder};
use crate::engine::pool::{Pool, TICK};
use crate::error::SimError;
use crate::experiment::{Control, Progress};

/// A learner on a problem, to be verified.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use emab::learners::LearnerConfig;
/// use emab_problem::ProblemFile;
/// use emab_sim::results::GuaranteeVerdict;
/// use emab_sim::{Control, Device, Verification};
///
/// let file = ProblemFile::builtin("feedback-gap").ok_or("a built-in problem")??;
/// let verification = Verification {
///     problem: file.problem()?,
///     learner: LearnerConfig::parse("feedbal", file.learning())?, // the paper's width
///     episodes: 200,
///     runs: 20,
///     seed: 1,
///     conditions: emab::Conditions::default(),
/// };
/// let mut control = Control { threads: 1, device: Device::processor(), stop: &AtomicBool::new(false), watch: &mut |_, _| {} };
/// let result = verification.run(&mut control)?.ok_or("not stopped")?;
/// assert_eq!(result.guarantees()[0].verdict, GuaranteeVerdict::Violated); // Lemma 1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Verification {
    /// The problem.
    pub problem: Arc<Problem>,
    /// The learner; it must have a guarantee.
    pub learner: LearnerConfig,
    /// Episodes of a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// The conditions. Only missing costs and rewards are simulated, the others have no effect.
    pub conditions: Conditions,
}

/// Runs of the control with random choices; fewer if the verification has fewer.
const CONTROL_RUNS: u64 = 100;

/// One value for each statement of the paper: the number of runs that violate it, or whether it is vacuous.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerStatement<T = u64> {
    /// Lemma 1.
    pub lemma1: T,
    /// Lemma 2 in its three readings.
    pub lemma2: Bound<T>,
    /// Corollary 1.
    pub corollary1: T,
    /// Theorem 1 in its three readings.
    pub theorem1: Bound<T>,
}

impl<T: Copy> PerStatement<T> {
    /// Lemma 1, Lemma 2, Corollary 1 and Theorem 1, each in its readings.
    fn in_order(&self) -> [T; 8] {
        let (lemma2, theorem1) = (&self.lemma2, &self.theorem1);
        [
            self.lemma1,
            lemma2.printed,
            lemma2.derived,
            lemma2.tight,
            self.corollary1,
            theorem1.printed,
            theorem1.derived,
            theorem1.tight,
        ]
    }
}

/// The result of a verification.
#[derive(Clone, Debug)]
pub struct VerificationResult {
    /// The probability with which each guarantee may be violated.
    pub delta: Delta,
    /// The number of runs.
    pub runs: u64,
    /// The number of runs that violate each guarantee.
    pub violations: PerStatement,
    /// The number of runs of the control: those of Lemma 1, and those of the other statements.
    pub control_runs: (u64, u64),
    /// The number of runs of the control that violate each guarantee.
    pub control: PerStatement,
    /// Whether no learner can violate a guarantee.
    pub vacuous: PerStatement<bool>,
    /// The triplet where most runs violate Lemma 1, and the number of these runs.
    pub worst: Option<(usize, usize, Action, u64)>,
    /// The regret at the end: mean and standard error.
    pub regret: (f64, f64),
    /// The largest regret at the end of a run.
    pub max_regret: f64,
    /// Theorem 1, if it applies to this learner.
    pub theorem1: Option<Bound>,
    /// What the regret of no learner exceeds in as many episodes, but with probability `delta`.
    pub largest_regret: f64,
    /// Whether the theorem covers the problem: every choice that it does not count has no regret.
    pub covered: bool,
    /// Theorem 2, if the learner's `delta` is `1/n`.
    pub theorem2: Option<Bound>,
}

impl VerificationResult {
    /// The name of the guarantee of a learner whose widths are not of the paper's form.
    pub const COVERAGE: &str = "Coverage";

    /// The guarantees.
    pub fn guarantees(&self) -> Vec<Guarantee> {
        let counts = "no action chosen too often";
        let bound = self.theorem1.unwrap_or_default().map(|bound| match bound {
            b if b < 1e15 => format!("regret at most {}", fixed(b, 1)),
            b => format!("regret at most {b:.1e}"),
        });
        let all = [
            ("Lemma 1", "every mean within its width, always"),
            ("Lemma 2, printed", counts),
            ("Lemma 2, derived", counts),
            ("Lemma 2, tight", counts),
            ("Corollary 1", "no choice worse by two widths"),
            ("Theorem 1, printed", &bound.printed),
            ("Theorem 1, derived", &bound.derived),
            ("Theorem 1, tight", &bound.tight),
        ];
        let statements = match self.theorem1 {
            Some(_) => &all[..],
            // The learner's guarantee, not the paper's.
            None => &[(Self::COVERAGE, "every estimate within its bounds, always")],
        };
        let counted = self.violations.in_order().into_iter();
        let power = self.control.in_order().into_iter();
        let power = power.zip(self.vacuous.in_order());
        let count = |violated, runs| ViolationCount { violated, runs };
        let each = statements.iter().zip(counted.zip(power)).enumerate();
        each.map(
            |(i, (&(statement, says), (violated, (control, vacuous))))| {
                let (widths, choices) = self.control_runs;
                let power = Power {
                    vacuous,
                    control: count(control, if i == 0 { widths } else { choices }),
                };
                let counted = count(violated, self.runs);
                Guarantee::new(statement, says, self.delta.get(), counted, power)
            },
        )
        .collect()
    }
}

impl Verification {
    /// Plays all runs; none if it was stopped. Fails if the learner has no guarantee or the problem has too many pairs.
    pub fn run(&self, control: &mut Control<'_>) -> Result<Option<VerificationResult>, SimError> {
        let delta = self.learner.guaranteed_delta()?;
        // The other statements apply to FeedBAL with a width of the paper's form.
        let parameters = self.learner.feedbal_parameters().ok();
        let mut environment = Environment::new(self.problem.clone())?;
        let missing = environment.set_missing(&self.conditions);
        missing.map_err(ScenarioError::from)?;
        if environment.estimator() != RegretEstimator::Exact {
            return Err(SimError::Oracle(OracleError::TooMany {
                limit: Environment::EXACT_PAIRS,
                what: "a verification",
            }));
        }
        self.learner.build(self.problem.spec(), None)?;
        let bias = parameters.map_or(0.0, |parameters| parameters.stop_bias);
        let gaps = Gaps::new(self.problem.clone(), bias)?;
        let premises = parameters.map(|parameters| Premises {
            gaps: &gaps,
            coefficients: parameters.coefficients(),
        });
        let optimal = match self.learner.estimates_values() {
            true => Some(Optimal::new(&mut environment.pairs().clone())?),
            false => None,
        };
        let table = TripletTable::new(
            &environment,
            &gaps,
            premises.as_ref(),
            delta.get(),
            optimal.as_ref(),
        );
        let largest = LargestRegret::of(environment.oracle())?;
        // Only statements on choices have a control of their own.
        let control_runs = premises.map_or(0, |_| self.runs.min(CONTROL_RUNS));
        let mut work = Work {
            verification: self,
            environment: &environment,
            table: &table,
            played: AtomicU64::new(0),
            total: self.episodes.saturating_mul(self.runs + control_runs),
        };
        let Some(sum) = work.play(Choices::OfLearner, self.runs, control)? else {
            return Ok(None);
        };
        let Some(at_random) = work.play(Choices::AtRandom, control_runs, control)? else {
            return Ok(None);
        };
        let most = sum.lemma1_violations.iter().max_by_key(|(triplet, runs)| {
            // The first of the most frequent, independent of the order of the blocks.
            (**runs, std::cmp::Reverse(**triplet))
        });
        let spec = self.problem.spec();
        let is_theorem2 = delta.get() == 1.0 / self.episodes as f64;
        let largest_regret = largest.in_episodes(self.episodes, delta.get());
        Ok(Some(VerificationResult {
            delta,
            runs: sum.runs,
            worst: most.map(|(&triplet, &runs)| {
                let (t, x, action) = table.triplet_at(&environment, spec, triplet);
                (t, x, action, runs)
            }),
            violations: sum.violations,
            control_runs: (sum.runs, at_random.runs),
            control: PerStatement {
                lemma1: sum.half_widths_violated,
                ..at_random.violations
            },
            vacuous: vacuous::statements(self, &table, premises.as_ref(), delta, largest_regret)?,
            regret: (sum.regret.mean(), sum.regret.stderr()),
            max_regret: sum.max_regret,
            theorem1: table.theorem1,
            largest_regret,
            covered: uncovered(&gaps).is_empty(),
            theorem2: premises
                .filter(|_| is_theorem2)
                .map(|premises| theorem2(&premises, self.episodes)),
        }))
    }
}

/// What all runs of a verification share.
struct Work<'a> {
    verification: &'a Verification,
    environment: &'a Environment,
    table: &'a TripletTable,
    /// Episodes so far, and in all.
    played: AtomicU64,
    total: u64,
}

impl Work<'_> {
    /// Plays runs; none if it was stopped.
    fn play(
        &mut self,
        choices: Choices,
        runs: u64,
        control: &mut Control<'_>,
    ) -> Result<Option<Block>, SimError> {
        let Verification {
            problem, learner, ..
        } = self.verification;
        let mut sum = Block {
            max_regret: f64::NEG_INFINITY,
            ..Block::default()
        };
        let mut reported = Instant::now();
        let pool = Pool {
            threads: control.threads,
            runs: 0..runs,
            episodes: self.verification.episodes,
            stop: control.stop,
        };
        pool.run(
            || {
                let learner = learner.build(problem.spec(), None)?;
                Ok(VerificationWorker {
                    verification: self.verification,
                    table: self.table,
                    played: &self.played,
                    environment: self.environment.clone(),
                    learner: WidthRecorder::new(learner, choices, problem.spec()),
                    chosen: vec![0; self.table.triplets.len()],
                })
            },
            &mut |block| {
                if let Some(block) = block {
                    sum.merge(&block);
                }
                if reported.elapsed() >= TICK {
                    reported = Instant::now();
                    let (done, total) = (self.played.load(Ordering::Relaxed), self.total);
                    (control.watch)(Progress { done, total }, None);
                }
            },
        )?;
        Ok((sum.runs == runs).then_some(sum))
    }
}
