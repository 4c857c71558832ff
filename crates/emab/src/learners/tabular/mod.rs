//! What the learners of Markov decision processes share: the process as far as the specification tells it
//! ([`Chart`]), what was seen in it ([`Evidence`]), a policy for it by backward induction ([`Plan`]), and draws from
//! what is believed of it ([`Normal`], [`dirichlet`]).
//!
//! The translation of Section 6 of the paper: a state of the process is a step-state pair, `stop` leads to the end and
//! pays the terminal reward, and a continuation action pays minus its cost. What a learner does not know is the law
//! of the feedback, the costs and the rewards.

mod ball;
mod chart;
mod evidence;
mod flow;
mod plan;
mod posterior;
#[cfg(test)]
pub(crate) mod testing;
mod told;

pub(crate) use ball::best_near;
pub(crate) use chart::Chart;
pub(crate) use evidence::{Evidence, Sums};
pub(crate) use flow::Flow;
pub(crate) use plan::Plan;
pub(crate) use posterior::{Normal, PRIOR_SD, dirichlet, prior_sd};
pub(crate) use told::{DELTA, LEAST, MOST, REVEAL, SCALE, SIGMA2, Told};
