//! A learner on a card: which kernel plays it, and the tables that it reads.

use std::collections::HashMap;
use std::sync::Arc;

use emab::learners::{
    BuiltLearner, FeedBalModel, FeedBalParameters, FeedbackTerms, GaussianBeliefs, LearnerConfig,
    LearnerError, Policy, Ties, Ucb1,
};
use emab::rng::ziggurat;
use emab::{Action, Learner, Problem};

use super::card::{Card, GpuError, Kernel, Memory};
use super::job::Job;
use super::problem::{Entries, NO_ENTRY, rows};
use crate::engine::tables::{Tables, WORDS};

/// The most episodes of a run: tables by episode or count have about that many entries.
pub(crate) const MOST_EPISODES: u64 = 1 << 24;

/// Groups of steps between two reads of the flag that stops a launch, a power of 2; one if a step compares many values and so takes long.
const HALT_INTERVAL: u64 = 64;
const MANY: usize = 1000;

/// A learner that cards play.
pub(crate) enum CardLearner {
    FeedBal(FeedBalParameters),
    FeedBalBernstein(Box<FeedBalModel>),
    Policy(Box<Policy>),
    Random,
    SequenceUcb(Box<Ucb1>),
    Thompson(GaussianBeliefs),
}

impl CardLearner {
    /// The learner, or why cards do not play it.
    pub(crate) fn of(
        config: &LearnerConfig,
        problem: &Arc<Problem>,
    ) -> Result<Result<CardLearner, &'static str>, LearnerError> {
        Ok(match config.build_typed(problem.spec(), Some(problem))? {
            BuiltLearner::FeedBal(learner) => Ok(CardLearner::FeedBal(*learner.parameters())),
            BuiltLearner::FeedBalBernstein(learner) => Ok(CardLearner::FeedBalBernstein(learner)),
            BuiltLearner::Policy(policy) => Ok(CardLearner::Policy(Box::new(policy))),
            BuiltLearner::Random(_) => Ok(CardLearner::Random),
            BuiltLearner::Ucb1(learner) => Ok(CardLearner::SequenceUcb(learner)),
            BuiltLearner::Thompson(learner) => Ok(CardLearner::Thompson(learner.beliefs())),
            BuiltLearner::Other(_) => Err("there is no kernel for it"),
        })
    }

    /// Whether it keeps sums of observations in its entries.
    pub(crate) fn has_sums(&self) -> bool {
        use CardLearner::{FeedBal, FeedBalBernstein, Thompson};
        matches!(self, FeedBal(_) | FeedBalBernstein(_) | Thompson(_))
    }

    /// Whether it reads entries of rows in which nothing is decided.
    pub(crate) fn needs_all_rows(&self) -> bool {
        matches!(self, CardLearner::FeedBalBernstein(_))
    }

    /// Its arms, which have a sum and a count each.
    pub(crate) fn arms(&self) -> usize {
        match self {
            CardLearner::SequenceUcb(learner) => learner.arms(),
            _ => 0,
        }
    }

    /// The most values that it compares for one choice.
    fn comparisons(&self, tables: &Tables) -> usize {
        match self {
            CardLearner::FeedBalBernstein(_) => tables.actions * tables.feedbacks,
            CardLearner::SequenceUcb(learner) => learner.arms(),
            _ => tables.actions,
        }
    }

    /// The kernel with tables of any size in any memory.
    pub(crate) fn kernel(&self) -> Kernel {
        match self {
            CardLearner::FeedBal(_) => Kernel::FeedBal,
            CardLearner::FeedBalBernstein(_) => Kernel::FeedBalBernstein,
            CardLearner::Policy(_) => Kernel::Policy,
            CardLearner::Random => Kernel::Random,
            CardLearner::SequenceUcb(_) => Kernel::SequenceUcb,
            CardLearner::Thompson(_) => Kernel::Thompson,
        }
    }
}

/// The tables of a learner on a card.
pub(crate) struct LearnerTables<'c> {
    #[expect(dead_code, reason = "owns the memory that `job` refers to")]
    memory: Vec<Memory<'c>>,
    pub(crate) job: Job,
    /// Transitions whose counts the learner keeps.
    pub(crate) transitions: usize,
}

impl<'c> LearnerTables<'c> {
    /// Copies them to a card, and adds them to a job.
    pub(crate) fn new(
        card: &'c dyn Card,
        learner: &mut CardLearner,
        problem: &Problem,
        (tables, entries): (&Tables, &Entries),
        episodes: u64,
        mut job: Job,
    ) -> Result<LearnerTables<'c>, GpuError> {
        let mut memory = Vec::new();
        let mut copy = |copied: Memory<'c>| {
            let address = copied.address;
            memory.push(copied);
            address
        };
        job.halt_mask = match learner.comparisons(tables) > MANY {
            true => 0,
            false => HALT_INTERVAL - 1,
        };
        let mut transitions = 0;
        // A finished run continues to the end of its group of steps.
        let counts = episodes + 16;
        match learner {
            CardLearner::FeedBal(parameters) => {
                let (action, stop) = parameters.index_tables(problem.spec());
                let values = |table: emab::width::IndexTable| -> Vec<f64> {
                    (0..counts).flat_map(|n| table.compute(n)).collect()
                };
                job.action_index = copy(Memory::of(card, &values(action))?);
                job.stop_index = copy(Memory::of(card, &values(stop))?);
                job.ties_random = u32::from(parameters.ties == Ties::Random);
            }
            CardLearner::FeedBalBernstein(learner) => {
                let Transitions { at, to, most } = Transitions::new(learner, tables, entries);
                transitions = to.len();
                let widths: Vec<[f64; 3]> = (0..counts).map(|n| learner.noise_widths(n)).collect();
                let reward: Vec<f64> = widths.iter().map(|[reward, ..]| *reward).collect();
                let of_action = |&[_, cost, gain]: &[f64; 3]| [cost, gain];
                let action: Vec<f64> = widths.iter().flat_map(of_action).collect();
                let n_log_n: Vec<f64> = (0..counts).map(FeedBalModel::n_log_n).collect();
                let halves = 0..2 * counts + most as u64;
                let log_gamma: Vec<f64> = halves.map(FeedBalModel::log_gamma_of_half).collect();
                job.transition_at = copy(Memory::of(card, &at)?);
                job.transition_to = copy(Memory::of(card, &to)?);
                job.reward_width = copy(Memory::of(card, &reward)?);
                job.action_width = copy(Memory::of(card, &action)?);
                job.n_log_n = copy(Memory::of(card, &n_log_n)?);
                job.log_gamma = copy(Memory::of(card, &log_gamma)?);
                let FeedbackTerms { log, max_spread } = learner.feedback_terms();
                (job.log_bounds, job.max_spread) = (log, max_spread);
            }
            CardLearner::Policy(policy) => {
                let chosen: Vec<u32> = rows(tables)
                    .map(|row| {
                        let (t, x) = tables.step_and_state(row + WORDS * tables.actions);
                        match policy.choose(t, x) {
                            Action::Continue(a) if tables.allows(row, a) => a as u32,
                            _ => tables.actions as u32,
                        }
                    })
                    .collect();
                job.policy = copy(Memory::of(card, &chosen)?);
            }
            CardLearner::Random => {}
            CardLearner::SequenceUcb(learner) => {
                let (mut plans, mut plan_at) = (Vec::new(), Vec::new());
                for arm in 0..learner.arms() {
                    plan_at.push(plans.len() as u32);
                    let (prefixes, actions) = learner.sequence(arm);
                    plans.extend(prefixes.into_iter().chain(actions).map(|n| n as u32));
                }
                plan_at.push(plans.len() as u32);
                let radius: Vec<f64> = (0..counts).map(Ucb1::radius_after).collect();
                let by_count: Vec<f64> = (0..counts).flat_map(Ucb1::reciprocals).collect();
                job.plans = copy(Memory::of(card, &plans)?);
                job.plan_at = copy(Memory::of(card, &plan_at)?);
                job.radius = copy(Memory::of(card, &radius)?);
                job.by_count = copy(Memory::of(card, &by_count)?);
                job.virtual_updates = u32::from(learner.has_virtual_updates());
                job.arms = learner.arms() as u32;
            }
            CardLearner::Thompson(beliefs) => {
                let (edges, densities) = ziggurat();
                job.ziggurat = copy(Memory::of(card, &[edges, densities].concat())?);
                job.prior_mean = beliefs.prior_mean;
                job.prior_variance = beliefs.prior_variance;
                job.noise_action = beliefs.noise_action;
                job.noise_stop = beliefs.noise_stop;
            }
        }
        Ok(LearnerTables {
            memory,
            job,
            transitions,
        })
    }
}

/// The rows that can follow each action, see `kernel/job.h`. All rows have entries.
struct Transitions {
    at: Vec<u32>,
    to: Vec<u32>,
    /// The most transitions of an action.
    most: usize,
}

impl Transitions {
    fn new(learner: &FeedBalModel, tables: &Tables, entries: &Entries) -> Transitions {
        let pair = |row: usize| tables.step_and_state(row + WORDS * tables.actions);
        let stops = rows(tables).enumerate().map(|(number, row)| {
            let stop = entries.of_row(number) + tables.actions as u32;
            (pair(row), stop)
        });
        let stops: HashMap<(usize, usize), u32> = stops.collect();
        let mut transitions = Transitions {
            at: Vec::new(),
            to: Vec::new(),
            most: 0,
        };
        for row in rows(tables) {
            let (t, x) = pair(row);
            // After those of the actions, `stop` has none.
            for a in 0..=tables.actions {
                transitions.at.push(transitions.to.len() as u32);
                let next = learner.next_pairs(t, x, a);
                transitions.most = transitions.most.max(next.len());
                let stop = |pair| stops.get(pair).copied().unwrap_or(NO_ENTRY);
                transitions.to.extend(next.iter().map(stop));
            }
        }
        transitions.at.push(transitions.to.len() as u32);
        transitions
    }
}
