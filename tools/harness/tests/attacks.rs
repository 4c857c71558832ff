//! Short forms of the attacks: none of them succeeds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab_harness::attacks::{
    Disturb, FailClosed, Forge, LogPipe, Protocol, Tamper, Target, WalTail, Worlds,
};
use emab_harness::scenarios::Report;
use emab_harness::{Error, StoreKind};

fn target() -> Target {
    Target {
        program: Some(env!("CARGO_BIN_EXE_emab-harness").into()),
        seed: 7,
    }
}

fn check(report: Result<Report, Error>) {
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    println!("{report}");
    assert_eq!(report.findings.total(), 0, "{report}");
}

fn protocol(store: StoreKind, sequences: u64) {
    let protocol = Protocol {
        sequences,
        store,
        clients: 4,
        plain: false,
        target: target(),
    };
    check(protocol.run());
}

#[test]
fn random_sequences_of_requests_agree_with_the_model_on_sqlite() {
    protocol(StoreKind::Sqlite, 200);
}

#[test]
fn random_sequences_of_requests_agree_with_the_model_on_postgresql() {
    protocol(StoreKind::Postgres, 60);
}

fn forge(store: StoreKind, interruptions: u32, bytes: usize) {
    let forge = Forge {
        interruptions,
        bytes,
        store,
        target: target(),
    };
    check(forge.run());
}

#[test]
fn forged_exports_are_rejected_on_sqlite() {
    forge(StoreKind::Sqlite, 3, 5_000_000);
}

#[test]
fn forged_exports_are_rejected_on_postgresql() {
    forge(StoreKind::Postgres, 1, 200_000);
}

#[test]
fn an_unread_log_stops_nothing() {
    let log_pipe = LogPipe {
        requests: 1_000,
        target: target(),
    };
    check(log_pipe.run());
}

fn worlds(store: StoreKind) {
    let target = target();
    check(Worlds { store, target }.run());
}

#[test]
fn a_blinded_token_cannot_tell_two_worlds_apart_on_sqlite() {
    worlds(StoreKind::Sqlite);
}

#[test]
fn a_blinded_token_cannot_tell_two_worlds_apart_on_postgresql() {
    worlds(StoreKind::Postgres);
}

#[test]
fn linked_stores_and_damaged_token_files_end_access() {
    let target = target();
    check(FailClosed { target }.run());
}

fn wal_tail(store: StoreKind) {
    let wal_tail = WalTail {
        cuts: 40,
        store,
        plain: false,
        target: target(),
    };
    check(wal_tail.run());
}

#[test]
fn the_audit_notices_a_lost_tail_on_sqlite() {
    wal_tail(StoreKind::Sqlite);
}

#[test]
fn the_audit_notices_an_older_copy_on_postgresql() {
    wal_tail(StoreKind::Postgres);
}

#[test]
fn one_token_does_not_keep_others_from_being_served() {
    let disturb = Disturb {
        studies: 10,
        bytes: 100_000,
        episodes: 500,
        quiet: 15,
        memory: 8,
        target: target(),
    };
    check(disturb.run());
}

fn tamper(store: StoreKind, every: usize) {
    let tamper = Tamper {
        flips: 20,
        rows: 1,
        every,
        store,
        target: target(),
    };
    check(tamper.run());
}

#[test]
fn the_audit_reports_changed_bytes_and_rows_of_sqlite() {
    tamper(StoreKind::Sqlite, 3);
}

#[test]
fn the_audit_reports_changed_rows_of_postgresql() {
    tamper(StoreKind::Postgres, 20);
}
