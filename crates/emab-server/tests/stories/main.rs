//! Stories of people in the loop, each from its first request to the estimates.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../edge/mod.rs"]
mod edge;
#[path = "../support/mod.rs"]
mod support;

mod certificates;
mod copies;
mod corrections;
mod episodes;
mod export;
mod import;
mod late;
mod learners;
mod outcomes;
mod repeats;
mod replay;
mod roles;
mod shadows;
mod streams;
mod together;
mod trained;
mod travel;
