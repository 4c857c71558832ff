//! The limit of learning on a problem under its conditions, for comparisons and reports.

use emab::oracle::OracleError;
use emab::theory::{Lower, LowerBound, Target};
use emab_problem::ProblemFile;

use crate::experiment::CHECKED_PAIRS;
use crate::results::RunResult;

/// More outcomes take longer than a comparison or a report should wait.
const MOST_OUTCOMES: usize = 200_000;

/// The lower bound on the regret against the benchmark, or where that is not optimal against the optimal policy.
///
/// None where no bound is proved (without a model, under overrides, drift and several open episodes), and for large problems.
///
/// ```
/// use emab_sim::lower_bound;
/// use emab::theory::Target;
/// let file = |name| emab_problem::ProblemFile::builtin(name).unwrap().unwrap();
/// assert_eq!(lower_bound(&file("resource")).unwrap().target(), Target::Benchmark);
/// assert_eq!(lower_bound(&file("screening")).unwrap().target(), Target::Optimal);
/// let conditions = file("resource").conditions().with(["drift=p:0.4@5000"]).unwrap();
/// assert!(lower_bound(&file("resource").with_conditions(&conditions).unwrap()).is_none());
/// ```
pub fn lower_bound(file: &ProblemFile) -> Option<LowerBound> {
    let conditions = file.conditions();
    let overrides = conditions.overrides.get() > 0.0;
    if overrides || !conditions.drift.is_empty() || conditions.open.get() > 1 {
        return None;
    }
    let reached = file.check(CHECKED_PAIRS).ok()?;
    let (actions, feedbacks) = (file.spec().actions().len(), file.spec().feedbacks().len());
    if !reached.complete || reached.pairs * actions * feedbacks > MOST_OUTCOMES {
        return None;
    }
    let problem = file.problem().ok()?;
    let problem = std::sync::Arc::new(problem.with_dropout(conditions.dropout.clone()));
    let bound = |target| -> Result<LowerBound, OracleError> {
        LowerBound::new(problem.clone(), target, f64::NEG_INFINITY)
    };
    let against_benchmark = bound(Target::Benchmark).ok()?;
    match against_benchmark.constant() {
        Some(_) => Some(against_benchmark),
        None => bound(Target::Optimal).ok(),
    }
}

/// A lower bound and its values at some numbers of episodes.
#[derive(Clone, Debug)]
pub struct LowerBoundCurve {
    /// The bound after the last of them.
    pub lower: Lower,
    /// Numbers of episodes and the bound after each.
    pub points: Vec<(u64, f64)>,
}

impl LowerBoundCurve {
    /// The [`lower_bound`] at the checkpoints of a result; none if there is no bound or no checkpoint.
    pub fn of(file: &ProblemFile, result: &RunResult) -> Option<LowerBoundCurve> {
        let bound = lower_bound(file)?;
        let curve = &result.learners.first()?.curve;
        let point = |n: u64| Some((n, bound.at(n)?));
        Some(LowerBoundCurve {
            lower: bound.evaluate(curve.last()?.episode),
            points: curve.iter().filter_map(|at| point(at.episode)).collect(),
        })
    }
}
