//! Statistics of results: exact sums and moments, quantiles, confidence intervals and sequences, and tests of whether a distribution has changed.

mod change;
mod confidence_sequence;
mod exact;
mod interval;
mod sample;

pub use crate::mixture::Mixture;
pub use change::{FrequencyChange, MeanChange};
pub use confidence_sequence::ConfidenceSequence;
pub use exact::{ExactSum, Moments};
pub use interval::{NORMAL_975, clopper_pearson, half_width};
pub use sample::{Quantiles, Sample, TwoGroups};
