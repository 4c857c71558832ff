//! `emab run`: learners on a problem, and a folder of results.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use emab::learners::LearnerConfig;
use emab::{Environment, Estimator, RunResult};
use emab_problem::{Format, ProblemFile};
use emab_report::{
    Folder, PlotOptions, Series, confidence, curve_csv, draw, number, regret_series, regret_table,
};
use emab_sim::{Control, Experiment, Finish, State, check_checkpoints, log_spaced};
use serde::{Deserialize, Serialize};

use super::stop_on_ctrl_c;
use crate::args::Run;
use crate::failure::Failure;
use crate::{load, terminal};

/// The unfinished run in a folder of results.
const CHECKPOINT: &str = "checkpoint.json";
/// The finished run.
pub const RESULT: &str = "run.json";
const PROBLEM: &str = "problem.json";
/// Pairs that are checked before a run begins; in larger problems the rest is checked when it is met.
const CHECKED_FIRST: usize = 20_000;

pub fn run(args: &Run, json: bool) -> Result<(), Failure> {
    let threads = args.threads.unwrap_or(0).into();
    if let Some(path) = &args.resume {
        return resume(path, threads, json);
    }
    let file = load::problem(args.problem.as_deref().unwrap_or_default())?;
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
    };
    let experiment = plan.experiment(&file)?;
    let folder = args.out.as_deref().map(Folder::create).transpose()?;
    if let Some(folder) = &folder {
        if folder.has(CHECKPOINT) {
            let path = folder.path().display();
            return Err(Failure::input(format!(
                "{path} holds an unfinished run; go on with `emab run --resume {path}`, or remove its {CHECKPOINT}"
            )));
        }
        if folder.has(RESULT) {
            terminal::note(&format!(
                "note: the results in {} will be replaced",
                folder.path().display()
            ));
        }
        folder.write(PROBLEM, file.canonical().as_bytes())?;
    }
    let state = experiment.state();
    go(
        &file,
        &plan,
        &experiment,
        state,
        folder.as_ref(),
        threads,
        json,
    )
}

/// What was asked for, as it is written into a checkpoint.
#[derive(Clone, Serialize, Deserialize)]
struct Plan {
    learners: Vec<String>,
    episodes: u64,
    runs: u64,
    seed: u64,
    checkpoints: Vec<u64>,
}

impl Plan {
    fn experiment(&self, file: &ProblemFile) -> Result<Experiment, Failure> {
        let problem = file.problem()?;
        let mut learners = Vec::new();
        for text in &self.learners {
            let config = LearnerConfig::parse(text, file.learning())
                .map_err(|error| Failure::learner(file, error))?;
            for name in config.assumed() {
                let value = config
                    .parameters()
                    .iter()
                    .find(|(n, _)| n == name)
                    .map(|(_, v)| v);
                terminal::note(&format!(
                    "note: {text}: neither the call nor [learning] states `{name}`; {} is assumed",
                    value.map_or(String::new(), ToString::to_string)
                ));
            }
            learners.push(config);
        }
        file.check(CHECKED_FIRST)?;
        for config in &learners {
            config
                .build(problem.spec(), Some(&problem))
                .map_err(|error| Failure::learner(file, error))?;
        }
        let checkpoints = if self.checkpoints.is_empty() {
            log_spaced(self.episodes)
        } else {
            check_checkpoints(self.checkpoints.clone(), self.episodes)?
        };
        Ok(Experiment {
            problem,
            learners,
            episodes: self.episodes,
            runs: self.runs,
            seed: self.seed,
            checkpoints,
        })
    }
}

/// An unfinished run: the plan and how far it came.
#[derive(Serialize, Deserialize)]
struct Checkpoint {
    version: String,
    problem_hash: String,
    plan: Plan,
    state: State,
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").into()
}

fn save(folder: &Folder, file: &ProblemFile, plan: &Plan, state: &State) -> Result<(), Failure> {
    let checkpoint = Checkpoint {
        version: version(),
        problem_hash: file.hash().into(),
        plan: plan.clone(),
        state: state.clone(),
    };
    let text = terminal::to_json(&checkpoint)?;
    Ok(folder.write(CHECKPOINT, text.as_bytes())?)
}

fn resume(path: &Path, threads: usize, json: bool) -> Result<(), Failure> {
    let folder = Folder::open(path).map_err(|error| Failure::input(error.to_string()))?;
    if !folder.has(CHECKPOINT) {
        if folder.has(RESULT) {
            terminal::note(&format!("{} is finished already", path.display()));
            let result = read_result(&folder)?;
            return show(&result, json);
        }
        return Err(Failure::input(format!(
            "{} holds no unfinished run: there is no {CHECKPOINT}",
            path.display()
        )));
    }
    let damaged = |what: &str, error: &dyn std::fmt::Display| {
        Failure::Work(format!(
            "{} is damaged: {error}",
            folder.file(what).display()
        ))
    };
    let checkpoint: Checkpoint = serde_json::from_str(&folder.read(CHECKPOINT)?)
        .map_err(|error| damaged(CHECKPOINT, &error))?;
    if checkpoint.version != version() {
        return Err(Failure::input(format!(
            "{} was begun by emab {}, and this is {}: its random numbers may differ. Run it anew",
            path.display(),
            checkpoint.version,
            version()
        )));
    }
    let text = folder.read(PROBLEM)?;
    let file = ProblemFile::parse_as(Format::Json, &folder.file(PROBLEM).to_string_lossy(), &text)?;
    if file.hash() != checkpoint.problem_hash {
        let message = "it is not the problem that the run was begun with";
        return Err(damaged(PROBLEM, &message));
    }
    let plan = checkpoint.plan;
    let experiment = plan.experiment(&file)?;
    go(
        &file,
        &plan,
        &experiment,
        checkpoint.state,
        Some(&folder),
        threads,
        json,
    )
}

/// Runs what is not done yet, shows how far it is, and leaves the results.
fn go(
    file: &ProblemFile,
    plan: &Plan,
    experiment: &Experiment,
    mut state: State,
    folder: Option<&Folder>,
    threads: usize,
    json: bool,
) -> Result<(), Failure> {
    let mut trouble = None;
    let saving = |state: &State| match folder {
        Some(folder) => save(folder, file, plan, state),
        None => Ok(()),
    };
    let finish = simulate(experiment, &mut state, threads, "running", &mut |state| {
        if let Err(failure) = saving(state) {
            trouble = Some(failure);
        }
    })
    .map_err(|error| Failure::simulation(file, error))?;
    if finish == Finish::Stopped {
        saving(&state)?;
        let done: u64 = state.learners.iter().map(|l| l.done.len()).sum();
        let all = plan.runs * plan.learners.len() as u64;
        let next = folder.map_or(
            "nothing was kept; --out DIR would have kept it".into(),
            |folder| format!("go on with `emab run --resume {}`", folder.path().display()),
        );
        return Err(Failure::Work(format!(
            "stopped after {done} of {all} runs; {next}"
        )));
    }
    if let Some(failure) = trouble {
        // A checkpoint that could not be written did no harm to the result.
        terminal::complain(&failure);
    }
    let oracle = |error| Failure::oracle(file, error);
    let mut environment = Environment::new(experiment.problem.clone()).map_err(oracle)?;
    let (benchmark_value, benchmark_stderr) =
        environment.benchmark_value(plan.seed).map_err(oracle)?;
    let result = RunResult {
        version: version(),
        problem: file.name().into(),
        problem_hash: file.hash().into(),
        seed: plan.seed,
        runs: plan.runs,
        episodes: plan.episodes,
        benchmark_value,
        benchmark_stderr,
        optimal_value: environment.optimal_value().map_err(oracle)?,
        estimator: environment.estimator().name().into(),
        learners: experiment.results(&state),
    };
    if let Some(folder) = folder {
        let picture = draw(&series(&result), &plot_options(&result))?;
        folder.write("curve.csv", curve_csv(&result).as_bytes())?;
        folder.write("regret.svg", picture.svg.as_bytes())?;
        folder.write("regret.png", &picture.png)?;
        folder.write(RESULT, terminal::to_json(&result)?.as_bytes())?;
        folder.remove(CHECKPOINT)?;
        terminal::note(&format!(
            "wrote {}: {RESULT}, curve.csv, regret.svg, regret.png, {PROBLEM}",
            folder.path().display()
        ));
    }
    show(&result, json)
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
pub fn read_result(folder: &Folder) -> Result<RunResult, Failure> {
    serde_json::from_str(&folder.read(RESULT)?).map_err(|error| {
        Failure::Work(format!(
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
        title: format!("{} ({} runs, 95 % bands)", result.problem, result.runs),
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        ..PlotOptions::default()
    }
}

fn show(result: &RunResult, json: bool) -> Result<(), Failure> {
    if json {
        return terminal::print_json(result);
    }
    if result.estimator == Estimator::Paired.name() {
        terminal::note(&format!(
            "note: more than {} step-state pairs can be reached; regret is measured by playing the benchmark beside \
             the learner, and the benchmark's value is an estimate",
            Environment::EXACT_PAIRS
        ));
    }
    let value = match result.benchmark_stderr {
        0.0 => number(result.benchmark_value),
        stderr => confidence(result.benchmark_value, stderr),
    };
    let better = match result.optimal_value {
        Some(optimum) if optimum > result.benchmark_value + 1e-9 * optimum.abs() => {
            format!(
                ", the optimal policy {}: regret may be negative",
                number(optimum)
            )
        }
        _ => String::new(),
    };
    let text = format!(
        "{}: {} runs of {} episodes, seed {}; the benchmark earns {} an episode{better}\n{}",
        result.problem,
        result.runs,
        result.episodes,
        result.seed,
        value,
        regret_table(result, terminal::width())
    );
    terminal::print(&text)
}
