//! Export from one service and import into another.

use emab_server::audit::audit_export;
use emab_server::domain::event::{MAX_LINE, Record, sha256};
use emab_server::domain::study::Study;
use emab_server::store::sqlite::Sqlite;
use serde_json::json;

use super::import::taken;
use crate::support::study::{StudyClient, clinic};
use crate::support::{STUDY, TestServer, study_of, study_with};

pub(super) async fn exported() -> (StudyClient, String) {
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
async fn an_interrupted_restoration_is_continued_by_the_same_file_only() {
    let (from, lines) = exported().await;
    let file = from.export_file().await;
    let all: Vec<&str> = file.lines().collect();
    let client = elsewhere();
    let rest = client.import(&all[..=10].join("\n")).await;
    rest.expect_error(409).says("the export ends at event 10");
    // Only the rest of the file is accepted.
    let script = r#"
        view -> {"seq": 10, "restoring": true}
        open p9 -> 409 ~ is being restored
        outcome p1 {"final": true} -> 409 ~ is being restored
        import {"id": "a", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]} -> 409 ~ is being restored
        close -> 409 ~ is being restored
    "#;
    client.run(script).await;
    let put = client.server.put("/v1/studies/clinic", STUDY).await;
    put.expect_error(409).says("is being restored");
    client.assert_consistent().await;
    let (_, other) = exported().await;
    let other = client.import(&other).await.expect_error(409);
    other.says("another event");
    // Nor an earlier export of the study.
    let last = Record::from_line(all[12]).unwrap();
    let header = format!(
        r#"{{"emab_export":2,"study":"clinic","seq":12,"hash":"{}"}}"#,
        last.hash
    );
    let earlier = [&[&*header], &all[1..=12]].concat().join("\n");
    let earlier = client.import(&earlier).await.expect_error(409);
    earlier.says("import the same file");
    assert_eq!(client.seq().await, 10);
    // Also after a restart.
    let client = client.server.restarted().study("clinic");
    let answer = client.import(&file).await.is(200);
    answer.has(json!({"taken": all.len() - 11, "repeated": 10}));
    client.run(r#"view -> {"restoring": false}"#).await;
    assert_eq!(client.export().await, lines);
    client.assert_consistent().await;
    client.open("p9").await.expect_error(409).says("is closed");
    // Who restored it is stored beside the log.
    let mut store = Sqlite::inspect(&client.server.file()).unwrap();
    let key = store.key("clinic").unwrap().unwrap();
    let restore = store.restore(key).unwrap().unwrap();
    let last = Record::from_line(all.last().unwrap()).unwrap();
    assert_eq!((restore.seq, &restore.hash), (last.seq, &last.hash));
    assert_eq!(restore.finished_by, Some(restore.begun_by));
}

/// A log after a change of one line: with new hashes in it and in all lines after it.
fn rechained(lines: &[String]) -> Vec<String> {
    let mut previous: Option<(String, String)> = None;
    let line = |line: &String| {
        let mut record = Record::from_line(line).unwrap();
        if let Some((old, new)) = &previous {
            record.text = record.text.replace(old, new);
        }
        let new = Record::new(record.seq, record.text);
        previous = Some((record.hash, new.hash.clone()));
        new.line()
    };
    lines.iter().map(line).collect()
}

#[tokio::test]
async fn events_are_not_appended_to_a_live_study() {
    let (from, lines) = exported().await;
    let last = Record::from_line(lines.lines().last().unwrap()).unwrap();
    let event = |at: &str, by: &str, salt: &str, kind: &str, data: &str| {
        let (seq, previous) = (last.seq + 1, &last.hash);
        let text = format!(
            r#"{{"seq":{seq},"at":"{at}","by":"{by}","person":"Anna","previous":"{previous}",{salt}"kind":"{kind}","data":{data}}}"#
        );
        Record::new(seq, text).line()
    };
    let (now, salt) = (
        "2026-11-16T09:00:00.000000Z",
        r#""salt":"00112233445566778899aabbccddeeff","#,
    );
    let amended =
        r#"{"episode":"p1","costs":[null,null],"rewards":[null,null,0.125],"reason":"forged"}"#;
    let valid = event(now, "01234567", salt, "amended", amended);
    from.import(&valid)
        .await
        .expect_error(409)
        .says("the study exists");
    from.dry_run(&valid).await.expect_error(409);
    assert_eq!(from.export().await, lines);
    // In a study that does not exist yet, an event that the service would not write is rejected.
    let redundant =
        r#"{"episode":"p1","costs":[null,null],"rewards":[null,null,null],"final":false}"#;
    let blank = amended.replace("forged", "\u{200b}");
    let unknown = amended.replace("\"reason\"", "\"more\":1,\"reason\"");
    for (at, by, salt, kind, data, says) in [
        (
            "yesterday\\r\\n<script>",
            "01234567",
            salt,
            "amended",
            amended,
            "its time",
        ),
        ("", "01234567", salt, "amended", amended, "its time"),
        (
            "2026-11-16T09:00:00Z",
            "01234567",
            salt,
            "amended",
            amended,
            "its time",
        ),
        (now, "", salt, "amended", amended, "the id of a token"),
        (now, "Dr Who", salt, "amended", amended, "the id of a token"),
        (now, "01234567", "", "amended", amended, "`salt`"),
        (
            now,
            "01234567",
            r#""salt":"AA","#,
            "amended",
            amended,
            "`salt`",
        ),
        (
            now,
            "01234567",
            salt,
            "outcome",
            redundant,
            "it changes nothing",
        ),
        (
            now,
            "01234567",
            salt,
            "amended",
            &blank,
            "a letter or a digit",
        ),
        (now, "01234567", salt, "amended", &unknown, "not written as"),
    ] {
        let line = event(at, by, salt, kind, data);
        let forged = format!("{lines}{line}\n");
        let client = elsewhere();
        let answer = client.import(&forged).await;
        let status = answer.status.as_u16();
        answer.expect_error(status).says(says);
        assert!([409, 422].contains(&status), "{line}");
        client.run(r#"view -> {"restoring": true}"#).await;
        let foreseen = elsewhere().dry_run(&forged).await;
        assert!(
            foreseen.status != 200 || foreseen.at("/mistakes") != json!([]),
            "{line}"
        );
    }
    elsewhere()
        .import(&format!("{lines}{valid}\n"))
        .await
        .is(200);
}

#[tokio::test]
async fn the_specification_of_an_export_is_checked_as_that_of_a_new_study() {
    let (_from, lines) = exported().await;
    let mut all: Vec<String> = lines.lines().map(str::to_owned).collect();
    let first = Record::from_line(&all[0]).unwrap();
    let text = first.text.replacen("1 + f", "7 + f", 1);
    let spec = text.split_once("\"spec\":").unwrap().1;
    let (spec, rest) = spec.split_once(",\"spec_hash\":\"").unwrap();
    let text = text.replace(&rest[..64], &sha256(spec.as_bytes()));
    all[0] = Record { text, ..first }.line();
    let forged = rechained(&all).join("\n");
    let answer = elsewhere().import(&forged).await;
    answer.expect_error(422).says("transition");
    elsewhere().dry_run(&forged).await.expect_error(422);
}

#[tokio::test]
async fn an_export_names_its_version_and_its_end() {
    let (from, _) = exported().await;
    let file = from.export_file().await;
    for (change, to, says) in [
        ("\"emab_export\":2", "\"emab_export\":3", "format version 3"),
        ("\"study\":\"clinic\"", "\"study\":\"ward\"", "`ward`"),
        ("\"hash\":\"", "\"has\":\"", "unknown field"),
    ] {
        let changed = file.replacen(change, to, 1);
        assert_ne!(changed, file);
        elsewhere()
            .import(&changed)
            .await
            .expect_error(422)
            .says(says);
        let report = audit_export(changed.as_bytes());
        assert!(!report.is_clean(), "{change}");
    }
    assert!(audit_export(file.as_bytes()).is_clean());
    // A lost last line is noticed by the audit and by a dry run.
    let cut = &file[..=file[..file.len() - 1].rfind('\n').unwrap()];
    let report = audit_export(cut.as_bytes());
    assert_eq!(report.findings[0].place, "line 1");
    let mistakes = elsewhere().dry_run(cut).await.is(200).at("/mistakes");
    assert_eq!(mistakes.as_array().unwrap().len(), 1);
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

#[tokio::test]
async fn the_largest_study_can_be_moved() {
    let spec = study_with(json!({"description": "TEXT"}));
    let text = "x".repeat((16 << 20) + "TEXT".len() - spec.len());
    let from = TestServer::new();
    let from = from.new_study("clinic", &spec.replace("TEXT", &text)).await;
    from.run("open p1").await;
    let lines = from.export().await;
    assert!(lines.len() > 16 << 20);
    let to = elsewhere();
    to.import(&lines).await.is(200);
    assert_eq!(to.export().await, lines);
    assert!(audit_export(lines.as_bytes()).is_clean());

    // The canonical form of a number can be longer than the number, but a line has room for 16 MiB of such numbers.
    let spec = study_with(json!({"states": 10_000, "allowed": "ROWS"}));
    let rows = vec!["[9e15,9e15]"; 10_000].join(",");
    let spec = spec.replace(r#""ROWS""#, &format!("[[{rows}]]"));
    let canonical = Study::read("numbers", spec.as_bytes()).unwrap().canonical;
    let longest = canonical.len() as f64 / spec.len() as f64 * (16 << 20) as f64;
    assert!(canonical.len() > 3 * spec.len() && longest < MAX_LINE as f64);
}
