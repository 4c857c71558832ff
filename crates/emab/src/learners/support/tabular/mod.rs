//! What the learners of Markov decision processes share: the process as far as the specification tells it
//! ([`TransitionGraph`]), what was seen in it ([`Counts`]), a policy for it by backward induction ([`Plan`]), and draws from
//! what is believed of it ([`Normal`], [`dirichlet`]).
//!
//! The translation of Section 6 of the paper: a state of the process is a step-state pair, `stop` leads to the end and
//! pays the terminal reward, and a continuation action pays minus its cost. What a learner does not know is the law
//! of the feedback, the costs and the rewards.

mod counts;
mod l1_ball;
mod occupancy;
mod parameters;
mod plan;
mod posterior;
#[cfg(test)]
pub(crate) mod testing;
mod transition_graph;

pub(crate) use counts::{Counts, Sums};
pub(crate) use l1_ball::max_over_l1_ball;
pub(crate) use occupancy::OccupancyGraph;
pub(crate) use parameters::{DELTA, LEAST, MOST, REVEAL, SCALE, SIGMA2, TabularParameters};
pub(crate) use plan::Plan;
pub(crate) use posterior::{Normal, PRIOR_SD, dirichlet, prior_sd};
pub(crate) use transition_graph::TransitionGraph;
