//! The claims of the paper as experiments: every lemma, theorem, corollary and testable sentence of Sections 2 to 6 with
//! a verdict. Each call measures everything again.
//!
//! One file per section of the paper; [`reproduce`] runs them all.

#![forbid(unsafe_code)]

mod figures;
mod fit;
mod instances;
mod ledger;
mod lemmas;
mod measurement;
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

pub use ledger::{Figure, Ledger, reproduce};
pub use report::{BEYOND, TALLY};
pub use runner::{LedgerError, Runner, Settings};
