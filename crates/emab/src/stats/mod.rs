//! Statistics of results: exact sums and moments, quantiles, confidence intervals, and tests of whether a distribution has changed.

mod change;
mod exact;
mod interval;
mod sample;

pub use change::{FrequencyChange, MeanChange};
pub use exact::{ExactSum, Moments};
pub use interval::{NORMAL_975, clopper_pearson, half_width};
pub use sample::{Quantiles, Sample, TwoGroups};
