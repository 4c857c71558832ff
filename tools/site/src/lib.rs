//! The documentation of emab.
//!
//! [`mod@reference`] writes the pages that are derived from the source, [`book`] builds the site with mdBook, [`notebook`] makes pages
//! of notebooks, and [`manual`] writes manual pages and shell completions. `docs/build` calls them for the site, `./release` for the packages.

#![forbid(unsafe_code)]

pub mod book;
pub mod manual;
pub mod notebook;
pub mod reference;

#[doc = include_str!("../../../docs/rust.md")]
#[cfg(doctest)]
struct RustGuide;

use std::path::{Path, PathBuf};

/// An error while the documentation is written.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
