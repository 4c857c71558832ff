//! `emab plot`: plots the results in a folder.

use emab::learners::LearnerConfig;
use emab::theory::Bounds;
use emab_problem::{Format, ProblemFile};
use emab_report::{Picture, Series, bound_note, bound_series, draw_curves};
use emab_sim::compare::sweep::contains_sweep;
use emab_sim::results::RunResult;
use emab_sim::{Folder, has_result, read_result, write_file};
use serde_json::json;

use super::plot_sweep::plot_sweep;
use super::run::{plot_options, series};
use super::{ending, write_picture, written};
use crate::args::Plot;
use crate::error::CommandError;
use crate::terminal;

pub fn plot(args: &Plot, json: bool) -> Result<(), CommandError> {
    let folder = Folder::open(&args.folder).map_err(|e| CommandError::input(e.to_string()))?;
    let place = args.folder.display();
    let rejected = |text: String| Err(CommandError::Input(text));
    if contains_sweep(&folder) {
        if args.bound {
            return rejected(format!(
                "--bound is for the result of a run, and {place} contains a sweep"
            ));
        }
        let picture = plot_sweep(&folder, args)?;
        return write(&folder, args, "sweep", &picture, json);
    }
    if args.x.is_some() || args.y.is_some() || args.curves || args.lines || !args.only.is_empty() {
        return rejected(format!(
            "--x, --y, --where, --lines and --curves are for sweeps, and {place} contains none"
        ));
    }
    if !has_result(&folder) {
        return rejected(format!("{place} contains no results: it has no run.json"));
    }
    let result = read_result(&folder)?;
    let mut options = plot_options(&result);
    (options.log_x, options.log_y) = (args.log_x, args.log_y || args.bound);
    if let Some(title) = &args.title {
        options.title = title.clone();
    }
    let mut curves = series(&result);
    if args.bound {
        let sentence = add_bounds(&folder, &result, &mut curves)?;
        terminal::note(&format!("note: {sentence}."));
        options.x_label = format!("episodes. {sentence}");
    }
    let name = if args.bound { "bound" } else { "regret" };
    let picture = draw_curves(&curves, &options)?;
    write(&folder, args, name, &picture, json)
}

/// Writes a plot to the requested file, or under this name into the folder.
fn write(
    folder: &Folder,
    args: &Plot,
    name: &str,
    picture: &Picture,
    json: bool,
) -> Result<(), CommandError> {
    let Some(path) = &args.output else {
        let folder = folder.clone().locked()?;
        write_picture(&folder, name, picture)?;
        let file = |ending: &str| folder.file(format!("{name}.{ending}"));
        let files = ["svg", "png"].map(|ending| file(ending).display().to_string());
        return terminal::show(json, &json!({"written": files}), || {
            format!("wrote {}", files.join(" and "))
        });
    };
    let content = match ending(path) {
        "svg" => picture.svg.as_bytes().to_vec(),
        "png" => picture.png()?,
        _ => {
            return Err(CommandError::input(format!(
                "--output must end in .svg or .png, got {}",
                path.display()
            )));
        }
    };
    let changed = write_file(path, &content, args.force)?;
    let files: Vec<String> = changed
        .then(|| path.display().to_string())
        .into_iter()
        .collect();
    terminal::show(json, &json!({"written": files}), || written(path, changed))
}

/// Adds the bound of Theorem 1 for each FeedBAL curve, and returns a sentence that explains it.
fn add_bounds(
    folder: &Folder,
    result: &RunResult,
    curves: &mut Vec<Series>,
) -> Result<String, CommandError> {
    if !result.conditions.is_none() {
        return Err(CommandError::input(format!(
            "--bound: {} has conditions ({}), which no theorem covers",
            folder.path().display(),
            result.conditions
        )));
    }
    let file = problem_of(folder, result)?;
    let mut bounded = Vec::new();
    for learner in &result.learners {
        let config = LearnerConfig::parse(&learner.label, file.learning())
            .and_then(|config| config.for_episodes(result.episodes))
            .map_err(CommandError::of(&file))?;
        if let Ok(parameters) = config.feedbal_parameters() {
            let bounds = Bounds::new(file.problem()?, &parameters, result.episodes)
                .map_err(CommandError::of(&file))?;
            bounded.push((learner, bounds));
        }
    }
    if bounded.is_empty() {
        return Err(CommandError::input(format!(
            "--bound: {} has no `feedbal`, and no theorem covers other learners",
            folder.path().display()
        )));
    }
    for (learner, bounds) in &bounded {
        for line in bound_series(bounds, learner, bounded.len() > 1) {
            // The trivial bound is the same for all.
            if !curves.iter().any(|curve| curve.label == line.label) {
                curves.push(line);
            }
        }
    }
    let labelled: Vec<(&str, &Bounds)> = bounded
        .iter()
        .map(|(learner, bounds)| (learner.label.as_str(), bounds))
        .collect();
    Ok(bound_note(&labelled))
}

/// The problem of a folder; fails if it is not the one of its result.
fn problem_of(folder: &Folder, result: &RunResult) -> Result<ProblemFile, CommandError> {
    let name = "problem.json";
    let text = folder
        .read(name)
        .map_err(|error| CommandError::input(error.to_string()))?;
    let path = folder.file(name).display().to_string();
    let file = ProblemFile::parse_as(Format::Json, &path, &text)?;
    if file.hash() != result.problem_hash {
        return Err(CommandError::input(format!(
            "{path} is not the problem of the run: its hash is {}, and that in run.json is {}",
            file.hash(),
            result.problem_hash
        )));
    }
    Ok(file)
}
