//! `emab arena`: learners on problems, on the same runs, beside each other.

use std::collections::BTreeSet;
use std::sync::Arc;

use emab::learners::{LearnerConfig, LearnerError, Sees};
use emab::{
    ArenaCell, ArenaGround, ArenaProblem, ArenaResult, LeftOut, Problem, REFERENCE, Tallied,
};
use emab_problem::{BUILTIN, ProblemFile};
use emab_report::{Folder, arena_csv, arena_text, draw_arena};
use emab_sim::{Contest, Control, roster};
use serde::Serialize;

use super::arena_cells::Cells;
use super::run::{CHECKED_FIRST, version};
use super::stop_on_ctrl_c;
use crate::args::Arena;
use crate::failure::Failure;
use crate::{clock, load, memory, terminal};

/// Episodes and runs, and the same for `--quick`: everything there is takes about half a minute on two processors.
const FULL: (u64, u64) = (5000, 40);
const QUICK: (u64, u64) = (1000, 30);
/// Episodes after which a learner's memory is looked at, at most.
const WATCHED: u64 = 2000;

/// One problem and who plays on it.
struct Field {
    file: ProblemFile,
    problem: Arc<Problem>,
    contests: Vec<Contest>,
    left_out: Vec<LeftOut>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    result: &'a ArenaResult,
    summary: Vec<Tallied>,
}

pub fn arena(args: &Arena, json: bool) -> Result<(), Failure> {
    let (episodes, runs) = if args.quick { QUICK } else { FULL };
    let result = ArenaResult {
        version: version(),
        seed: args.seed,
        runs: args.runs.unwrap_or(runs),
        episodes: args.episodes.unwrap_or(episodes),
        problems: Vec::new(),
    };
    if result.runs < 2 {
        return Err(Failure::input(
            "--runs: one run has no error to compare by; ask for at least 2",
        ));
    }
    let fields = fields(args, &result)?;
    let folder = args.out.as_deref().map(Folder::create).transpose()?;
    let cells = Cells::open(folder.as_ref())?;
    let played = play(&fields, &cells, args.threads.unwrap_or(0).into())?;
    let mut problems = Vec::new();
    for (field, cells) in fields.into_iter().zip(played) {
        let ground = ground(&field, &result)?;
        let left_out = field.left_out;
        problems.push(ArenaProblem::judge(
            ground,
            result.episodes,
            &cells,
            left_out,
        ));
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
fn fields(args: &Arena, result: &ArenaResult) -> Result<Vec<Field>, Failure> {
    let names = match args.problem.is_empty() {
        true => BUILTIN.iter().map(|builtin| builtin.name.into()).collect(),
        false => args.problem.clone(),
    };
    let mut learners = match args.learner.is_empty() {
        true => roster(),
        false => args.learner.clone(),
    };
    for learner in &mut learners {
        *learner = learner.trim().to_owned();
    }
    if !learners.iter().any(|learner| learner == REFERENCE) {
        learners.insert(0, REFERENCE.into());
    }
    let mut seen = BTreeSet::new();
    learners.retain(|learner| seen.insert(learner.clone()));

    let mut fields: Vec<Field> = Vec::new();
    for name in &names {
        let file = load::under(load::problem(name)?, &args.condition)?;
        let problem = file.problem()?;
        file.check(CHECKED_FIRST)?;
        if fields.iter().any(|field| field.file.hash() == file.hash()) {
            terminal::note(&format!("note: {name} is a problem that is there already"));
        } else {
            fields.push(Field {
                file,
                problem,
                contests: Vec::new(),
                left_out: Vec::new(),
            });
        }
    }
    for learner in &learners {
        let mut wrong = None;
        for field in &mut fields {
            match field.enter(learner, result) {
                Ok(contest) => field.contests.push(contest),
                Err(error) => {
                    field.left_out.push(LeftOut {
                        label: learner.clone(),
                        why: why(&error),
                    });
                    if !error.does_not_apply() {
                        wrong.get_or_insert(error);
                    }
                }
            }
        }
        // What was asked for and fails everywhere, not for a problem's sake, was asked for wrongly. Nobody asked for
        // those of the roster: a problem that does not tell what one of them needs goes without it.
        let plays = |field: &Field| field.contests.iter().any(|c| c.learner.label() == learner);
        if let Some(error) = wrong
            && args.learner.contains(learner)
            && !fields.iter().any(plays)
        {
            return Err(Failure::input(error.to_string()));
        }
    }
    for field in &fields {
        field.note_assumed();
    }
    Ok(fields)
}

/// An error without the name of the learner, which stands before it.
fn why(error: &LearnerError) -> String {
    let text = error.to_string();
    let rest = text.strip_prefix("learner `").and_then(|rest| {
        let (_, rest) = rest.split_once('`')?;
        Some(rest.trim_start_matches(':').trim_start().to_owned())
    });
    rest.unwrap_or(text)
}

impl Field {
    fn enter(&self, learner: &str, result: &ArenaResult) -> Result<Contest, LearnerError> {
        let learner =
            LearnerConfig::parse(learner, self.file.learning())?.for_episodes(result.episodes)?;
        learner.build(self.problem.spec(), Some(&self.problem))?;
        Ok(Contest {
            problem: self.problem.clone(),
            circumstances: self.file.circumstances(),
            learner,
            episodes: result.episodes,
            runs: result.runs,
            seed: result.seed,
        })
    }

    /// Says once what most learners assume where the problem does not state it.
    fn note_assumed(&self) {
        let names: BTreeSet<&str> = self
            .contests
            .iter()
            .flat_map(|contest| contest.learner.assumed().iter().copied())
            .collect();
        if !names.is_empty() {
            let names: Vec<&str> = names.into_iter().collect();
            terminal::note(&format!(
                "note: {}: [learning] does not state `{}`; learners assume their defaults",
                self.file.name(),
                names.join("`, `")
            ));
        }
    }
}

/// Plays every cell that is not finished; one list a problem.
fn play(
    fields: &[Field],
    cells: &Cells<'_>,
    threads: usize,
) -> Result<Vec<Vec<(Sees, ArenaCell)>>, Failure> {
    let stop = stop_on_ctrl_c();
    let all: usize = fields.iter().map(|field| field.contests.len()).sum();
    let each = |contest: &Contest| contest.runs.saturating_mul(contest.episodes);
    let contests = fields.iter().flat_map(|field| &field.contests);
    let bar = terminal::progress(contests.map(each).fold(0, u64::saturating_add));
    let (mut finished, mut before) = (0, 0_u64);
    let mut played = Vec::new();
    for field in fields {
        let mut here = Vec::new();
        for contest in &field.contests {
            let sees = contest.learner.entry().sees;
            let cell = match cells.find(field.file.hash(), contest) {
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
                        .map_err(|error| Failure::simulation(&field.file, error))?;
                    let Some(cell) = cell else {
                        bar.finish_and_clear();
                        return Err(stopped(finished, all, cells));
                    };
                    cells.keep(field.file.hash(), contest, &cell)?;
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
    contest: &Contest,
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

fn stopped(finished: usize, all: usize, cells: &Cells<'_>) -> Failure {
    let next = match cells.are_kept() {
        true => "the same call goes on from there",
        false => "nothing was kept; --out DIR would have kept it",
    };
    Failure::Work(format!(
        "stopped after {finished} of {all} learners on problems; {next}"
    ))
}

/// What is known of a problem without any learner.
fn ground(field: &Field, result: &ArenaResult) -> Result<ArenaGround, Failure> {
    // Whoever plays makes no difference to it.
    let anybody = field
        .enter("random", result)
        .map_err(|error| Failure::learner(&field.file, error))?;
    let worth = anybody
        .experiment()
        .worth()
        .map_err(|error| Failure::simulation(&field.file, error))?;
    Ok(ArenaGround {
        problem: field.file.name().into(),
        problem_hash: field.file.hash().into(),
        benchmark_value: worth.benchmark_value,
        benchmark_stderr: worth.benchmark_stderr,
        optimal_value: worth.optimal_value,
        estimator: worth.estimator.into(),
        conditions: field.file.conditions().clone(),
    })
}

fn write(folder: &Folder, result: &ArenaResult) -> Result<(), Failure> {
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
