//! Statistics of results: exact sums and moments, confidence intervals for a proportion, and tests of whether a distribution has
//! changed.

mod change;
mod exact;
mod interval;

pub use change::{FrequencyChange, MeanChange};
pub use exact::{ExactSum, Moments};
pub use interval::{NORMAL_975, clopper_pearson};
