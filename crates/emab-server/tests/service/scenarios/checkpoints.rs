//! Signed checkpoints: every event is covered, in the store and in a file.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use emab_server::app::checkpoint::{CheckpointFile, CheckpointKey, Checkpoints};
use emab_server::app::metrics::Metrics;
use emab_server::domain::checkpoint::Statement;
use emab_server::store::Backend;
use emab_server::store::postgres::Postgres;
use emab_server::store::sqlite::Sqlite;
use emab_testkit::postgres::Server;
use tempfile::TempDir;

use crate::support::socket::LONG;
use crate::support::study::StudyClient;
use crate::support::{STUDY, TestServer};

/// A service that writes checkpoints, with this store.
fn signing(folder: TempDir, backend: Arc<dyn Backend>, file: Option<&Path>) -> Arc<TestServer> {
    let metrics = Metrics::default();
    let key = CheckpointKey::open(&folder.path().join("checkpoint.key")).unwrap();
    let errors = metrics.checkpoint_file_errors.clone();
    let file = file.map(|file| CheckpointFile::start(file.into(), errors).unwrap());
    let checkpoints = Checkpoints::new(key, file);
    TestServer::with(folder, backend, metrics, Some(checkpoints))
}

pub(super) fn sqlite(folder: TempDir, file: Option<&Path>) -> Arc<TestServer> {
    let store = Sqlite::open(&folder.path().join("studies.db")).unwrap();
    signing(folder, Arc::new(store), file)
}

fn postgres(url: &str) -> Arc<TestServer> {
    let store = Postgres::open(url).unwrap();
    signing(tempfile::tempdir().unwrap(), Arc::new(store), None)
}

/// Ends a service and returns its folder.
pub(super) fn ended(server: Arc<TestServer>) -> TempDir {
    server.service.finish();
    Arc::into_inner(server).unwrap().folder
}

/// Waits until a checkpoint covers all events of a study.
pub(super) async fn covered(client: &StudyClient) -> Statement {
    let covered = tokio::time::timeout(LONG, cover(client)).await;
    covered.expect("events are not covered")
}

async fn cover(client: &StudyClient) -> Statement {
    let head = client.view().await;
    loop {
        let answer = client.get("/checkpoint").await;
        if answer.status == 200 {
            let statement = Statement::verify(&answer.text).unwrap();
            assert_eq!(statement.study, client.study);
            if statement.seq == head.at("/seq") {
                assert_eq!(statement.hash, head.at("/hash").as_str().unwrap());
                return statement;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn every_event_is_covered() {
    let server = sqlite(tempfile::tempdir().unwrap(), None);
    let client = server.new_study("clinic", STUDY).await;
    client.get("/checkpoint").await.expect_error(404);
    let other = server.new_study("other", STUDY).await;
    let first = covered(&client).await;
    covered(&other).await;
    // Without a pause between events, too.
    while covered(&client).await.seq < first.seq + 3 {
        client.run("open p1\nopen p2\nopen p3").await;
    }
    for token in [&server.operator, &server.blinded, &server.elsewhere] {
        let path = client.path("/checkpoint");
        let answer = server.call_as(token, "GET", &path, None).await;
        answer.expect_error(403);
    }
    client.assert_consistent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replicas_cover_each_others_events() {
    let made = tokio::task::spawn_blocking(|| {
        let server = Server::shared().unwrap();
        let url = server.database("checkpoints").unwrap();
        (server, postgres(&url), postgres(&url))
    });
    let (_server, one, two) = made.await.unwrap();
    let client = one.new_study("clinic", STUDY).await;
    let there = two.study("clinic");
    for id in ["p1", "p2", "p3"] {
        client.open(id).await.is(201);
        there.stop(id, 1).await.is(200);
        covered(&client).await;
    }
    one.service.finish();
    two.service.finish();
}

#[tokio::test]
async fn a_restart_covers_what_is_left() {
    // Without checkpoints, as after a crash.
    let client = TestServer::new().new_study("clinic", STUDY).await;
    client.run("open p1").await;
    let (server, study) = (client.server, client.study);
    let server = sqlite(ended(server), None);
    assert_eq!(covered(&server.study(&study)).await.seq, 2);
    // The end covers the rest at once, in more than one transaction.
    server.study(&study).run("open p2").await;
    for i in 0..70 {
        server.new_study(&format!("study{i}"), STUDY).await;
    }
    let folder = ended(server);
    let mut store = Sqlite::inspect(&folder.path().join("studies.db")).unwrap();
    assert!(store.uncovered("", 9).unwrap().is_empty());
}

#[tokio::test]
async fn the_file_gets_every_checkpoint_and_does_not_block() {
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("mount/checkpoints");
    let server = sqlite(tempfile::tempdir().unwrap(), Some(&file));
    let client = server.new_study("clinic", STUDY).await;
    covered(&client).await;
    while server.app.metrics.checkpoint_file_errors.get() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client.run("open p1").await;
    covered(&client).await;
    fs::create_dir(file.parent().unwrap()).unwrap();
    server.new_study("other", STUDY).await;
    drop(client);
    let folder = ended(server);
    let read = || {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().map(|line| Statement::verify(line).unwrap());
        let lines = lines.map(|it| (it.study, it.seq));
        lines.collect::<std::collections::BTreeSet<_>>()
    };
    let all = [("clinic".into(), 2), ("other".into(), 1)].into();
    assert_eq!(read(), all);
    // A new file gets the checkpoints of all studies.
    fs::remove_file(&file).unwrap();
    ended(sqlite(folder, Some(&file)));
    assert_eq!(read(), all);
}
