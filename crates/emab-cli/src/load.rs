//! Finds a problem: one that comes with the program, a file, or standard input.

use std::fs;
use std::io::Read;
use std::path::Path;

use emab::learners::nearest;
use emab_problem::{BUILTIN, Format, ProblemFile};

use crate::failure::Failure;

/// Files larger than this are not problem files.
const LARGEST: u64 = 256 << 20;

/// The problem of this name: `-` is JSON on standard input, a bare name a built-in problem, anything else a file.
pub fn problem(name: &str) -> Result<ProblemFile, Failure> {
    if name == "-" {
        let text = read(std::io::stdin().lock(), "standard input")?;
        return Ok(ProblemFile::parse_as(Format::Json, "<stdin>", &text)?);
    }
    if let Some(file) = ProblemFile::builtin(name) {
        return Ok(file?);
    }
    let path = Path::new(name);
    if path.extension().is_none() && !path.exists() {
        let names: Vec<&str> = BUILTIN.iter().map(|b| b.name).collect();
        let near = nearest(name, names.iter().copied());
        let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        return Err(Failure::input(format!(
            "unknown problem `{name}`{near}: it is neither a file nor one of {}",
            names.join(", ")
        )));
    }
    let file = fs::File::open(path)
        .map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    Ok(ProblemFile::parse(name, &read(file, name)?)?)
}

fn read(from: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::input(format!(
            "{name} is larger than {LARGEST} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input(format!(
            "{name} is not UTF-8 text: byte {at} does not belong there"
        ))
    })
}
