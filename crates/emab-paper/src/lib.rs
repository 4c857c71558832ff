//! The paper, tested: every lemma, theorem, corollary and testable sentence of Sections 2 to 6 as an experiment with a
//! verdict. Nothing here is remembered: each call measures everything anew.
//!
//! One file a section of the paper; [`reproduce`] runs them all.

#![forbid(unsafe_code)]

mod figures;
mod fit;
mod instances;
mod ledger;
mod lemmas;
mod lucky;
pub mod reference;
mod report;
mod runner;
mod section2;
mod section4;
mod section5;
mod section6;
mod theorem1;
mod theorem2;
mod theorems;
mod ties;
mod wording;

pub use ledger::{Figure, Ledger, reproduce};
pub use report::BEYOND;
pub use runner::{LedgerError, Runner, Settings};
