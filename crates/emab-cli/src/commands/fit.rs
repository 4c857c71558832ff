//! `emab fit`: a model estimated from a log, and plausible models.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use emab_logs::FittedModel;
use emab_logs::fit::MOST_DRAWS;
use emab_problem::{Format, ProblemFile};
use emab_server::log_source::source_name;
use emab_sim::{quoted, write_file};
use serde_json::{Value, json};

use super::{check_folder, logs, stop_on_ctrl_c};
use crate::args::Fit;
use crate::error::CommandError;
use crate::terminal;

pub fn fit(args: &Fit, as_json: bool) -> Result<(), CommandError> {
    if let Some(out) = &args.out {
        let inputs = [Some(&args.log.log), args.log.problem.as_ref()];
        logs::not_an_input(out, inputs.into_iter().flatten().map(String::as_str))?;
    }
    let log = logs::open(&args.log)?;
    let model = FittedModel::of(&log, &(&args.stated).into())?;
    logs::note_left_out(&model.log);
    for assumed in &model.assumed {
        terminal::note(&format!("note: assumed: {assumed}"));
    }
    let name = source_name(&args.log.log, args.log.study.as_deref());
    match (args.draws, &args.out) {
        (Some(draws), Some(folder)) => write_draws(args, &model, draws, folder, &name, as_json),
        (_, out) => {
            let text = model.toml(&name);
            let file = ProblemFile::parse_as(Format::Toml, "fitted.toml", &text)?;
            if let Some(out) = out {
                write_file(out, text.as_bytes(), args.force)?;
                let document = json!({ "file": out, "problem": file.name(), "log": model.log });
                return terminal::show(as_json, &document, || format!("wrote {}", quoted(out)));
            }
            match as_json {
                true => {
                    let document: Value =
                        serde_json::from_str(file.canonical()).unwrap_or_default();
                    terminal::print_json(&document)
                }
                false => terminal::print_verbatim(&text),
            }
        }
    }
}

fn write_draws(
    args: &Fit,
    model: &FittedModel,
    draws: u64,
    folder: &Path,
    name: &str,
    as_json: bool,
) -> Result<(), CommandError> {
    if draws > MOST_DRAWS {
        return Err(CommandError::Input(format!(
            "--draws is {MOST_DRAWS} at most, got {draws}"
        )));
    }
    check_folder(folder)?;
    let digits = draws.to_string().len();
    let path = |number: u64| folder.join(format!("draw-{number:0digits$}.toml"));
    let written: HashSet<PathBuf> = (1..=draws).map(path).collect();
    let is_other = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end == "toml" || end == "json")
            && !written.contains(path)
    };
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    if let Some(other) = found.map(|entry| entry.path()).find(is_other) {
        return Err(CommandError::Input(format!(
            "{} has another problem, {}, which `emab arena` would also use: choose an empty folder, or delete it",
            quoted(folder),
            quoted(&other)
        )));
    }
    let stop = stop_on_ctrl_c();
    for number in 1..=draws {
        if stop.load(Ordering::SeqCst) {
            return Err(CommandError::Work(format!(
                "stopped after {} of {draws} models; the same command writes the others",
                number - 1
            )));
        }
        let drawn = model.draw(args.seed, number);
        let text = drawn.draw_toml(name, args.seed, number);
        write_file(&path(number), text.as_bytes(), args.force)?;
    }
    let document = json!({ "folder": folder, "draws": draws, "seed": args.seed, "log": model.log });
    terminal::show(as_json, &document, || {
        format!(
            "wrote {draws} plausible models into {}; `emab arena {0}` compares learners on them",
            quoted(folder)
        )
    })
}
