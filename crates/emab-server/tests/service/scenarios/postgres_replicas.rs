//! Two replicas of the service on one PostgreSQL database.

use std::sync::Arc;

use emab_server::audit::audit_study;
use emab_server::store::Backend;
use emab_server::store::postgres::Postgres;
use emab_testkit::postgres::Server;

use super::concurrency::race;
use crate::support::{STUDY, TestServer};

pub(super) fn copy(url: &str) -> Arc<TestServer> {
    let store = Postgres::open(url).unwrap();
    TestServer::over(tempfile::tempdir().unwrap(), Arc::new(store))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_replicas_on_postgres_behave_as_one_service() {
    // PostgreSQL's client blocks on its own runtime.
    let made = tokio::task::spawn_blocking(|| {
        let server = Server::shared().unwrap();
        let url = server.database("two_copies").unwrap();
        (server, copy(&url), copy(&url), url)
    });
    let (_server, one, two, url) = made.await.unwrap();
    let client = one.new_study("clinic", STUDY).await;
    let there = two.study("clinic");
    for round in 0..10 {
        let id = format!("p{round}");
        race(&client, &there, &id).await;
        there.stop(&id, 2).await.is(200);
        let outcome = r#"{"costs": [0.25], "rewards": [0, 1]}"#;
        there.outcome(&id, outcome).await.is(200);
        if round == 5 {
            // After a correction on one replica the other rebuilds its learner.
            let amended = r#"{"rewards": [1, null], "reason": "mistyped"}"#;
            client.amend("p2", amended).await.is(200);
        }
    }
    let estimates = client.estimates().await.text;
    assert_eq!(estimates, there.estimates().await.text);
    one.service.finish();
    two.service.finish();
    let audited = tokio::task::spawn_blocking(move || {
        let mut store = Postgres::open(&url).unwrap().reader().unwrap();
        let head = store.head("clinic").unwrap().unwrap();
        audit_study(&mut *store, head).unwrap()
    });
    let report = audited.await.unwrap();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.events, 1 + 10 * 4 + 1);
}
