//! The result folder of a run: its unfinished state (`checkpoint.json`), a finished shard (`shard.json`), or its result
//! (`run.json` with tables and plots).

use std::path::Path;

use emab_problem::{Format, ProblemFile};
use serde::{Deserialize, Serialize};

use super::builder::BuildError;
use super::folder_content::{FolderContent, ResultKind};
use super::record_file::{RECORDS, RecordReader, RecordWriter};
use super::result_folder::{FileError, Folder, FolderError, quoted};
use super::run::Experiment;
use super::run_call::RunCall;
use super::state::State;
use crate::VERSION;
use crate::results::RunResult;
use crate::shard::Shard;

pub(super) const CHECKPOINT: &str = "checkpoint.json";
pub(super) const SHARD: &str = "shard.json";
pub(super) const RESULT: &str = "run.json";
/// The arguments of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Learners, as text.
    pub learners: Vec<String>,
    /// Episodes of a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// Checkpoints; empty for the default.
    pub checkpoints: Vec<u64>,
    /// The episodes at which single runs are recorded, besides the last; none if they are not recorded, as in plans of earlier versions.
    #[serde(default)]
    pub recorded: Option<Vec<u64>>,
    /// The part of the runs to play.
    pub shard: Shard,
}

/// A run with its problem file, its arguments and its experiment.
pub struct PlannedRun {
    /// The problem file.
    pub file: ProblemFile,
    /// The arguments.
    pub plan: RunPlan,
    /// The experiment.
    pub experiment: Experiment,
}

/// A saved run: arguments, problem and state.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedRun {
    pub(super) version: String,
    /// The problem file, as JSON.
    pub(super) problem: String,
    pub(super) plan: RunPlan,
    pub(super) state: State,
}

impl PlannedRun {
    /// Builds the experiment of a plan; `count_choices` as in [`super::ExperimentBuilder::count_choices`].
    pub fn new(
        file: ProblemFile,
        plan: RunPlan,
        count_choices: bool,
    ) -> Result<PlannedRun, BuildError> {
        let mut builder = Experiment::builder(&file)
            .learners(&plan.learners)
            .episodes(plan.episodes)
            .runs(plan.runs)
            .seed(plan.seed)
            .checkpoints(plan.checkpoints.clone())
            .count_choices(count_choices)
            .shard(plan.shard);
        if let Some(at) = &plan.recorded {
            builder = builder.record_runs(at.clone());
        }
        let experiment = builder.build()?;
        Ok(PlannedRun {
            file,
            plan,
            experiment,
        })
    }

    fn saved(&self, state: &State) -> SavedRun {
        SavedRun {
            version: VERSION.into(),
            problem: self.file.canonical().into(),
            plan: self.plan.clone(),
            state: state.clone(),
        }
    }

    /// The document of a finished state.
    pub fn document(&self, state: &State) -> Result<RunResult, crate::SimError> {
        self.experiment.document(state, self.file.hash())
    }
}

impl SavedRun {
    pub(super) fn problem_file(&self) -> Result<ProblemFile, FolderError> {
        Ok(ProblemFile::parse_as(
            Format::Json,
            "problem.json",
            &self.problem,
        )?)
    }
}

/// What [`RunFolder::resume`] found.
pub enum Resumed {
    /// An unfinished run, and its state.
    Unfinished(Box<PlannedRun>, State),
    /// A finished run.
    Finished(Box<RunResult>),
}

/// What [`RunFolder::begin`] found.
pub enum Begun {
    /// Nothing.
    New,
    /// Other results, which were removed.
    Replaced,
    /// The same run, unfinished, and its state.
    Unfinished(State),
    /// The same run, finished.
    Finished(Box<RunResult>),
    /// The same shard of a run, finished.
    FinishedShard,
}

/// The result folder of a run.
pub struct RunFolder {
    folder: Folder,
}

impl RunFolder {
    /// The result folder of a run in this folder.
    pub fn new(folder: Folder) -> RunFolder {
        RunFolder { folder }
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Opens the folder of an interrupted run. Fails if it contains neither a run nor a result, if another process is
    /// writing into it, or if another version of emab began the run.
    pub fn resume(path: &Path) -> Result<(RunFolder, Resumed), FolderError> {
        let mut folder = open(path)?;
        let shown = path.display();
        let conflict = |what: String| Err(FolderError::Conflict(what));
        if folder.has(CHECKPOINT) {
            // The process that has the lock may end the run until it is taken.
            folder = folder.locked()?;
        }
        if !folder.has(CHECKPOINT) {
            if folder.has(RESULT) {
                let result = read_result(&folder)?;
                return Ok((RunFolder { folder }, Resumed::Finished(Box::new(result))));
            }
            return conflict(match folder.has(SHARD) {
                true => format!(
                    "{shown} contains a finished shard; `emab merge` combines all shards into one result"
                ),
                false => match FolderContent::read(&folder)?.results.first() {
                    Some(found) => {
                        format!("{shown} contains {}, and no run to resume", found.words)
                    }
                    None => format!("{shown} contains no unfinished run"),
                },
            });
        }
        let saved: SavedRun = folder.read_sealed(CHECKPOINT)?;
        if saved.version != VERSION {
            return conflict(format!(
                "{shown} was begun by emab {}, and this is emab {VERSION}, whose random numbers may differ; run it again",
                saved.version
            ));
        }
        let run = PlannedRun::new(saved.problem_file()?, saved.plan, true)?;
        let unfinished = Resumed::Unfinished(run.into(), saved.state);
        Ok((RunFolder { folder }, unfinished))
    }

    /// Takes the folder for a run: saves its first state, unless the folder contains the same run. Anything else in it is
    /// an error, or removed if `force` is set; see [`FolderContent::make_room`].
    pub fn begin(
        &self,
        run: &PlannedRun,
        state: &State,
        force: bool,
    ) -> Result<Begun, FolderError> {
        let folder = &self.folder;
        let content = FolderContent::read(folder)?;
        let mut difference = None;
        if let [found] = content.results.as_slice()
            && let Some(call) = &found.call
        {
            let this = match found.kind {
                ResultKind::Run => RunCall::finished(run),
                _ => RunCall::unfinished(run),
            };
            difference = call.difference(&this);
            if difference.is_none() && !force {
                return Ok(match found.kind {
                    ResultKind::Run => Begun::Finished(read_result(folder)?.into()),
                    ResultKind::RunShard => Begun::FinishedShard,
                    _ => {
                        let saved: SavedRun = folder.read_sealed(CHECKPOINT)?;
                        Begun::Unfinished(saved.state)
                    }
                });
            }
        }
        let kind = ResultKind::UnfinishedRun;
        let replaced = content.make_room(folder, kind, difference.as_deref(), force)?;
        self.save(run, state)?;
        Ok(match replaced {
            true => Begun::Replaced,
            false => Begun::New,
        })
    }

    /// Saves the state of an unfinished run.
    pub fn save(&self, run: &PlannedRun, state: &State) -> Result<(), FolderError> {
        self.folder.write_sealed(CHECKPOINT, &run.saved(state))
    }

    /// Removes the saved state and the records of its runs.
    pub fn remove_checkpoint(&self) -> Result<(), FileError> {
        self.folder.remove(CHECKPOINT)?;
        self.folder.remove(RECORDS)
    }

    /// Opens the records of single runs for writing; none if they are not recorded.
    pub fn record_writer(&self, run: &PlannedRun) -> Result<Option<RecordWriter>, FileError> {
        let recorded = !run.experiment.recorded_episodes().is_empty();
        let writer = recorded.then(|| RecordWriter::open(&self.folder, &run.experiment));
        writer.transpose()
    }

    /// The records of single runs; none if they are not recorded.
    pub fn records(&self, run: &PlannedRun) -> Option<RecordReader> {
        RecordReader::open(&[(&self.folder, run.experiment.clone())])
    }

    /// Writes a finished shard, whose records stay in the folder, and removes the saved state.
    pub fn finish_shard(&self, run: &PlannedRun, state: &State) -> Result<(), FolderError> {
        self.folder.write_sealed(SHARD, &run.saved(state))?;
        Ok(self.folder.remove(CHECKPOINT)?)
    }

    /// Writes the result document.
    pub fn write_result(&self, result: &RunResult) -> Result<(), FolderError> {
        let json = serde_json::to_string_pretty(result).map_err(FolderError::Json)?;
        Ok(self.folder.write(RESULT, (json + "\n").as_bytes())?)
    }

    /// The names of the result files that the folder contains.
    pub fn result_files(&self) -> Result<Vec<String>, FileError> {
        let mut names = self.folder.files()?;
        names.retain(|name| ResultKind::Run.owns(name));
        Ok(names)
    }
}

/// Opens an existing folder; a missing one is an error of the call.
pub(crate) fn open(path: &Path) -> Result<Folder, FolderError> {
    Folder::open(path).map_err(|error| FolderError::Conflict(error.to_string()))
}

/// The result in a folder; fails if the folder has none.
pub fn read_result(folder: &Folder) -> Result<RunResult, FolderError> {
    let result: RunResult = folder.read_json(RESULT)?;
    // Results of earlier versions lack the regret against the optimum, but have the values it follows from.
    Ok(result.against_optimum())
}

/// The finished shard in a folder; fails if it is unfinished, is a whole run, or is not a shard.
pub(super) fn read_shard(folder: &Folder) -> Result<SavedRun, FolderError> {
    let path = quoted(folder.path());
    let conflict = if folder.has(CHECKPOINT) {
        format!("{path} contains an unfinished shard; continue it with `emab run --resume {path}`")
    } else if folder.has(RESULT) {
        format!("{path} contains a whole run, not a shard")
    } else if !folder.has(SHARD) {
        format!("{path} contains no shard")
    } else {
        return folder.read_sealed(SHARD);
    };
    Err(FolderError::Conflict(conflict))
}

/// The file name, without extension, of the plot of a learner's regret by state; `number` distinguishes equal labels.
pub fn state_plot_name(label: &str, number: usize) -> String {
    format!("places-{}-{}", number + 1, plain_name(label))
}

/// A text as a part of a file name.
pub(super) fn plain_name(text: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '.' => c,
        _ => '-',
    };
    text.chars().map(plain).take(60).collect()
}
