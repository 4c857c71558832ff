//! A study that is being restored can be discarded, and no other.

use std::fs;

use emab_server::audit::{Options, audit_study, audit_study_with};
use emab_server::domain::checkpoint::Statement;
use emab_server::store::Store;
use emab_server::store::postgres::Postgres;
use emab_server::store::sqlite::Sqlite;
use emab_testkit::postgres::Server;
use serde_json::json;

use super::checkpoints::{covered, ended, sqlite};
use super::export::exported;
use super::postgres_replicas::copy;
use super::streams::Stream;
use crate::support::study::StudyClient;
use crate::support::{STUDY, TestServer, study_with};

/// Begins to restore a study with the first ten events of an export.
async fn begin(client: &StudyClient, file: &str) {
    let part: Vec<&str> = file.lines().take(11).collect();
    let answer = client.import(&part.join("\n")).await;
    answer.expect_error(409).says("the export ends at event 10");
}

/// Another study of the same name.
fn another() -> String {
    study_with(json!({"actions": ["biopsy", "x-ray", "scan"], "horizon": 2}))
}

#[track_caller]
fn assert_no_rows_are_left(store: &mut dyn Store) {
    assert_eq!(store.check_store().unwrap(), []);
}

#[tokio::test]
async fn a_discarded_study_leaves_nothing_behind() {
    let (from, _) = exported().await;
    let file = from.export_file().await;
    let client = TestServer::new().study("clinic");
    client.discard().await.expect_error(404);
    begin(&client, &file).await;
    let server = &client.server;
    let stream = Stream::open(&client, "?after=10", None).await;
    for token in [
        &server.operator,
        &server.viewer,
        &server.blinded,
        &server.elsewhere,
    ] {
        let path = client.path("");
        let answer = server.call_as(token, "DELETE", &path, None).await;
        answer.expect_error(403);
    }
    // Reads leave states in memory.
    client.estimates().await;
    let (one, other) = tokio::join!(client.discard(), client.discard());
    let (done, late) = if one.status == 200 {
        (one, other)
    } else {
        (other, one)
    };
    let done = done.is(200).json();
    assert_eq!(done, json!({"study": "clinic", "events": 10}));
    late.expect_error(404);
    client.discard().await.expect_error(404);
    client.get("").await.expect_error(404);
    stream.ends().await;
    assert_no_rows_are_left(&mut *Sqlite::inspect(&server.file()).unwrap());
    // The rest of the file does not begin a study.
    let rest: Vec<&str> = file.lines().skip(11).collect();
    client.import(&rest.join("\n")).await.expect_error(422);
    let client = server.new_study("clinic", &another()).await;
    client
        .episode("p1", "x-ray positive 0.5", &[0.0, 1.0])
        .await;
    client.assert_consistent().await;
    let live = client.discard().await.expect_error(409);
    live.says("a study is never deleted").says(":close");
    assert_eq!(client.seq().await, 5);
}

/// A study has checkpoints from the end of its restoration on: none of a discarded study contradicts the next of its name.
#[tokio::test]
async fn no_checkpoint_remains_of_a_discarded_study() {
    let (from, _) = exported().await;
    let export = from.export_file().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("checkpoints");
    let server = sqlite(tempfile::tempdir().unwrap(), Some(&file));
    let client = server.study("clinic");
    begin(&client, &export).await;
    // The studies that have waited longest are signed first.
    covered(&server.new_study("other", STUDY).await).await;
    client.get("/checkpoint").await.expect_error(404);
    let server = sqlite(ended_after(client, server), Some(&file));
    let client = server.study("clinic");
    covered(&server.new_study("third", STUDY).await).await;
    client.discard().await.is(200);
    client.import(&export).await.is(200);
    assert!(covered(&client).await.restored.is_some());
    // Also one in which nothing was learned.
    let bare = from.server.new_study("bare", STUDY).await;
    let bare = bare.export_file().await;
    server.study("bare").import(&bare).await.is(200);
    covered(&server.study("bare")).await;
    let folder = ended_after(client, server);
    let text = fs::read_to_string(&file).unwrap();
    let statements = text.lines().map(|line| Statement::verify(line).unwrap());
    let of_clinic: Vec<_> = statements
        .filter(|it| it.study == "clinic")
        .map(|it| (it, String::from("line")))
        .collect();
    assert!(!of_clinic.is_empty());
    let mut store = Sqlite::inspect(&folder.path().join("studies.db")).unwrap();
    let head = store.head("clinic").unwrap().unwrap();
    let options = Options {
        checkpoints: of_clinic,
        ..Options::default()
    };
    let report = audit_study_with(&mut *store, &head, options).unwrap();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.checkpoint, Some(head.seq));
    assert_no_rows_are_left(&mut *store);
}

fn ended_after(client: StudyClient, server: std::sync::Arc<TestServer>) -> tempfile::TempDir {
    drop(client);
    ended(server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replicas_forget_a_discarded_study() {
    let (from, _) = exported().await;
    let file = from.export_file().await;
    let made = tokio::task::spawn_blocking(|| {
        let server = Server::shared().unwrap();
        let url = server.database("discard").unwrap();
        (server, copy(&url), copy(&url), url)
    });
    let (_server, one, two, url) = made.await.unwrap();
    let (here, there) = (one.study("clinic"), two.study("clinic"));
    // Both have the study in memory, for writing and for reading.
    for client in [&here, &there] {
        begin(client, &file).await;
        client.estimates().await;
        client.ask("p1").await;
    }
    here.discard().await.is(200);
    there.discard().await.expect_error(404);
    two.new_study("clinic", &another()).await;
    here.run("open p1\ntell p1 1 x-ray positive").await;
    for client in [&here, &there] {
        client.ask("p1").await.is(200);
        client
            .discard()
            .await
            .expect_error(409)
            .says("never deleted");
    }
    there.stop("p1", 2).await.is(200);
    let outcome = r#"{"costs": [0.5], "rewards": [0, 1]}"#;
    there.outcome("p1", outcome).await.is(200);
    for client in [&here, &there] {
        assert!(client.estimate(1, "unknown", "x-ray").await.is_some());
    }
    one.service.finish();
    two.service.finish();
    let audited = tokio::task::spawn_blocking(move || {
        let mut store = Postgres::inspect(&url).unwrap();
        let head = store.head("clinic").unwrap().unwrap();
        assert_no_rows_are_left(&mut *store);
        audit_study(&mut *store, head).unwrap()
    });
    let report = audited.await.unwrap();
    assert!(report.is_clean(), "{report:#?}");
}
