//! `emab merge`: one result from the shards of a run or a sweep.

use std::fs;

use emab_sim::compare::sweep::merge_sweeps;
use emab_sim::{Folder, ResultKind, merge_runs, quoted};

use super::{check_folder, run, sweep};
use crate::args::Merge;
use crate::error::CommandError;

pub fn merge(args: &Merge, json: bool) -> Result<(), CommandError> {
    let folders = args.folders.iter().map(|path| Folder::open(path));
    let folders: Vec<Folder> = folders
        .collect::<Result<_, _>>()
        .map_err(|error| CommandError::input(error.to_string()))?;
    check_folder(&args.out)?;
    // The merged result would replace a part of itself.
    let out = fs::canonicalize(&args.out).ok();
    let same = |folder: &&Folder| out.is_some() && fs::canonicalize(folder.path()).ok() == out;
    if let Some(folder) = folders.iter().find(same) {
        return Err(CommandError::input(format!(
            "--out: {} is one of the folders to merge; choose another folder",
            quoted(folder.path())
        )));
    }
    let mut kinds = folders.iter().map(ResultKind::shown);
    if !kinds.any(|kind| kind == Some(ResultKind::Sweep)) {
        return run::merged(merge_runs(&folders)?, args, json);
    }
    let out = || Ok(Folder::create(&args.out)?);
    let (merged, begun) = merge_sweeps(&folders, out, args.force)?;
    sweep::finish(&merged, Some(&begun), &begun.done, json)
}
