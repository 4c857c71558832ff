//! What a report states beside the numbers of a result, recomputed from the problem file: sizes and reference values,
//! whether learners' confidence widths are sound, the bounds that apply, and the command that repeats the result.

mod arena;
mod command;

use std::sync::Arc;

use emab::conformance::ReachSummary;
use emab::learners::{LearnerConfig, MAX_FIXED_OUTCOMES};
use emab::oracle::Solution;
use emab::theory::Bounds;
use emab::{Conditions, Environment, Problem};
use emab_problem::ProblemFile;

use crate::experiment::BuildError;
use crate::limit::LowerBoundCurve;
use crate::results::RunResult;
use crate::soundness::{Unsound, assumed_parameters, unsound_by_learner};

pub use arena::{ArenaBackground, ArenaWarning};
pub use command::{arena_command, run_command};

/// A problem with what can be computed about it.
#[derive(Clone, Debug)]
pub struct ProblemSummary {
    /// The problem file.
    pub file: ProblemFile,
    /// Its reachable step-state pairs.
    pub reached: ReachSummary,
    /// The values of its policies without conditions; none without a model, and where too many pairs can be reached.
    pub solution: Option<Solution>,
}

impl ProblemSummary {
    /// Checks and solves a problem.
    pub fn of(file: ProblemFile) -> Result<ProblemSummary, BuildError> {
        let reached = file.check(Environment::EXACT_PAIRS)?;
        let solution = match file.problem() {
            Ok(problem) if reached.complete => Solution::of(problem, MAX_FIXED_OUTCOMES).ok(),
            _ => None,
        };
        Ok(ProblemSummary {
            file,
            reached,
            solution,
        })
    }
}

/// Whether the confidence width of a learner covers a problem and its conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Soundness {
    /// The learner's label.
    pub label: String,
    /// Whether its confidence bounds are proved.
    pub has_proved_bounds: bool,
    /// Why its width is not sound, or cannot be decided.
    pub warnings: Vec<String>,
    /// The parameters that it assumes.
    pub assumed: Vec<String>,
}

/// What a report states beside a run.
///
/// ```
/// use emab_sim::Experiment;
/// use emab_sim::background::RunBackground;
/// let file = emab_problem::ProblemFile::builtin("feedback-gap").unwrap().unwrap();
/// let experiment = Experiment::builder(&file).learners(["feedbal", "ucb1"]).episodes(10).runs(2).build().unwrap();
/// let result = experiment.document(&experiment.state(), file.hash()).unwrap();
/// let background = RunBackground::of(&result, file).unwrap();
/// assert!(background.soundness[0].warnings[0].contains("the paper's width is not sound"));
/// assert_eq!(background.bounds.len(), 1); // no theorem covers ucb1
/// ```
#[derive(Clone, Debug)]
pub struct RunBackground {
    /// The problem.
    pub problem: ProblemSummary,
    /// The learners of the catalogue, in the order of the result.
    pub soundness: Vec<Soundness>,
    /// The bounds of the theorems for every `feedbal`, by label; none under conditions, which no theorem covers.
    pub bounds: Vec<(String, Bounds)>,
    /// The lower bound on the regret of every learner; none where there is none.
    pub lower: Option<LowerBoundCurve>,
}

impl RunBackground {
    /// Recomputes the background of a result on its problem file. User-defined learners are left out.
    pub fn of(result: &RunResult, file: ProblemFile) -> Result<RunBackground, BuildError> {
        let configs = result.learners.iter().filter_map(|learner| {
            let config = LearnerConfig::parse(&learner.label, file.learning()).ok()?;
            config.for_episodes(result.episodes).ok()
        });
        let configs: Vec<LearnerConfig> = configs.collect();
        let mut background = RunBackground {
            soundness: Vec::new(),
            bounds: Vec::new(),
            lower: LowerBoundCurve::of(&file, result),
            problem: ProblemSummary::of(file)?,
        };
        let Ok(problem) = background.problem.file.problem() else {
            return Ok(background);
        };
        for config in &configs {
            let soundness = soundness(&problem, &result.conditions, config)?;
            background.soundness.push(soundness);
        }
        if result.conditions.is_none() && background.problem.solution.is_some() {
            background.bounds = bounds(&problem, &configs, result.episodes);
        }
        Ok(background)
    }
}

fn soundness(
    problem: &Arc<Problem>,
    conditions: &Conditions,
    config: &LearnerConfig,
) -> Result<Soundness, BuildError> {
    let found = unsound_by_learner(problem, conditions, None, std::slice::from_ref(config));
    let found = found.map_err(crate::SimError::from)?;
    Ok(Soundness {
        label: config.label().into(),
        has_proved_bounds: config.has_proved_bounds(),
        warnings: found
            .into_iter()
            .flatten()
            .map(Unsound::into_words)
            .collect(),
        assumed: assumed_parameters(config),
    })
}

fn bounds(
    problem: &Arc<Problem>,
    configs: &[LearnerConfig],
    episodes: u64,
) -> Vec<(String, Bounds)> {
    let bounded = configs.iter().filter_map(|config| {
        let parameters = config.feedbal_parameters().ok()?;
        // A problem that is too large for the theorems has no row.
        let bounds = Bounds::new(problem.clone(), &parameters, episodes).ok()?;
        Some((config.label().to_owned(), bounds))
    });
    bounded.collect()
}
