//! The command that repeats a result.

use std::path::Path;

use emab::Conditions;
use emab_problem::{BUILTIN, ProblemFile};

use crate::experiment::{log_spaced, quoted};
use crate::results::{ArenaResult, RunResult};

/// The built-in problem with this hash under these conditions, if there is one.
pub(super) fn builtin(hash: &str, conditions: &Conditions) -> Option<&'static str> {
    let same = |name: &str| {
        let file = ProblemFile::builtin(name)?.ok()?;
        let file = file.with_conditions(conditions).ok()?;
        (file.hash() == hash).then_some(())
    };
    let mut all = BUILTIN.iter().map(|builtin| builtin.name);
    all.find(|name| same(name).is_some())
}

/// The problem as an argument, with options for its conditions: the name of a built-in problem, or `file`, which has the conditions.
fn problem_words(hash: &str, conditions: &Conditions, file: &str) -> Vec<String> {
    let Some(name) = builtin(hash, conditions) else {
        return vec![file.into()];
    };
    let mut words = vec![name.to_owned()];
    for condition in conditions.to_string().split_whitespace() {
        words.extend(["--condition".into(), shell_word(condition)]);
    }
    words
}

fn shell_word(text: &str) -> String {
    quoted(Path::new(text))
}

/// The `emab run` that repeats a result; `problem` is its problem file, for problems that are not built in.
///
/// ```
/// use emab_sim::Experiment;
/// use emab_sim::background::run_command;
/// let file = emab_problem::ProblemFile::builtin("parity").unwrap().unwrap();
/// let experiment = Experiment::builder(&file).learners(["feedbal:width=sound"]).episodes(10).runs(2).build().unwrap();
/// let result = experiment.document(&experiment.state(), file.hash()).unwrap();
/// assert_eq!(
///     run_command(&result, "problem.json"),
///     "emab run parity --learner feedbal:width=sound --episodes 10 --runs 2 --seed 1"
/// );
/// ```
pub fn run_command(result: &RunResult, problem: &str) -> String {
    let mut words = vec!["emab".into(), "run".into()];
    words.extend(problem_words(
        &result.problem_hash,
        &result.conditions,
        problem,
    ));
    for learner in &result.learners {
        words.extend(["--learner".into(), shell_word(&learner.label)]);
    }
    words.push(format!(
        "--episodes {} --runs {} --seed {}",
        result.episodes, result.runs, result.seed
    ));
    let curve = result.learners.first().map(|learner| &learner.curve);
    let episodes: Vec<u64> = curve
        .into_iter()
        .flatten()
        .map(|point| point.episode)
        .collect();
    if !episodes.is_empty() && episodes != log_spaced(result.episodes) {
        let episodes: Vec<String> = episodes.iter().map(u64::to_string).collect();
        words.push(format!("--checkpoints {}", episodes.join(",")));
    }
    words.join(" ")
}

/// The `emab arena` that repeats a result. A problem that is not built in is named by its hash.
pub fn arena_command(result: &ArenaResult) -> String {
    let mut words = vec!["emab".into(), "arena".into()];
    let mut conditions: Vec<String> = Vec::new();
    for problem in &result.problems {
        let ground = &problem.ground;
        let file = format!("FILE-{}", ground.problem_hash.get(..12).unwrap_or_default());
        let all = problem_words(&ground.problem_hash, &ground.conditions, &file);
        let mut all = all.into_iter();
        words.extend(all.next());
        if conditions.is_empty() {
            conditions = all.collect();
        }
    }
    let mut labels: Vec<&str> = Vec::new();
    for problem in &result.problems {
        let played = problem.learners.iter().map(|entry| entry.label.as_str());
        for label in played.chain(problem.left_out.iter().map(|left| left.label.as_str())) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    for label in labels {
        words.extend(["--learner".into(), shell_word(label)]);
    }
    let mut problems = result.problems.iter();
    let pairs = problems.clone().find_map(|problem| problem.pairs.as_ref());
    let ranked_at = problems.find_map(|problem| problem.ranked_at);
    words.push(format!(
        "--episodes {} --runs {} --seed {}",
        result.episodes,
        pairs.map_or(result.runs, |pairs| pairs.most_runs),
        result.seed
    ));
    if let Some(at) = ranked_at.filter(|at| *at != result.episodes) {
        words.push(format!("--rank-at {at}"));
    }
    if let Some(pairs) = pairs {
        words.push(format!("--until-decided --margin {}", pairs.margin));
    }
    words.extend(conditions);
    words.join(" ")
}
