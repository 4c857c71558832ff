//! The log, audits, replays and downloads.

use std::time::Duration;

use super::{shows, with_every_event};
use crate::console::Browser;
use crate::support::{Answer, request};

const LOG: &str = "/studies/clinic/log";

#[tokio::test]
async fn every_event_is_shown_in_words_with_its_hash() {
    let study = with_every_event().await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let last = study.seq().await;
    let page = viewer.get(LOG).await;
    let hash = study.view().await.at("/hash");
    let hash = hash.as_str().unwrap();
    shows(
        &page,
        &[
            hash,
            "study created",
            "case voided",
            "Reason: <bdi>moved away</bdi>",
            "mistyped",
        ],
    );
    let newest = page.text.find(&format!("log/{last}\"")).unwrap();
    assert!(newest < page.text.find("log/1\"").unwrap());
    let page = viewer.get(&format!("{LOG}?order=oldest&from=3")).await;
    assert!(!page.text.contains("log/2\""), "{}", page.text);
    assert!(page.text.find("log/3\"").unwrap() < page.text.find("log/4\"").unwrap());
    for wrong in ["x", "0", "99999", "99999999999999999999"] {
        let page = viewer.get(&format!("{LOG}?from={wrong}")).await;
        shows(&page, &["There is no event "]);
    }
    let export = study.export().await;
    for (seq, line) in (1..=last).zip(export.lines()) {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let page = viewer.get(&format!("{LOG}/{seq}")).await;
        let hashes = ["hash", "previous"].map(|name| event[name].as_str().unwrap());
        shows(&page, &hashes);
        shows(&page, &["The hash is that of the line."]);
        let file = viewer
            .get(&format!("/studies/clinic/download/event-{seq}.json"))
            .await;
        assert_eq!(emab_problem::sha256_hex(file.text.as_bytes()), hashes[0]);
    }
    for missing in ["0", "x", "99999", "1.5"] {
        let page = viewer.get(&format!("{LOG}/{missing}")).await;
        assert_eq!(page.status, 404, "{missing}");
    }
}

#[tokio::test]
async fn downloads_are_the_bytes_of_the_api() {
    let study = with_every_event().await;
    let server = &study.server;
    for token in [
        &server.viewer,
        &server.admin,
        &server.operator,
        &server.blinded,
    ] {
        let mut browser = Browser::signed_in(server, token).await;
        for (file, call) in [
            ("episodes.csv", "/episodes?format=csv"),
            ("episodes.parquet", "/episodes?format=parquet"),
            ("decisions.csv", "/decisions?format=csv"),
            ("decisions.parquet", "/decisions?format=parquet"),
            ("estimates.csv", "/estimates?format=csv"),
            ("estimates.parquet", "/estimates?format=parquet"),
            ("log.ndjson", ":export"),
        ] {
            let (page, bytes) = browser
                .file(&format!("/studies/clinic/download/{file}"))
                .await;
            let call = request(token, "GET", &study.path(call), &[], "");
            let (status, headers, expected) = server.send_for_bytes(call).await;
            assert_eq!(page.status, status, "{file}");
            if status != 200 {
                continue;
            }
            assert!(bytes == expected, "{file}");
            for name in ["emab-seq", "emab-hash", "content-type"] {
                assert_eq!(page.headers.get(name), headers.get(name), "{file}: {name}");
            }
            let name = page.header("content-disposition");
            assert_eq!(name, format!("attachment; filename=\"clinic-{file}\""));
        }
    }
    let mut viewer = Browser::signed_in(server, &server.viewer).await;
    for missing in [
        "log.csv",
        "episodes.json",
        "episodes",
        "x.csv",
        "event-x.json",
        "..",
    ] {
        let page = viewer
            .get(&format!("/studies/clinic/download/{missing}"))
            .await;
        assert_eq!(page.status, 404, "{missing}");
    }
}

#[tokio::test]
async fn a_decision_is_replayed() {
    let study = with_every_event().await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let page = viewer.get("/studies/clinic/cases/p1/replay/1").await;
    shows(
        &page,
        &[
            "the same, byte for byte",
            "Recorded decision",
            "Recomputed decision",
        ],
    );
    let recorded = study.replay("p1", 1).await.at("/recorded/previous");
    shows(&page, &[recorded.as_str().unwrap()]);
    for missing in [
        "p1/replay/9",
        "p1/replay/x",
        "p1/replay/0",
        "nobody/replay/1",
    ] {
        let page = viewer
            .get(&format!("/studies/clinic/cases/{missing}"))
            .await;
        assert_eq!(page.status, 404, "{missing}");
    }
}

/// The page of the log once the audit has ended.
async fn audited(viewer: &mut Browser, fields: &[(&str, &str)]) -> Answer {
    let answer = viewer.post("/studies/clinic/audit", fields).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    assert_eq!(answer.header("location"), "log");
    for _ in 0..500 {
        let page = viewer.get(LOG).await;
        if !page.text.contains("Audit: running") {
            return page;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the audit does not end");
}

#[tokio::test]
async fn an_audit_runs_in_the_background_and_shows_its_findings() {
    let study = with_every_event().await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let hash = study.view().await.at("/hash");
    let hash = hash.as_str().unwrap().to_uppercase();
    let page = audited(&mut viewer, &[("expect", &hash)]).await;
    let last = study.seq().await;
    let read = format!("{last} events were read, {last} were recomputed");
    shows(
        &page,
        &["no findings", &read, &format!("event {last} has it")],
    );
    let other = "ab".repeat(32);
    let page = audited(&mut viewer, &[("expect", &other)]).await;
    shows(&page, &["1 finding", "no event has it"]);
    for wrong in ["x", "abc", &"z".repeat(64)] {
        let page = viewer
            .post("/studies/clinic/audit", &[("expect", wrong)])
            .await;
        shows(&page, &["Not recorded", "64 hexadecimal digits"]);
    }
    let answer = viewer.post("/studies/nowhere/audit", &[]).await;
    assert_eq!(answer.status, 404);

    // An event is changed in the file.
    let file = rusqlite::Connection::open(study.server.file()).unwrap();
    let triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'";
    let names: Vec<String> = {
        let mut query = file.prepare(triggers).unwrap();
        let names = query.query_map([], |row| row.get(0)).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    };
    for name in names {
        file.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    let changed = file.execute("UPDATE events SET text = replace(text, 'moved away', '<b>moved on') WHERE text LIKE '%moved away%'", []);
    assert_eq!(changed.unwrap(), 1);
    let page = audited(&mut viewer, &[]).await;
    shows(&page, &["finding", "its hash does not match its line"]);
    assert!(!page.text.contains("no findings"), "{}", page.text);
    assert!(!page.text.contains("<b>moved"), "{}", page.text);
    let abandoned = study.events("abandoned").await;
    let page = viewer.get(&format!("{LOG}/{}", abandoned[0]["seq"])).await;
    shows(&page, &["The hash is not that of the line"]);
    // A recorded decision that does not follow from the log.
    let change = "UPDATE answers SET text = replace(text, '\"certificate\":null', '\"certificate\":0.5') WHERE episode = 'p1' AND step = 1";
    assert_eq!(file.execute(change, []).unwrap(), 1);
    let page = viewer.get("/studies/clinic/cases/p1/replay/1").await;
    shows(
        &page,
        &["does not follow from the log", "<code>/certificate</code>"],
    );
}
