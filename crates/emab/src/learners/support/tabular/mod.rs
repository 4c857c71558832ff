//! Shared code of learners for Markov decision processes: the reachable part of the specification ([`TransitionGraph`]),
//! observations ([`Counts`]), backward induction ([`Plan`]), posteriors ([`Normal`]) and occupancy measures.
//!
//! The translation of Section 6 of the paper: a state of the process is a step-state pair, `stop` leads to the end and
//! pays the terminal reward, and a continuation action pays minus its cost. The feedback distribution, costs and rewards
//! are unknown to the learner.

mod counts;
mod l1_ball;
mod occupancy;
mod parameters;
mod plan;
mod posterior;
#[cfg(test)]
pub(crate) mod testing;
mod transition_graph;

pub(crate) use counts::{Counts, Sums, Tabular};
pub(crate) use l1_ball::max_over_l1_ball;
pub(crate) use occupancy::OccupancyGraph;
pub(crate) use parameters::{DELTA, LEAST, MOST, REVEAL, SCALE, SIGMA2, TabularParameters};
pub(crate) use plan::Plan;
pub(crate) use posterior::{Normal, PRIOR_SD, Priors, prior_sd};
pub(crate) use transition_graph::TransitionGraph;
