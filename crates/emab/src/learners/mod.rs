//! Learners: `algorithms` has one file per algorithm, `support` the code that several share, `registry` the catalogue.
//!
//! [`LearnerConfig`] builds a learner from a text such as `feedbal:sigma2=0.05,delta=0.01`.

mod algorithms;
mod registry;
mod support;

pub use algorithms::feedbal::{FeedBal, FeedBalParameters, Ties};
pub use algorithms::feedbal_model::{FeedBalModel, FeedbackTerms};
pub use algorithms::policy::{MAX_FIXED_OUTCOMES, Policy};
pub use algorithms::random::Random;
pub use algorithms::thompson::{GaussianBeliefs, Thompson};
pub use algorithms::ucb1::{MAX_ARMS, TooManyArms, Ucb1};
pub use registry::catalogue::{CATALOGUE, LearnerConfig};
pub use registry::entry::{Access, BuiltLearner, ChoiceBasis, LearnerEntry, ProvedBounds};
pub use registry::error::LearnerError;
pub use registry::parameter::{LearnerDefaults, Parameter, ParameterValue};
pub use support::certificate::{Withheld, shortfall};
pub use support::forgetting::{Forgetting, Memory};
