//! Results as plain data: what experiments, comparisons and verifications return, and what reports read.

mod arena;
mod column;
mod guarantee;
mod number;
mod pairs;
mod record;
mod run;

pub use arena::{
    ArenaCellResult, ArenaEntry, ArenaLowerBound, ArenaProblem, ArenaResult, ArenaSetting,
    ArenaSummary, ExcludedLearner, Interval, LossRatio, Measured, REFERENCE, Ranking,
    RegretOverProblems, RegretRatio,
};
pub use column::{Column, Values};
pub use guarantee::{Guarantee, GuaranteeVerdict, Power, ViolationCount};
pub use number::{fixed, number};
pub use pairs::{ArenaPairs, LearnerPair, PairVerdict};
pub use record::RunRecord;
pub use run::{CurvePoint, LearnerResult, ReferenceValues, RunResult, StateRegret};
