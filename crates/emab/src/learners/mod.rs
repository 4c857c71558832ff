//! The learners, one file an algorithm, and the catalogue that knows them by name.
//!
//! Each is usable by itself; [`LearnerConfig`] builds one from a line such as `feedbal:sigma2=0.05,delta=0.01`.

mod catalogue;
mod entry;
mod error;
mod feedbal;
mod forgetting;
mod parameter;
mod policy;
mod random;
mod settings;
mod tournament;
mod ucb1;

pub use catalogue::{CATALOGUE, LearnerConfig, nearest};
pub use entry::{Entry, Sees};
pub use error::LearnerError;
pub use feedbal::{FeedBal, FeedBalParameters, Ties};
pub use forgetting::{Forgetting, Memory};
pub use parameter::{Learning, Parameter, ParameterValue};
pub use policy::{FIXED_WORK, Policy};
pub use random::Random;
pub use ucb1::{MAX_ARMS, TooManyArms, Ucb1};
