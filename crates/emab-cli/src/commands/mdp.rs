//! `emab mdp`: a problem as a Markov decision process.

use std::path::Path;

use emab::oracle::SolvedMdp;
use emab_report::{mdp_document, mdp_npz, mdp_table};
use emab_sim::write_file;

use crate::args::Mdp;
use crate::error::CommandError;
use crate::{load, terminal};

pub fn mdp(args: &Mdp, json: bool) -> Result<(), CommandError> {
    // An unknown extension is rejected before any work is done.
    let out = match &args.out {
        Some(path) => Some((path, kind(path)?)),
        None => None,
    };
    let file = load::problem(&args.problem)?;
    load::note_conditions(&file);
    let solved =
        SolvedMdp::new(file.problem()?).map_err(|error| CommandError::oracle(&file, error))?;
    let document = mdp_document(&solved, file.name(), file.hash());
    if let Some((path, kind)) = out {
        let content = match kind {
            Kind::Json => terminal::to_json(&document)?.into_bytes(),
            Kind::Npz => mdp_npz(&solved).map_err(|error| {
                CommandError::input(format!("cannot write {}: {error}", path.display()))
            })?,
        };
        write_file(path, &content)?;
        terminal::note(&format!("wrote {}", path.display()));
    }
    if json {
        return terminal::print_json(&document);
    }
    terminal::print(&mdp_table(&solved, file.name(), terminal::width()))
}

enum Kind {
    Json,
    Npz,
}

fn kind(path: &Path) -> Result<Kind, CommandError> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Ok(Kind::Json),
        Some("npz") => Ok(Kind::Npz),
        _ => Err(CommandError::input(format!(
            "--out must end in .json (sparse lists) or .npz (dense NumPy arrays), got {}",
            path.display()
        ))),
    }
}
