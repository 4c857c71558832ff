//! `emab mdp`: a problem as a Markov decision process.

use emab::oracle::SolvedMdp;
use emab_report::{mdp_document, mdp_npz, mdp_table};
use emab_sim::write_file;

use super::{ending, written};
use crate::args::Mdp;
use crate::error::CommandError;
use crate::{load, terminal};

pub fn mdp(args: &Mdp, json: bool) -> Result<(), CommandError> {
    // An unknown extension is rejected before any work is done.
    if let Some(path) = &args.out
        && !["json", "npz"].contains(&ending(path))
    {
        return Err(CommandError::input(format!(
            "--out must end in .json (sparse lists) or .npz (dense NumPy arrays), got {}",
            path.display()
        )));
    }
    let file = load::problem(&args.problem)?;
    load::note_conditions(&file);
    let solved = SolvedMdp::new(file.problem()?).map_err(CommandError::of(&file))?;
    let document = mdp_document(&solved, file.name(), file.hash());
    if let Some(path) = &args.out {
        let content = match ending(path) {
            "json" => terminal::to_json(&document)?.into_bytes(),
            _ => mdp_npz(&solved).map_err(|error| {
                CommandError::input(format!("cannot write {}: {error}", path.display()))
            })?,
        };
        let changed = write_file(path, &content, args.force)?;
        terminal::note(&written(path, changed));
    }
    terminal::show(json, &document, || {
        mdp_table(&solved, file.name(), terminal::width())
    })
}
