//! `emab plan`: how many more cases a certificate needs.

use std::sync::atomic::Ordering;

use emab_logs::plan::{PlanError, Settings};
use emab_report::plan_text;

use super::{logs, stop_on_ctrl_c};
use crate::args::Plan;
use crate::error::CommandError;
use crate::{load, terminal};

pub fn plan(args: &Plan, json: bool) -> Result<(), CommandError> {
    let log = logs::open(&args.log)?;
    let own = args.learner.clone().or_else(|| log.learner.clone());
    let name = own.unwrap_or_else(|| "feedbal:width=sound".into());
    let config = load::learner(&log.file, &name, log.counts().learned + args.cases)?;
    let settings = Settings {
        cases: args.cases,
        below: args.below,
        draws: args.draws,
        seed: args.seed,
        stated: (&args.stated).into(),
    };
    let (bar, stop) = (terminal::progress(args.draws), stop_on_ctrl_c());
    let plan = emab_logs::plan::plan(&log, &config, &settings, |done| {
        bar.set_position(done);
        !stop.load(Ordering::SeqCst)
    });
    bar.finish_and_clear();
    let plan = plan.map_err(|error| match error {
        PlanError::Learner(error) => CommandError::of(&log.file)(error),
        other => CommandError::Input(other.to_string()),
    })?;
    logs::note_left_out(&log.counts());
    match plan {
        None => Err(CommandError::Work("stopped; nothing was saved".into())),
        Some(plan) => terminal::show(json, &plan, || plan_text(&plan, terminal::width())),
    }
}
