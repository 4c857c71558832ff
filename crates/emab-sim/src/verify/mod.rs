//! Whether a learner keeps what the paper promises: in how many runs each promise was broken.
//!
//! - Lemma 1: some sample mean was further from its gain than its confidence number, for any triplet at any time.
//! - Lemma 2: some action was chosen more often than its count allows.
//! - Corollary 1: some action was chosen that fell short of the best by more than twice its confidence number.
//! - Theorem 1: the regret, as the sum of `V - Q`, was above its bound at some time.
//!
//! A learner whose widths are not of the paper's form promises the first alone: that its estimates are within their
//! widths, all of them, always.

mod triplets;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::results::Guarantee;
use emab::environment::RegretEstimator;
use emab::learners::LearnerConfig;
use emab::oracle::{Gaps, OracleError};
use emab::theory::{Bound, Premises, theorem2, uncovered};
use emab::{Action, Delta, Environment, Problem};

use self::triplets::Truth;
use self::worker::{Auditor, Block, Watched};
use crate::engine::pool::{Pool, TICK};
use crate::error::SimError;
use crate::experiment::{Control, Progress};

/// What to verify.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use emab::{Kept, learners::LearnerConfig};
/// use emab_problem::ProblemFile;
/// use emab_sim::{Control, Verification};
///
/// let file = ProblemFile::builtin("feedback-gap").ok_or("it comes with the crate")??;
/// let verification = Verification {
///     problem: file.problem()?,
///     learner: LearnerConfig::parse("feedbal", file.learning())?, // the paper's width
///     episodes: 200,
///     runs: 20,
///     seed: 1,
/// };
/// let mut control = Control { threads: 1, stop: &AtomicBool::new(false), watch: &mut |_, _| {} };
/// let verified = verification.run(&mut control)?.ok_or("nobody stopped it")?;
/// assert_eq!(verified.promises()[0].verdict, Kept::Broken); // Lemma 1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Verification {
    /// The problem.
    pub problem: Arc<Problem>,
    /// The learner: one that promises something.
    pub learner: LearnerConfig,
    /// Episodes a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
}

/// In how many runs each promise was broken.
#[derive(Clone, Debug, Default)]
pub struct Broken {
    /// Lemma 1.
    pub lemma1: u64,
    /// Lemma 2 in its three readings.
    pub lemma2: Readings,
    /// Corollary 1.
    pub corollary1: u64,
    /// Theorem 1 in its three readings.
    pub theorem1: Readings,
}

/// Counts for the three readings of a [`Bound`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// As printed.
    pub printed: u64,
    /// As derived.
    pub derived: u64,
    /// As tight as the argument gives it.
    pub tight: u64,
}

impl Readings {
    fn add(&mut self, other: Readings) {
        self.printed += other.printed;
        self.derived += other.derived;
        self.tight += other.tight;
    }
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The chance with which each promise may be broken.
    pub delta: Delta,
    /// Runs that were looked at.
    pub runs: u64,
    /// In how many of them each promise was broken.
    pub broken: Broken,
    /// The triplet where Lemma 1 was broken in the most runs, and in how many.
    pub worst: Option<(usize, usize, Action, u64)>,
    /// The regret at the end: mean and standard error.
    pub regret: (f64, f64),
    /// The largest regret at the end of a run.
    pub most_regret: f64,
    /// Theorem 1, if it is about this learner.
    pub theorem1: Option<Bound>,
    /// Whether the theorem covers the problem: no choice that it does not count loses anything.
    pub covered: bool,
    /// Theorem 2, if the learner's `delta` is one over the episodes.
    pub theorem2: Option<Bound>,
}

impl Verified {
    /// What the promise of a learner is called whose bounds are not of the paper's form.
    pub const COVERAGE: &str = "Coverage";

    /// The promises, one by one.
    pub fn promises(&self) -> Vec<Guarantee> {
        let delta = self.delta.get();
        let promise = |statement: &str, says: &str, broken| {
            Guarantee::new(statement, says, delta, broken, self.runs)
        };
        let Some(bound1) = self.theorem1 else {
            // Its own promise, not the paper's.
            let says = "every estimate within its bounds, always";
            return vec![promise(Verified::COVERAGE, says, self.broken.lemma1)];
        };
        let lemma1 = promise(
            "Lemma 1",
            "every mean within its width, always",
            self.broken.lemma1,
        );
        let counts = "no action chosen too often";
        let bound = |bound: f64| match bound {
            b if b < 1e15 => format!("regret at most {b:.1}"),
            b => format!("regret at most {b:.1e}"),
        };
        let (lemma2, theorem1) = (self.broken.lemma2, self.broken.theorem1);
        vec![
            lemma1,
            promise("Lemma 2, printed", counts, lemma2.printed),
            promise("Lemma 2, derived", counts, lemma2.derived),
            promise("Lemma 2, tight", counts, lemma2.tight),
            promise(
                "Corollary 1",
                "no choice worse by two widths",
                self.broken.corollary1,
            ),
            promise(
                "Theorem 1, printed",
                &bound(bound1.printed),
                theorem1.printed,
            ),
            promise(
                "Theorem 1, derived",
                &bound(bound1.derived),
                theorem1.derived,
            ),
            promise("Theorem 1, tight", &bound(bound1.tight), theorem1.tight),
        ]
    }
}

impl Verification {
    /// Plays all runs; none if it was stopped on the way.
    pub fn run(&self, control: &mut Control<'_>) -> Result<Option<Verified>, SimError> {
        let delta = self.learner.guaranteed_delta()?;
        // The rest is about FeedBAL with a width of the paper's form.
        let told = self.learner.feedbal_parameters().ok();
        let environment = Environment::new(self.problem.clone())?;
        if environment.estimator() != RegretEstimator::Exact {
            return Err(SimError::Oracle(OracleError::TooMany {
                limit: Environment::EXACT_PAIRS,
                what: "a verification",
            }));
        }
        self.learner.build(self.problem.spec(), None)?;
        let bias = told.map_or(0.0, |told| told.stop_bias);
        let gaps = Gaps::new(self.problem.clone(), bias)?;
        let premises = told.map(|told| Premises {
            gaps: &gaps,
            coefficients: told.coefficients(),
        });
        let truth = Truth::new(&environment, &gaps, premises.as_ref(), delta.get());
        let played = AtomicU64::new(0);
        let total = self.episodes.saturating_mul(self.runs);
        let mut sum = Block {
            most_regret: f64::NEG_INFINITY,
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
                Ok(Auditor {
                    plan: self,
                    truth: &truth,
                    played: &played,
                    environment: environment.clone(),
                    learner: Watched::new(self.learner.build(self.problem.spec(), None)?),
                    chosen: vec![0; truth.cells.len()],
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
        let most = sum.where_broken.iter().max_by_key(|(cell, runs)| {
            // The first of the most frequent, whatever the order of the blocks was.
            (**runs, std::cmp::Reverse(**cell))
        });
        let spec = self.problem.spec();
        let is_theorem2 = delta.get() == 1.0 / self.episodes as f64;
        Ok(Some(Verified {
            delta,
            runs: sum.runs,
            worst: most.map(|(&cell, &runs)| {
                let (t, x, action) = truth.place(&environment, spec, cell);
                (t, x, action, runs)
            }),
            broken: sum.broken,
            regret: (sum.regret.mean(), sum.regret.stderr()),
            most_regret: sum.most_regret,
            theorem1: truth.theorem1,
            covered: uncovered(&gaps).is_empty(),
            theorem2: premises
                .filter(|_| is_theorem2)
                .map(|premises| theorem2(&premises, self.episodes)),
        }))
    }
}
