//! What a report states beside an arena.

use emab::learners::LearnerConfig;
use emab_problem::ProblemFile;

use super::command::builtin;
use crate::experiment::StoredProblems;
use crate::results::{ArenaProblem, ArenaResult};
use crate::soundness::{Unsound, unsound_by_learner};

/// A warning on a confidence width of an arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaWarning {
    /// The problem's name.
    pub problem: String,
    /// The learner's label; none if the warning is on the problem.
    pub learner: Option<String>,
    /// Why the width is not sound, or was not checked.
    pub words: String,
}

/// What a report states beside an arena.
#[derive(Clone, Debug)]
pub struct ArenaBackground {
    /// The file of each problem, in the order of the result; none if it is neither built in nor stored in the folder.
    pub problems: Vec<Option<ProblemFile>>,
    /// The number of problems whose file is stored in the folder.
    pub stored: usize,
    /// Warnings on learners whose confidence widths are not sound, by problem.
    pub warnings: Vec<ArenaWarning>,
}

impl ArenaBackground {
    /// Recomputes the background of a result on the problem files of its folder and on built-in problems.
    pub fn of(result: &ArenaResult, stored: &StoredProblems) -> ArenaBackground {
        let mut background = ArenaBackground {
            problems: Vec::new(),
            stored: 0,
            warnings: Vec::new(),
        };
        for problem in &result.problems {
            let ground = &problem.ground;
            let file = stored.find(&ground.problem_hash).cloned();
            background.stored += usize::from(file.is_some());
            let file = file.or_else(|| {
                let file =
                    ProblemFile::builtin(builtin(&ground.problem_hash, &ground.conditions)?)?
                        .ok()?;
                file.with_conditions(&ground.conditions).ok()
            });
            let found = warnings(problem, file.as_ref(), result.episodes);
            let named = found.into_iter().map(|(learner, words)| ArenaWarning {
                problem: ground.problem.clone(),
                learner,
                words,
            });
            background.warnings.extend(named);
            background.problems.push(file);
        }
        background
    }
}

/// The warnings on a problem: the learner and the words.
fn warnings(
    problem: &ArenaProblem,
    file: Option<&ProblemFile>,
    episodes: u64,
) -> Vec<(Option<String>, String)> {
    let Some((file, model)) = file.and_then(|file| Some((file, file.problem().ok()?))) else {
        let why = "not checked: it is not built in, and the result folder has no file of it";
        return vec![(None, why.into())];
    };
    let configs = problem.learners.iter().filter_map(|entry| {
        let config = LearnerConfig::parse(&entry.label, file.learning()).ok()?;
        config.for_episodes(episodes).ok()
    });
    let configs: Vec<LearnerConfig> = configs.collect();
    let found = match unsound_by_learner(&model, file.conditions(), None, &configs) {
        Ok(found) => found,
        Err(error) => return vec![(None, format!("not checked: {error}"))],
    };
    let all = configs.iter().zip(found).flat_map(|(config, found)| {
        found.into_iter().map(|one| match one {
            Unsound::Learner(words) => (Some(config.label().to_owned()), words),
            Unsound::Undecided(words) => (None, words),
        })
    });
    let mut all: Vec<_> = all.collect();
    // The note on a problem that is too large is the same for every learner.
    all.dedup();
    all
}
