//! `emab evaluate`: the value of a policy by a log.

use emab_logs::PolicyError;
use emab_logs::evaluate::{EvaluateError, Settings};
use emab_logs::fit::FitError;
use emab_report::evaluation_text;

use super::logs;
use crate::args::Evaluate;
use crate::error::CommandError;
use crate::terminal;

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
    let name = &args.policy;
    let evaluation = emab_logs::evaluate_named(&log, name, args.from_log, &settings);
    let evaluation = evaluation.map_err(|error| match error {
        EvaluateError::Policy(PolicyError::Fit(error)) => error.into(),
        EvaluateError::Policy(_) | EvaluateError::Graph(_) => {
            CommandError::Input(format!("--policy {name}: {error}"))
        }
        error => CommandError::Input(error.to_string()),
    })?;
    terminal::show(json, &evaluation, || {
        evaluation_text(&evaluation, terminal::width())
    })
}
