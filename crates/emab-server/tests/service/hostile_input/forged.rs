//! Changed logs with recomputed hashes: accepted or rejected, never a server error, then or later.

use emab_server::domain::event::{Record, sha256};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::random::runtime;
use crate::support::study::clinic;

/// Replacements for a number or a string.
const OTHERS: &str =
    r#"0 1 2 3 -1 0.5 -0.0 1e100 1e308 18446744073709551615 null true false "" "x" "stop" [] {}"#;

/// The positions of numbers and strings of a line, keys excluded.
fn values(line: &str) -> Vec<(usize, usize)> {
    let bytes = line.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => {
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                if bytes.get(at) != Some(&b':') {
                    found.push((start, at));
                }
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                while bytes[at].is_ascii_alphanumeric() || b"-+.".contains(&bytes[at]) {
                    at += 1;
                }
                found.push((start, at));
            }
            _ => at += 1,
        }
    }
    found
}

/// The log under another name with one value changed and every hash recomputed.
fn forge(lines: &[String], study: &str, at: usize, which: usize, other: &str) -> Vec<String> {
    let mut forged = Vec::new();
    let mut hashes: Vec<(String, String)> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let record = Record::from_line(line).unwrap();
        let mut text = record.text.replace("\"clinic\"", &format!("\"{study}\""));
        for (old, new) in &hashes {
            text = text.replace(old, new);
        }
        if i == at % lines.len() {
            let values = values(&text);
            let (start, end) = values[which % values.len()];
            text.replace_range(start..end, other);
        }
        if let Some((_, spec)) = text.split_once("\"spec\":")
            && let Some((spec, hash)) = spec.split_once(",\"spec_hash\":\"")
            // It may be the changed one.
            && let Some(old) = hash.get(..64)
        {
            let (old, new) = (old.to_owned(), sha256(spec.as_bytes()));
            text = text.replace(&old, &new);
            hashes.push((old, new));
        }
        let new = Record::new(record.seq, text);
        hashes.push((record.hash, new.hash.clone()));
        forged.push(new.line());
    }
    forged
}

#[test]
fn a_forged_log_never_causes_a_server_error() {
    let runtime = runtime();
    let clinic = runtime.block_on(clinic());
    let server = &clinic.server;
    runtime.block_on(clinic.send_all());
    let export = runtime.block_on(clinic.export());
    let lines: Vec<String> = export.lines().map(str::to_owned).collect();
    let config = Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    };
    let others: Vec<&str> = OTHERS.split(' ').collect();
    let others = proptest::sample::select(others);
    let changes = (any::<usize>(), any::<usize>(), others);
    let counted = std::cell::RefCell::new(std::collections::BTreeMap::new());
    let number = std::cell::Cell::new(0);
    let tried = TestRunner::new(config).run(&changes, |(at, which, other)| {
        number.set(number.get() + 1);
        let study = format!("study{}", number.get());
        let forged = forge(&lines, &study, at, which, other);
        runtime.block_on(async {
            let client = server.study(&study);
            let body = forged.join("\n");
            let dry = client.dry_run(&body).await.status.as_u16();
            let answer = client.import(&body).await;
            let status = answer.status.as_u16();
            let line = at % lines.len();
            let what = format!("line {line} to {}: {}", forged[line], answer.text);
            prop_assert!(status < 500 && dry < 500, "{what}");
            *counted.borrow_mut().entry(status).or_insert(0) += 1;
            let paths = [
                "",
                "/episodes",
                "/estimates",
                "/events",
                ":export",
                "/estimates?as_of=2",
            ];
            let mut paths = paths.map(str::to_owned).to_vec();
            for id in ["p1", "p2", "p3", "old", "x"] {
                let rests = ["", "/decisions/1:replay", "/decisions/2:replay"];
                paths.extend(rests.map(|rest| format!("/episodes/{id}{rest}")));
            }
            for path in paths {
                let answer = client.get(&path).await;
                let fine = answer.status.as_u16() < 500;
                prop_assert!(fine, "{path} after {}: {}", forged[line], answer.text);
            }
            for id in ["p1", "p4", "x"] {
                for answer in [
                    client.ask(id).await,
                    client.tell(id, 1, "scan", "positive").await,
                ] {
                    prop_assert!(answer.status.as_u16() < 500, "{}", answer.text);
                }
            }
            Ok(())
        })
    });
    tried.unwrap();
    let counted = counted.into_inner();
    println!("{counted:?}");
    for status in [200, 409, 422] {
        assert!(counted.get(&status).is_some_and(|n| *n > 0), "{counted:?}");
    }
}
