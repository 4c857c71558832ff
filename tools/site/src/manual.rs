//! Manual pages and shell completions.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::{Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::Error;

/// What all pages have below the options.
const COMMON: &str = r#".SH "EXIT STATUS"
0: done. 1: the work failed. 2: the input or the call is invalid.
.SH ENVIRONMENT
.TP
EMAB_DATA
The folder of the decision service: its store, tokens and key. By default ~/.local/share/emab.
.TP
EMAB_STORE, PGPASSWORD
The store of the decision service, and the password of PostgreSQL.
.SH "SEE ALSO"
.BR emab (1);
the documentation: https://emab.github.io/emab/
"#;

/// Writes `man1/emab*.1`, and `completions/` with a file for each shell, named as the shell looks for it.
pub fn write(folder: &Path) -> Result<(), Error> {
    let (man, completions) = (folder.join("man1"), folder.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    let mut command = emab_cli::command();
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut command, "emab", &completions)?;
    }
    command = command.disable_help_subcommand(true);
    command.build();
    page(&man, &command, "emab")
}

/// The page of a command, and those of the commands below it.
fn page(folder: &Path, command: &Command, name: &str) -> Result<(), Error> {
    let version = format!("emab {}", env!("CARGO_PKG_VERSION"));
    // The name of a page is that of the command with hyphens; the synopsis has spaces.
    let text = Man::new(command.clone().display_name(name.to_owned()))
        .title(name.to_uppercase())
        .source(version)
        .manual("emab manual");
    let mut file = fs::File::create(folder.join(format!("{name}.1")))?;
    text.render(&mut file)?;
    file.write_all(COMMON.as_bytes())?;
    for sub in command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
    {
        page(folder, sub, &format!("{name}-{}", sub.get_name()))?;
    }
    Ok(())
}
