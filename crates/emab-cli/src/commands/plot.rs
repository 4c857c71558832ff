//! `emab plot`: plots the results in a folder.

use emab::learners::LearnerConfig;
use emab::theory::Bounds;
use emab_problem::{Format, ProblemFile};
use emab_report::{
    Picture, Series, UNRELIABLE_NOTE, bound_note, bound_series, draw_curves, lower_bound_series,
    quantile_series, regret_series,
};
use emab_sim::LowerBoundCurve;
use emab_sim::results::{LearnerResult, RunResult};
use emab_sim::{Folder, FolderContent, ResultKind, read_result, write_file};
use serde_json::json;

use super::plot_arena::plot_arena;
use super::plot_learners::Learners;
use super::plot_sweep::{note_unfinished, plot_sweep};
use super::run::plot_options;
use super::{ending, write_picture, written};
use crate::args::{Band, Plot};
use crate::error::CommandError;
use crate::terminal;

pub fn plot(args: &Plot, json: bool) -> Result<(), CommandError> {
    let folder = Folder::open(&args.folder).map_err(|e| CommandError::input(e.to_string()))?;
    let place = args.folder.display();
    let none = |options: Vec<&str>, why: &str| match options.is_empty() {
        true => Ok(()),
        false => Err(CommandError::input(format!(
            "{}: {place} contains {why}",
            options.join(", ")
        ))),
    };
    let bounds = [(args.bound, "--bound"), (args.lower, "--lower")];
    let bound: Vec<&str> = (bounds.into_iter())
        .filter_map(|(is_set, name)| is_set.then_some(name))
        .collect();
    let kind = ResultKind::shown(&folder);
    if kind == Some(ResultKind::Sweep) {
        none(bound, "a sweep, and bounds are for the result of a run")?;
        let picture = plot_sweep(&folder, args)?;
        note_unfinished(&folder)?;
        return write(&folder, args, "sweep", &picture, json);
    }
    none(args.sweep_options(), "no sweep, which this is for")?;
    if kind == Some(ResultKind::Arena) {
        let band = (args.band != Band::Ci).then_some("--band");
        let others = args.line_options().into_iter().chain(bound).chain(band);
        none(
            others.collect(),
            "an arena, which is drawn as dots with 95 % intervals, one panel per problem",
        )?;
        return write(&folder, args, "arena", &plot_arena(&folder, args)?, json);
    }
    if kind.is_none() {
        let content = FolderContent::read(&folder)?;
        let there = content.results.first().map_or("no result", |it| &it.words);
        return Err(CommandError::input(format!(
            "{place} contains {there}; `emab plot` draws finished runs, sweeps and arenas"
        )));
    }
    let name = if bound.is_empty() { "regret" } else { "bound" };
    write(&folder, args, name, &plot_run(&folder, args)?, json)
}

/// What the bands are, after the number of runs in the title of a figure.
pub fn band_note(band: Band) -> &'static str {
    match band {
        Band::Ci => ", 95 % intervals",
        Band::Quantile => "; median, quartiles, 5 to 95 %",
    }
}

/// The curve of a learner with these bands.
pub fn band_series(
    name: &str,
    learner: &LearnerResult,
    runs: u64,
    band: Band,
) -> Result<Series, CommandError> {
    match band {
        Band::Ci => Ok(regret_series(name, learner, runs)),
        Band::Quantile => {
            quantile_series(name, learner).ok_or_else(|| no_quantiles(&learner.label))
        }
    }
}

/// The error for a result of an earlier version.
pub fn no_quantiles(label: &str) -> CommandError {
    CommandError::input(format!(
        "--band quantile: the result of {label} has no quantiles, because an earlier version of emab wrote it; run it again with this \
         version, or use --band ci"
    ))
}

fn plot_run(folder: &Folder, args: &Plot) -> Result<Picture, CommandError> {
    let result = read_result(folder)?;
    let known = result
        .learners
        .iter()
        .map(|one| (one.label.as_str(), one.learner.as_str()));
    let learners = Learners::choose(args, known)?;
    let mut drawn: Vec<&LearnerResult> = result.learners.iter().collect();
    drawn.retain(|one| learners.position(&one.label).is_some());
    drawn.sort_by_key(|one| learners.position(&one.label));
    let mut curves = Vec::new();
    for one in &drawn {
        curves.push(band_series(
            learners.name(&one.label),
            one,
            result.runs,
            args.band,
        )?);
    }
    let mut options = plot_options(&result, band_note(args.band), &curves);
    if curves.iter().any(Series::is_unreliable) {
        terminal::note(&format!(
            "note: {UNRELIABLE_NOTE}; --band quantile draws quantiles of the runs"
        ));
    }
    if args.bound {
        let sentence = add_bounds(folder, &result, &drawn, &learners, &mut curves)?;
        terminal::note(&format!("note: {sentence}."));
        options.caption = format!("{sentence}. {}", options.caption);
        options.log_y = true;
    }
    if args.lower {
        let file = problem_of(folder, &result)?;
        let lower = LowerBoundCurve::of(&file, &result);
        let line = lower.as_ref().and_then(lower_bound_series);
        curves.push(line.ok_or_else(|| {
            CommandError::input(format!(
                "--lower: there is no lower bound on the regret against the benchmark for {}; `emab bounds {} --lower` says why",
                folder.path().display(),
                folder.file("problem.json").display()
            ))
        })?);
        let sentence = "Every learner loses at least the lower bound, here or in an alternative";
        options.caption = format!("{sentence}. {}", options.caption);
    }
    Ok(draw_curves(&curves, &args.options(options))?)
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
        "pdf" => picture.pdf()?,
        _ => {
            return Err(CommandError::input(format!(
                "--output must end in .pdf, .svg or .png, got {}",
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

/// Adds the bound of Theorem 1 for each FeedBAL curve that is drawn, and returns a sentence that explains it.
fn add_bounds(
    folder: &Folder,
    result: &RunResult,
    drawn: &[&LearnerResult],
    learners: &Learners,
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
    for learner in drawn {
        let config = LearnerConfig::parse(&learner.label, file.learning())
            .and_then(|config| config.for_episodes(result.episodes))
            .map_err(CommandError::of(&file))?;
        if let Ok(parameters) = config.feedbal_parameters() {
            let bounds = Bounds::new(file.problem()?, &parameters, result.episodes)
                .map_err(CommandError::of(&file))?;
            let named = LearnerResult {
                label: learners.name(&learner.label).to_owned(),
                ..(*learner).clone()
            };
            bounded.push((named, bounds));
        }
    }
    if bounded.is_empty() {
        return Err(CommandError::input(format!(
            "--bound: no `feedbal` of {} is drawn, and no theorem covers other learners",
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
pub(super) fn problem_of(folder: &Folder, result: &RunResult) -> Result<ProblemFile, CommandError> {
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
