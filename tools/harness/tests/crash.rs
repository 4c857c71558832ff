//! The service is killed a hundred times under load and loses nothing; with a fault planted in it, that is found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab_harness::check::Check;
use emab_harness::crash::{Crash, Report, crash};
use emab_harness::fault::Fault;
use emab_harness::scene::Kind;

fn run(kills: u32, store: Kind, fault: Option<Fault>) -> Report {
    let report = crash(&Crash {
        program: env!("CARGO_BIN_EXE_emab-harness").into(),
        store,
        kills,
        clients: 16,
        life: 250,
        audit: if fault.is_some() { 3 } else { 40 },
        fault,
        seed: 7,
    });
    let report = report.unwrap_or_else(|what| panic!("{what}"));
    println!("{report}");
    report
}

#[test]
fn nothing_acknowledged_is_lost_in_a_hundred_kills() {
    let report = run(100, Kind::Sqlite, None);
    assert_eq!(report.outcome.findings.total(), 0, "{report}");
    assert!(report.kills >= 100);
    assert!(
        report.outcome.done.writes > 1_000,
        "there was hardly any load"
    );
    assert!(
        report.outcome.done.unanswered > 100,
        "it was hardly killed under load"
    );
}

#[test]
fn nor_on_postgresql() {
    let report = run(10, Kind::Postgres, None);
    assert_eq!(report.outcome.findings.total(), 0, "{report}");
}

#[test]
fn answering_before_the_commit_is_found() {
    let report = run(8, Kind::Sqlite, Some(Fault::AckEarly));
    assert!(
        report.outcome.findings.count(Check::Acknowledged) > 0,
        "{report}"
    );
}

#[test]
fn a_forgotten_row_is_found() {
    let report = run(8, Kind::Sqlite, Some(Fault::ForgetProjection));
    assert!(report.outcome.findings.count(Check::Replay) > 0, "{report}");
    // And nothing else is: the log itself is whole.
    assert_eq!(
        report.outcome.findings.count(Check::Acknowledged),
        0,
        "{report}"
    );
}

#[test]
fn a_tell_taken_twice_is_found() {
    let report = run(8, Kind::Sqlite, Some(Fault::TellTwice));
    assert!(report.outcome.findings.count(Check::Once) > 0, "{report}");
}
