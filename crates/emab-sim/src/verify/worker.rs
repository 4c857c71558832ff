//! A worker thread of a verification: plays runs and checks each guarantee.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use emab::learners::Random;
use emab::oracle::{Pair, Pairs};
use emab::stats::Moments;
use emab::theory::{Bound, corollary1};
use emab::{Action, Environment, Episode, Learner, Role, Spec, Stream};

use super::triplets::{TripletTable, TripletValues, column};
use super::{PerStatement, Verification};
use crate::engine::pool::{Queue, Worker};
use crate::error::SimError;

/// The sums of a block of complete runs.
#[derive(Default)]
pub(super) struct Block {
    pub(super) runs: u64,
    pub(super) violations: PerStatement,
    /// Runs that violate Lemma 1 with half of each width.
    pub(super) half_widths_violated: u64,
    pub(super) regret: Moments,
    pub(super) max_regret: f64,
    /// By triplet: runs that violate Lemma 1 there.
    pub(super) lemma1_violations: BTreeMap<usize, u64>,
}

impl Block {
    pub(super) fn merge(&mut self, other: &Block) {
        self.runs += other.runs;
        self.violations.add(other.violations);
        self.half_widths_violated += other.half_widths_violated;
        self.regret.merge(&other.regret);
        self.max_regret = self.max_regret.max(other.max_regret);
        for (triplet, runs) in &other.lemma1_violations {
            *self.lemma1_violations.entry(*triplet).or_default() += runs;
        }
    }
}

impl PerStatement {
    fn add(&mut self, other: PerStatement) {
        self.lemma1 += other.lemma1;
        self.lemma2 = self.lemma2 + other.lemma2;
        self.corollary1 += other.corollary1;
        self.theorem1 = self.theorem1 + other.theorem1;
    }
}

/// Where choices come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choices {
    OfLearner,
    /// The control: the learner observes choices that are drawn at random.
    AtRandom,
}

/// A learner that records the confidence number of each choice.
pub(super) struct WidthRecorder {
    learner: Box<dyn Learner + Send>,
    random: Option<Random>,
    /// One per step of the episode.
    widths: Vec<f64>,
}

impl WidthRecorder {
    pub(super) fn new(
        learner: Box<dyn Learner + Send>,
        choices: Choices,
        spec: &Arc<Spec>,
    ) -> WidthRecorder {
        WidthRecorder {
            learner,
            random: (choices == Choices::AtRandom).then(|| Random::new(spec.clone())),
            widths: Vec::new(),
        }
    }
}

impl Learner for WidthRecorder {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let action = match &mut self.random {
            Some(random) => random.choose(t, x),
            None => self.learner.choose(t, x),
        };
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
        if let Some(random) = &mut self.random {
            random.reset(stream.clone());
        }
        self.learner.reset(stream);
    }
}

/// A worker thread of a verification.
pub(super) struct VerificationWorker<'a> {
    pub(super) verification: &'a Verification,
    pub(super) table: &'a TripletTable,
    pub(super) played: &'a AtomicU64,
    pub(super) environment: Environment,
    pub(super) learner: WidthRecorder,
    /// By triplet: how often it was chosen in this run.
    pub(super) chosen: Vec<u64>,
}

/// Episodes between two checks of the stop flag.
const STOP_CHECK: u64 = 1024;

impl Worker for VerificationWorker<'_> {
    type Block = Block;

    fn work(
        &mut self,
        queue: &Queue<'_>,
        send: &mut dyn FnMut(Block),
    ) -> Result<(), (u64, SimError)> {
        queue.each_block(send, |runs| self.block(runs, queue))
    }
}

impl VerificationWorker<'_> {
    fn block(
        &mut self,
        runs: Range<u64>,
        queue: &Queue<'_>,
    ) -> Result<Option<Block>, (u64, SimError)> {
        let mut block = Block {
            max_regret: f64::NEG_INFINITY,
            ..Block::default()
        };
        for run in runs {
            let ended = self.run(run, &mut block, queue);
            if !ended.map_err(|error| (run, error))? {
                return Ok(None);
            }
        }
        Ok(Some(block))
    }

    /// Plays one run; false if it was halted before its end.
    fn run(&mut self, number: u64, block: &mut Block, queue: &Queue<'_>) -> Result<bool, SimError> {
        let verification = self.verification;
        self.environment.restart(verification.seed, number);
        self.learner
            .reset(Stream::new(verification.seed, number, Role::Learner));
        self.chosen.fill(0);
        let mut coverage = Coverage::default();
        let mut corollary1_violated = false;
        let (mut regret, mut max_regret) = (0.0, 0.0_f64);
        for episode in 1..=verification.episodes {
            let paid = self.environment.play(&mut self.learner);
            let label = verification.learner.label();
            let paid = paid.map_err(SimError::in_episode(label, number, episode))?;
            regret += paid.total();
            max_regret = max_regret.max(regret);
            corollary1_violated |= self.audit(&mut coverage);
            if episode % STOP_CHECK == 0 || episode == verification.episodes {
                self.audit_values(&mut coverage);
            }
            if episode % STOP_CHECK == 0 {
                self.played.fetch_add(STOP_CHECK, Ordering::Relaxed);
                if queue.halted() {
                    return Ok(false);
                }
            }
        }
        self.played
            .fetch_add(verification.episodes % STOP_CHECK, Ordering::Relaxed);
        block.runs += 1;
        block.regret.add(regret);
        block.max_regret = block.max_regret.max(regret);
        let too_often = |of: fn(&Bound) -> f64| {
            let too_often = |(triplet, &chosen): (&TripletValues, &u64)| {
                let most = triplet.counts.as_ref().map(of);
                most.is_some_and(|most| chosen as f64 > most)
            };
            u64::from(self.table.triplets.iter().zip(&self.chosen).any(too_often))
        };
        let above = |bound: f64| u64::from(max_regret > bound);
        block.half_widths_violated += u64::from(coverage.half_violated);
        block.violations.add(PerStatement {
            lemma1: u64::from(!coverage.violated_at.is_empty()),
            lemma2: Bound {
                printed: too_often(|bound| bound.printed),
                derived: too_often(|bound| bound.derived),
                tight: too_often(|bound| bound.tight),
            },
            corollary1: u64::from(corollary1_violated),
            theorem1: self
                .table
                .theorem1
                .map(|bound| bound.map(above))
                .unwrap_or_default(),
        });
        for triplet in coverage.violated_at {
            *block.lemma1_violations.entry(triplet).or_default() += 1;
        }
        Ok(true)
    }

    /// Checks the last episode: returns whether it violates Corollary 1, and adds the triplets that violate Lemma 1.
    fn audit(&mut self, coverage: &mut Coverage) -> bool {
        let columns = self.table.columns;
        let (episode, pairs) = (self.environment.episode(), self.environment.pairs());
        let mut corollary1_violated = false;
        for (i, &pair) in self.environment.path().iter().enumerate() {
            let taken = episode.actions.get(i);
            let action = taken.map_or(Action::Stop, |&a| Action::Continue(a));
            let triplet = pair.index() * columns + column(action, columns);
            self.chosen[triplet] += 1;
            let table = self.table.triplets[triplet];
            let conf = self.learner.widths.get(i).copied().unwrap_or(f64::NAN);
            corollary1_violated |= table.delta > corollary1(conf) * (1.0 + 1e-9);
            // Only observed estimates change: the reward of the pair, the gain of the action unless it stopped, and, where
            // rewards are pooled, the gain of each action that may lead here.
            let own = [
                Some((pair, Action::Stop)),
                (action != Action::Stop).then_some((pair, action)),
            ];
            let led_by = self.table.led_by[pair.index()].iter();
            let pooled = led_by.map(|&(from, a)| (from, Action::Continue(a)));
            for (pair, action) in own.into_iter().flatten().chain(pooled) {
                check(
                    self.table,
                    &mut self.learner,
                    pairs,
                    (pair, action),
                    coverage,
                );
            }
        }
        corollary1_violated
    }

    /// Checks all estimates of values: those of a pair change with the observations of everything that it may lead to.
    fn audit_values(&mut self, coverage: &mut Coverage) {
        let pairs = self.environment.pairs();
        for pair in pairs.iter().filter(|_| self.table.values) {
            for a in pairs.allowed(pair) {
                let at = (pair, Action::Continue(a));
                check(self.table, &mut self.learner, pairs, at, coverage);
            }
        }
    }
}

/// Which estimates of a run were not within their bounds.
#[derive(Default)]
struct Coverage {
    /// The triplets, each once.
    violated_at: Vec<usize>,
    /// Whether one was not within half of its bounds.
    half_violated: bool,
}

/// Adds a triplet whose true value is not within the bounds of its estimate.
fn check(
    table: &TripletTable,
    learner: &mut WidthRecorder,
    pairs: &Pairs,
    (pair, action): (Pair, Action),
    coverage: &mut Coverage,
) {
    let triplet = pair.index() * table.columns + column(action, table.columns);
    let (t, x) = (pairs.step(pair), pairs.state(pair));
    let Some(estimate) = learner.learner.estimate(t, x, action) else {
        return;
    };
    let value = table.triplets[triplet].estimated;
    let rounding = 1e-9 * (value.abs() + estimate.mean.abs());
    // An upper bound may be tighter than the width.
    let above = (
        value - estimate.mean - rounding,
        estimate.upper - estimate.mean,
    );
    let away = ((estimate.mean - value).abs() - rounding, estimate.width);
    let outside = |share: f64| above.0 > share * above.1 || away.0 > share * away.1;
    coverage.half_violated |= outside(0.5);
    if outside(1.0) && !coverage.violated_at.contains(&triplet) {
        coverage.violated_at.push(triplet);
    }
}
