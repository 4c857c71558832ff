//! The command `emab`: parses, calls the rooms, prints. No logic of its own.
//!
//! It is a library so that the Python package can bring the same command: [`main`] is all there is of it.

#![forbid(unsafe_code)]

mod args;
mod clock;
mod commands;
mod error;
mod load;
mod memory;
mod terminal;

use std::ffi::OsString;

use clap::Parser;

/// Does what the arguments ask for, the program's name first, and tells the exit code: 0 done, 1 the work failed, 2 the
/// input or the call was wrong.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match args::Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // Where nobody listens there is nobody to tell.
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
