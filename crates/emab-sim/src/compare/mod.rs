//! Comparison of learners with common random numbers: which learners take part, and their paired results.

pub(crate) mod default_learners;
pub(crate) mod entrants;
pub(crate) mod matchup;

pub use default_learners::default_learners;
pub use entrants::{Budget, ProblemEntrants, enter};
pub use matchup::Matchup;
