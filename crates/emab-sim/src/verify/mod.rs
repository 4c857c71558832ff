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

mod triplets;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::results::Guarantee;
use emab::environment::{RegretEstimator, ScenarioError};
use emab::learners::LearnerConfig;
use emab::oracle::{Gaps, Optimal, OracleError};
use emab::theory::{Bound, Premises, theorem2, uncovered};
use emab::{Action, Conditions, Delta, Environment, Problem};

use self::triplets::TripletTable;
use self::worker::{Block, VerificationWorker, WidthRecorder};
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
/// use emab_sim::{Control, Verification};
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
/// let mut control = Control { threads: 1, stop: &AtomicBool::new(false), watch: &mut |_, _| {} };
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

/// The number of runs that violate each guarantee.
#[derive(Clone, Copy, Debug, Default)]
pub struct Violations {
    /// Lemma 1.
    pub lemma1: u64,
    /// Lemma 2 in its three readings.
    pub lemma2: Bound<u64>,
    /// Corollary 1.
    pub corollary1: u64,
    /// Theorem 1 in its three readings.
    pub theorem1: Bound<u64>,
}

/// The result of a verification.
#[derive(Clone, Debug)]
pub struct VerificationResult {
    /// The probability with which each guarantee may be violated.
    pub delta: Delta,
    /// The number of runs.
    pub runs: u64,
    /// The number of runs that violate each guarantee.
    pub violations: Violations,
    /// The triplet where most runs violate Lemma 1, and the number of these runs.
    pub worst: Option<(usize, usize, Action, u64)>,
    /// The regret at the end: mean and standard error.
    pub regret: (f64, f64),
    /// The largest regret at the end of a run.
    pub max_regret: f64,
    /// Theorem 1, if it applies to this learner.
    pub theorem1: Option<Bound>,
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
        let guarantee = |(statement, says, violated): (&str, &str, u64)| {
            Guarantee::new(statement, says, self.delta.get(), violated, self.runs)
        };
        let Violations {
            lemma1,
            lemma2,
            corollary1,
            theorem1,
        } = self.violations;
        let Some(bound) = self.theorem1 else {
            // The learner's guarantee, not the paper's.
            let says = "every estimate within its bounds, always";
            return vec![guarantee((VerificationResult::COVERAGE, says, lemma1))];
        };
        let counts = "no action chosen too often";
        let bound = bound.map(|bound| match bound {
            b if b < 1e15 => format!("regret at most {b:.1}"),
            b => format!("regret at most {b:.1e}"),
        });
        let all = [
            ("Lemma 1", "every mean within its width, always", lemma1),
            ("Lemma 2, printed", counts, lemma2.printed),
            ("Lemma 2, derived", counts, lemma2.derived),
            ("Lemma 2, tight", counts, lemma2.tight),
            ("Corollary 1", "no choice worse by two widths", corollary1),
            ("Theorem 1, printed", &bound.printed, theorem1.printed),
            ("Theorem 1, derived", &bound.derived, theorem1.derived),
            ("Theorem 1, tight", &bound.tight, theorem1.tight),
        ];
        all.map(guarantee).into()
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
        let played = AtomicU64::new(0);
        let total = self.episodes.saturating_mul(self.runs);
        let mut sum = Block {
            max_regret: f64::NEG_INFINITY,
            ..Block::default()
        };
        let mut reported = Instant::now();
        let pool = Pool {
            threads: control.threads,
            runs: 0..self.runs,
            episodes: self.episodes,
            stop: control.stop,
        };
        pool.run(
            || {
                Ok(VerificationWorker {
                    verification: self,
                    table: &table,
                    played: &played,
                    environment: environment.clone(),
                    learner: WidthRecorder::new(self.learner.build(self.problem.spec(), None)?),
                    chosen: vec![0; table.triplets.len()],
                })
            },
            &mut |block| {
                if let Some(block) = block {
                    sum.merge(&block);
                }
                if reported.elapsed() >= TICK {
                    reported = Instant::now();
                    let done = played.load(Ordering::Relaxed);
                    (control.watch)(Progress { done, total }, None);
                }
            },
        )?;
        if sum.runs < self.runs {
            return Ok(None);
        }
        let most = sum.lemma1_violations.iter().max_by_key(|(triplet, runs)| {
            // The first of the most frequent, independent of the order of the blocks.
            (**runs, std::cmp::Reverse(**triplet))
        });
        let spec = self.problem.spec();
        let is_theorem2 = delta.get() == 1.0 / self.episodes as f64;
        Ok(Some(VerificationResult {
            delta,
            runs: sum.runs,
            worst: most.map(|(&triplet, &runs)| {
                let (t, x, action) = table.triplet_at(&environment, spec, triplet);
                (t, x, action, runs)
            }),
            violations: sum.violations,
            regret: (sum.regret.mean(), sum.regret.stderr()),
            max_regret: sum.max_regret,
            theorem1: table.theorem1,
            covered: uncovered(&gaps).is_empty(),
            theorem2: premises
                .filter(|_| is_theorem2)
                .map(|premises| theorem2(&premises, self.episodes)),
        }))
    }
}
