//! Where a problem comes from: one that comes along, a file, or whatever else can be read.

use std::fs;
use std::io::Read;
use std::path::Path;

use emab::learners::nearest;
use thiserror::Error;

use crate::builtin::BUILTIN;
use crate::error::ReadError;
use crate::file::{Format, ProblemFile};

/// Files larger than this are not problem files.
const LARGEST: u64 = 256 << 20;

/// Why there is no problem.
#[derive(Clone, Debug, Error)]
pub enum FindError {
    /// Neither a file nor a problem that comes along.
    #[error(
        "unknown problem `{name}`{}: it is neither a file nor one of {}",
        near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)")),
        BUILTIN.iter().map(|builtin| builtin.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name there is.
        near: Option<&'static str>,
    },
    /// It cannot be read.
    #[error("cannot read {name}: {why}")]
    Unreadable {
        /// The file.
        name: String,
        /// What the system says.
        why: String,
    },
    /// It can be no problem file.
    #[error("{name} {what}")]
    NoText {
        /// The file.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// There is a mistake in it.
    #[error(transparent)]
    Mistake(#[from] Box<ReadError>),
}

impl ProblemFile {
    /// A bare name is a problem that comes along, anything else a file.
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
            return Err(FindError::Unknown {
                name: name.into(),
                near: nearest(name, BUILTIN.iter().map(|builtin| builtin.name)),
            });
        }
        let file = fs::File::open(path).map_err(|error| unreadable(name, &error))?;
        Ok(ProblemFile::parse(name, &read(file, name)?).map_err(Box::new)?)
    }

    /// What somebody sends; `name` is what errors call it.
    pub fn from_reader(
        format: Format,
        name: &str,
        from: impl Read,
    ) -> Result<ProblemFile, FindError> {
        let text = read(from, name)?;
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
        why: error.to_string(),
    }
}

fn read(from: impl Read, name: &str) -> Result<String, FindError> {
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
        no_text(format!(
            "is not UTF-8 text: byte {at} does not belong there"
        ))
    })
}
