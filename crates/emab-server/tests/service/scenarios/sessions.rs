//! Sessions of the console, which the writer thread keeps beside the studies.

use emab_server::app::ServiceError;
use emab_server::store::Session;

use crate::support::TestServer;
use crate::support::study::clinic;

fn session(hash: &str) -> Session {
    Session {
        hash: hash.into(),
        token: "0a1b2c3d".into(),
        begun: "2026-01-31T09:30:00Z".into(),
        expires: "2026-01-31T21:30:00Z".into(),
    }
}

#[tokio::test]
async fn sessions_are_on_disk_before_the_answer_and_survive_a_restart() {
    let server = TestServer::new();
    let (one, other) = (session("one"), session("other"));
    let service = &server.service;
    service.begin_session(one.clone()).await.unwrap();
    // Repeating is harmless.
    service.begin_session(one.clone()).await.unwrap();
    service.begin_session(other.clone()).await.unwrap();
    assert_eq!(service.session("one").await.unwrap(), Some(one));
    service.end_session("one").await.unwrap();
    service.end_session("one").await.unwrap();
    let server = server.restarted();
    let service = &server.service;
    assert_eq!(service.session("one").await.unwrap(), None);
    assert_eq!(service.session("other").await.unwrap(), Some(other));
    service.finish();
    let refused = service.end_session("other").await;
    assert_eq!(refused, Err(ServiceError::stopping()));
}

#[tokio::test]
async fn sessions_and_commands_share_the_writer_and_its_errors() {
    let client = clinic().await;
    let service = &client.server.service;
    let (opened, begun) = tokio::join!(client.open("a"), service.begin_session(session("one")));
    opened.is(201);
    begun.unwrap();
    client.assert_consistent().await;
    // The store rejects a file with several names.
    let file = client.server.file();
    let link = file.with_file_name("link.db");
    std::fs::hard_link(&file, &link).unwrap();
    let failed = client.open("b").await;
    let failed = failed.expect_error(503);
    let refused = service.begin_session(session("other")).await.unwrap_err();
    assert!(matches!(refused, ServiceError::Unavailable(_, 1)));
    failed.says(&refused.to_string());
    std::fs::remove_file(&link).unwrap();
    service.end_session("one").await.unwrap();
    client.open("b").await.is(201);
    for hash in ["one", "other"] {
        assert_eq!(service.session(hash).await.unwrap(), None);
    }
}
