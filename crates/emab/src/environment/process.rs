//! The stepping core of all environments: what one action in one pair reveals, and where it leads.

use crate::model::{Noise, Problem};
use crate::oracle::{Pair, Pairs};
use crate::rng::{Block, Draws, Role, Stream};

/// The random numbers of one step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepDraw {
    pub(super) reward: f64,
    pub(super) cost: f64,
    pub(super) feedback: f64,
}

impl StepDraw {
    /// The draw at a position of a block.
    #[inline]
    pub(super) fn at(block: &Block, i: usize) -> StepDraw {
        StepDraw {
            reward: block.reward[i],
            cost: block.cost[i],
            feedback: block.feedback[i],
        }
    }
}

/// The random streams of one run: the starts of its episodes, the draws of its steps, and those of dropout and overrides.
#[derive(Clone, Debug)]
pub(super) struct RunStreams {
    starts: Stream,
    pub(super) steps: Draws,
    pub(super) conditions: Stream,
}

impl RunStreams {
    /// The streams of seed 0 and run 0.
    pub(super) fn new(process: &Process) -> RunStreams {
        RunStreams {
            starts: Stream::new(0, 0, Role::Start),
            steps: Draws::new(process.reward_noise, process.cost_noise),
            conditions: Stream::new(0, 0, Role::Conditions),
        }
    }

    pub(super) fn restart(&mut self, seed: u64, run: u64) {
        self.starts = Stream::new(seed, run, Role::Start);
        self.steps.restart(seed, run);
        self.conditions = Stream::new(seed, run, Role::Conditions);
    }

    /// The start of the next episode. It depends on the number of the episode in the run and on nothing else.
    #[inline]
    pub(super) fn start(&mut self, pairs: &Pairs) -> Pair {
        start_in(pairs, &mut self.starts)
    }
}

/// The start of an episode; one draw where there are several.
#[inline]
pub(super) fn start_in(pairs: &Pairs, stream: &mut Stream) -> Pair {
    match pairs.starts().len() {
        1 => Pair::default(),
        _ => pairs.draw_start(stream.uniform()),
    }
}

/// What a continuation action leads to.
pub(super) struct Transition {
    pub(super) feedback: usize,
    pub(super) next: Pair,
    pub(super) expected_cost: f64,
    pub(super) cost: f64,
    pub(super) dropout_draw: f64,
    /// Whether the episode ends in `next` without a choice.
    pub(super) dropped_out: bool,
}

/// The part of a problem that every step reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    cost_noise: Noise,
    reward_noise: Noise,
    may_drop_out: bool,
}

impl Process {
    pub(super) fn new(problem: &Problem) -> Process {
        Process {
            cost_noise: problem.model().cost_noise,
            reward_noise: problem.model().reward_noise,
            may_drop_out: !problem.dropout().is_none(),
        }
    }

    /// The observed terminal reward of a pair.
    #[inline]
    pub(super) fn reward(&self, pairs: &Pairs, pair: Pair, draw: f64) -> f64 {
        self.reward_noise.observe(pairs.reward(pair), draw)
    }

    /// The draw that decides whether the episode ends after a step; none is taken where no episode drops out.
    #[inline]
    pub(super) fn dropout_draw(&self, stream: &mut Stream) -> f64 {
        match self.may_drop_out {
            true => stream.uniform(),
            false => 1.0,
        }
    }

    /// What action `a` leads to in an expanded pair; none where it is not allowed.
    #[inline]
    pub(super) fn advance(
        &self,
        pairs: &Pairs,
        pair: Pair,
        a: usize,
        draw: StepDraw,
        conditions: &mut Stream,
    ) -> Option<Transition> {
        let (feedback, next, expected_cost) = pairs.draw(pair, a, draw.feedback)?;
        let dropout_draw = self.dropout_draw(conditions);
        Some(Transition {
            feedback,
            next,
            expected_cost,
            cost: self.cost_noise.observe(expected_cost, draw.cost),
            dropout_draw,
            dropped_out: dropout_draw < pairs.dropout(pair, a, feedback),
        })
    }
}
