//! Code that several algorithms share: tables of visited pairs, estimates with widths, planning, certificates.

pub(crate) mod action_values;
pub(crate) mod certificate;
pub(crate) mod decay;
pub(crate) mod estimator;
/// FeedBAL with a sliding window or discounting, built by `feedbal:window=` and `feedbal:gamma=`.
pub(crate) mod forgetting;
pub(crate) mod gains;
pub(crate) mod pending;
pub(crate) mod priorities;
pub(crate) mod rows;
pub(crate) mod tabular;
pub(crate) mod tournament;
pub(crate) mod trust;
pub(crate) mod unknown_costs;
pub(crate) mod visited;
