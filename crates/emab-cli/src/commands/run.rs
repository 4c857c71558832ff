//! `emab run`: learners on a problem, and a folder of results.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use emab::Environment;
use emab::environment::RegretEstimator;
use emab_problem::{Format, ProblemFile};
use emab_report::{
    Folder, PlotOptions, Series, confidence, curve_csv, draw, draw_places, number, places_csv,
    regret_series, regret_table,
};
use emab_sim::results::RunResult;
use emab_sim::{Control, Experiment, Finish, Shard, State, check_checkpoints, log_spaced};

use super::checkpoint::{Checkpoint, Plan, SHARD};
use super::{stop_on_ctrl_c, sweep};
use crate::args::Run;
use crate::error::CommandError;
use crate::{load, terminal};

/// The result of a finished run.
pub const RESULT: &str = "run.json";
/// All files of a finished run.
const RESULTS: [&str; 6] = [
    RESULT,
    "curve.csv",
    "places.csv",
    "problem.json",
    "regret.svg",
    "regret.png",
];
/// What `emab plot --bound` adds to them.
const DRAWN_LATER: [&str; 2] = ["bound.svg", "bound.png"];
/// Pairs that are checked before a run begins; in larger problems the rest is checked when it is met.
pub const CHECKED_FIRST: usize = 20_000;

pub fn run(args: &Run, json: bool) -> Result<(), CommandError> {
    let threads = args.threads.unwrap_or(0).into();
    if let Some(path) = &args.resume {
        return resume(path, threads, json);
    }
    let file = load::problem(args.problem.as_deref().unwrap_or_default())?;
    let file = load::under(file, &args.condition)?;
    let default = vec!["feedbal".to_owned()];
    let plan = Plan {
        learners: if args.learner.is_empty() {
            default
        } else {
            args.learner.clone()
        },
        episodes: args.episodes.unwrap_or(10_000),
        runs: args.runs.unwrap_or(100),
        seed: args.seed.unwrap_or(1),
        checkpoints: args.checkpoints.clone(),
        shard: args.shard.unwrap_or_default(),
    };
    let experiment = experiment(&plan, &file, args.out.is_some())?;
    let state = experiment.state();
    let session = Session {
        folder: args.out.as_deref().map(Folder::create).transpose()?,
        file,
        plan,
        experiment,
        threads,
        json,
    };
    session.begin(&state)?;
    session.go(state)
}

fn resume(path: &Path, threads: usize, json: bool) -> Result<(), CommandError> {
    let folder = Folder::open(path).map_err(|error| CommandError::input(error.to_string()))?;
    if !Checkpoint::is_in(&folder) {
        if folder.has(RESULT) {
            terminal::note(&format!("{} is finished already", path.display()));
            return show(&read_result(&folder)?, json);
        }
        if Checkpoint::is_shard(&folder) {
            return Err(CommandError::input(format!(
                "{} holds a finished shard; `emab merge` makes one result of all shards",
                path.display()
            )));
        }
        return Err(CommandError::input(format!(
            "{} holds no unfinished run",
            path.display()
        )));
    }
    let Checkpoint {
        version: begun_by,
        problem,
        plan,
        state,
    } = Checkpoint::load(&folder)?;
    if begun_by != version() {
        return Err(CommandError::input(format!(
            "{} was begun by emab {begun_by}, and this is {}: its random numbers may differ. Run it anew",
            path.display(),
            version()
        )));
    }
    let file = ProblemFile::parse_as(Format::Json, "problem.json", &problem)?;
    let experiment = experiment(&plan, &file, true)?;
    let session = Session {
        folder: Some(folder),
        file,
        plan,
        experiment,
        threads,
        json,
    };
    session.go(state)
}

pub fn version() -> String {
    env!("CARGO_PKG_VERSION").into()
}

/// The result of shards that were run apart, as if they had been run together.
pub fn merged(shards: Vec<Checkpoint>, out: Folder, json: bool) -> Result<(), CommandError> {
    let mut shards = shards.into_iter();
    let Some(first) = shards.next() else {
        return Err(CommandError::input("there is nothing to merge"));
    };
    let file = ProblemFile::parse_as(Format::Json, "problem.json", &first.problem)?;
    let plan = Plan {
        shard: Shard::WHOLE,
        ..first.plan
    };
    let experiment = experiment(&plan, &file, true)?;
    let mut state = first.state;
    for shard in shards {
        experiment
            .merge(&mut state, &shard.state)
            .map_err(|error| CommandError::simulation(&file, error))?;
    }
    if !experiment.is_complete(&state) {
        return Err(CommandError::Work("the shards do not have all runs".into()));
    }
    let session = Session {
        folder: Some(out),
        file,
        plan,
        experiment,
        threads: 1,
        json,
    };
    session.begin(&state)?;
    session.finish(&state)
}

/// What a plan asks for, checked; `places` asks for where the regret comes from.
fn experiment(plan: &Plan, file: &ProblemFile, places: bool) -> Result<Experiment, CommandError> {
    let problem = file.problem()?;
    let mut learners = Vec::new();
    for text in &plan.learners {
        learners.push(load::learner(file, text, plan.episodes)?);
    }
    let checkpoints = if plan.checkpoints.is_empty() {
        log_spaced(plan.episodes)
    } else {
        check_checkpoints(plan.checkpoints.clone(), plan.episodes)?
    };
    file.check(CHECKED_FIRST)?;
    for config in &learners {
        config
            .build(problem.spec(), Some(&problem))
            .map_err(|error| CommandError::learner(file, error))?;
    }
    load::warn_unsound(file, &learners)?;
    Ok(Experiment {
        problem,
        circumstances: file.scenario(),
        learners,
        episodes: plan.episodes,
        runs: plan.runs,
        seed: plan.seed,
        checkpoints,
        places,
        shard: plan.shard,
    })
}

/// Whether a folder has anything of a run: a result, a checkpoint or a shard.
pub fn holds_a_run(folder: &Folder) -> bool {
    folder.has(RESULT) || Checkpoint::is_in(folder) || Checkpoint::is_shard(folder)
}

/// One call of `emab run`, begun or taken up again.
struct Session {
    file: ProblemFile,
    plan: Plan,
    experiment: Experiment,
    folder: Option<Folder>,
    threads: usize,
    json: bool,
}

impl Session {
    /// Takes the folder: from here on it holds an unfinished run, and nothing of another one.
    fn begin(&self, state: &State) -> Result<(), CommandError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        if Checkpoint::is_in(folder) {
            let path = quoted(folder.path());
            return Err(CommandError::input(format!(
                "{path} holds an unfinished run; go on with `emab run --resume {path}`, or remove its checkpoint.json"
            )));
        }
        if let Some(other) = [SHARD, sweep::MANIFEST]
            .iter()
            .find(|name| folder.has(name))
        {
            return Err(CommandError::input(format!(
                "{} holds {}; choose another folder, or remove its {other}",
                quoted(folder.path()),
                if *other == SHARD {
                    "a finished shard"
                } else {
                    "a sweep"
                }
            )));
        }
        if folder.has(RESULT) {
            terminal::note(&format!(
                "note: the results in {} are replaced",
                folder.path().display()
            ));
        }
        self.save(state)?;
        for name in folder.files()? {
            let ours = RESULTS.contains(&name.as_str()) || DRAWN_LATER.contains(&name.as_str());
            if ours || is_place_picture(&name) {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }

    fn save(&self, state: &State) -> Result<(), CommandError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        self.checkpoint(state).save(folder)
    }

    fn checkpoint(&self, state: &State) -> Checkpoint {
        Checkpoint {
            version: version(),
            problem: self.file.canonical().into(),
            plan: self.plan.clone(),
            state: state.clone(),
        }
    }

    /// Runs what is not done yet, shows how far it is, and leaves the results.
    fn go(&self, mut state: State) -> Result<(), CommandError> {
        let mut trouble = None;
        let finish = simulate(
            &self.experiment,
            &mut state,
            self.threads,
            "running",
            &mut |state| {
                trouble = self.save(state).err();
            },
        );
        let finish = match finish {
            Ok(finish) => finish,
            Err(error) => {
                // What cannot be run cannot be taken up again.
                self.folder.as_ref().map(Checkpoint::remove).transpose()?;
                return Err(CommandError::simulation(&self.file, error));
            }
        };
        if finish == Finish::Stopped {
            self.save(&state)?;
            let done: u64 = state.learners.iter().map(|l| l.done.len()).sum();
            let share = self.experiment.share();
            let all = (share.end - share.start).saturating_mul(self.plan.learners.len() as u64);
            let next = match &self.folder {
                Some(folder) => format!("go on with `emab run --resume {}`", quoted(folder.path())),
                None => "nothing was kept; --out DIR would have kept it".into(),
            };
            return Err(CommandError::Work(format!(
                "stopped after {done} of {all} runs; {next}"
            )));
        }
        if let Some(error) = trouble {
            // A checkpoint that could not be written did no harm to the result.
            terminal::complain(&error);
        }
        if self.plan.shard == Shard::WHOLE {
            self.finish(&state)
        } else {
            self.finish_shard(&state)
        }
    }

    /// Leaves the result of all runs.
    fn finish(&self, state: &State) -> Result<(), CommandError> {
        let result = self.result(state)?;
        // Whatever becomes of the files, the result is shown.
        let written = self.write(&result, state);
        show(&result, self.json)?;
        written
    }

    /// Leaves what is to be merged with the other shards.
    fn finish_shard(&self, state: &State) -> Result<(), CommandError> {
        let Some(folder) = &self.folder else {
            return Err(CommandError::input(
                "--shard needs --out DIR: it is a part, to be merged",
            ));
        };
        self.checkpoint(state).save_shard(folder)?;
        Checkpoint::remove(folder)?;
        let (shard, share) = (self.plan.shard, self.experiment.share());
        let path = folder.path().display().to_string();
        if self.json {
            return terminal::print_json(&serde_json::json!({
                "shard": shard, "runs": [share.start, share.end], "folder": path,
            }));
        }
        terminal::print(&format!(
            "shard {shard} is done: {} of {} runs, in {path}; `emab merge` makes one result of all {} shards",
            share.end - share.start,
            self.plan.runs,
            shard.of()
        ))
    }

    fn result(&self, state: &State) -> Result<RunResult, CommandError> {
        self.experiment
            .document(state, &version(), self.file.hash())
            .map_err(|error| CommandError::simulation(&self.file, error))
    }

    fn write(&self, result: &RunResult, state: &State) -> Result<(), CommandError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        folder.write(RESULT, terminal::to_json(result)?.as_bytes())?;
        folder.write("curve.csv", curve_csv(result).as_bytes())?;
        folder.write("problem.json", self.file.canonical().as_bytes())?;
        match draw(&series(result), &plot_options(result)) {
            Ok(picture) => {
                folder.write("regret.svg", picture.svg.as_bytes())?;
                folder.write("regret.png", &picture.png)?;
            }
            Err(error) => terminal::note(&format!("note: there is no picture: {error}")),
        }
        self.write_places(folder, result, state)?;
        Checkpoint::remove(folder)?;
        let mut written = folder.files()?;
        written.retain(|name| RESULTS.contains(&name.as_str()) || is_place_picture(name));
        terminal::note(&format!(
            "wrote {} into {}",
            written.join(", "),
            folder.path().display()
        ));
        Ok(())
    }

    /// Where the regret comes from: a table, and a picture for each learner.
    fn write_places(
        &self,
        folder: &Folder,
        result: &RunResult,
        state: &State,
    ) -> Result<(), CommandError> {
        let places = self.experiment.places(state);
        let places = places.map_err(|error| CommandError::simulation(&self.file, error))?;
        let Some(places) = places else {
            let why = match self.experiment.circumstances.phases.is_empty() {
                true => "too much can be reached",
                false => "a place has one law after another",
            };
            terminal::note(&format!(
                "note: where the regret comes from is not recorded: {why}"
            ));
            return Ok(());
        };
        let labels = result.learners.iter().map(|learner| learner.label.clone());
        let places: Vec<_> = labels.zip(places).collect();
        folder.write("places.csv", places_csv(&places).as_bytes())?;
        for (i, (label, places)) in places.iter().enumerate() {
            let title = format!("{}: {label} ({} runs)", result.problem, result.runs);
            match draw_places(places, &title) {
                Ok(picture) => {
                    let name = place_picture(label, i);
                    folder.write(format!("{name}.svg"), picture.svg.as_bytes())?;
                    folder.write(format!("{name}.png"), &picture.png)?;
                }
                Err(error) => terminal::note(&format!("note: {label}: no picture: {error}")),
            }
        }
        Ok(())
    }
}

/// The name of the picture of a learner's places, told apart by its number where labels look alike.
fn place_picture(label: &str, number: usize) -> String {
    let plain: String = label
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    format!("places-{}-{plain}", number + 1)
}

fn is_place_picture(name: &str) -> bool {
    let number = name
        .strip_prefix("places-")
        .and_then(|rest| rest.split_once('-'))
        .is_some_and(|(number, _)| number.parse::<usize>().is_ok());
    number && (name.ends_with(".svg") || name.ends_with(".png"))
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Runs an experiment with a progress bar and Ctrl-C.
pub fn simulate(
    experiment: &Experiment,
    state: &mut State,
    threads: usize,
    what: &'static str,
    save: &mut dyn FnMut(&State),
) -> Result<Finish, emab_sim::SimError> {
    let stop: &AtomicBool = stop_on_ctrl_c();
    let bar = terminal::progress(0);
    bar.set_message(what);
    let finish = experiment.run(
        state,
        &mut Control {
            threads,
            stop,
            watch: &mut |progress, state| {
                bar.set_length(progress.total);
                bar.set_position(progress.done);
                if let Some(state) = state {
                    save(state);
                }
            },
        },
    );
    bar.finish_and_clear();
    finish
}

/// The result of a folder.
pub fn read_result(folder: &Folder) -> Result<RunResult, CommandError> {
    let result: Result<RunResult, _> = serde_json::from_str(&folder.read(RESULT)?);
    // Results of earlier versions do not say it, and have all that it takes.
    result.map(RunResult::against_optimum).map_err(|error| {
        CommandError::Work(format!(
            "{} is damaged: {error}",
            folder.file(RESULT).display()
        ))
    })
}

/// The curves of a result.
pub fn series(result: &RunResult) -> Vec<Series> {
    result
        .learners
        .iter()
        .map(|learner| regret_series(&learner.label, learner))
        .collect()
}

/// How the curves of a result are drawn unless asked otherwise.
pub fn plot_options(result: &RunResult) -> PlotOptions {
    PlotOptions {
        title: format!(
            "{}{} ({} runs, 95 % bands)",
            result.problem,
            if result.conditions.is_none() {
                String::new()
            } else {
                format!(" under {}", result.conditions)
            },
            result.runs
        ),
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        ..PlotOptions::default()
    }
}

fn show(result: &RunResult, json: bool) -> Result<(), CommandError> {
    if json {
        return terminal::print_json(result);
    }
    if result.estimator == RegretEstimator::Paired.name() {
        terminal::note(&format!(
            "note: more than {} step-state pairs, or ten times as many outcomes, can be reached; regret is measured by playing the benchmark beside \
             the learner, and the benchmark's value is an estimate",
            Environment::EXACT_PAIRS
        ));
    }
    let value = match result.benchmark_stderr {
        0.0 => number(result.benchmark_value),
        stderr => confidence(result.benchmark_value, stderr),
    };
    let better = match (result.optimal_value, result.gap()) {
        (Some(optimum), Some(gap)) if gap > 0.0 => {
            format!(
                ", the optimal policy {}: regret may be negative",
                number(optimum)
            )
        }
        _ => String::new(),
    };
    let conditions = match result.conditions.is_none() {
        true => String::new(),
        false => format!("conditions: {}\n", result.conditions),
    };
    let text = format!(
        "{}: {} runs of {} episodes, seed {}; the benchmark earns {} an episode{better}\n{conditions}{}",
        result.problem,
        result.runs,
        result.episodes,
        result.seed,
        value,
        regret_table(result, terminal::width())
    );
    terminal::print(&text)
}
