//! Problem files: reads TOML or JSON into an [`emab::Problem`], with errors that point at the line.
//!
//! The format is described in `docs/problem-file.md`; [`SCHEMA`] is its JSON schema.
//!
//! ```
//! let file = emab_problem::ProblemFile::builtin("resource").unwrap().unwrap();
//! let problem = file.problem().unwrap();
//! assert_eq!(problem.spec().horizon(), 10);
//!
//! let error = emab_problem::ProblemFile::parse("mine.toml", "horizn = 10").unwrap_err();
//! assert!(error.to_string().contains("did you mean `horizon`?"));
//! ```

#![forbid(unsafe_code)]

mod builtin;
mod conditions;
mod error;
mod expression;
mod fields;
mod file;
mod find;
mod hash;
mod json_error;
mod name;
mod random;
mod spanned;
mod table;

pub use builtin::{BUILTIN, Builtin, PUBLISHED};
pub use error::ReadError;
pub use file::{Format, OutcomeRange, ProblemFile};
pub use find::FindError;
pub use hash::{hex, sha256_hex};
pub use json_error::{json_error, value_error};
pub use name::{NAME_RULE, is_name};
pub use random::{FAMILIES, Family, FamilyError, NamedFamily};

/// Documents in TOML or JSON whose errors point at the line: what problem files and sweep files are read with.
pub mod document {
    pub use crate::error::Diagnostic;
    pub use crate::fields::{Fields, number, text};
    pub use crate::file::{FIELDS, is_problem, is_result, is_sweep, result_not};
    pub use crate::spanned::{SpannedKey, SpannedValue, ValueKind, parse};
}

/// JSON schema of a problem file, for editors.
pub const SCHEMA: &str = include_str!("schema.json");
