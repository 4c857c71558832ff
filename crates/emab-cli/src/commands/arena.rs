//! `emab arena`: compares learners on problems with common random numbers.

use std::collections::BTreeSet;
use std::path::Path;

use emab::learners::Access;
use emab_problem::{BUILTIN, ProblemFile};
use emab_report::{arena_csv, arena_options, arena_text, draw_arena, pairs_csv};
use emab_sim::compare::{ArenaEntrants, ArenaFolder, ArenaSettings, Cell, PairDecisions};
use emab_sim::results::{ArenaCellResult, ArenaPairs, ArenaProblem, ArenaResult, ArenaSummary};
use emab_sim::{
    ARENA, BuildError, CHECKED_PAIRS, Control, Device, Folder, Shard, StoredProblems, VERSION,
};
use serde::Serialize;

use super::{PlayCells, create_folder, how_to_continue, note_finished, open_device, write_picture};
use crate::args::Arena;
use crate::error::CommandError;
use crate::{load, measure, terminal};

/// Episodes and runs, and the same for `--quick`, which takes about half a minute on two processors.
const FULL: (u64, u64) = (5000, 40);
const QUICK: (u64, u64) = (1000, 30);
/// The most runs with `--until-decided`.
const MOST_RUNS: u64 = 1000;
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
    let device = open_device(args.device)?;
    let settings = settings(args)?;
    let problems = ArenaEntrants::enter(problem_files(args)?, &args.learner, settings)
        .map_err(|error| CommandError::input(error.to_string()))?;
    problems.iter().for_each(note_assumed);
    let folder = args.out.as_deref().map(create_folder).transpose()?;
    let cells = || problems.iter().flat_map(|problem| &problem.cells);
    let folder = folder.map(|folder| ArenaFolder::begin(folder, cells(), args.margin, args.force));
    let folder = folder.transpose()?;
    let player = Player {
        folder: folder.as_ref(),
        threads: args.threads,
        device,
    };
    let played = match args.margin {
        None => player.play(&problems)?,
        Some(margin) => {
            let pairs = |problem: &ArenaEntrants| {
                let ranked = problem.ranked() as u64;
                ranked * ranked.saturating_sub(1) / 2
            };
            let of = problems.iter().map(pairs).sum();
            let new = |problem: &ArenaEntrants| {
                PairDecisions::new(problem.ranked(), margin, of, settings.runs)
            };
            let play = |problem| player.play_until_decided(problem, new(problem));
            problems.iter().map(play).collect::<Result<_, _>>()?
        }
    };
    let mut judged: Vec<ArenaProblem> = Vec::new();
    let mut files: Vec<ProblemFile> = Vec::new();
    for (problem, (cells, pairs)) in problems.into_iter().zip(played) {
        let setting = problem.setting();
        let setting = setting.map_err(CommandError::of_cell(&problem.file))?;
        files.extend(setting.is_some().then(|| problem.file.clone()));
        let judge =
            |setting| ArenaProblem::judge(setting, settings.ranked_at, &cells, problem.excluded);
        judged.extend(setting.map(judge).map(|problem| match pairs {
            Some(pairs) => problem.with_pairs(pairs),
            None => problem,
        }));
    }
    let runs = judged.iter().filter_map(|problem| problem.runs).max();
    let result = ArenaResult {
        version: VERSION.into(),
        seed: settings.seed,
        runs: runs.unwrap_or(settings.runs),
        episodes: settings.episodes,
        problems: judged,
    };
    // The result is shown even if it cannot be written.
    let written = folder
        .map(|folder| write(folder.folder(), &result, &files))
        .transpose();
    terminal::show(json, &document(&result), || {
        arena_text(&result, terminal::width())
    })?;
    written.map(|_| ())
}

/// Episodes, runs and seed, checked.
fn settings(args: &Arena) -> Result<ArenaSettings, CommandError> {
    let (episodes, runs) = if args.quick { QUICK } else { FULL };
    let runs = if args.until_decided { MOST_RUNS } else { runs };
    let episodes = args.episodes.unwrap_or(episodes);
    let settings = ArenaSettings {
        episodes,
        ranked_at: args.rank_at.unwrap_or(episodes),
        runs: args.runs.unwrap_or(runs),
        seed: args.seed,
    };
    if settings.ranked_at > episodes {
        return Err(CommandError::input(format!(
            "--rank-at: {} lies beyond the {episodes} episodes of a run; choose a number from 1 to {episodes}, or more --episodes",
            settings.ranked_at
        )));
    }
    let (round, burn_in) = (PairDecisions::ROUND, PairDecisions::BURN_IN);
    if args.until_decided && (settings.runs < burn_in || !settings.runs.is_multiple_of(round)) {
        return Err(CommandError::input(format!(
            "--runs: with --until-decided it is a multiple of {round}, the runs of a round, and at least {burn_in}, got {}",
            settings.runs
        )));
    }
    if settings.runs < 2 {
        return Err(CommandError::input(
            "--runs: a comparison needs a standard error; ask for at least 2 runs",
        ));
    }
    Ok(settings)
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

/// The cells of a problem with their results, and its pairs if runs are added until these are decided.
type Played = (Vec<(Access, ArenaCellResult)>, Option<ArenaPairs>);

/// Plays what is not finished.
struct Player<'a> {
    folder: Option<&'a ArenaFolder>,
    threads: Option<u16>,
    device: Device,
}

impl Player<'_> {
    /// Plays all cells of all problems; the results by problem.
    fn play(&self, problems: &[ArenaEntrants]) -> Result<Vec<Played>, CommandError> {
        let cells: Vec<(&ArenaEntrants, Cell)> = problems
            .iter()
            .flat_map(|problem| {
                problem
                    .cells
                    .iter()
                    .map(move |cell| (problem, cell.clone()))
            })
            .collect();
        let mut results = Vec::new();
        if !self.play_cells("", &cells, &mut results)? {
            let done = format!(
                "{} of {} cells (a learner on a problem)",
                results.len(),
                cells.len()
            );
            return Err(self.stopped(&done));
        }
        let mut results = results.into_iter();
        let of = |problem: &ArenaEntrants| (with_access(problem, &mut results), None);
        Ok(problems.iter().map(of).collect())
    }

    /// Plays a problem in rounds until every pair of ranked learners is decided.
    fn play_until_decided(
        &self,
        problem: &ArenaEntrants,
        mut pairs: PairDecisions,
    ) -> Result<Played, CommandError> {
        let ranked = |cell: &Cell| cell.learner.entry().access == Access::Spec;
        let ranked: Vec<bool> = problem.cells.iter().map(ranked).collect();
        let name = problem.file.name();
        let mut joined: Vec<ArenaCellResult> = Vec::new();
        while !pairs.is_finished() {
            let rounds = pairs.runs() / PairDecisions::ROUND;
            let round = |cell: &Cell| (problem, cell.round(rounds, PairDecisions::ROUND));
            let cells: Vec<_> = problem.cells.iter().map(round).collect();
            let title = format!(
                "{name}, {} runs, {} pairs open, ",
                pairs.runs(),
                pairs.open()
            );
            let mut results = Vec::new();
            if !self.play_cells(&title, &cells, &mut results)? {
                return Err(self.stopped(&format!("{} runs on {name}", pairs.runs())));
            }
            let finals = results.iter().zip(&ranked).filter(|(_, ranked)| **ranked);
            let finals: Vec<&[f64]> = finals.map(|(result, _)| &*result.finals).collect();
            pairs.add(PairDecisions::ROUND, &finals);
            match joined.is_empty() {
                true => joined = results,
                false => {
                    let both = joined.iter_mut().zip(results);
                    both.for_each(|(joined, next)| joined.append(next));
                }
            }
        }
        let labels = joined.iter().zip(&ranked).filter(|(_, ranked)| **ranked);
        let labels: Vec<&str> = labels.map(|(result, _)| &*result.label).collect();
        let pairs = pairs.results(&labels);
        Ok((with_access(problem, &mut joined.into_iter()), Some(pairs)))
    }

    /// Plays cells or finds their saved results. False if Ctrl-C stopped it.
    fn play_cells(
        &self,
        title: &str,
        cells: &[(&ArenaEntrants, Cell)],
        results: &mut Vec<ArenaCellResult>,
    ) -> Result<bool, CommandError> {
        // One at a time, so that the time of each is its own.
        let control = PlayCells {
            title,
            threads: self.threads,
            device: &self.device,
            at_once: 1,
        };
        control.play(
            cells,
            |(_, cell)| cell.share().saturating_mul(cell.episodes),
            |(problem, cell), control| {
                if let Some(saved) = self.folder.and_then(|folder| folder.find(cell)) {
                    return Ok(Some((saved, true)));
                }
                let measured = measure(problem, cell, control);
                let result = measured.map_err(CommandError::of_cell(&problem.file))?;
                Ok(result.map(|result| (result, false)))
            },
            |(_, cell), (result, is_saved)| {
                if let Some(folder) = self.folder.filter(|_| !is_saved) {
                    folder.append(cell, &result)?;
                }
                results.push(result);
                Ok(())
            },
        )
    }

    fn stopped(&self, done: &str) -> CommandError {
        let how = how_to_continue(self.folder.is_some());
        CommandError::Work(format!("stopped after {done}; {how}"))
    }
}

/// The results of the cells of a problem, with what their learners see.
fn with_access(
    problem: &ArenaEntrants,
    results: &mut impl Iterator<Item = ArenaCellResult>,
) -> Vec<(Access, ArenaCellResult)> {
    let access = problem.cells.iter().map(|cell| cell.learner.entry().access);
    access.zip(results).collect()
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
    if let (Some(began), Some(ended), None) = (
        began,
        measure::processor_seconds(),
        control.device.gpu_name(),
    ) {
        result.nanoseconds = 1e9 * (ended - began) / result.steps.max(1) as f64;
    }
    // A later round does not measure the same again.
    if cell.shard != Shard::WHOLE {
        return Ok(Some(result));
    }
    let episodes = cell.episodes.min(MEMORY_EPISODES);
    let learner = problem.learner_after(cell, episodes, control.stop)?;
    Ok(learner.map(|learner| ArenaCellResult {
        memory: measure::held_by(learner),
        ..result
    }))
}

fn write(
    folder: &Folder,
    result: &ArenaResult,
    problems: &[ProblemFile],
) -> Result<(), CommandError> {
    let json = terminal::to_json(&document(result))?;
    let stored = StoredProblems::write(folder, problems)?;
    if folder.has(ARENA) && folder.read(ARENA)? == json {
        note_finished(folder, "this arena");
        return Ok(());
    }
    folder.write("arena.csv", arena_csv(result).as_bytes())?;
    let pairs = pairs_csv(result);
    if let Some(pairs) = &pairs {
        folder.write("pairs.csv", pairs.as_bytes())?;
    }
    let picture = draw_arena(result, &arena_options(result))?;
    write_picture(folder, "arena", &picture)?;
    // The last file: with it the arena is finished.
    folder.write(ARENA, json.as_bytes())?;
    terminal::note(&format!(
        "wrote arena.csv, arena.json, {}{}arena.svg and arena.png into {}",
        if pairs.is_some() { "pairs.csv, " } else { "" },
        if stored { "arena-problems, " } else { "" },
        folder.path().display()
    ));
    Ok(())
}
