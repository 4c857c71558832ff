//! What determines a run: two calls with equal values give the same result.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};

use emab_problem::{Format, ProblemFile};
use serde::Deserialize;

use super::result_folder::{Folder, FolderError};
use super::run_folder::{PlannedRun, RESULT, RunPlan};
use crate::VERSION;
use crate::shard::Shard;

/// The values that determine a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCall {
    version: String,
    problem: String,
    problem_hash: String,
    learners: Vec<String>,
    episodes: u64,
    runs: u64,
    seed: u64,
    /// As given, or all of them for a finished run, whose file has no others.
    checkpoints: Vec<u64>,
    /// The episodes at which single runs are recorded: as given, or all of them for a finished run.
    recorded: Option<Vec<u64>>,
    shard: Shard,
}

/// The part of a saved run that determines it.
#[derive(Deserialize)]
struct SavedCall {
    version: String,
    problem: String,
    plan: RunPlan,
}

/// The part of a result that determines it. Results of simulators have no hash.
#[derive(Deserialize)]
struct ResultCall {
    version: String,
    problem: String,
    #[serde(default)]
    problem_hash: String,
    seed: u64,
    runs: u64,
    episodes: u64,
    learners: Vec<LearnerCall>,
}

#[derive(Deserialize)]
struct LearnerCall {
    label: String,
    curve: Vec<CheckpointCall>,
}

#[derive(Deserialize)]
struct CheckpointCall {
    episode: u64,
}

impl RunCall {
    fn new(version: &str, file: &ProblemFile, plan: &RunPlan) -> RunCall {
        let learners = plan.learners.iter().map(|text| text.trim().into());
        RunCall {
            version: version.into(),
            problem: file.name().into(),
            problem_hash: file.hash().into(),
            learners: learners.collect(),
            episodes: plan.episodes,
            runs: plan.runs,
            seed: plan.seed,
            checkpoints: plan.checkpoints.clone(),
            recorded: plan.recorded.clone(),
            shard: plan.shard,
        }
    }

    /// The call of a planned run, to compare with an unfinished run or a shard.
    pub(super) fn unfinished(run: &PlannedRun) -> RunCall {
        RunCall::new(VERSION, &run.file, &run.plan)
    }

    /// The call of a planned run, to compare with a finished one.
    pub(super) fn finished(run: &PlannedRun) -> RunCall {
        let recorded = run.experiment.recorded_episodes().to_vec();
        RunCall {
            checkpoints: run.experiment.checkpoints.clone(),
            recorded: Some(recorded).filter(|at| !at.is_empty()),
            ..RunCall::unfinished(run)
        }
    }

    /// The call of a saved run.
    pub(super) fn read_saved(folder: &Folder, name: &str) -> Result<RunCall, FolderError> {
        let saved: SavedCall = folder.read_sealed(name)?;
        let file = ProblemFile::parse_as(Format::Json, "problem.json", &saved.problem)?;
        Ok(RunCall::new(&saved.version, &file, &saved.plan))
    }

    /// The call of the result in a folder.
    pub(super) fn read_result(folder: &Folder) -> Result<RunCall, FolderError> {
        let result: ResultCall = folder.read_json(RESULT)?;
        let first = result.learners.first();
        let checkpoints = first.map_or(Vec::new(), |learner| {
            learner.curve.iter().map(|point| point.episode).collect()
        });
        Ok(RunCall {
            version: result.version,
            problem: result.problem,
            problem_hash: result.problem_hash,
            learners: result.learners.into_iter().map(|one| one.label).collect(),
            episodes: result.episodes,
            runs: result.runs,
            seed: result.seed,
            checkpoints,
            recorded: recorded_episodes(folder),
            shard: Shard::WHOLE,
        })
    }

    /// In what `this` call differs, as text; none if it is the same call.
    pub(super) fn difference(&self, this: &RunCall) -> Option<String> {
        let mut words = Vec::new();
        let mut add = |differs: bool, what: String| words.extend(differs.then_some(what));
        let version = format!("another version of emab, {}", this.version);
        add(self.version != this.version, version);
        let (name, other) = (&this.problem, self.problem != this.problem);
        add(other, format!("the problem `{name}`"));
        let changed = !other && self.problem_hash != this.problem_hash;
        add(changed, format!("another file of the problem `{name}`"));
        let learners = this.learners.join(", ");
        let learners = match this.learners.len() {
            1 => format!("the learner {learners}"),
            _ => format!("the learners {learners}"),
        };
        add(self.learners != this.learners, learners);
        add(self.runs != this.runs, format!("{} runs", this.runs));
        let episodes = format!("{} episodes", this.episodes);
        add(self.episodes != this.episodes, episodes);
        add(self.seed != this.seed, format!("seed {}", this.seed));
        // Other episodes have other default checkpoints.
        let other = self.episodes == this.episodes && self.checkpoints != this.checkpoints;
        add(other, "other checkpoints".into());
        let other = self.episodes == this.episodes && self.recorded != this.recorded;
        add(other, "other episodes in the table of single runs".into());
        let shard = match this.shard {
            Shard::WHOLE => "all runs".into(),
            shard => format!("shard {shard}"),
        };
        add(self.shard != this.shard, shard);
        (!words.is_empty()).then(|| format!("this call has {}", words.join(" and ")))
    }
}

/// The episodes in the table of single runs, which are the same for all runs; none if there is no table.
pub fn recorded_episodes(folder: &Folder) -> Option<Vec<u64>> {
    let table = BufReader::new(File::open(folder.file("runs.csv")).ok()?);
    let (mut first, mut episodes) = (None, Vec::new());
    for row in table.lines().skip(1) {
        let row = row.ok()?;
        // From the right, because the learner may have commas: stuck, gain, regret, episode, then learner and run.
        let mut cells = row.rsplitn(5, ',');
        let (episode, run) = (cells.nth(3)?.parse().ok()?, cells.next()?.to_owned());
        if *first.get_or_insert_with(|| run.clone()) != run {
            break;
        }
        episodes.push(episode);
    }
    Some(episodes)
}

impl fmt::Display for RunCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shard != Shard::WHOLE {
            write!(out, "shard {} of ", self.shard)?;
        }
        let RunCall {
            problem,
            runs,
            episodes,
            seed,
            ..
        } = self;
        let learners = self.learners.join(", ");
        write!(
            out,
            "a run of `{problem}` with {learners}, {runs} runs of {episodes} episodes, seed {seed}"
        )
    }
}
