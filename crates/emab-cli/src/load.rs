//! Finds a problem: one that comes with the program, a file, or standard input; and a learner for it.

use emab::learners::LearnerConfig;
use emab_problem::{Format, ProblemFile};
use emab_report::{assumed_words, problem_soundness_words};

use crate::error::CommandError;
use crate::terminal;

/// The problem of this name: `-` is JSON on standard input, a bare name a built-in problem, anything else a file.
pub fn problem(name: &str) -> Result<ProblemFile, CommandError> {
    if name == "-" {
        return Ok(ProblemFile::from_reader(
            Format::Json,
            "standard input",
            std::io::stdin().lock(),
        )?);
    }
    Ok(ProblemFile::find(name)?)
}

/// The problem under conditions that the call states, in place of those that its file does.
pub fn under(file: ProblemFile, texts: &[String]) -> Result<ProblemFile, CommandError> {
    if texts.is_empty() {
        return Ok(file);
    }
    let conditions = file
        .conditions()
        .with(texts.iter().map(String::as_str))
        .map_err(|error| CommandError::input(format!("--condition: {error}")))?;
    Ok(file.with_conditions(&conditions)?)
}

/// Says so where a file states conditions and the command is about the problem without them.
pub fn note_conditions(file: &ProblemFile) {
    if !file.conditions().is_none() {
        terminal::note(&format!(
            "note: the conditions of {} ({}) are left out here; `emab run` plays them",
            file.name(),
            file.conditions()
        ));
    }
}

/// A learner for runs of so many episodes; says what is assumed where nobody said it.
pub fn learner(
    file: &ProblemFile,
    text: &str,
    episodes: u64,
) -> Result<LearnerConfig, CommandError> {
    let config = LearnerConfig::parse(text, file.learning())
        .and_then(|config| config.for_episodes(episodes))
        .map_err(|error| CommandError::learner(file, error))?;
    for words in assumed_words(&config) {
        terminal::note(&words);
    }
    Ok(config)
}

/// Says so where a learner's confidence does not cover what its problem varies by.
pub fn warn_unsound(file: &ProblemFile, configs: &[LearnerConfig]) -> Result<(), CommandError> {
    let words = problem_soundness_words(&file.problem()?, configs)
        .map_err(|error| CommandError::oracle(file, error))?;
    for words in words {
        terminal::note(&words);
    }
    Ok(())
}
