//! Finds a problem: a built-in one, a file, or any reader.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use emab::input::did_you_mean;
use thiserror::Error;

use crate::builtin::Builtin;
use crate::error::ReadError;
use crate::file::{Format, ProblemFile};

/// Files larger than this are not problem files.
const LARGEST: u64 = 256 << 20;

/// Why a problem cannot be loaded.
#[derive(Clone, Debug, Error)]
pub enum FindError {
    /// Neither a file nor a built-in problem.
    #[error(
        "unknown problem `{name}`{}: it is neither a file nor one of {}",
        did_you_mean(name, Builtin::all().map(|builtin| builtin.name)),
        Builtin::all().map(|builtin| builtin.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read {name}: {why}")]
    Unreadable {
        /// The file.
        name: String,
        /// Kind of the operating system's error.
        kind: ErrorKind,
        /// Error of the operating system.
        why: String,
    },
    /// The file is not text, or too large.
    #[error("{name} {what}")]
    NoText {
        /// The file.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// The content is invalid.
    #[error(transparent)]
    Invalid(#[from] Box<ReadError>),
}

impl ProblemFile {
    /// Loads a built-in problem by its name, or else a file.
    ///
    /// ```
    /// use emab_problem::ProblemFile;
    /// assert_eq!(ProblemFile::find("resource").unwrap().name(), "resource collection");
    /// let wrong = ProblemFile::find("resorce").unwrap_err().to_string();
    /// assert!(wrong.starts_with("unknown problem `resorce` (did you mean `resource`?)"), "{wrong}");
    /// ```
    pub fn find(name: &str) -> Result<ProblemFile, FindError> {
        if let Some(file) = ProblemFile::builtin(name) {
            return Ok(file.map_err(Box::new)?);
        }
        let path = Path::new(name);
        if path.extension().is_none() && !path.exists() {
            return Err(FindError::Unknown { name: name.into() });
        }
        let file = fs::File::open(path).map_err(|error| unreadable(name, &error))?;
        Ok(ProblemFile::parse(name, &read_text(file, name)?).map_err(Box::new)?)
    }

    /// Reads a problem from a stream; errors call it `name`.
    pub fn from_reader(
        format: Format,
        name: &str,
        from: impl Read,
    ) -> Result<ProblemFile, FindError> {
        let text = read_text(from, name)?;
        let file = match name {
            "standard input" => "<stdin>",
            name => name,
        };
        Ok(ProblemFile::parse_as(format, file, &text).map_err(Box::new)?)
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> FindError {
    FindError::Unreadable {
        name: name.into(),
        kind: error.kind(),
        why: match error.kind() {
            ErrorKind::IsADirectory => "it is a folder; name a problem file in it".into(),
            _ => error.to_string(),
        },
    }
}

fn read_text(from: impl Read, name: &str) -> Result<String, FindError> {
    let no_text = |what| FindError::NoText {
        name: name.into(),
        what,
    };
    let mut bytes = Vec::new();
    from.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(no_text(format!("is larger than {LARGEST} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        no_text(format!("is not UTF-8 text: byte {at} is invalid"))
    })
}
