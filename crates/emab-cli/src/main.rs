//! The program `emab`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(emab_cli::main(std::env::args_os()))
}
