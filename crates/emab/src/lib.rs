//! Episodic multi-armed bandits: the model, FeedBAL, the oracle and the rivals of the paper
//! *Episodic Multi-armed Bandits* (Tekin, van der Schaar).
//!
//! A learner meets one case after another. In each [`Episode`] it chooses actions step by step, sees feedback, and
//! decides when to stop; only then are the costs and the terminal rewards of every step it passed revealed.
//!
//! - [`Spec`]: what a learner may know. [`Model`]: the truth. [`Problem`]: both.
//! - [`Learner`]: the trait; [`learners`]: one file an algorithm, and a catalogue of them by name.
//! - [`oracle`]: the benchmark, the optimal policy, the best fixed sequence, the exact regret of a choice.
//! - [`Mdp`]: the same problem as a Markov decision process, for anybody who plans or learns in those.
//! - [`theory`]: the paper's lemmas and theorems, evaluated on a problem of one's own.
//! - [`Conditions`]: late and lost outcomes, people who leave or do otherwise, laws that drift; [`ConditionedEnvironment`] plays them.
//! - [`conformance`]: laws that any problem and any learner must keep, for your own tests.
//!
//! This crate is mathematics alone: no clock, file, thread or print. `emab-problem` reads problem files, `emab-sim`
//! runs many episodes.

#![forbid(unsafe_code)]

pub mod conformance;
pub mod learners;
pub mod oracle;
pub mod stats;
pub mod theory;

mod conditioned;
mod conditions;
mod delayed_outcomes;
mod draws;
mod environment;
mod episode;
mod learner;
mod mdp;
mod mixture;
mod model;
mod parameter;
mod reach;
mod regret;
mod rng;
mod slots;
mod spec;
mod vec_environment;
mod width;

pub use conditioned::{ConditionedEnvironment, ModelPhase, Scenario, ScenarioError};
pub use conditions::{Chance, Conditions, Delay, Drift, Mean, When};
pub use draws::{Block, Draws};
pub use environment::{Environment, Estimator, PlayError};
pub use episode::Episode;
pub use learner::{Estimate, Learner};
pub use mdp::Mdp;
pub use model::{Model, Noise, NoiseError, Problem};
pub use parameter::{Delta, ParameterError, Sigma2, Spread};
pub use reach::{Compared, Difference, Reachable};
pub use regret::RegretBreakdown;
pub use rng::{Role, Stream};
pub use spec::{Action, Fault, Names, Point, PointError, Quantity, Spec, SpecError, plain};
pub use vec_environment::{StepResult, VecEnvironment};
pub use width::{Coefficients, IndexTable, Width, WidthKind};
