//! No acknowledged write is lost in an outage of the database, on a full disk, or when the clock moves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab_harness::StoreKind;
use emab_harness::scenarios::{Clock, Common, DiskFull, Outage, Report, Story, clock_library};
use emab_harness::{Error, RequestCounts};

fn common(clients: u16) -> Common {
    Common {
        clients,
        seed: 7,
        program: Some(env!("CARGO_BIN_EXE_emab-harness").into()),
    }
}

fn check(report: Result<Report, Error>) -> RequestCounts {
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    println!("{report}");
    assert_eq!(report.findings.total(), 0, "{report}");
    let requests = report.load.unwrap().requests;
    assert!(requests.writes > 100, "there was hardly any load");
    requests
}

#[test]
fn postgresql_stops_under_two_instances() {
    let outage = Outage {
        rounds: 3,
        audit: 2,
        common: common(16),
    };
    assert!(check(outage.run()).deferred > 0, "no write was deferred");
}

fn fill_disk(no_mount: bool) {
    let disk_full = DiskFull {
        no_mount,
        common: common(16),
    };
    assert!(check(disk_full.run()).deferred > 0, "no write was deferred");
}

#[test]
fn the_file_system_is_full() {
    fill_disk(false);
}

#[test]
fn files_cannot_grow() {
    fill_disk(true);
}

#[test]
fn the_clock_moves() {
    if let Err(error) = clock_library() {
        println!("skipped: {error}");
        return;
    }
    let clock = Clock { common: common(8) };
    check(clock.run());
}

fn story(store: StoreKind) {
    let program = Some(env!("CARGO_BIN_EXE_emab-harness").into());
    let report = Story { store, program }.run();
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    println!("{report}");
    assert_eq!(report.findings.total(), 0, "{report}");
    assert!(report.disruptions >= 20, "{report}");
}

#[test]
fn the_story_of_a_study_on_sqlite() {
    story(StoreKind::Sqlite);
}

#[test]
fn the_story_of_a_study_on_postgresql() {
    story(StoreKind::Postgres);
}
