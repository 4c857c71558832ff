//! The command `emab`: parses arguments, calls the libraries and prints.
//!
//! It is a library so that the Python package can provide the same command through [`main`].

#![forbid(unsafe_code)]

mod args;
mod commands;
mod error;
mod load;
mod measure;
mod terminal;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

pub use measure::Allocated;

/// The commands and options, from which the documentation is made.
pub fn command() -> clap::Command {
    args::Args::command()
}

/// Runs the command line, the program's name first, and returns the exit code: 0 done, 1 the work failed, 2 the input or
/// the call is invalid. The memory of learners is measured by the count of the program's allocator, if it has one.
pub fn main(arguments: impl IntoIterator<Item = OsString>, allocated: Option<Allocated>) -> u8 {
    if let Some(allocated) = allocated {
        measure::set_allocated(allocated);
    }
    let args = match args::Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // A closed standard error is ignored.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    match commands::dispatch(args) {
        Ok(()) => 0,
        Err(error) => {
            terminal::complain(&error);
            error.code()
        }
    }
}
