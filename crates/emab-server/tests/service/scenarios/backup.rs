//! Backups of a store while the service writes to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emab_server::audit::audit_study;
use emab_server::store::sqlite::{Sqlite, backup};

use crate::support::TestServer;
use crate::support::study::clinic;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_audited_and_served() {
    let client = clinic().await;
    let stop = Arc::new(AtomicBool::new(false));
    let load = tokio::spawn({
        let (client, stop) = (client.clone(), stop.clone());
        async move {
            let mut i = 0;
            while !stop.load(Ordering::Relaxed) {
                let id = format!("p{i}");
                client.open(&id).await.is(201);
                client.stop(&id, 1).await.is(200);
                i += 1;
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (client.server.file(), folder.path().join("studies.db"));
    let copy = move || {
        let mut events = 0;
        for _ in 0..5 {
            backup(&from, &to, true, &mut |_, _| {}).unwrap();
            let mut store = Sqlite::inspect(&to).unwrap();
            assert_eq!(store.check_store().unwrap(), []);
            let head = store.head("clinic").unwrap().unwrap();
            assert!(head.seq >= events);
            events = head.seq;
            let report = audit_study(&mut *store, head).unwrap();
            assert!(report.is_clean(), "{report:#?}");
        }
    };
    let copied = tokio::task::spawn_blocking(copy).await;
    stop.store(true, Ordering::Relaxed);
    load.await.unwrap();
    copied.unwrap();
    // The restored service has a prefix of the log, and continues.
    let store = Sqlite::open(&folder.path().join("studies.db")).unwrap();
    let restored = TestServer::over(folder, Arc::new(store)).study("clinic");
    let (whole, part) = (client.export().await, restored.export().await);
    assert!(whole.starts_with(&part) && part.lines().count() > 1);
    restored.open("new").await.is(201);
    restored.assert_consistent().await;
}
