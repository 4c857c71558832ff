//! Statistics of results: exact sums and moments, and confidence intervals for a proportion.

mod exact;
mod interval;

pub use exact::{ExactSum, Moments};
pub use interval::{NORMAL_975, clopper_pearson};
