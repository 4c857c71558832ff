//! Tokens that cannot be read, and tokens in the database.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use emab_server::store::Backend;
use emab_server::store::postgres::Postgres;
use emab_server::tokens::{NewToken, Role, TokenFile, TokenStore, TokenTable};
use emab_testkit::postgres::Server;

use crate::support::{Answer, TestServer};

async fn ready(server: &TestServer) -> Answer {
    let request = Request::get("/readyz").body(Body::empty()).unwrap();
    server.send(request).await
}

/// Waits until the service has looked at the file.
async fn until(server: &TestServer, status: u16) -> Answer {
    loop {
        let answer = server.get("/v1/studies").await;
        if answer.status.as_u16() == status {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_damaged_token_file_makes_every_token_invalid_until_it_is_repaired() {
    let server = TestServer::new();
    let path = server.tokens.path();
    let good = fs::read(path).unwrap();
    let mode = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let damages: [&dyn Fn(); 3] = [
        &|| fs::remove_file(path).unwrap(),
        &|| fs::write(path, "[").unwrap(),
        &|| mode(0o602),
    ];
    for damage in damages {
        damage();
        let answer = until(&server, 401).await.expect_error(401);
        answer.says("no token is valid");
        ready(&server).await.expect_error(503).says("tokens");
        fs::write(path, &good).unwrap();
        mode(0o600);
        until(&server, 200).await;
        ready(&server).await.is(200);
    }
    let metrics = server.get("/metrics").await.is(200).text;
    let counted = "emab_tokens_unreadable_total ";
    let line = metrics.lines().find(|line| line.starts_with(counted));
    assert_ne!(line, Some("emab_tokens_unreadable_total 0"));
}

fn table(url: &str) -> TokenTable {
    let store = Postgres::open(url).unwrap();
    TokenTable::new(store.tokens().unwrap().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_revocation_in_the_database_reaches_all_copies_at_once() {
    let made = tokio::task::spawn_blocking(|| {
        let server = Arc::new(Server::start().unwrap());
        let url = server.url();
        let copy = || {
            let store = Postgres::open(&url).unwrap();
            TestServer::over(tempfile::tempdir().unwrap(), Arc::new(store))
        };
        (server, [copy(), copy()], Arc::new(table(&url)))
    });
    let (database, copies, tokens) = made.await.unwrap();
    let asks = async |secret: &str| {
        let mut statuses = Vec::new();
        for copy in &copies {
            let answer = copy.call_as(secret, "GET", "/v1/studies", None).await;
            statuses.push(answer.status.as_u16());
        }
        statuses
    };
    let admin = copies[0].admin.clone();
    for round in 0..5 {
        let (one, name) = (tokens.clone(), format!("t{round}"));
        let new = move || one.new_token(&NewToken::new(&name, Role::Viewer)).unwrap();
        let (token, secret) = tokio::task::spawn_blocking(new).await.unwrap();
        assert_eq!(asks(secret.reveal()).await, [200, 200]);
        let one = tokens.clone();
        let revoke = move || one.revoke(&token.id).unwrap();
        tokio::task::spawn_blocking(revoke).await.unwrap();
        assert_eq!(asks(secret.reveal()).await, [401, 401]);
    }
    // Rows that were changed by hand are read at once too; a malformed one is not valid.
    let execute = async |sql: &'static str| {
        let database = database.clone();
        let run = move || database.execute(sql).unwrap();
        tokio::task::spawn_blocking(run).await.unwrap();
    };
    assert_eq!(asks(&admin).await, [200, 200]);
    execute("UPDATE tokens SET body = replace(body, 'admin', 'root')").await;
    assert_eq!(asks(&admin).await, [401, 401]);
    execute("UPDATE tokens SET body = replace(body, 'root', 'admin')").await;
    assert_eq!(asks(&admin).await, [200, 200]);
    // Without the table no token is valid.
    execute("ALTER TABLE tokens RENAME TO hidden").await;
    assert_eq!(asks(&admin).await, [503, 503]);
    ready(&copies[0]).await.expect_error(503).says("tokens");
    execute("ALTER TABLE hidden RENAME TO tokens").await;
    assert_eq!(asks(&admin).await, [200, 200]);
    // Last uses are in the rows once a minute, and when the copies end.
    copies.iter().for_each(|copy| copy.service.finish());
    drop(copies);
    let mut used = 0;
    for _ in 0..200 {
        let one = tokens.clone();
        let list = move || one.list().unwrap();
        let listed = tokio::task::spawn_blocking(list).await.unwrap();
        used = listed.iter().filter(|token| token.used.is_some()).count();
        if used > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(used > 0, "no use is recorded");
}

#[test]
fn the_first_start_on_a_database_takes_the_token_file_or_creates_one_admin() {
    let server = Server::shared().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::at(folder.path().join("tokens.json"));
    let url = server.database("first_start").unwrap();
    // Several copies start at once.
    let first = std::thread::scope(|scope| {
        let start = || {
            let table = table(&url);
            assert_eq!(table.import(&file).unwrap(), 0, "there is no file");
            table.create(true).unwrap()
        };
        let copies: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
        let first = copies.into_iter().filter_map(|copy| copy.join().unwrap());
        first.count()
    });
    assert_eq!(first, 1);
    let (old, _) = file
        .new_token(&NewToken::new("old", Role::Operator))
        .unwrap();
    assert_eq!(table(&url).import(&file).unwrap(), 0, "there are tokens");

    let table = table(&server.database("earlier_installation").unwrap());
    assert_eq!(table.import(&file).unwrap(), 1);
    assert_eq!(table.list().unwrap(), [old]);
    assert!(table.create(true).unwrap().is_none());
    let error = table.revoke("none").unwrap_err().to_string();
    assert!(error.contains("the database"), "{error}");
}
