//! The command `emab`: parses, calls the rooms, prints. No logic of its own.

#![forbid(unsafe_code)]

mod args;
mod clock;
mod commands;
mod failure;
mod load;
mod memory;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match commands::dispatch(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::complain(&failure);
            ExitCode::from(failure.code())
        }
    }
}
