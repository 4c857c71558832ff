//! Episodic multi-armed bandits: the model, FeedBAL, the oracle and the comparison algorithms of the paper
//! *Episodic Multi-armed Bandits* (Tekin, van der Schaar).
//!
//! A learner handles one episode after another. In each [`Episode`] it chooses actions step by step, observes feedback
//! and decides when to stop. The costs and the terminal rewards of all steps are revealed after the stop.
//!
//! - [`Spec`]: what a learner may read. [`Model`]: the distributions. [`Problem`]: both.
//! - [`Learner`]: the trait; [`learners`]: one file per algorithm, and a catalogue by name.
//! - [`Environment`], [`environment`]: play episodes and measure regret; [`conditions`]: delayed and lost outcomes,
//!   dropout, overrides and drift, played by [`ConditionedEnvironment`].
//! - [`oracle`]: the benchmark, the optimal policy, the best fixed sequence, the exact regret of a choice.
//! - [`Mdp`]: the same problem as a Markov decision process.
//! - [`theory`]: the paper's lemmas and theorems, evaluated on a problem.
//! - [`input`]: counts as people write them, and suggestions for misspelled names.
//! - [`conformance`]: properties that every problem and every learner must have, for tests.
//!
//! This crate has no clock, file system, thread or output. `emab-problem` reads problem files, `emab-sim` runs
//! experiments.

#![forbid(unsafe_code)]

pub mod conditions;
pub mod conformance;
pub mod environment;
pub mod input;
pub mod learners;
pub mod oracle;
pub mod reach;
pub mod rng;
pub mod spec;
pub mod stats;
pub mod theory;
pub mod width;

mod divergence;
mod episode;
mod learner;
mod mdp;
mod mixture;
mod model;
mod parameter;
mod slots;

pub use conditions::Conditions;
pub use environment::{ConditionedEnvironment, Environment, PlayError, RegretBreakdown, Scenario};
pub use episode::Episode;
pub use learner::{Estimate, Learner};
pub use mdp::Mdp;
pub use model::{Model, Noise, Problem};
pub use parameter::{Delta, FeedbackSpread, ParameterError, Sigma2};
pub use rng::{Role, Stream};
pub use spec::{Action, Names, Quantity, Spec};
pub use width::Width;
