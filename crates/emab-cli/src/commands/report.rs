//! `emab report`: one HTML page of result folders.

use std::path::{Path, PathBuf};

use clap::Parser;
use emab_report::{
    ArenaContent, Content, Entry, Picture, RunContent, SweepContent, read_regret_map,
    report as document,
};
use emab_sim::background::{
    ArenaBackground, ProblemSummary, RunBackground, arena_command, run_command,
};
use emab_sim::compare::sweep::{Manifest, read_sweep};
use emab_sim::{
    Folder, ResultKind, StoredProblems, quoted, read_result, recorded_episodes, write_file,
};
use serde_json::json;

use super::plot::problem_of;
use super::plot_arena::read_arena;
use super::plot_sweep::plot_sweep;
use super::{ending, written};
use crate::args::{Args, Command, Report};
use crate::error::CommandError;
use crate::terminal;

pub fn report(args: &Report, json: bool) -> Result<(), CommandError> {
    let out = out(args)?;
    let entries = args.folders.iter().map(|folder| entry(folder));
    let entries: Vec<Entry> = entries.collect::<Result<_, _>>()?;
    let html = document(&entries).html();
    let changed = write_file(&out, html.as_bytes(), args.force)?;
    let files: Vec<String> = changed
        .then(|| out.display().to_string())
        .into_iter()
        .collect();
    terminal::show(json, &json!({"written": files}), || written(&out, changed))
}

/// The file to write.
fn out(args: &Report) -> Result<PathBuf, CommandError> {
    match (&args.out, args.folders.as_slice()) {
        (Some(path), _) if ending(path) != "html" => Err(CommandError::input(format!(
            "--out must end in .html, got {}",
            path.display()
        ))),
        (Some(path), _) => Ok(path.clone()),
        (None, [folder]) => Ok(folder.join("report.html")),
        (None, _) => Err(CommandError::input(
            "the report of several folders needs --out FILE.html",
        )),
    }
}

/// The content of a result folder.
fn entry(path: &Path) -> Result<Entry, CommandError> {
    let folder = Folder::open(path).map_err(|error| CommandError::input(error.to_string()))?;
    let (content, command) = match ResultKind::shown(&folder) {
        Some(ResultKind::Sweep) => sweep(&folder)?,
        Some(ResultKind::Run) => run(&folder)?,
        Some(ResultKind::Arena) => arena(&folder)?,
        _ => {
            return Err(CommandError::input(format!(
                "{} contains no finished result: it has no run.json, sweep.json or arena.json, which `emab run`, `emab sweep` and \
                 `emab arena` write with --out",
                quoted(path)
            )));
        }
    };
    Ok(Entry {
        folder: path.display().to_string(),
        content,
        command,
    })
}

fn run(folder: &Folder) -> Result<(Content, String), CommandError> {
    let result = read_result(folder)?;
    let places = match folder.has("places.csv") {
        true => read_regret_map(&folder.read("places.csv")?),
        false => Ok(Vec::new()),
    };
    let places = places.map_err(|fault| {
        let file = folder.file("places.csv").display().to_string();
        CommandError::Work(format!("{file} is damaged: {fault}"))
    })?;
    let background = match folder.has("problem.json") {
        true => {
            let file = problem_of(folder, &result)?;
            let located = CommandError::of_cell(&file);
            Some(RunBackground::of(&result, file.clone()).map_err(located)?)
        }
        false => None,
    };
    let recorded = recorded_episodes(folder).unwrap_or_default();
    let problem = quoted(&folder.file("problem.json"));
    let command = run_command(&result, &problem, &recorded);
    let content = RunContent {
        result,
        background,
        places,
    };
    Ok((Content::Run(content.into()), command))
}

fn sweep(folder: &Folder) -> Result<(Content, String), CommandError> {
    let manifest = Manifest::read(folder)?;
    let (sweep, cells) = read_sweep(folder)?;
    let problem = ProblemSummary::of(manifest.problem()?)?;
    let command = format!("emab sweep {}", quoted(Path::new(&manifest.file)));
    let content = SweepContent {
        plot: sweep_plot(folder),
        warnings: sweep.warnings()?,
        version: manifest.version,
        text: manifest.text,
        sweep,
        cells,
        problem,
    };
    Ok((Content::Sweep(content.into()), command))
}

fn arena(folder: &Folder) -> Result<(Content, String), CommandError> {
    let result = read_arena(folder)?;
    let stored = StoredProblems::read(folder)?;
    let command = arena_command(&result, &stored);
    let content = ArenaContent {
        background: ArenaBackground::of(&result, &stored),
        result,
    };
    Ok((Content::Arena(content.into()), command))
}

/// The plot that `emab plot DIR` draws, or why it draws none.
fn sweep_plot(folder: &Folder) -> Result<Picture, String> {
    let call = [
        "emab".as_ref(),
        "plot".as_ref(),
        "--".as_ref(),
        folder.path(),
    ];
    let call = Args::try_parse_from(call).map_err(|error| error.to_string())?;
    let Command::Plot(mut args) = call.command else {
        return Err("`emab plot` is not available".into());
    };
    let mut picture = plot_sweep(folder, &args).map_err(|error| match error {
        CommandError::Input(why) | CommandError::Work(why) => why,
        _ => "`emab plot` cannot draw this sweep".into(),
    })?;
    args.narrow = true;
    picture.narrow = plot_sweep(folder, &args).ok().map(|narrow| narrow.svg);
    Ok(picture)
}
