//! `emab run`: learners on a problem, and a folder of results.

use std::cell::RefCell;
use std::path::Path;

use emab::Environment;
use emab::environment::RegretEstimator;
use emab::learners::LearnerConfig;
use emab_report::{
    PlotOptions, Series, confidence, curve_csv, distribution_table, draw_curves, draw_regret_map,
    group_notes, interval_note, number, regret_map_csv, regret_series, regret_table, write_runs,
};
use emab_sim::results::RunResult;
use emab_sim::{
    Begun, Control, Device, Finish, Folder, MergedRun, PlannedRun, RecordReader, RecordWriter,
    Resumed, RunFolder, RunPlan, Shard, State, quoted, state_plot_name,
};
use emab_tables::Format;
use serde_json::json;

use super::plot::band_note;
use super::{
    create_folder, note_device, note_finished, open_device, stop_on_ctrl_c, write_picture,
};
use crate::args::{Band, Merge, Run};
use crate::error::CommandError;
use crate::{load, terminal};

pub fn run(args: &Run, json: bool) -> Result<(), CommandError> {
    let settings = Settings {
        threads: args.threads.unwrap_or(0).into(),
        device: open_device(args.device)?,
        json,
    };
    if let Some(path) = &args.resume {
        return resume(path, settings);
    }
    let file = load::problem(args.problem.as_deref().unwrap_or_default())?;
    let file = load::with_conditions(file, &args.condition)?;
    let plan = RunPlan {
        learners: match args.learner.is_empty() {
            true => vec!["feedbal".into()],
            false => args.learner.clone(),
        },
        episodes: args.episodes.unwrap_or(10_000),
        runs: args.runs.unwrap_or(100),
        seed: args.seed.unwrap_or(1),
        checkpoints: args.checkpoints.clone(),
        recorded: args.out.as_ref().map(|_| args.record_at.clone()),
        shard: args.shard.unwrap_or_default(),
    };
    let run = PlannedRun::new(file, plan, args.out.is_some())?;
    let state = run.experiment.state();
    let session = Session::new(run, args.out.as_deref(), settings)?;
    match session.begin(&state, args.force)? {
        Begun::New | Begun::Replaced => session.play(state),
        Begun::Unfinished(state) => session.play(state),
        Begun::Finished(result) => show(&result, json),
        Begun::FinishedShard => session.show_shard(),
    }
}

fn resume(path: &Path, settings: Settings) -> Result<(), CommandError> {
    match RunFolder::resume(path)? {
        (_, Resumed::Finished(result)) => {
            terminal::note(&format!("{} is already finished", path.display()));
            show(&result, settings.json)
        }
        (folder, Resumed::Unfinished(run, state)) => {
            let session = Session::of(*run, Some(folder), settings)?;
            session.warn();
            session.play(state)
        }
    }
}

/// Writes and shows the result of merged shards.
pub fn merged(merged: MergedRun, args: &Merge, json: bool) -> Result<(), CommandError> {
    let settings = Settings {
        threads: 1,
        device: Device::processor(),
        json,
    };
    let session = Session::new(merged.run, Some(&args.out), settings)?;
    match session.begin(&merged.state, args.force)? {
        Begun::Finished(result) => show(&result, json),
        _ => session.finish(&merged.state, merged.records),
    }
}

/// One call of `emab run`, new or resumed.
struct Session {
    run: PlannedRun,
    folder: Option<RunFolder>,
    /// The warnings of its experiment.
    warnings: Vec<String>,
    settings: Settings,
}

/// How a run is played and shown.
struct Settings {
    threads: usize,
    device: Device,
    json: bool,
}

impl Session {
    /// A session with a new or existing folder.
    fn new(
        run: PlannedRun,
        out: Option<&Path>,
        settings: Settings,
    ) -> Result<Session, CommandError> {
        let folder = out.map(create_folder).transpose()?;
        Session::of(run, folder.map(RunFolder::new), settings)
    }

    /// A session with an open folder.
    fn of(
        run: PlannedRun,
        folder: Option<RunFolder>,
        settings: Settings,
    ) -> Result<Session, CommandError> {
        let warnings = run
            .experiment
            .warnings()
            .map_err(CommandError::of(&run.file))?;
        Ok(Session {
            run,
            folder,
            warnings,
            settings,
        })
    }

    fn warn(&self) {
        self.warnings.iter().for_each(|words| terminal::note(words));
    }

    /// Takes the folder, and says what it contains already, and what to know about the run.
    fn begin(&self, state: &State, force: bool) -> Result<Begun, CommandError> {
        let Some(folder) = &self.folder else {
            self.warn();
            return Ok(Begun::New);
        };
        let begun = folder.begin(&self.run, state, force)?;
        self.warn();
        let path = folder.folder().path().display();
        match &begun {
            Begun::New => {}
            Begun::Replaced => {
                terminal::note(&format!("note: the results in {path} are replaced"));
            }
            Begun::Unfinished(state) => {
                let (done, all) = self.progress(state);
                terminal::note(&format!(
                    "note: {path} contains this run with {done} of {all} runs; it is continued"
                ));
            }
            Begun::Finished(_) => note_finished(folder.folder(), "this run"),
            Begun::FinishedShard => note_finished(folder.folder(), "this shard"),
        }
        Ok(begun)
    }

    /// The runs of all learners together: done, and all of this shard.
    fn progress(&self, state: &State) -> (u64, u64) {
        let done = state.learners.iter().map(|l| l.done.len()).sum();
        let share = self.run.experiment.share();
        let all = (share.end - share.start).saturating_mul(state.learners.len() as u64);
        (done, all)
    }

    fn save(&self, state: &State, records: Option<&RecordWriter>) -> Result<(), CommandError> {
        if let Some(folder) = &self.folder {
            records.map_or(Ok(()), RecordWriter::sync)?;
            folder.save(&self.run, state)?;
        }
        Ok(())
    }

    /// Plays the runs that are not done, with a progress bar, and writes the results.
    fn play(&self, mut state: State) -> Result<(), CommandError> {
        let bar = terminal::progress(0);
        bar.set_message("running");
        let mut not_saved = None;
        let folder = self.folder.as_ref();
        let records = folder
            .map(|folder| folder.record_writer(&self.run))
            .transpose()?;
        let records = RefCell::new(records.flatten());
        let mut control = Control {
            threads: self.settings.threads,
            device: self.settings.device.clone(),
            stop: stop_on_ctrl_c(),
            watch: &mut |progress, state| {
                note_device(&self.settings.device, &bar);
                bar.set_length(progress.total);
                bar.set_position(progress.done);
                if let Some(state) = state {
                    not_saved = self.save(state, records.borrow().as_ref()).err();
                }
            },
        };
        let sink = &mut |learner, runs| match &mut *records.borrow_mut() {
            Some(records) => records.write(learner, runs),
            None => Ok(()),
        };
        let finish = self.run.experiment.run_into(&mut state, &mut control, sink);
        bar.finish_and_clear();
        note_device(&self.settings.device, &bar);
        let finish = match finish {
            Ok(finish) => finish,
            Err(error) => {
                // A run that fails cannot be resumed.
                if let Some(folder) = &self.folder {
                    folder.remove_checkpoint()?;
                }
                return Err(CommandError::of(&self.run.file)(error));
            }
        };
        if finish == Finish::Stopped {
            self.save(&state, records.borrow().as_ref())?;
            return Err(self.stopped(&state));
        }
        if let Some(error) = not_saved {
            // The result does not depend on the checkpoint.
            terminal::complain(&error);
        }
        match &self.folder {
            Some(folder) if self.run.plan.shard != Shard::WHOLE => {
                if let Some(records) = records.borrow().as_ref() {
                    records.sync()?;
                }
                self.finish_shard(folder, &state)
            }
            folder => {
                let records = folder.as_ref().and_then(|folder| folder.records(&self.run));
                self.finish(&state, records)
            }
        }
    }

    fn stopped(&self, state: &State) -> CommandError {
        let (done, all) = self.progress(state);
        let next = match &self.folder {
            None => "nothing was saved; --out DIR saves the state".into(),
            Some(folder) => {
                let path = quoted(folder.folder().path());
                format!("continue with `emab run --resume {path}`")
            }
        };
        CommandError::Work(format!("stopped after {done} of {all} runs; {next}"))
    }

    /// Writes and shows the result of all runs.
    fn finish(&self, state: &State, records: Option<RecordReader>) -> Result<(), CommandError> {
        let result = self.run.document(state);
        let result = result.map_err(CommandError::of(&self.run.file))?;
        // The result is shown even if it cannot be written.
        let written = self.write(&result, state, records);
        show(&result, self.settings.json)?;
        written
    }

    /// Writes a shard, to be merged with the others.
    fn finish_shard(&self, folder: &RunFolder, state: &State) -> Result<(), CommandError> {
        folder.finish_shard(&self.run, state)?;
        self.show_shard()
    }

    fn show_shard(&self) -> Result<(), CommandError> {
        let (shard, share) = (self.run.plan.shard, self.run.experiment.share());
        let folder = self.folder.as_ref().map(RunFolder::folder);
        let path = folder.map_or(String::new(), |folder| folder.path().display().to_string());
        let document = json!({"shard": shard, "runs": [share.start, share.end], "folder": path});
        terminal::show(self.settings.json, &document, || {
            let (part, all, shards) = (share.end - share.start, self.run.plan.runs, shard.of());
            format!(
                "shard {shard} is done: {part} of {all} runs, in {path}; `emab merge` combines all {shards} shards"
            )
        })
    }

    fn write(
        &self,
        result: &RunResult,
        state: &State,
        records: Option<RecordReader>,
    ) -> Result<(), CommandError> {
        let Some(out) = &self.folder else {
            return Ok(());
        };
        let folder = out.folder();
        out.write_result(result)?;
        folder.write("curve.csv", curve_csv(result).as_bytes())?;
        folder.write("problem.json", self.run.file.canonical().as_bytes())?;
        match records {
            Some(records) => self.write_runs(folder, records)?,
            None => terminal::note(
                "note: runs.csv and runs.parquet are not written: an earlier version of emab began this run",
            ),
        }
        let series = series(result);
        match draw_curves(&series, &plot_options(result, band_note(Band::Ci), &series)) {
            Ok(picture) => write_picture(folder, "regret", &picture)?,
            Err(error) => terminal::note(&format!("note: no plot was drawn: {error}")),
        }
        self.write_regret_by_state(folder, result, state)?;
        out.remove_checkpoint()?;
        terminal::note(&format!(
            "wrote {} into {}",
            out.result_files()?.join(", "),
            folder.path().display()
        ));
        Ok(())
    }

    /// Writes the table of single runs, as CSV and Parquet, in one pass over the records.
    fn write_runs(&self, folder: &Folder, records: RecordReader) -> Result<(), CommandError> {
        let experiment = &self.run.experiment;
        let labels: Vec<&str> = experiment
            .learners()
            .iter()
            .map(LearnerConfig::label)
            .collect();
        for (name, format, records) in [
            ("runs.csv", Format::Csv, records.clone()),
            ("runs.parquet", Format::Parquet, records),
        ] {
            let records = records.map(|record| Ok::<_, CommandError>(record?));
            folder.write_with(name, |file| {
                write_runs(
                    format,
                    &labels,
                    experiment.recorded_episodes(),
                    records,
                    file,
                )
                .map(|_| ())
            })?;
        }
        Ok(())
    }

    /// Writes the regret by step and state: a table, and a plot for each learner.
    fn write_regret_by_state(
        &self,
        folder: &Folder,
        result: &RunResult,
        state: &State,
    ) -> Result<(), CommandError> {
        let experiment = &self.run.experiment;
        let regret = experiment.regret_by_state(state);
        let Some(regret) = regret.map_err(CommandError::of(&self.run.file))? else {
            let why = match experiment.scenario().phases.is_empty() {
                true => "too many pairs can be reached",
                false => "the model drifts",
            };
            terminal::note(&format!("note: regret by state is not recorded: {why}"));
            return Ok(());
        };
        let labels = result.learners.iter().map(|learner| learner.label.clone());
        let regret: Vec<_> = labels.zip(regret).collect();
        folder.write("places.csv", regret_map_csv(&regret).as_bytes())?;
        for (i, (label, states)) in regret.iter().enumerate() {
            let options = PlotOptions {
                title: format!("{}: {label} ({} runs)", result.problem, result.runs),
                ..PlotOptions::default()
            };
            match draw_regret_map(states, &options) {
                Ok(picture) => write_picture(folder, &state_plot_name(label, i), &picture)?,
                Err(error) => terminal::note(&format!("note: {label}: no plot: {error}")),
            }
        }
        Ok(())
    }
}

/// The mean regret of all learners of a result.
fn series(result: &RunResult) -> Vec<Series> {
    let learners = result.learners.iter();
    learners
        .map(|learner| regret_series(&learner.label, learner, result.runs))
        .collect()
}

/// The default plot options of a result; the title says what the bands are, and the caption which of them are unreliable.
pub fn plot_options(result: &RunResult, bands: &str, series: &[Series]) -> PlotOptions {
    let conditions = match result.conditions.is_none() {
        true => String::new(),
        false => format!(" under {}", result.conditions),
    };
    let runs = match result.runs {
        1 => "one run".into(),
        runs => format!("{} runs{bands}", number(runs as f64)),
    };
    PlotOptions {
        title: format!("{}{conditions} ({runs})", result.problem),
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        caption: interval_note(series),
        ..PlotOptions::default()
    }
}

fn show(result: &RunResult, json: bool) -> Result<(), CommandError> {
    if json {
        return terminal::print_json(result);
    }
    if result.values.estimator == RegretEstimator::Paired.name() {
        terminal::note(&format!(
            "note: more than {} step-state pairs, or ten times as many outcomes, can be reached; regret is measured by \
             playing the benchmark beside the learner, and the benchmark's value is an estimate",
            Environment::EXACT_PAIRS
        ));
    }
    let value = match result.values.benchmark_stderr {
        0.0 => number(result.values.benchmark_value),
        stderr => confidence(result.values.benchmark_value, stderr, u64::MAX),
    };
    let optimum = result
        .values
        .optimal_value
        .filter(|_| result.values.gap().is_some_and(|gap| gap > 0.0));
    let better = optimum.map_or(String::new(), |optimum| {
        format!(
            ", the optimal policy {}: regret may be negative",
            number(optimum)
        )
    });
    let conditions = match result.conditions.is_none() {
        true => String::new(),
        false => format!("conditions: {}\n", result.conditions),
    };
    let width = terminal::width();
    let mut tables = vec![regret_table(result, width)];
    tables.extend(group_notes(result));
    tables.extend(Some(distribution_table(result, width)).filter(|table| !table.is_empty()));
    terminal::print(&format!(
        "{}: {} runs of {} episodes, seed {}; the benchmark earns {value} an episode{better}\n{conditions}{}",
        result.problem,
        result.runs,
        result.episodes,
        result.seed,
        tables.join("\n")
    ))
}
