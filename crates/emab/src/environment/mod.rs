//! Environments: play the episodes of a problem, with one learner, under conditions, or one action at a time.

mod conditioned;
mod delayed_outcomes;
mod missing_values;
mod open_episode;
mod process;
mod regret;
mod single;
mod vectorised;

pub use conditioned::{ConditionedEnvironment, ModelPhase, Scenario, ScenarioError};
pub use regret::RegretBreakdown;
pub use single::{Environment, PlayError, RegretEstimator};
pub use vectorised::{StepResult, VecEnvironment};
