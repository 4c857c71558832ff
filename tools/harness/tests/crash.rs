//! No acknowledged write is lost when the service is killed, and each injected fault is found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab_harness::checks::Check;
use emab_harness::faults::Fault;
use emab_harness::scenarios::{Common, Crash, Report};
use emab_harness::{KINDS, StoreKind};

fn run(kills: u32, store: StoreKind, fault: Option<Fault>) -> Report {
    let crash = Crash {
        kills,
        store,
        life: 250,
        audit: if fault.is_some() { 3 } else { 40 },
        fault,
        common: Common {
            clients: 16,
            seed: 7,
            program: Some(env!("CARGO_BIN_EXE_emab-harness").into()),
        },
    };
    let report = crash.run().unwrap_or_else(|error| panic!("{error}"));
    println!("{report}");
    report
}

#[test]
fn a_hundred_kills_lose_no_acknowledged_write_on_sqlite() {
    let report = run(100, StoreKind::Sqlite, None);
    assert_eq!(report.findings.total(), 0, "{report}");
    assert!(report.disruptions >= 100);
    let load = report.load.unwrap();
    for kind in KINDS {
        assert!(load.kinds.contains(kind), "{kind} is not exercised");
    }
    let requests = load.requests;
    assert!(requests.writes > 1_000, "there was hardly any load");
    assert!(
        requests.unanswered > 100,
        "there was hardly any load at the kills"
    );
}

#[test]
fn ten_kills_lose_no_acknowledged_write_on_postgresql() {
    let report = run(10, StoreKind::Postgres, None);
    assert_eq!(report.findings.total(), 0, "{report}");
}

#[test]
fn finds_acknowledgements_before_the_commit() {
    let report = run(8, StoreKind::Sqlite, Some(Fault::AckEarly));
    assert!(report.findings.count(Check::Acknowledged) > 0, "{report}");
}

#[test]
fn finds_omitted_projections() {
    let report = run(8, StoreKind::Sqlite, Some(Fault::ForgetProjection));
    assert!(report.findings.count(Check::Replay) > 0, "{report}");
    // The log itself is complete.
    assert_eq!(report.findings.count(Check::Acknowledged), 0, "{report}");
}

#[test]
fn finds_a_tell_that_is_recorded_twice() {
    let report = run(8, StoreKind::Sqlite, Some(Fault::TellTwice));
    assert!(report.findings.count(Check::Once) > 0, "{report}");
}
