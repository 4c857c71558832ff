//! `emab evaluate`: the value of a policy by a log.

use std::io::{BufRead, BufReader};

use emab_episodes::{SavedLearner, SavedLearnerHeader};
use emab_logs::evaluate::{EvaluateError, Settings, evaluate_logged};
use emab_logs::fit::FitError;
use emab_logs::policy::OF_MODEL;
use emab_logs::{DecisionLog, FittedModel, Policy};
use emab_report::evaluation_text;

use super::logs;
use crate::args::Evaluate;
use crate::error::CommandError;
use crate::terminal;

impl From<EvaluateError> for CommandError {
    fn from(error: EvaluateError) -> CommandError {
        CommandError::Input(error.to_string())
    }
}

impl From<FitError> for CommandError {
    fn from(error: FitError) -> CommandError {
        CommandError::Input(error.to_string())
    }
}

pub fn evaluate(args: &Evaluate, json: bool) -> Result<(), CommandError> {
    let log = logs::open(&args.log)?;
    let settings = Settings {
        confidence: args.confidence,
        pooling: args.by.into(),
        stated: (&args.stated).into(),
    };
    let evaluation = match args.policy.as_str() {
        "logged" => evaluate_logged(&log, &settings)?,
        name => {
            let mut policy = policy(name, &log, &settings)?;
            policy.from_log |= args.from_log;
            let evaluation = emab_logs::evaluate(&log, &mut policy, &settings);
            evaluation.map_err(|error| match error {
                EvaluateError::Graph(_) => wrong(name, &error),
                other => other.into(),
            })?
        }
    };
    terminal::show(json, &evaluation, || {
        evaluation_text(&evaluation, terminal::width())
    })
}

/// The policy of this name, or of this file.
fn policy(name: &str, log: &DecisionLog, settings: &Settings) -> Result<Policy, CommandError> {
    if OF_MODEL.contains(&name) {
        let model = FittedModel::of(log, &settings.stated)?;
        return Policy::of_model(name, model.problem()).map_err(|error| wrong(name, &error));
    }
    let (file, part) = match name.split_once('#') {
        Some((file, part)) => (file, Some(part)),
        None => (name, None),
    };
    let unreadable = |error: std::io::Error| {
        let near = emab::input::did_you_mean(name, OF_MODEL.into_iter().chain(["logged"]));
        CommandError::Input(format!(
            "--policy: cannot read {file}: {error}{near}; a policy is benchmark, optimal, best-fixed, logged, or the file of a policy or of a saved learner"
        ))
    };
    let mut reader = BufReader::new(std::fs::File::open(file).map_err(unreadable)?);
    let mut text = String::new();
    reader.read_line(&mut text).map_err(unreadable)?;
    if SavedLearnerHeader::matches(text.trim_end()) {
        return saved_learner(file, log);
    }
    std::io::Read::read_to_string(&mut reader, &mut text).map_err(unreadable)?;
    Policy::read(name, &text, part, log.spec()).map_err(|error| wrong(file, &error))
}

/// The current choices of a saved learner, which must be of the problem of the log.
fn saved_learner(file: &str, log: &DecisionLog) -> Result<Policy, CommandError> {
    let invalid =
        |error: &dyn std::fmt::Display| CommandError::Input(format!("--policy: {file}: {error}"));
    let reader = std::fs::File::open(file).map_err(|error| invalid(&error))?;
    let saved = SavedLearner::read(BufReader::new(reader)).map_err(|error| invalid(&error))?;
    let compared = saved.file.spec().compare(log.spec(), 100_000);
    if let Ok(emab::reach::SpecComparison::Differ(found)) = compared {
        return Err(invalid(&format!(
            "the learner is of another problem: {} is {} there and {} in the log",
            found.what, found.one, found.other
        )));
    }
    let (config, learner) = saved.rebuild().map_err(|error| invalid(&error))?;
    Ok(Policy::of_learner(config.label(), learner))
}

fn wrong(name: &str, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::Input(format!("--policy {name}: {error}"))
}
