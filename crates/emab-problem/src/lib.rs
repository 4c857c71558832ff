//! Problem files: TOML or JSON in, [`emab::Problem`] out, and errors that point at the line.
//!
//! The format is described in `docs/problem-file.md`; [`SCHEMA`] is its JSON schema.
//!
//! ```
//! let file = emab_problem::ProblemFile::builtin("resource").unwrap().unwrap();
//! let problem = file.problem().unwrap();
//! assert_eq!(problem.spec().horizon(), 10);
//!
//! let wrong = emab_problem::ProblemFile::parse("mine.toml", "horizn = 10").unwrap_err();
//! assert!(wrong.to_string().contains("did you mean `horizon`?"));
//! ```

#![forbid(unsafe_code)]

mod builtin;
mod conditions;
mod error;
mod expression;
mod file;
mod find;
mod name;
mod node;
mod table;

pub use builtin::{BUILTIN, Builtin};
pub use error::ReadError;
pub use expression::{Expression, Scope};
pub use file::{Format, ProblemFile};
pub use find::FindError;
pub use name::{NAME_RULE, is_name};

/// The JSON schema of a problem file, so that editors can help.
pub const SCHEMA: &str = include_str!("schema.json");
