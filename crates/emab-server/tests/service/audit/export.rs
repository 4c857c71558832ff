//! Exports that are changed, truncated or something else.

use emab_server::audit::{Options, Report, audit_export, audit_export_with, audit_study};
use emab_server::store::sqlite::Sqlite;
use proptest::prelude::*;

use super::sqlite_rows::{RECORDED, findings};

/// The report of an export whose lines are changed.
fn with(change: impl FnOnce(&mut Vec<String>)) -> Report {
    let mut lines: Vec<String> = RECORDED.events.iter().map(|event| event.line()).collect();
    change(&mut lines);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    audit_export(text.as_bytes())
}

#[test]
fn an_export_and_its_store_have_equal_reports() {
    let export = audit_export(&*RECORDED.export());
    let mut store = Sqlite::inspect(&RECORDED.path()).unwrap();
    let head = store.head("clinic").unwrap().unwrap();
    assert_eq!(export, audit_study(&mut *store, head).unwrap());
    assert!(export.is_clean());
}

#[test]
fn finds_missing_swapped_and_repeated_lines() {
    let all = RECORDED.events.len() as u64;
    let report = with(|lines| drop(lines.remove(39)));
    assert_eq!(findings(&report), ["event 40"], "{report:#?}");
    assert_eq!(report.recomputed, 39);
    let report = with(|lines| drop(lines.drain(39..49)));
    assert_eq!(findings(&report), ["events 40 to 49"]);
    // Event 41 is in the place of 40, and 40 follows it.
    let report = with(|lines| lines.swap(39, 40));
    assert_eq!(findings(&report), ["event 40", "event 40"]);
    let report = with(|lines| lines.insert(39, lines[39].clone()));
    assert_eq!(findings(&report), ["event 40"]);
    assert_eq!(report.recomputed, all);
    // Empty lines are ignored.
    let report = with(|lines| lines.insert(39, String::new()));
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.recomputed, all);
    let report = with(|lines| drop(lines.remove(0)));
    assert_eq!(findings(&report), ["event 1"], "{report:#?}");
    assert_eq!(report.study, None);
}

#[test]
fn finds_a_truncated_export() {
    let whole = RECORDED.export();
    let all = RECORDED.events.len() as u64;
    for left_out in [1, 100] {
        let report = audit_export(&whole[..whole.len() - left_out]);
        assert_eq!(findings(&report), [format!("line {all}")]);
        assert!(report.findings[0].what.contains("cut off"), "{report:#?}");
        assert!(left_out == 1 || report.recomputed == all - 1);
    }
    // Cut between two lines, it is a valid export of an earlier time; only a noted hash finds it.
    let lines = &whole[..whole.len() - 1];
    let end = lines.iter().rposition(|byte| *byte == b'\n').unwrap();
    let shorter = &whole[..=end];
    assert!(audit_export(shorter).is_clean());
    let noted = || Options {
        expect: Some(&RECORDED.events.last().unwrap().hash),
        ..Options::default()
    };
    let report = audit_export_with(shorter, noted());
    assert_eq!(findings(&report), ["head"]);
    let report = audit_export_with(&*whole, noted());
    assert_eq!(report.expected, Some(report.events));
    assert!(report.is_clean());
}

#[test]
fn rejects_files_that_are_not_exports() {
    for bytes in [
        &b""[..],
        b"\n",
        b"{}\n",
        b"\xff\xfe\n",
        b"SQLite format 3\0",
    ] {
        let report = audit_export(bytes);
        assert_eq!(findings(&report), ["line 1"], "{report:#?}");
        assert_eq!((report.study, report.state_hash), (None, None));
    }
    // An endless line is not kept in memory.
    let endless = std::io::Read::take(std::io::repeat(b'x'), 200 << 20);
    let report = audit_export(std::io::BufReader::new(endless));
    assert_eq!(findings(&report), ["line 1"]);
    let what = &report.findings[0].what;
    assert!(what.contains("longer than 64 MiB"), "{what}");
}

#[test]
fn finds_every_flipped_bit_of_two_lines() {
    let whole = RECORDED.export();
    let ends: Vec<usize> = (0..whole.len()).filter(|&i| whole[i] == b'\n').collect();
    // A short log, for speed.
    let log = &whole[..=ends[5]];
    for at in ends[1]..=ends[3] {
        for bit in 0..8 {
            let mut changed = log.to_vec();
            changed[at] ^= 1 << bit;
            let report = audit_export(&*changed);
            assert!(!report.is_clean(), "byte {at}, bit {bit}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn finds_any_changed_byte(at in any::<prop::sample::Index>(), by in 1..=255_u8) {
        let mut export = RECORDED.export();
        let at = at.index(export.len());
        let line = export[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        export[at] ^= by;
        let report = audit_export(&*export);
        prop_assert!((1..=2).contains(&report.findings.len()), "{report:#?}");
        // The finding names the line or the event on it.
        let place = &report.findings[0].place;
        let near = [format!("line {line}"), format!("event {line}")];
        prop_assert!(near.contains(place), "byte {at} of line {line}: {report:#?}");
    }

    #[test]
    fn finds_any_removed_byte(at in any::<prop::sample::Index>()) {
        let mut export = RECORDED.export();
        let at = at.index(export.len());
        export.remove(at);
        prop_assert!(!audit_export(&*export).is_clean());
    }
}
