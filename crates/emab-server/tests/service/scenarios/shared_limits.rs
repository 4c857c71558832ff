//! What studies and tokens share: no study and no token holds up the others.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use emab_server::store::Backend;
use emab_server::store::sqlite::Sqlite;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tower::ServiceExt;

use crate::support::held_loader::{Gate, HeldBackend};
use crate::support::study::clinic;
use crate::support::{STUDY, TestServer, request};

/// Two services on one store; the loader of the first can be held.
fn two_services() -> (Arc<TestServer>, Arc<TestServer>, Arc<Gate>) {
    let folder = tempfile::tempdir().unwrap();
    let gate = Arc::<Gate>::default();
    let inner: Arc<dyn Backend> =
        Arc::new(Sqlite::open(&folder.path().join("studies.db")).unwrap());
    let held = HeldBackend {
        inner: inner.clone(),
        gate: gate.clone(),
    };
    let other = TestServer::over(tempfile::tempdir().unwrap(), inner);
    (TestServer::over(folder, Arc::new(held)), other, gate)
}

const AMEND: &str = r#"{"rewards": [null, 0.25], "reason": "mistyped"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_correction_is_prepared_beside_the_writer() {
    let (server, _, gate) = two_services();
    let client = server.new_study("clinic", STUDY).await;
    for number in 0..10 {
        let id = format!("past{number}");
        client.episode(&id, "scan positive 0.5", &[0.0, 1.0]).await;
    }
    gate.close();
    let amend = |number: usize| {
        let server = server.clone();
        let id = format!("past{number}");
        tokio::spawn(async move { server.study("clinic").amend(&id, AMEND).await })
    };
    let first = amend(0);
    gate.wait_for(1);
    // These wait for the first one, and share one preparation, or three while the other study is in use.
    let others: Vec<_> = (1..10).map(amend).collect();
    // The study goes on, with the uncorrected learner; so do other studies.
    let before = client.open("p1").await.is(201);
    client.episode("d", "blood positive 0.1", &[0.5, 0.5]).await;
    server
        .new_study("other", STUDY)
        .await
        .open("p1")
        .await
        .is(201);
    assert!(!first.is_finished());
    gate.open();
    first.await.unwrap().is(200);
    for other in others {
        other.await.unwrap().is(200);
    }
    assert_eq!(client.ask("p1").await.text, before.text);
    client.run("estimate 1 unknown scan -> 10 -0.25").await;
    assert!(
        gate.reads() <= 8,
        "{} reads for at most four preparations",
        gate.reads()
    );
    client.assert_consistent().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correction_that_another_one_overtook_is_prepared_again() {
    let (server, other, gate) = two_services();
    let client = server.new_study("clinic", STUDY).await;
    for id in ["a", "b"] {
        client.episode(id, "scan positive 0.5", &[0.0, 1.0]).await;
    }
    gate.close();
    let held = server.clone();
    let amended = tokio::spawn(async move { held.study("clinic").amend("a", AMEND).await });
    gate.wait_for(1);
    // Another copy of the service records a correction after the snapshot.
    let path = client.path("/episodes/b/outcome:amend");
    other.post(&path, AMEND).await.is(200);
    gate.open();
    amended.await.unwrap().is(200);
    assert!(gate.reads() > 1, "it was not prepared again");
    client.run("estimate 1 unknown scan -> 2 -0.25").await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn lists_of_studies_read_no_specification() {
    let server = TestServer::new();
    for name in ["a", "b", "c"] {
        server.new_study(name, STUDY).await;
    }
    let server = server.restarted();
    // The learner and `withheld` are taken from the specification once.
    for _ in 0..3 {
        let list = server.get("/v1/studies").await.is(200);
        assert_eq!(list.at("/studies/2/learner"), "feedbal:width=sound");
        assert_eq!(list.at("/studies/0/spec"), json!(null));
        assert!(!list.text.contains("horizon"), "{}", list.text);
        assert_eq!(server.service.specs.parsed(), 3);
    }
    let study = server.get("/v1/studies/b").await.is(200);
    assert_eq!(study.at("/spec/problem/horizon"), 3);
    assert_eq!(server.service.specs.parsed(), 3);
}

#[tokio::test]
async fn a_token_cannot_open_all_event_streams() {
    let client = clinic().await;
    let server = &client.server;
    let open = async |token: &str| {
        let headers = [("accept", "text/event-stream")];
        let stream = request(token, "GET", &client.path("/events"), &headers, "");
        server.router.clone().oneshot(stream).await.unwrap()
    };
    let mut streams = Vec::new();
    for _ in 0..8 {
        streams.push(open(&server.viewer).await);
    }
    assert!(streams.iter().all(|stream| stream.status() == 200));
    assert_eq!(open(&server.viewer).await.status(), 429);
    assert_eq!(open(&server.admin).await.status(), 200);
}

#[tokio::test]
async fn a_token_cannot_run_two_imports() {
    let client = clinic().await;
    let server = client.server.clone();
    server.new_study("elsewhere", STUDY).await;
    let import = |token: &str, study: &str, body: Body| {
        let path = format!("/v1/studies/{study}:import");
        let headers = [("content-type", "application/x-ndjson")];
        request(token, "POST", &path, &headers, body)
    };
    // The body of the first one does not end before the others are answered.
    let (sender, body) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let body = Body::from_stream(ReceiverStream::new(body));
    let running = server
        .router
        .clone()
        .oneshot(import(&server.admin, "clinic", body));
    let running = tokio::spawn(running);
    let line = r#"{"id": "old", "actions": [], "feedbacks": [], "costs": [], "rewards": [0.5]}"#;
    // The channel holds one part: the third is accepted once the import reads the first.
    for _ in 0..3 {
        let part = Ok(format!("{line}\n").into());
        sender.send(part).await.unwrap();
    }
    let second = import(&server.admin, "clinic", line.into());
    server.send(second).await.expect_error(429);
    let other = import(&server.elsewhere, "elsewhere", line.into());
    server.send(other).await.is(200);
    drop(sender);
    assert_eq!(running.await.unwrap().unwrap().status(), 200);
}
