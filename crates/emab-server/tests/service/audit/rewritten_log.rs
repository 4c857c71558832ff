//! Changed events whose later hashes are recomputed.

use emab_server::audit::{Options, Report, audit_study_with};
use emab_server::domain::event::Record;
use emab_server::store::sqlite::Sqlite;
use rusqlite::{Connection, params};

use super::sqlite_rows::{RECORDED, after, event_of, findings};

/// How much is recomputed after a change.
#[derive(Clone, Copy, PartialEq)]
enum Care {
    /// The hash of each event and its reference to the previous one.
    Chain,
    /// Also the hashes inside decisions, in events and in the table of decisions.
    Decisions,
}

/// Replaces a text in one event and recomputes what follows.
fn forge(file: &Connection, seq: u64, old: &str, new: &str, care: Care) {
    let mut hashes: Vec<(String, String)> = Vec::new();
    for event in &RECORDED.events[seq as usize - 1..] {
        let mut text = event.text.clone();
        if event.seq == seq {
            assert!(text.contains(old), "{text}");
            text = text.replacen(old, new, 1);
        }
        if let Some((was, is)) = hashes.last() {
            text = match care {
                Care::Chain => text.replacen(was, is, 1),
                Care::Decisions => text.replace(was, is),
            };
        }
        let forged = Record::new(event.seq, text);
        file.execute(
            "UPDATE events SET text = ?1, hash = ?2 WHERE study = 1 AND seq = ?3",
            params![forged.text, forged.hash, forged.seq as i64],
        )
        .unwrap();
        hashes.push((event.hash.clone(), forged.hash));
    }
    let last = &hashes.last().unwrap().1;
    file.execute("UPDATE studies SET hash = ?1 WHERE key = 1", [last])
        .unwrap();
    if care == Care::Decisions {
        for (was, is) in &hashes {
            let sql = "UPDATE answers SET text = replace(text, ?1, ?2) WHERE study = 1 AND instr(text, ?1) > 0";
            file.execute(sql, params![was, is]).unwrap();
        }
    }
}

/// An event with a reason: its number and episode.
fn reasoned() -> (u64, String) {
    let (seq, line) = event_of("abandoned", 20);
    (seq, line["data"]["episode"].as_str().unwrap().into())
}

#[test]
fn a_rehashed_chain_contradicts_the_decisions() {
    let (seq, episode) = reasoned();
    let [clinic, other] = after(|file| {
        let (old, new) = ("did not come back", "did not come  back");
        forge(file, seq, old, new, Care::Chain);
    });
    // Every decision names the hash of the event before it.
    let found = clinic.findings.len() + clinic.more as usize;
    let first = &clinic.findings[0];
    assert!(found > 40, "{clinic:#?}");
    assert!(
        first.place.starts_with("decision 1 of episode"),
        "{first:?}"
    );
    assert!(first.what.contains("`/previous`"), "{first:?}");
    assert!(findings(&clinic).contains(&&*format!("episode {episode}")) || clinic.more > 0);
    assert!(other.is_clean());
}

#[test]
fn a_changed_outcome_contradicts_the_estimates() {
    let found = RECORDED.events.iter().find_map(|event| {
        let line: serde_json::Value = serde_json::from_str(&event.text).unwrap();
        let reward = line["data"]["rewards"][0].as_f64()?;
        (event.seq > 60 && line["kind"] == "outcome").then_some((event.seq, line, reward))
    });
    let (seq, line, reward) = found.unwrap();
    let episode = line["data"]["episode"].as_str().unwrap();
    let [clinic, other] = after(|file| {
        let rewards = |first: f64| format!("\"rewards\":[{first}");
        let (old, new) = (rewards(reward), rewards(reward + 0.25));
        forge(file, seq, &old, &new, Care::Decisions);
    });
    let findings = findings(&clinic);
    let place = format!("episode {episode}");
    assert!(findings.contains(&&*place), "{clinic:#?}");
    let begin = |start: &str| findings.iter().any(|place| place.starts_with(start));
    assert!(begin("learned episode "), "{clinic:#?}");
    assert!(begin("count of (1, 0, 2)"), "{clinic:#?}");
    assert!(other.is_clean());
}

#[test]
fn a_denied_override_is_found() {
    let overridden = RECORDED.events.iter().find(|event| {
        event.text.contains("\"kind\":\"told\"") && event.text.contains("\"override\":true")
    });
    let seq = overridden.unwrap().seq;
    let [clinic, _] = after(|file| {
        let (old, new) = ("\"override\":true", "\"override\":false");
        forge(file, seq, old, new, Care::Decisions);
    });
    assert_eq!(findings(&clinic), [format!("event {seq}")], "{clinic:#?}");
    let what = &clinic.findings[0].what;
    assert!(what.contains("`override`: false"), "{what}");
}

/// The limit of a hash chain: no decision depends on a reason, so a complete rewrite is consistent. A hash noted elsewhere finds it.
#[test]
fn a_completely_rewritten_log_is_found_by_a_noted_hash() {
    let (seq, episode) = reasoned();
    let (_folder, path) = RECORDED.copy();
    let file = Connection::open(&path).unwrap();
    let (old, new) = ("did not come back", "came back");
    forge(&file, seq, old, new, Care::Decisions);
    let sql = "UPDATE cases SET body = replace(body, 'did not come back', 'came back') WHERE study = 1 AND id = ?1";
    assert_eq!(file.execute(sql, [&episode]), Ok(1));
    drop(file);
    let audit = |expect: Option<&str>| -> Report {
        let mut store = Sqlite::inspect(&path).unwrap();
        let head = store.head("clinic").unwrap().unwrap();
        let options = Options {
            expect,
            ..Options::default()
        };
        audit_study_with(&mut *store, &head, options).unwrap()
    };
    let report = audit(None);
    assert!(report.is_clean(), "the file is consistent: {report:#?}");
    let noted = |seq: u64| RECORDED.events[seq as usize - 1].hash.as_str();
    for seq in [RECORDED.events.len() as u64, seq] {
        let report = audit(Some(noted(seq)));
        assert_eq!(findings(&report), ["head"]);
        assert_eq!(report.expected, None);
    }
    // A hash noted before the change is still found.
    let report = audit(Some(noted(seq - 1)));
    assert_eq!(report.expected, Some(seq - 1));
    assert!(report.is_clean());
}
