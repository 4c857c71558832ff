//! `emab merge`: one result of shards that were run apart. What does not belong together is named, not merged.

use std::collections::HashSet;
use std::path::Path;

use emab_report::Folder;
use emab_sim::Shard;
use emab_sim::sweep::CellResult;

use super::checkpoint::Checkpoint;
use super::run::{self, quoted, version};
use super::sweep::{self, Manifest, known, read_cells};
use crate::args::Merge;
use crate::error::CommandError;

pub fn merge(args: &Merge, json: bool) -> Result<(), CommandError> {
    let mut folders = Vec::new();
    for path in &args.folders {
        folders.push(Folder::open(path).map_err(|error| CommandError::input(error.to_string()))?);
    }
    let sweeps = folders
        .iter()
        .filter(|folder| folder.has(sweep::MANIFEST))
        .count();
    if sweeps == 0 {
        return merge_runs(&folders, args, json);
    }
    if let Some(other) = folders.iter().find(|folder| !folder.has(sweep::MANIFEST)) {
        return Err(CommandError::input(format!(
            "{} holds no shard of a sweep, and others do",
            quoted(other.path())
        )));
    }
    merge_sweeps(&folders, args, json)
}

/// What a folder holds of which part, for what all folders must have in common.
struct Part<'a> {
    path: &'a Path,
    shard: Shard,
    /// What they must have in common, in words and as values.
    same: Vec<(&'static str, String)>,
}

/// Whether the parts make a whole: all of the same thing, each once, none missing.
fn check(parts: &[Part<'_>]) -> Result<(), CommandError> {
    let Some(first) = parts.first() else {
        return Err(CommandError::input("there is nothing to merge"));
    };
    for part in parts {
        for ((what, mine), (_, theirs)) in first.same.iter().zip(&part.same) {
            if mine != theirs {
                return Err(CommandError::input(format!(
                    "{} is not a shard of the same: its {what} is {}, and that of {} is {}",
                    quoted(part.path),
                    shortened(theirs),
                    quoted(first.path),
                    shortened(mine)
                )));
            }
        }
        if part.shard.of() != first.shard.of() {
            return Err(CommandError::input(format!(
                "{} is shard {}, and {} is shard {}: they were cut in different ways",
                quoted(part.path),
                part.shard,
                quoted(first.path),
                first.shard
            )));
        }
    }
    for (i, part) in parts.iter().enumerate() {
        if let Some(twin) = parts[..i].iter().find(|other| other.shard == part.shard) {
            return Err(CommandError::input(format!(
                "{} and {} are both shard {}",
                quoted(twin.path),
                quoted(part.path),
                part.shard
            )));
        }
    }
    let missing = first.shard.of() - parts.len() as u64;
    if missing == 0 {
        return Ok(());
    }
    const NAMED: usize = 20;
    let named: Vec<String> = first
        .shard
        .all()
        .filter(|shard| parts.iter().all(|part| part.shard != *shard))
        .take(NAMED)
        .map(|shard| shard.to_string())
        .collect();
    let more = match missing.saturating_sub(NAMED as u64) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.join(", ");
    Err(CommandError::input(format!(
        "shards are missing: {named}{more}"
    )))
}

/// A value that may be a whole file, as it can be shown.
fn shortened(value: &str) -> String {
    match value.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.into(),
    }
}

fn merge_runs(folders: &[Folder], args: &Merge, json: bool) -> Result<(), CommandError> {
    let mut shards = Vec::new();
    for folder in folders {
        let path = quoted(folder.path());
        if Checkpoint::is_in(folder) {
            return Err(CommandError::input(format!(
                "{path} holds an unfinished shard; go on with `emab run --resume {path}`"
            )));
        }
        if folder.has(run::RESULT) {
            return Err(CommandError::input(format!(
                "{path} holds a whole run and no shard of one"
            )));
        }
        if !Checkpoint::is_shard(folder) {
            return Err(CommandError::input(format!("{path} holds no shard")));
        }
        shards.push(Checkpoint::load_shard(folder)?);
    }
    let parts: Vec<Part<'_>> = shards
        .iter()
        .zip(folders)
        .map(|(shard, folder)| Part {
            path: folder.path(),
            shard: shard.plan.shard,
            same: vec![
                ("version of emab", shard.version.clone()),
                ("problem", shard.problem.clone()),
                ("list of learners", shard.plan.learners.join(" ")),
                ("number of episodes", shard.plan.episodes.to_string()),
                ("number of runs", shard.plan.runs.to_string()),
                ("seed", shard.plan.seed.to_string()),
                (
                    "list of checkpoints",
                    format!("{:?}", shard.plan.checkpoints),
                ),
            ],
        })
        .collect();
    check(&parts)?;
    by_this_version(&shards[0].version)?;
    run::merged(shards, Folder::create(&args.out)?, json)
}

fn by_this_version(of: &str) -> Result<(), CommandError> {
    if of == version() {
        return Ok(());
    }
    Err(CommandError::input(format!(
        "these shards were made by emab {of}, and this is {}; merge them with that one",
        version()
    )))
}

fn merge_sweeps(folders: &[Folder], args: &Merge, json: bool) -> Result<(), CommandError> {
    let mut manifests = Vec::new();
    for folder in folders {
        manifests.push(Manifest::load(folder)?);
    }
    let parts: Vec<Part<'_>> = manifests
        .iter()
        .zip(folders)
        .map(|(manifest, folder)| Part {
            path: folder.path(),
            shard: manifest.shard,
            same: vec![
                ("version of emab", manifest.version.clone()),
                ("sweep", manifest.hash.clone()),
            ],
        })
        .collect();
    check(&parts)?;
    by_this_version(&manifests[0].version)?;
    let sweep = manifests[0].sweep()?;
    let mut done = Vec::new();
    for (folder, manifest) in folders.iter().zip(&manifests) {
        let results = known(&sweep, read_cells(folder)?);
        let has: HashSet<&str> = results.iter().map(|result| result.key.as_str()).collect();
        let mut share = sweep.share(manifest.shard);
        if let Some(cell) = share.find(|cell| !has.contains(cell.key.as_str())) {
            return Err(CommandError::input(format!(
                "{} holds an unfinished shard: {} is missing; the call that began it goes on from there",
                quoted(folder.path()),
                cell.describe()
            )));
        }
        let share = sweep.share(manifest.shard);
        let mine: HashSet<u64> = share.map(|cell| cell.number).collect();
        let mine = |result: &CellResult| mine.contains(&result.number);
        done.extend(results.into_iter().filter(mine));
    }
    let out = Folder::create(&args.out)?;
    vacant(&out, &manifests[0])?;
    let manifest = Manifest {
        shard: Shard::WHOLE,
        ..manifests.swap_remove(0)
    };
    sweep::keep(&out, &manifest)?;
    sweep::finish(&sweep, Some(&out), &done, json)
}

/// A folder that holds anything but this sweep, undivided, keeps it.
fn vacant(out: &Folder, sweep: &Manifest) -> Result<(), CommandError> {
    let there = match out.has(sweep::MANIFEST) {
        true => Some(Manifest::load(out)?),
        false => None,
    };
    let what = match there {
        Some(there) if there.hash != sweep.hash => "another sweep".into(),
        Some(there) if there.shard != Shard::WHOLE => format!("shard {}", there.shard),
        _ if run::holds_a_run(out) => "what `emab run` left".into(),
        _ => return Ok(()),
    };
    Err(CommandError::input(format!(
        "{} holds {what}; choose another folder for the result",
        quoted(out.path())
    )))
}
