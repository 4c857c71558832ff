//! Manual pages and shell completions.

use std::path::Path;

use clap::ValueEnum;
use clap_complete::Shell;

use crate::Error;

/// Writes `man1/emab*.1`, and `completions/` with a file for each shell, named as the shell looks for it.
pub fn write(folder: &Path) -> Result<(), Error> {
    let (man, completions) = (folder.join("man1"), folder.join("completions"));
    std::fs::create_dir_all(&man)?;
    std::fs::create_dir_all(&completions)?;
    let mut command = emab_cli::command();
    clap_mangen::generate_to(command.clone().disable_help_subcommand(true), &man)?;
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut command, "emab", &completions)?;
    }
    Ok(())
}
