//! Opens the log of a command.

use std::path::Path;

use emab_logs::evaluate::LeftOut;
use emab_logs::{DecisionLog, LogCounts};
use emab_problem::ProblemFile;
use emab_server::log_source::{LogSource, SourceError, study_problem};
use emab_server::store::Address;
use emab_sim::quoted;

use crate::args::LogArgs;
use crate::error::CommandError;
use crate::{load, terminal};

impl From<SourceError> for CommandError {
    fn from(error: SourceError) -> CommandError {
        match error {
            SourceError::Input(text) => CommandError::Input(text),
            SourceError::System(text) => CommandError::Work(text),
        }
    }
}

/// Reads the log, with a progress bar for a long one.
pub fn open(args: &LogArgs) -> Result<DecisionLog, CommandError> {
    let problem = args.problem.as_deref().map(problem).transpose()?;
    let bar = terminal::counter("events");
    let source = LogSource {
        place: &args.log,
        study: args.study.as_deref(),
        problem,
        progress: &mut |events| bar.set_position(events),
    };
    let log = source.read();
    bar.finish_and_clear();
    Ok(log?)
}

/// Says which episodes the results of a command leave out.
pub fn note_left_out(counts: &LogCounts) {
    if counts.learned < counts.episodes {
        terminal::note(&format!("note: not learned from: {}", LeftOut(*counts)));
    }
}

/// The problem of a name or a file, which may also be the body of a request that creates a study.
fn problem(name: &str) -> Result<ProblemFile, CommandError> {
    if name.ends_with(".json")
        && let Ok(body) = std::fs::read(name)
        && let Some(problem) = study_problem(&body)
    {
        return problem.map_err(|error| CommandError::Input(format!("{name}: {error}")));
    }
    load::problem(name)
}

/// Fails if a file to write is one of the files that are read.
pub fn not_an_input<'a>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'a str>,
) -> Result<(), CommandError> {
    let real = |path: &Path| path.canonicalize().ok();
    let file = |input: &str| match input.parse() {
        Ok(Address::Sqlite(file)) => file,
        _ => input.into(),
    };
    let same = |input: &&str| real(out).is_some() && real(out) == real(&file(input));
    match inputs.into_iter().find(same) {
        None => Ok(()),
        Some(input) => Err(CommandError::Input(format!(
            "--out: {} is read by this command ({input}); choose another file",
            quoted(out)
        ))),
    }
}
