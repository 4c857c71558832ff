//! The database stopped as by a crash, a full disk, a moved clock: nothing acknowledged is lost, nothing else is there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab_harness::clock::{Clock, clock, library};
use emab_harness::full::{Full, full};
use emab_harness::outage::{Outage, outage};
use emab_harness::trial::Outcome;

fn program() -> std::path::PathBuf {
    env!("CARGO_BIN_EXE_emab-harness").into()
}

fn is_clean(outcome: &Outcome, report: &dyn std::fmt::Display) {
    println!("{report}");
    assert_eq!(outcome.findings.total(), 0, "{report}");
    assert!(outcome.done.writes > 100, "there was hardly any load");
}

#[test]
fn postgresql_is_stopped_under_two_copies() {
    let report = outage(&Outage {
        program: program(),
        rounds: 3,
        clients: 16,
        audit: 2,
        seed: 7,
    });
    let report = report.unwrap();
    is_clean(&report.outcome, &report);
    assert!(report.outcome.done.put_off > 0, "nobody noticed");
}

fn fill(mount: bool) {
    let report = full(&Full {
        program: program(),
        mount,
        clients: 16,
        seed: 7,
    });
    let report = report.unwrap();
    is_clean(&report.outcome, &report);
    assert!(report.outcome.done.put_off > 0, "nobody noticed");
}

#[test]
fn the_disk_is_full() {
    fill(true);
}

#[test]
fn files_cannot_grow() {
    fill(false);
}

#[test]
fn the_clock_is_moved() {
    if let Err(why) = library() {
        println!("skipped: {why}");
        return;
    }
    let report = clock(&Clock {
        program: program(),
        clients: 8,
        seed: 7,
    });
    let report = report.unwrap();
    is_clean(&report.outcome, &report);
}
