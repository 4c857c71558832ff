//! One thread of a verification: plays runs and holds each against the truth.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use emab::stats::Moments;
use emab::theory::{Bound, corollary1};
use emab::{Action, Environment, Episode, Learner, Role, Stream};

use super::triplets::{Cell, Truth, column};
use super::{Broken, Readings, Verification};
use crate::engine::pool::{Queue, Worker};
use crate::error::SimError;

/// Runs take part in a block's sums only when they are whole.
#[derive(Default)]
pub(super) struct Block {
    pub(super) runs: u64,
    pub(super) broken: Broken,
    pub(super) regret: Moments,
    pub(super) most_regret: f64,
    /// By cell: runs in which Lemma 1 was broken there.
    pub(super) where_broken: BTreeMap<usize, u64>,
}

impl Block {
    pub(super) fn merge(&mut self, other: &Block) {
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

/// A learner whose confidence numbers are written down as it chooses.
pub(super) struct Watched {
    learner: Box<dyn Learner + Send>,
    /// One a step of the episode.
    widths: Vec<f64>,
}

impl Watched {
    pub(super) fn new(learner: Box<dyn Learner + Send>) -> Watched {
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
pub(super) struct Auditor<'a> {
    pub(super) plan: &'a Verification,
    pub(super) truth: &'a Truth,
    pub(super) played: &'a AtomicU64,
    pub(super) environment: Environment,
    pub(super) learner: Watched,
    /// By cell: how often it was chosen in this run.
    pub(super) chosen: Vec<u64>,
}

/// Episodes between two looks at the stop flag.
const LOOK: u64 = 1024;

impl Worker for Auditor<'_> {
    type Block = Block;

    fn work(
        &mut self,
        queue: &Queue<'_>,
        send: &mut dyn FnMut(Block),
    ) -> Result<(), (u64, SimError)> {
        queue.each_block(send, |runs, halted| self.block(runs, halted))
    }
}

impl Auditor<'_> {
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
        if let Some(theorem1) = self.truth.theorem1 {
            let above = |bound: f64| u64::from(most_regret > bound);
            block.broken.theorem1.add(Readings {
                printed: above(theorem1.printed),
                derived: above(theorem1.derived),
                tight: above(theorem1.tight),
            });
        }
        Ok(true)
    }

    /// Looks at the episode that was played last: whether Corollary 1 was broken in it, and where Lemma 1 is after it.
    fn audit(&mut self, broken_at: &mut Vec<usize>) -> bool {
        let columns = self.truth.columns;
        let (episode, pairs) = (self.environment.episode(), self.environment.pairs());
        let mut too_bold = false;
        for (i, &pair) in self.environment.path().iter().enumerate() {
            let action = episode
                .actions
                .get(i)
                .map_or(Action::Stop, |&a| Action::Continue(a));
            let cell = pair.index() * columns + column(action, columns);
            self.chosen[cell] += 1;
            let truth = self.truth.cells[cell];
            let conf = self.learner.widths.get(i).copied().unwrap_or(f64::NAN);
            too_bold |= truth.delta > corollary1(conf) * (1.0 + 1e-9);
            // Only what was observed has moved: the reward of the pair, the gain of the action if it went on, and, where
            // rewards are pooled, the gain of whatever may lead here.
            let own = [
                Some((pair, Action::Stop)),
                (action != Action::Stop).then_some((pair, action)),
            ];
            let led_by = self.truth.led_by[pair.index()].iter();
            let pooled = led_by.map(|&(from, a)| (from, Action::Continue(a)));
            for (pair, action) in own.into_iter().flatten().chain(pooled) {
                let cell = pair.index() * columns + column(action, columns);
                let (t, x) = (pairs.step(pair), pairs.state(pair));
                let Some(estimate) = self.learner.learner.estimate(t, x, action) else {
                    continue;
                };
                let gain = self.truth.cells[cell].gain;
                let rounding = 1e-9 * (gain.abs() + estimate.mean.abs());
                let away = (estimate.mean - gain).abs();
                // An upper bound may be tighter than the width, but FeedBAL's, which may have a bias in it.
                let above = self.truth.theorem1.is_none() && gain > estimate.index + rounding;
                if (above || away > estimate.width + rounding) && !broken_at.contains(&cell) {
                    broken_at.push(cell);
                }
            }
        }
        too_bold
    }
}
