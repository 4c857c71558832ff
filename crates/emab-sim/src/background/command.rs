//! The command that repeats a result.

use std::path::Path;

use emab::Conditions;
use emab_problem::{Builtin, ProblemFile};

use crate::compare::default_learners;
use crate::experiment::{StoredProblems, log_spaced, quoted};
use crate::results::{ArenaResult, ArenaSetting, REFERENCE, RunResult};

/// The built-in problem with this hash under these conditions, if there is one.
pub(super) fn builtin(hash: &str, conditions: &Conditions) -> Option<&'static str> {
    let same = |name: &str| {
        let file = ProblemFile::builtin(name)?.ok()?;
        let file = file.with_conditions(conditions).ok()?;
        (file.hash() == hash).then_some(())
    };
    let mut all = Builtin::all().map(|builtin| builtin.name);
    all.find(|name| same(name).is_some())
}

/// The problem as an argument, with options for its conditions: the name of a built-in problem, or `file`, which has the conditions.
fn problem_words(hash: &str, conditions: &Conditions, file: &str) -> Vec<String> {
    let Some(name) = builtin(hash, conditions) else {
        return vec![file.into()];
    };
    let mut words = vec![name.to_owned()];
    // A published problem may have conditions of its own.
    let own = ProblemFile::builtin(name).and_then(Result::ok);
    if own.is_none_or(|own| own.conditions() != conditions) {
        words.extend(condition_words(conditions));
    }
    words
}

fn condition_words(conditions: &Conditions) -> Vec<String> {
    let texts = conditions.texts();
    let texts = texts.iter().map(|text| shell_word(text));
    texts
        .flat_map(|text| ["--condition".into(), text])
        .collect()
}

fn shell_word(text: &str) -> String {
    quoted(Path::new(text))
}

/// The `emab run` that repeats a result; `problem` is its problem file, for problems that are not built in, and `recorded` are the
/// episodes at which single runs were recorded.
///
/// ```
/// use emab_sim::Experiment;
/// use emab_sim::background::run_command;
/// let file = emab_problem::ProblemFile::builtin("parity").unwrap().unwrap();
/// let experiment = Experiment::builder(&file).learners(["feedbal:width=sound"]).episodes(10).runs(2).build().unwrap();
/// let result = experiment.document(&experiment.state(), file.hash()).unwrap();
/// assert_eq!(
///     run_command(&result, "problem.json", &[10]),
///     "emab run parity --learner feedbal:width=sound --episodes 10 --runs 2 --seed 1"
/// );
/// ```
pub fn run_command(result: &RunResult, problem: &str, recorded: &[u64]) -> String {
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
    let mut list = |option: &str, episodes: &[u64]| {
        let episodes: Vec<String> = episodes.iter().map(u64::to_string).collect();
        words.push(format!("{option} {}", episodes.join(",")));
    };
    // The last episode is recorded always, and the others become checkpoints.
    let more: Vec<u64> = recorded
        .iter()
        .copied()
        .filter(|at| *at != result.episodes)
        .collect();
    if !more.is_empty() {
        list("--record-at", &more);
    }
    let mut usual = [log_spaced(result.episodes), more].concat();
    usual.sort_unstable();
    usual.dedup();
    let curve = result.learners.first().map(|learner| &learner.curve);
    let curve = curve.into_iter().flatten();
    let episodes: Vec<u64> = curve.map(|point| point.episode).collect();
    if !episodes.is_empty() && episodes != usual {
        list("--checkpoints", &episodes);
    }
    words.join(" ")
}

/// The `emab arena` that repeats a result. A problem that is not built in is a file of the result folder, or `FILE-` and the
/// first characters of its hash if the folder does not have it.
pub fn arena_command(result: &ArenaResult, stored: &StoredProblems) -> String {
    let (problems, conditions) = arena_problems(result, stored);
    let mut words = vec!["emab".into(), "arena".into()];
    words.extend(problems);
    for label in arena_learners(result) {
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

/// The problems of an arena as arguments, and the options for their conditions, which apply to all of them.
fn arena_problems(result: &ArenaResult, stored: &StoredProblems) -> (Vec<String>, Vec<String>) {
    let grounds = || result.problems.iter().map(|problem| &problem.ground);
    let conditions = grounds().next().map(|ground| &ground.conditions);
    let shared = grounds().all(|ground| Some(&ground.conditions) == conditions);
    let names = grounds().map(|ground| builtin(&ground.problem_hash, &ground.conditions));
    let names: Option<Vec<&str>> = names.collect();
    if let Some(names) = names.filter(|_| shared) {
        let names = names.into_iter().map(str::to_owned).collect();
        let options = conditions.map(condition_words);
        return (names, options.unwrap_or_default());
    }
    let word = |ground: &ArenaSetting| {
        let hash = ground.problem_hash.as_str();
        // The hash depends on the conditions: a built-in problem with conditions is stored.
        if let Some(name) = builtin(hash, &Conditions::default()) {
            return name.to_owned();
        }
        match stored.path_of(hash) {
            Some(path) => quoted(&path),
            None => format!("FILE-{}", hash.get(..12).unwrap_or_default()),
        }
    };
    let mut words: Vec<String> = grounds().map(word).collect();
    if let Some((folder, paths)) = stored.folder() {
        let paths: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
        let all = paths.len().max(2);
        if let Some(at) = words.windows(all).position(|some| some == paths) {
            words.splice(at..at + all, [quoted(&folder)]);
        }
    }
    (words, Vec::new())
}

/// The learners of an arena in an order that gives the same result; none if they are the default ones. The order is that of
/// learners with equal regret, and of learners that do not apply.
fn arena_learners(result: &ArenaResult) -> Vec<&str> {
    let mut before: Vec<(&str, &str)> = Vec::new();
    let mut labels: Vec<&str> = vec![REFERENCE];
    for problem in &result.problems {
        for pair in problem.learners.windows(2) {
            if pair[0].regret.mean.total_cmp(&pair[1].regret.mean).is_eq() {
                before.push((&pair[0].label, &pair[1].label));
            }
        }
        for pair in problem.left_out.windows(2) {
            before.push((&pair[0].label, &pair[1].label));
        }
        let played = problem.learners.iter().map(|entry| entry.label.as_str());
        for label in played.chain(problem.left_out.iter().map(|left| left.label.as_str())) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    let defaults = default_learners();
    if labels.len() == defaults.len() && defaults.iter().all(|one| labels.contains(&&**one)) {
        return Vec::new();
    }
    let mut ordered: Vec<&str> = Vec::new();
    while !labels.is_empty() {
        let is_free = |label: &&str| {
            let mut known = before.iter();
            !known.any(|(first, second)| second == label && labels.contains(first))
        };
        let next = labels.iter().position(is_free).unwrap_or(0);
        ordered.push(labels.remove(next));
    }
    ordered
}
