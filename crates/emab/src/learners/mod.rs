//! The learners, one file an algorithm, and the catalogue that knows them by name.
//!
//! Each is usable by itself; [`LearnerConfig`] builds one from a line such as `feedbal:sigma2=0.05,delta=0.01`.

mod catalogue;
mod certificate;
mod decay;
mod entry;
mod epsilon_greedy;
mod error;
mod estimator;
mod explore_then_commit;
mod feedbal;
mod feedbal_lookahead;
mod feedbal_model;
mod forgetting;
mod gains;
mod o_reps;
mod oasm;
mod olp;
mod opsrl;
mod parameter;
mod policy;
mod psrl;
mod q_learning;
mod random;
mod rows;
mod settings;
mod tables;
mod tabular;
mod td_lambda;
mod thompson;
mod tournament;
mod trust;
mod ucb1;
mod ucbvi;
mod ucrl2;

pub use catalogue::{CATALOGUE, LearnerConfig, nearest};
pub use certificate::{Withheld, shortfall};
pub use entry::{Chooses, Entry, Sees};
pub use error::LearnerError;
pub use feedbal::{FeedBal, FeedBalParameters, Ties};
pub use forgetting::{Forgetting, Memory};
pub use parameter::{Learning, Parameter, ParameterValue};
pub use policy::{FIXED_WORK, Policy};
pub use random::Random;
pub use ucb1::{MAX_ARMS, TooManyArms, Ucb1};
