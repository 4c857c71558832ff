//! Export from one service and import into another.

use emab_server::domain::event::Record;
use serde_json::json;

use super::import::taken;
use crate::support::study::{StudyClient, clinic};
use crate::support::{STUDY, TestServer, study_of};

async fn exported() -> (StudyClient, String) {
    let client = clinic().await;
    client.send_all().await;
    let lines = client.export().await;
    (client, lines)
}

/// A study that does not exist, of a new service.
fn elsewhere() -> StudyClient {
    TestServer::new().study("clinic")
}

#[tokio::test]
async fn an_imported_export_gives_the_same_bytes() {
    let (from, lines) = exported().await;
    let export = from.get(":export").await.is(200);
    assert_eq!(export.header("content-type"), "application/x-ndjson");
    let events = lines.lines().count();
    assert_eq!(export.header("emab-seq"), events.to_string());

    let to = elsewhere();
    let answer = to.import(&lines).await.is(200);
    assert_eq!(answer.json(), taken(events, 0, false));
    assert_eq!(to.export().await, lines);
    for path in [
        "",
        "/estimates",
        "/episodes",
        "/episodes/p1",
        "/episodes/old",
    ] {
        let (one, other) = (to.get(path).await, from.get(path).await);
        assert_eq!(one.is(200).text, other.text);
    }
    to.assert_consistent().await;

    // Again into the same service and into the original one.
    for client in [&to, &from] {
        let answer = client.import(&lines).await.is(200);
        assert_eq!(answer.json(), taken(0, events, false));
        assert_eq!(client.export().await, lines);
    }
}

#[tokio::test]
async fn an_export_is_imported_in_two_parts() {
    let (_from, lines) = exported().await;
    let client = elsewhere();
    let all: Vec<&str> = lines.lines().collect();
    client.import(&all[..10].join("\n")).await.is(200);
    assert_eq!(client.seq().await, 10);
    client.assert_consistent().await;
    let answer = client.import(&all[5..].join("\n")).await.is(200);
    answer.has(json!({"taken": all.len() - 10, "repeated": 5}));
    assert_eq!(client.export().await, lines);
    client.assert_consistent().await;
}

#[tokio::test]
async fn rejects_changed_and_foreign_exports() {
    let (_from, lines) = exported().await;
    let all: Vec<&str> = lines.lines().collect();
    let changed = lines.replacen("\"override\":true", "\"override\":false", 1);
    // Valid but for its hash.
    let reason = lines.replacen("\"reason\":\"a\"", "\"reason\":\"z\"", 1);
    let renamed = lines.replace("\"study\":\"clinic\"", "\"study\":\"ward\"");
    let gap = [&all[..5], &all[6..]].concat().join("\n");
    let headless = all[1..].join("\n");
    let first = all[0].replacen("\"horizon\":3", "\"horizon\":4", 1);
    for (what, body, kept) in [
        ("changed", &changed, 3),
        ("another reason", &reason, 3),
        ("renamed", &renamed, 0),
        ("a gap", &gap, 5),
        ("headless", &headless, 0),
        ("another first", &first, 0),
    ] {
        let client = elsewhere();
        let answer = client.import(body).await;
        let status = answer.status.as_u16();
        assert!([404, 409, 422].contains(&status), "{what}: {}", answer.text);
        answer.expect_error(status);
        let foreseen = elsewhere().dry_run(body).await;
        let clean = foreseen.status == 200 && foreseen.at("/mistakes") == json!([]);
        assert!(!clean, "{what}: {}", foreseen.text);
        if kept == 0 {
            client.get("").await.expect_error(404);
            // The name is free.
            client.server.new_study("clinic", STUDY).await;
        } else {
            assert_eq!(client.seq().await, kept, "{what}");
        }
        client.assert_consistent().await;
    }
    // A study of the same name with another specification.
    let to = TestServer::new();
    let client = to.new_study("clinic", &study_of("feedbal")).await;
    client.import(&lines).await.expect_error(409);
    assert_eq!(client.seq().await, 1);
    // Another name.
    to.study("ward").import(&lines).await.expect_error(422);
    to.get("/v1/studies/ward").await.expect_error(404);
}

#[tokio::test]
async fn a_dry_run_of_a_study_writes_nothing() {
    let (from, lines) = exported().await;
    let events = lines.lines().count();
    let to = TestServer::new();
    let answer = to.study("clinic").dry_run(&lines).await.is(200);
    assert_eq!(answer.json(), taken(events, 0, true));
    to.get("/v1/studies/clinic").await.expect_error(404);
    // In the service that has the study everything is repeated.
    let answer = from.dry_run(&lines).await.is(200);
    assert_eq!(answer.json(), taken(0, events, true));
    let other = to.new_study("clinic", &study_of("feedbal")).await;
    other.dry_run(&lines).await.expect_error(409);
    assert_eq!(other.seq().await, 1);
    let ward = to.study("ward").dry_run(&lines).await;
    ward.expect_error(422);
}

#[tokio::test]
async fn rejects_exports_with_consistent_hashes_and_invalid_events() {
    let (_from, lines) = exported().await;
    let all: Vec<&str> = lines.lines().collect();
    for (what, at, from, by) in [
        ("its spec", 0, "\"horizon\":3", "\"horizon\":-3"),
        ("its learner", 0, "feedbal:width=sound", "random"),
        ("no spec", 0, "\"problem\":{", "\"problems\":{"),
        ("its number", 0, "\"seq\":1", "\"seq\":0"),
        ("its number", 4, "\"seq\":5", "\"seq\":0"),
        ("its chain", 4, "\"previous\":\"", "\"previous\":\"0"),
        ("its decision", 1, "\"explored\":true", "\"explored\":7"),
        ("its decision", 1, "\"step\":1", "\"step\":2"),
        (
            "its episode",
            1,
            "episode\":\"p1\"",
            "episode\":\"\\u0000\"",
        ),
    ] {
        let changed = all[at].replacen(from, by, 1);
        assert_ne!(changed, all[at], "{what}");
        let record = Record::from_line(&changed).unwrap();
        let line = Record::new(record.seq, record.text).line();
        let forged = [&all[..at], &[&*line], &all[at + 1..]].concat();
        for rest in [":import", ":import?dry_run=true"] {
            let client = elsewhere();
            let answer = client.post(rest, &forged.join("\n")).await;
            let status = answer.status.as_u16();
            if rest != ":import" && status == 200 {
                assert_ne!(answer.at("/mistakes"), json!([]), "{what}");
                continue;
            }
            assert!([409, 422].contains(&status), "{what}: {}", answer.text);
            answer.expect_error(status);
            if client.get("").await.status == 200 {
                client.assert_consistent().await;
            }
        }
    }
}
