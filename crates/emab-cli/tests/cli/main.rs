//! Tests of the command `emab`: what it prints, writes and rejects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arena;
mod audit;
mod clinic_guide;
mod common;
mod conditions;
mod demo;
mod device;
mod docs;
mod earlier_files;
mod export;
mod folders;
mod invalid_arguments;
mod logs;
mod manners;
mod mdp;
mod plots;
mod policy;
mod report;
mod reproduce;
mod runs;
mod serve;
mod single_runs;
mod sweep;
mod sweep_errors;
mod test_dir;
mod theory;
mod token;
