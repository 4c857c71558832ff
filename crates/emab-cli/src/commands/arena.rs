//! `emab arena`: learners on problems, on the same runs, beside each other.

use std::collections::BTreeSet;

use emab::learners::Access;
use emab_problem::{BUILTIN, ProblemFile};
use emab_report::{Folder, arena_csv, arena_text, draw_arena};
use emab_sim::Control;
use emab_sim::compare::{Budget, Matchup, ProblemEntrants, enter};
use emab_sim::results::{ArenaCell, ArenaProblem, ArenaResult, ArenaSummary};
use serde::Serialize;

use super::arena_cells::Cells;
use super::run::{CHECKED_FIRST, version};
use super::stop_on_ctrl_c;
use crate::args::Arena;
use crate::error::CommandError;
use crate::{clock, load, memory, terminal};

/// Episodes and runs, and the same for `--quick`: everything there is takes about half a minute on two processors.
const FULL: (u64, u64) = (5000, 40);
const QUICK: (u64, u64) = (1000, 30);
/// Episodes after which a learner's memory is looked at, at most.
const WATCHED: u64 = 2000;

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    result: &'a ArenaResult,
    summary: Vec<ArenaSummary>,
}

pub fn arena(args: &Arena, json: bool) -> Result<(), CommandError> {
    let (episodes, runs) = if args.quick { QUICK } else { FULL };
    let result = ArenaResult {
        version: version(),
        seed: args.seed,
        runs: args.runs.unwrap_or(runs),
        episodes: args.episodes.unwrap_or(episodes),
        problems: Vec::new(),
    };
    if result.runs < 2 {
        return Err(CommandError::input(
            "--runs: one run has no error to compare by; ask for at least 2",
        ));
    }
    let rounds = Budget {
        episodes: result.episodes,
        runs: result.runs,
        seed: result.seed,
    };
    let (files, fields) = grounds(args, rounds)?;
    let folder = args.out.as_deref().map(Folder::create).transpose()?;
    let cells = Cells::open(folder.as_ref())?;
    let played = play(&files, &fields, &cells, args.threads.unwrap_or(0).into())?;
    let mut problems = Vec::new();
    for ((file, field), cells) in files.iter().zip(fields).zip(played) {
        let ground = field.ground(file.name(), file.hash());
        let ground = ground.map_err(|error| CommandError::simulation(file, error))?;
        problems
            .extend(ground.map(|ground| {
                ArenaProblem::judge(ground, result.episodes, &cells, field.left_out)
            }));
    }
    let result = ArenaResult { problems, ..result };
    // Whatever becomes of the files, the result is shown.
    let written = folder.map(|folder| write(&folder, &result)).transpose();
    if json {
        terminal::print_json(&document(&result))?;
    } else {
        terminal::print(&arena_text(&result))?;
    }
    written.map(|_| ())
}

fn document(result: &ArenaResult) -> Document<'_> {
    Document {
        result,
        summary: result.tallied(),
    }
}

/// Every problem with its learners; those that do not apply are left out of it.
fn grounds(
    args: &Arena,
    rounds: Budget,
) -> Result<(Vec<ProblemFile>, Vec<ProblemEntrants>), CommandError> {
    let names = match args.problem.is_empty() {
        true => BUILTIN.iter().map(|builtin| builtin.name.into()).collect(),
        false => args.problem.clone(),
    };
    let mut files: Vec<ProblemFile> = Vec::new();
    let mut fields = Vec::new();
    for name in &names {
        let file = load::under(load::problem(name)?, &args.condition)?;
        let problem = file.problem()?;
        file.check(CHECKED_FIRST)?;
        if files.iter().any(|other| other.hash() == file.hash()) {
            terminal::note(&format!("note: {name} is a problem that is there already"));
            continue;
        }
        let (circumstances, learning) = (file.scenario(), *file.learning());
        fields.push(ProblemEntrants::new(
            problem,
            circumstances,
            learning,
            rounds,
        ));
        files.push(file);
    }
    enter(&mut fields, &args.learner).map_err(|error| CommandError::input(error.to_string()))?;
    for (file, field) in files.iter().zip(&fields) {
        note_assumed(file, field);
    }
    Ok((files, fields))
}

/// Says once what most learners assume where the problem does not state it.
fn note_assumed(file: &ProblemFile, field: &ProblemEntrants) {
    let contests = field.contests.iter();
    let names: BTreeSet<&str> = contests
        .flat_map(|contest| contest.learner.assumed().iter().copied())
        .collect();
    if !names.is_empty() {
        let names: Vec<&str> = names.into_iter().collect();
        terminal::note(&format!(
            "note: {}: [learning] does not state `{}`; learners assume their defaults",
            file.name(),
            names.join("`, `")
        ));
    }
}

/// Plays every cell that is not finished; one list a problem.
fn play(
    files: &[ProblemFile],
    fields: &[ProblemEntrants],
    cells: &Cells<'_>,
    threads: usize,
) -> Result<Vec<Vec<(Access, ArenaCell)>>, CommandError> {
    let stop = stop_on_ctrl_c();
    let all: usize = fields.iter().map(|field| field.contests.len()).sum();
    let each = |contest: &Matchup| contest.runs.saturating_mul(contest.episodes);
    let contests = fields.iter().flat_map(|field| &field.contests);
    let bar = terminal::progress(contests.map(each).fold(0, u64::saturating_add));
    let (mut finished, mut before) = (0, 0_u64);
    let mut played = Vec::new();
    for (file, field) in files.iter().zip(fields) {
        let mut here = Vec::new();
        for contest in &field.contests {
            let sees = contest.learner.entry().access;
            let cell = match cells.find(file.hash(), contest) {
                Some(cell) => cell,
                None => {
                    bar.set_message(format!("{} of {all}", finished + 1));
                    let mut control = Control {
                        threads,
                        stop,
                        watch: &mut |progress, _| {
                            bar.set_position(before.saturating_add(progress.done));
                        },
                    };
                    let cell = one(contest, &mut control)
                        .map_err(|error| CommandError::simulation(file, error))?;
                    let Some(cell) = cell else {
                        bar.finish_and_clear();
                        return Err(stopped(finished, all, cells));
                    };
                    cells.keep(file.hash(), contest, &cell)?;
                    cell
                }
            };
            here.push((sees, cell));
            finished += 1;
            before = before.saturating_add(each(contest));
            bar.set_position(before);
        }
        played.push(here);
    }
    bar.finish_and_clear();
    Ok(played)
}

/// One learner on one problem, and what it holds after a while.
fn one(
    contest: &Matchup,
    control: &mut Control<'_>,
) -> Result<Option<ArenaCell>, emab_sim::SimError> {
    let began = clock::processor_seconds();
    let Some(mut cell) = contest.run(control)? else {
        return Ok(None);
    };
    if let (Some(began), Some(ended)) = (began, clock::processor_seconds()) {
        cell.nanoseconds = 1e9 * (ended - began) / cell.steps.max(1) as f64;
    }
    let played = contest.played(contest.episodes.min(WATCHED), control.stop)?;
    Ok(played.map(|learner| ArenaCell {
        memory: Some(memory::held_by(learner)),
        ..cell
    }))
}

fn stopped(finished: usize, all: usize, cells: &Cells<'_>) -> CommandError {
    let next = match cells.are_kept() {
        true => "the same call goes on from there",
        false => "nothing was kept; --out DIR would have kept it",
    };
    CommandError::Work(format!(
        "stopped after {finished} of {all} learners on problems; {next}"
    ))
}

fn write(folder: &Folder, result: &ArenaResult) -> Result<(), CommandError> {
    let json = terminal::to_json(&document(result))?;
    folder.write("arena.json", json.as_bytes())?;
    folder.write("arena.csv", arena_csv(result).as_bytes())?;
    let picture = draw_arena(result)?;
    folder.write("arena.svg", picture.svg.as_bytes())?;
    folder.write("arena.png", &picture.png)?;
    terminal::note(&format!(
        "wrote arena.csv, arena.json, arena.svg and arena.png into {}",
        folder.path().display()
    ));
    Ok(())
}
