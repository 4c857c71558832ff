//! Whether a learner keeps what the paper promises: in how many runs each promise was broken.
//!
//! - Lemma 1: some sample mean was further from its gain than its confidence number, for any triplet at any time.
//! - Lemma 2: some action was chosen more often than its count allows.
//! - Corollary 1: some action was chosen that fell short of the best by more than twice its confidence number.
//! - Theorem 1: the regret, as the sum of `V - Q`, was above its bound at some time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use emab::learners::{FeedBalParameters, LearnerConfig};
use emab::oracle::{Gaps, OracleError};
use emab::theory::{Bound, Premises, corollary1, theorem1, theorem2, uncovered};
use emab::{
    Action, Environment, Episode, Estimator, Learner, Moments, Problem, Promise, Role, Spec, Stream,
};

use crate::experiment::{Control, Progress, SimError};
use crate::pool::{Pool, TICK, Worker};

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
    /// What the learner was told.
    pub told: FeedBalParameters,
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
    /// Theorem 1.
    pub theorem1: Bound,
    /// Whether the theorem covers the problem: no choice that it does not count loses anything.
    pub covered: bool,
    /// Theorem 2, if the learner's `delta` is one over the episodes.
    pub theorem2: Option<Bound>,
}

impl Verified {
    /// The promises, one by one.
    pub fn promises(&self) -> Vec<Promise> {
        let delta = self.told.delta.get();
        let promise = |statement: &str, says: &str, broken| {
            Promise::new(statement, says, delta, broken, self.runs)
        };
        let counts = "no action chosen too often";
        let bound = |bound: f64| format!("regret at most {bound:.1}");
        let (lemma2, theorem1) = (self.broken.lemma2, self.broken.theorem1);
        vec![
            promise(
                "Lemma 1",
                "every mean within its width, always",
                self.broken.lemma1,
            ),
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
                &bound(self.theorem1.printed),
                theorem1.printed,
            ),
            promise(
                "Theorem 1, derived",
                &bound(self.theorem1.derived),
                theorem1.derived,
            ),
            promise(
                "Theorem 1, tight",
                &bound(self.theorem1.tight),
                theorem1.tight,
            ),
        ]
    }
}

/// Runs take part in a block's sums only when they are whole.
#[derive(Default)]
struct Block {
    runs: u64,
    broken: Broken,
    regret: Moments,
    most_regret: f64,
    /// By cell: runs in which Lemma 1 was broken there.
    where_broken: BTreeMap<usize, u64>,
}

impl Block {
    fn merge(&mut self, other: &Block) {
        self.runs += other.runs;
        self.broken.lemma1 += other.broken.lemma1;
        self.broken.lemma2.add(other.broken.lemma2);
        self.broken.corollary1 += other.broken.corollary1;
        self.broken.theorem1.add(other.broken.theorem1);
        self.regret.merge(&other.regret);
        self.most_regret = self.most_regret.max(other.most_regret);
        for (cell, runs) in &other.where_broken {
            *self.where_broken.entry(*cell).or_default() += runs;
        }
    }
}

impl Verification {
    /// Plays all runs; none if it was stopped on the way.
    pub fn run(&self, control: &mut Control<'_>) -> Result<Option<Verified>, SimError> {
        let told = self.learner.feedbal()?;
        let environment = Environment::new(self.problem.clone())?;
        if environment.estimator() != Estimator::Exact {
            return Err(SimError::Oracle(OracleError::TooMany {
                limit: Environment::EXACT_PAIRS,
                what: "a verification",
            }));
        }
        self.learner.build(self.problem.spec(), None)?;
        let gaps = Gaps::new(self.problem.clone(), told.stop_bias)?;
        let premises = Premises {
            gaps: &gaps,
            coefficients: told.coefficients(),
        };
        let delta = told.delta.get();
        let truth = Truth::new(&environment, &premises, delta);
        let played = AtomicU64::new(0);
        let total = self.episodes.saturating_mul(self.runs);
        let mut sum = Block {
            most_regret: f64::NEG_INFINITY,
            ..Block::default()
        };
        let mut reported = Instant::now();
        let pool = Pool {
            threads: control.threads,
            runs: self.runs,
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
        let is_theorem2 = delta == 1.0 / self.episodes as f64;
        Ok(Some(Verified {
            told,
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
            theorem2: is_theorem2.then(|| theorem2(&premises, self.episodes)),
        }))
    }
}

/// What is true of each triplet, by pair and action, `stop` last.
struct Truth {
    columns: usize,
    cells: Vec<Cell>,
    theorem1: Bound,
}

#[derive(Clone, Copy, Default)]
struct Cell {
    gain: f64,
    delta: f64,
    /// None for the best actions, which may be chosen for ever.
    counts: Option<Bound>,
}

impl Truth {
    fn new(environment: &Environment, premises: &Premises<'_>, delta: f64) -> Truth {
        let pairs = environment.pairs();
        let columns = pairs.problem().spec().actions().len() + 1;
        let mut cells = vec![Cell::default(); pairs.len() * columns];
        for triplet in premises.gaps.triplets() {
            let Some(pair) = pairs.find(triplet.t, triplet.x) else {
                continue;
            };
            let column = column(triplet.action, columns);
            cells[pair.index() * columns + column] = Cell {
                gain: triplet.gain,
                delta: triplet.delta,
                counts: (triplet.delta > 0.0).then(|| premises.counts(triplet, delta)),
            };
        }
        Truth {
            columns,
            cells,
            theorem1: theorem1(premises, delta),
        }
    }

    fn place(&self, environment: &Environment, spec: &Spec, cell: usize) -> (usize, usize, Action) {
        let (row, column) = (cell / self.columns, cell % self.columns);
        let action = if column < spec.actions().len() {
            Action::Continue(column)
        } else {
            Action::Stop
        };
        let pairs = environment.pairs();
        let pair = pairs.iter().nth(row).unwrap_or(pairs.start());
        (pairs.step(pair), pairs.state(pair), action)
    }
}

fn column(action: Action, columns: usize) -> usize {
    match action {
        Action::Continue(a) => a,
        Action::Stop => columns - 1,
    }
}

/// A learner whose confidence numbers are written down as it chooses.
struct Watched {
    learner: Box<dyn Learner + Send>,
    /// One a step of the episode.
    widths: Vec<f64>,
}

impl Watched {
    fn new(learner: Box<dyn Learner + Send>) -> Watched {
        let widths = Vec::new();
        Watched { learner, widths }
    }
}

impl Learner for Watched {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let action = self.learner.choose(t, x);
        if t == 1 {
            self.widths.clear();
        }
        let estimate = self.learner.estimate(t, x, action);
        self.widths.push(estimate.map_or(f64::NAN, |e| e.width));
        action
    }

    fn learn(&mut self, episode: &Episode) {
        self.learner.learn(episode);
    }

    fn reset(&mut self, stream: Stream) {
        self.widths.clear();
        self.learner.reset(stream);
    }
}

/// One thread of a verification.
struct Auditor<'a> {
    plan: &'a Verification,
    truth: &'a Truth,
    played: &'a AtomicU64,
    environment: Environment,
    learner: Watched,
    /// By cell: how often it was chosen in this run.
    chosen: Vec<u64>,
}

/// Episodes between two looks at the stop flag.
const LOOK: u64 = 1024;

impl Worker for Auditor<'_> {
    type Block = Block;

    fn block(
        &mut self,
        runs: Range<u64>,
        halted: &dyn Fn() -> bool,
    ) -> Result<Option<Block>, (u64, SimError)> {
        let mut block = Block {
            most_regret: f64::NEG_INFINITY,
            ..Block::default()
        };
        for run in runs {
            match self.run(run, &mut block, halted) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => return Err((run, error)),
            }
        }
        Ok(Some(block))
    }
}

impl Auditor<'_> {
    fn run(
        &mut self,
        number: u64,
        block: &mut Block,
        halted: &dyn Fn() -> bool,
    ) -> Result<bool, SimError> {
        let plan = self.plan;
        self.environment.restart(plan.seed, number);
        self.learner
            .reset(Stream::new(plan.seed, number, Role::Learner));
        self.chosen.fill(0);
        let mut broken_at: Vec<usize> = Vec::new();
        let mut too_bold = false;
        let (mut regret, mut most_regret) = (0.0, 0.0_f64);
        for episode in 1..=plan.episodes {
            let paid = self.environment.play(&mut self.learner);
            let paid = paid.map_err(|error| SimError::Play {
                learner: plan.learner.label().into(),
                run: number,
                episode,
                error,
            })?;
            regret += paid.total();
            most_regret = most_regret.max(regret);
            too_bold |= self.audit(&mut broken_at);
            if episode % LOOK == 0 {
                self.played.fetch_add(LOOK, Ordering::Relaxed);
                if halted() {
                    return Ok(false);
                }
            }
        }
        self.played
            .fetch_add(plan.episodes % LOOK, Ordering::Relaxed);
        block.runs += 1;
        block.regret.add(regret);
        block.most_regret = block.most_regret.max(regret);
        block.broken.lemma1 += u64::from(!broken_at.is_empty());
        for cell in broken_at {
            *block.where_broken.entry(cell).or_default() += 1;
        }
        block.broken.corollary1 += u64::from(too_bold);
        let counts = |of: fn(&Bound) -> f64| {
            let too_often = |(cell, &chosen): (&Cell, &u64)| {
                let most = cell.counts.as_ref().map(of);
                most.is_some_and(|most| chosen as f64 > most)
            };
            u64::from(self.truth.cells.iter().zip(&self.chosen).any(too_often))
        };
        block.broken.lemma2.add(Readings {
            printed: counts(|bound| bound.printed),
            derived: counts(|bound| bound.derived),
            tight: counts(|bound| bound.tight),
        });
        let above = |bound: f64| u64::from(most_regret > bound);
        block.broken.theorem1.add(Readings {
            printed: above(self.truth.theorem1.printed),
            derived: above(self.truth.theorem1.derived),
            tight: above(self.truth.theorem1.tight),
        });
        Ok(true)
    }

    /// Looks at the episode that was played last: whether Corollary 1 was broken in it, and where Lemma 1 is after it.
    fn audit(&mut self, broken_at: &mut Vec<usize>) -> bool {
        let columns = self.truth.columns;
        let episode = self.environment.episode();
        let mut too_bold = false;
        for (i, &pair) in self.environment.path().iter().enumerate() {
            let (t, x) = (i + 1, episode.states[i]);
            let action = episode
                .actions
                .get(i)
                .map_or(Action::Stop, |&a| Action::Continue(a));
            let cell = pair.index() * columns + column(action, columns);
            self.chosen[cell] += 1;
            let truth = self.truth.cells[cell];
            let conf = self.learner.widths.get(i).copied().unwrap_or(f64::NAN);
            too_bold |= truth.delta > corollary1(conf) * (1.0 + 1e-9);
            // Only what was observed has moved: the reward of the pair, and the gain of the action if it went on.
            let moved = [
                Some(Action::Stop),
                (action != Action::Stop).then_some(action),
            ];
            for action in moved.into_iter().flatten() {
                let cell = pair.index() * columns + column(action, columns);
                let Some(estimate) = self.learner.learner.estimate(t, x, action) else {
                    continue;
                };
                let gain = self.truth.cells[cell].gain;
                let rounding = 1e-9 * (gain.abs() + estimate.mean.abs());
                let away = (estimate.mean - gain).abs();
                if away > estimate.width + rounding && !broken_at.contains(&cell) {
                    broken_at.push(cell);
                }
            }
        }
        too_bold
    }
}
