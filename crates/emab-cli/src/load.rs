//! Reads problems (built-in, from a file, or from standard input) and learners.

use emab::Conditions;
use emab::learners::LearnerConfig;
use emab_problem::{Format, ProblemFile};
use emab_sim::soundness::{assumed_words, unsound_learners};

use crate::error::CommandError;
use crate::terminal;

/// The problem of this name: `-` is JSON on standard input, a bare name is a built-in problem, anything else is a file.
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

/// The problem with the conditions of the call in place of those of its file.
pub fn with_conditions(file: ProblemFile, texts: &[String]) -> Result<ProblemFile, CommandError> {
    if texts.is_empty() {
        return Ok(file);
    }
    let conditions = file
        .conditions()
        .with(texts.iter().map(String::as_str))
        .map_err(|error| CommandError::input(format!("--condition: {error}")))?;
    file.with_conditions(&conditions)
        .map_err(|error| match &error.span {
            Some(_) => error.into(),
            // Not a mistake in the file.
            None => {
                let help = error.help.map(|help| format!("; {help}"));
                let help = help.unwrap_or_default();
                CommandError::input(format!("--condition: {}{help}", error.message))
            }
        })
}

/// Notes that a command ignores the conditions of the file.
pub fn note_conditions(file: &ProblemFile) {
    note_ignored(file, file.conditions());
}

/// Notes that a command ignores some conditions of the file.
pub fn note_ignored(file: &ProblemFile, ignored: &Conditions) {
    if !ignored.is_none() {
        terminal::note(&format!(
            "note: the conditions of {} ({ignored}) are ignored here; `emab run` applies them",
            file.name(),
        ));
    }
}

/// A learner for runs of this many episodes; notes the parameters that it assumes.
pub fn learner(
    file: &ProblemFile,
    text: &str,
    episodes: u64,
) -> Result<LearnerConfig, CommandError> {
    let config = LearnerConfig::parse(text, file.learning())
        .and_then(|config| config.for_episodes(episodes))
        .map_err(CommandError::of(file))?;
    for words in assumed_words(&config) {
        terminal::note(&words);
    }
    Ok(config)
}

/// Warns about a learner whose confidence width does not cover the variation of the problem or these conditions.
pub fn warn_unsound(
    file: &ProblemFile,
    conditions: &Conditions,
    config: &LearnerConfig,
) -> Result<(), CommandError> {
    let configs = std::slice::from_ref(config);
    let words = unsound_learners(&file.problem()?, conditions, None, configs);
    for words in words.map_err(CommandError::of(file))? {
        terminal::note(&words);
    }
    Ok(())
}
