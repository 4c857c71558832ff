//! `emab merge`: one result from the shards of a run or a sweep.

use emab_sim::compare::sweep::{contains_sweep, merge_sweeps};
use emab_sim::{Folder, merge_runs};

use super::{run, sweep};
use crate::args::Merge;
use crate::error::CommandError;

pub fn merge(args: &Merge, json: bool) -> Result<(), CommandError> {
    let folders = args.folders.iter().map(|path| Folder::open(path));
    let folders: Vec<Folder> = folders
        .collect::<Result<_, _>>()
        .map_err(|error| CommandError::input(error.to_string()))?;
    if !folders.iter().any(contains_sweep) {
        return run::merged(merge_runs(&folders)?, &args.out, json);
    }
    let (merged, out, done) = merge_sweeps(&folders, || Ok(Folder::create(&args.out)?))?;
    sweep::finish(&merged, Some(&out), &done, json)
}
