//! Merges the shards of a run. Folders that do not belong together are rejected.

use std::path::Path;

use super::record_file::RecordReader;
use super::result_folder::{Folder, FolderError, quoted};
use super::run::Experiment;
use super::run_folder::{PlannedRun, RunPlan, read_shard};
use super::state::State;
use crate::VERSION;
use crate::shard::Shard;

/// A folder with one shard, and the values that all shards of a result share.
pub(crate) struct ShardFolder<'a> {
    pub(crate) path: &'a Path,
    pub(crate) shard: Shard,
    /// Pairs of a name and a value.
    pub(crate) common: Vec<(&'static str, String)>,
}

/// Checks that the shards make a whole: all of the same experiment, each once, none missing, all by this version.
pub(crate) fn check_shards(version: &str, shards: &[ShardFolder<'_>]) -> Result<(), FolderError> {
    let conflict = |what: String| Err(FolderError::Conflict(what));
    let Some(first) = shards.first() else {
        return conflict("there is nothing to merge".into());
    };
    for one in shards {
        for ((what, mine), (_, theirs)) in first.common.iter().zip(&one.common) {
            if mine != theirs {
                return conflict(format!(
                    "{} is not a shard of the same result: its {what} is {}, and that of {} is {}",
                    quoted(one.path),
                    shortened(theirs),
                    quoted(first.path),
                    shortened(mine)
                ));
            }
        }
        if one.shard.of() != first.shard.of() {
            return conflict(format!(
                "{} is shard {}, and {} is shard {}: the numbers of shards differ",
                quoted(one.path),
                one.shard,
                quoted(first.path),
                first.shard
            ));
        }
    }
    for (i, one) in shards.iter().enumerate() {
        if let Some(twin) = shards[..i].iter().find(|other| other.shard == one.shard) {
            return conflict(format!(
                "{} and {} are both shard {}",
                quoted(twin.path),
                quoted(one.path),
                one.shard
            ));
        }
    }
    let missing = first.shard.of() - shards.len() as u64;
    if missing > 0 {
        const NAMED: usize = 20;
        let absent = |shard: &Shard| shards.iter().all(|one| one.shard != *shard);
        let named = first.shard.all().filter(absent).take(NAMED);
        let named: Vec<String> = named.map(|shard| shard.to_string()).collect();
        let more = match missing.saturating_sub(NAMED as u64) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return conflict(format!("shards are missing: {}{more}", named.join(", ")));
    }
    if version != VERSION {
        return conflict(format!(
            "these shards were made by emab {version}, and this is emab {VERSION}; merge them with emab {version}"
        ));
    }
    Ok(())
}

/// A value for a message; a whole file is cut.
fn shortened(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.into(),
    }
}

/// The shards of a run, merged.
pub struct MergedRun {
    /// The undivided run.
    pub run: PlannedRun,
    /// Its state.
    pub state: State,
    /// The records of its runs; none if the shards have none.
    pub records: Option<RecordReader>,
}

/// Merges the finished shards of a run.
pub fn merge_runs(folders: &[Folder]) -> Result<MergedRun, FolderError> {
    let shards = folders.iter().map(read_shard);
    let shards = shards.collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<ShardFolder<'_>> = shards
        .iter()
        .zip(folders)
        .map(|(saved, folder)| ShardFolder {
            path: folder.path(),
            shard: saved.plan.shard,
            common: vec![
                ("version of emab", saved.version.clone()),
                ("problem", saved.problem.clone()),
                ("list of learners", saved.plan.learners.join(" ")),
                ("number of episodes", saved.plan.episodes.to_string()),
                ("number of runs", saved.plan.runs.to_string()),
                ("seed", saved.plan.seed.to_string()),
                (
                    "list of checkpoints",
                    format!("{:?}", saved.plan.checkpoints),
                ),
                (
                    "list of recorded episodes",
                    format!("{:?}", saved.plan.recorded),
                ),
            ],
        })
        .collect();
    check_shards(shards.first().map_or("", |first| &first.version), &parts)?;
    let mut order: Vec<(Shard, &Folder)> =
        parts.iter().map(|part| part.shard).zip(folders).collect();
    order.sort_by_key(|(shard, _)| shard.number());
    let mut shards = shards.into_iter();
    let Some(first) = shards.next() else {
        return Err(FolderError::Conflict("there is nothing to merge".into()));
    };
    let file = first.problem_file()?;
    let plan = RunPlan {
        shard: Shard::WHOLE,
        ..first.plan
    };
    let run = PlannedRun::new(file, plan, true)?;
    let mut state = first.state;
    for shard in shards {
        run.experiment.merge(&mut state, &shard.state)?;
    }
    if !run.experiment.is_complete(&state) {
        let what = "the shards together do not have all runs";
        return Err(FolderError::Damaged("a shard".into(), what.into()));
    }
    let part = |shard| Experiment {
        shard,
        ..run.experiment.clone()
    };
    let parts = order.into_iter();
    let parts: Vec<_> = parts.map(|(shard, folder)| (folder, part(shard))).collect();
    let records = RecordReader::open(&parts);
    Ok(MergedRun {
        run,
        state,
        records,
    })
}
