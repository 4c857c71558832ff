//! `emab arena`: compares learners on problems with common random numbers.

use std::collections::BTreeSet;
use std::path::Path;

use emab::learners::Access;
use emab_problem::{BUILTIN, ProblemFile};
use emab_report::{arena_csv, arena_options, arena_text, draw_arena};
use emab_sim::compare::{ArenaEntrants, ArenaFolder, ArenaSettings, Cell};
use emab_sim::results::{ArenaCellResult, ArenaProblem, ArenaResult, ArenaSummary};
use emab_sim::{BuildError, CHECKED_PAIRS, Control, Finish, Folder, VERSION};
use serde::Serialize;

use super::{create_folder, how_to_continue, note_finished, play_cells, write_picture};
use crate::args::Arena;
use crate::error::CommandError;
use crate::{load, measure, terminal};

/// Episodes and runs, and the same for `--quick`, which takes about half a minute on two processors.
const FULL: (u64, u64) = (5000, 40);
const QUICK: (u64, u64) = (1000, 30);
/// Episodes, at most, after which a learner's memory is measured.
const MEMORY_EPISODES: u64 = 2000;

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    result: &'a ArenaResult,
    summary: Vec<ArenaSummary>,
}

pub fn arena(args: &Arena, json: bool) -> Result<(), CommandError> {
    let (episodes, runs) = if args.quick { QUICK } else { FULL };
    let settings = ArenaSettings {
        episodes: args.episodes.unwrap_or(episodes),
        runs: args.runs.unwrap_or(runs),
        seed: args.seed,
    };
    if settings.runs < 2 {
        return Err(CommandError::input(
            "--runs: a comparison needs a standard error; ask for at least 2 runs",
        ));
    }
    let problems = ArenaEntrants::enter(problem_files(args)?, &args.learner, settings)
        .map_err(|error| CommandError::input(error.to_string()))?;
    problems.iter().for_each(note_assumed);
    let folder = args.out.as_deref().map(create_folder).transpose()?;
    let cells = || problems.iter().flat_map(|problem| &problem.cells);
    let folder = folder.map(|folder| ArenaFolder::begin(folder, cells(), args.force));
    let folder = folder.transpose()?;
    let mut played = play(&problems, folder.as_ref(), args.threads)?;
    let mut judged = Vec::new();
    for problem in problems {
        let setting = problem.setting();
        let setting = setting.map_err(CommandError::of_cell(&problem.file))?;
        let cells: Vec<_> = played.drain(..problem.cells.len()).collect();
        judged.extend(setting.map(|setting| {
            ArenaProblem::judge(setting, settings.episodes, &cells, problem.excluded)
        }));
    }
    let result = ArenaResult {
        version: VERSION.into(),
        seed: settings.seed,
        runs: settings.runs,
        episodes: settings.episodes,
        problems: judged,
    };
    // The result is shown even if it cannot be written.
    let written = folder
        .map(|folder| write(folder.folder(), &result))
        .transpose();
    terminal::show(json, &document(&result), || {
        arena_text(&result, terminal::width())
    })?;
    written.map(|_| ())
}

fn document(result: &ArenaResult) -> Document<'_> {
    Document {
        result,
        summary: result.tallied(),
    }
}

/// The problem files, checked, each once.
fn problem_files(args: &Arena) -> Result<Vec<ProblemFile>, CommandError> {
    let names = match args.problem.is_empty() {
        true => BUILTIN.iter().map(|builtin| builtin.name.into()).collect(),
        false => with_folders(&args.problem)?,
    };
    let mut files: Vec<ProblemFile> = Vec::new();
    for name in &names {
        let file = load::with_conditions(load::problem(name)?, &args.condition)?;
        file.problem()?;
        file.check(CHECKED_PAIRS)?;
        if files.iter().any(|other| other.hash() == file.hash()) {
            terminal::note(&format!("note: {name} is given twice and is used once"));
            continue;
        }
        files.push(file);
    }
    Ok(files)
}

/// The names, with the problem files of each folder in place of the folder.
fn with_folders(names: &[String]) -> Result<Vec<String>, CommandError> {
    let mut all = Vec::new();
    for name in names {
        // As elsewhere, the name of a built-in problem comes first.
        if ProblemFile::builtin(name).is_some() || !Path::new(name).is_dir() {
            all.push(name.clone());
            continue;
        }
        let unreadable = |error: std::io::Error| {
            CommandError::input(format!("cannot read the folder {name}: {error}"))
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(name).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path
                .extension()
                .is_some_and(|end| end == "toml" || end == "json")
            {
                files.push(path.to_string_lossy().into_owned());
            }
        }
        if files.is_empty() {
            return Err(CommandError::input(format!(
                "the folder {name} has no problem files (.toml or .json)"
            )));
        }
        files.sort();
        all.extend(files);
    }
    Ok(all)
}

/// Names once the parameters that a problem does not state and learners assume.
fn note_assumed(problem: &ArenaEntrants) {
    let cells = problem.cells.iter();
    let names: BTreeSet<&str> = cells
        .flat_map(|cell| cell.learner.assumed().iter().copied())
        .collect();
    if !names.is_empty() {
        let names: Vec<&str> = names.into_iter().collect();
        terminal::note(&format!(
            "note: {}: [learning] does not state `{}`; learners assume their defaults",
            problem.file.name(),
            names.join("`, `")
        ));
    }
}

/// Plays every cell that is not finished; the results of all problems, in order.
fn play(
    problems: &[ArenaEntrants],
    folder: Option<&ArenaFolder>,
    threads: Option<u16>,
) -> Result<Vec<(Access, ArenaCellResult)>, CommandError> {
    let cells: Vec<(&ArenaEntrants, &Cell)> = problems
        .iter()
        .flat_map(|problem| problem.cells.iter().map(move |cell| (problem, cell)))
        .collect();
    let mut played = Vec::new();
    let finished = play_cells(
        &cells,
        |(_, cell)| cell.runs.saturating_mul(cell.episodes),
        threads,
        |(problem, cell), control| {
            let saved = folder.and_then(|folder| folder.find(cell));
            let result = match saved {
                Some(result) => result,
                None => {
                    let measured = measure(problem, cell, control);
                    let Some(result) = measured.map_err(CommandError::of_cell(&problem.file))?
                    else {
                        return Ok(Finish::Stopped);
                    };
                    if let Some(folder) = folder {
                        folder.append(cell, &result)?;
                    }
                    result
                }
            };
            played.push((cell.learner.entry().access, result));
            Ok(Finish::Complete)
        },
    )?;
    if finished {
        return Ok(played);
    }
    Err(CommandError::Work(format!(
        "stopped after {} of {} cells (a learner on a problem); {}",
        played.len(),
        cells.len(),
        how_to_continue(folder.is_some())
    )))
}

/// Plays a cell and measures its processor time and memory.
fn measure(
    problem: &ArenaEntrants,
    cell: &Cell,
    control: &mut Control<'_>,
) -> Result<Option<ArenaCellResult>, BuildError> {
    let began = measure::processor_seconds();
    let Some(mut result) = problem.run(cell, control)? else {
        return Ok(None);
    };
    if let (Some(began), Some(ended)) = (began, measure::processor_seconds()) {
        result.nanoseconds = 1e9 * (ended - began) / result.steps.max(1) as f64;
    }
    let episodes = cell.episodes.min(MEMORY_EPISODES);
    let learner = problem.learner_after(cell, episodes, control.stop)?;
    Ok(learner.map(|learner| ArenaCellResult {
        memory: measure::held_by(learner),
        ..result
    }))
}

fn write(folder: &Folder, result: &ArenaResult) -> Result<(), CommandError> {
    let json = terminal::to_json(&document(result))?;
    if folder.has("arena.json") && folder.read("arena.json")? == json {
        note_finished(folder, "this arena");
        return Ok(());
    }
    folder.write("arena.csv", arena_csv(result).as_bytes())?;
    let picture = draw_arena(result, &arena_options(result))?;
    write_picture(folder, "arena", &picture)?;
    // The last file: with it the arena is finished.
    folder.write("arena.json", json.as_bytes())?;
    terminal::note(&format!(
        "wrote arena.csv, arena.json, arena.svg and arena.png into {}",
        folder.path().display()
    ));
    Ok(())
}
