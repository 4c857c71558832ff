//! `emab-site book FOLDER` builds the site without the API documentation, `emab-site manual FOLDER` writes manual pages and
//! completions. `docs/build` and `./release` call it.

#![forbid(unsafe_code)]

use std::path::PathBuf;

use clap::Parser;
use emab_site::{Error, book, manual};

/// Builds the documentation of emab.
#[derive(Parser)]
enum Args {
    /// Build the site, except for the documentation of the Rust and Python interfaces.
    Book {
        /// The folder of the site; what it contains is replaced.
        folder: PathBuf,
    },
    /// Write a manual page for every command, and completions for every shell.
    Manual {
        /// The folder.
        folder: PathBuf,
    },
}

fn main() -> Result<(), Error> {
    match Args::parse() {
        Args::Book { folder } => book::build(&folder),
        Args::Manual { folder } => manual::write(&folder),
    }
}
