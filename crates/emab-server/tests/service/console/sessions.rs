//! Signing in and out, who may send a form, and what a session is worth.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use emab_server::console;
use emab_server::http::{Peer, PersonHeader};
use emab_server::store::postgres::Postgres;
use emab_server::tokens::{NewToken, Role, TokenStore};
use emab_testkit::postgres::Server;

use super::Browser;
use crate::support::{STUDY, TestServer};

#[tokio::test]
async fn a_token_becomes_a_cookie_for_the_console_only() {
    let server = TestServer::new();
    let mut browser = Browser::new(&server);
    let page = browser.get("/").await;
    assert!(
        page.text.contains("Sign in") && page.text.contains("first start"),
        "{}",
        page.text
    );
    let answer = browser.sign_in(&server.admin).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let cookie = answer.header("set-cookie").to_owned();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(
        !cookie.contains("Secure") && !cookie.contains(&server.admin[5..]),
        "{cookie}"
    );
    assert!(
        browser
            .get("/")
            .await
            .text
            .contains("There is no study yet")
    );
    // The API does not know it.
    let answer = browser
        .send("GET", "/v1/studies", "", &[("accept", "*/*")])
        .await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let stored = format!(
        "emab_{}",
        browser
            .cookie
            .as_deref()
            .unwrap()
            .split_once('=')
            .unwrap()
            .1
    );
    let answer = server.call_as(&stored, "GET", "/v1/studies", None).await;
    answer.expect_error(401);
    // A token is no session either.
    let as_bearer = [("authorization", &*format!("Bearer {}", server.admin))];
    let page = Browser::new(&server).send("GET", "/", "", &as_bearer).await;
    assert!(page.text.contains("Sign in"), "{}", page.text);
}

#[tokio::test]
async fn the_cookie_is_secure_under_tls() {
    let server = TestServer::new();
    let mut parts = server.app.clone();
    parts.tls = true;
    let mut browser = Browser::of(console::app(parts));
    // The pages of the service have another scheme.
    browser.sign_in(&server.operator).await.is(403);
    browser.scheme = "https";
    let answer = browser.sign_in(&server.operator).await;
    assert!(answer.header("set-cookie").ends_with("; Secure"));
}

#[tokio::test]
async fn a_session_ends_by_signing_out_by_time_and_with_its_token() {
    let server = TestServer::new();
    let mut browser = Browser::new(&server);
    browser.sign_in(&server.operator).await;
    let kept = browser.cookie.clone();
    let answer = browser.post("/sign-out", &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(
        answer
            .header("set-cookie")
            .starts_with("emab_session=; Max-Age=0")
    );
    browser.cookie = kept;
    assert!(browser.get("/").await.text.contains("Sign in"));

    // Two hours and none: the test does not depend on how long a request takes.
    for (hours, expected) in [(2, "Sign out"), (0, "Sign in")] {
        let mut parts = server.app.clone();
        parts.session = Duration::from_secs(hours * 3600);
        let mut other = Browser::of(console::app(parts));
        other.sign_in(&server.operator).await;
        assert!(other.get("/").await.text.contains(expected), "{hours} h");
    }

    browser.sign_in(&server.operator).await;
    assert!(browser.get("/").await.text.contains("Sign out"));
    let tokens = server.tokens.list().unwrap();
    let token = tokens
        .iter()
        .find(|token| token.role.as_str() == "operator")
        .unwrap();
    server.tokens.revoke(&token.id).unwrap();
    // At once, although the file is otherwise looked at every second.
    assert!(browser.get("/").await.text.contains("Sign in"));
}

#[tokio::test]
async fn a_session_outlives_a_restart() {
    let server = TestServer::new();
    let mut browser = Browser::new(&server);
    browser.sign_in(&server.operator).await;
    let cookie = browser.cookie.clone();
    drop(browser);
    let server = server.restarted();
    let mut browser = Browser::new(&server);
    browser.cookie = cookie;
    assert!(browser.get("/").await.text.contains("Sign out"));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_copies_share_sessions() {
    // A connection blocks.
    let started = tokio::task::spawn_blocking(|| {
        let server = Server::shared().unwrap();
        let url = server.database("console_sessions").unwrap();
        let copy = || {
            let store = Postgres::open(&url).unwrap();
            TestServer::over(tempfile::tempdir().unwrap(), Arc::new(store))
        };
        (copy(), copy(), server)
    });
    let (one, other, _server) = started.await.unwrap();
    let mut here = Browser::new(&one);
    here.sign_in(&one.operator).await;
    let mut there = Browser::new(&other);
    there.cookie = here.cookie.clone();
    assert!(there.get("/").await.text.contains("Sign out"));
    there.post("/sign-out", &[]).await;
    assert!(here.get("/").await.text.contains("Sign in"));
}

#[tokio::test]
async fn a_trusted_proxy_signs_people_in() {
    let server = TestServer::new();
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    let mut parts = server.app.clone();
    let proxies = vec!["10.0.0.1".parse().unwrap()];
    parts.person_header = Some(Arc::new(PersonHeader::new("x-person", proxies).unwrap()));
    let bearer = format!("Bearer {}", server.operator);
    let headers = [("x-person", "Zoë"), ("authorization", &*bearer)];
    for (peer, signs_in) in [("10.0.0.1:9", true), ("10.0.0.2:9", false)] {
        let router = console::app(parts.clone());
        let router = router.layer(axum::Extension(Peer(peer.parse().unwrap())));
        let mut browser = Browser::of(router);
        let page = browser.send("GET", "/", "", &headers).await;
        assert_eq!(page.text.contains("<bdi>Zoë</bdi>"), signs_in, "{peer}");
        assert!(!page.text.contains("Sign out") && browser.cookie.is_none());
        // A form of another site is rejected although the proxy adds the token to it.
        let evil = [headers[0], headers[1], ("origin", "https://evil.example")];
        let answer = browser
            .send("POST", "/studies/clinic/open", "id=p1", &evil)
            .await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        // Without a person the token of the proxy alone signs nobody in.
        let page = browser.send("GET", "/", "", &headers[1..]).await;
        page.asks_to_sign_in();
    }
}

#[tokio::test]
async fn forms_of_other_sites_do_nothing() {
    let server = TestServer::new();
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    let mut browser = Browser::new(&server);
    browser.sign_in(&server.operator).await;
    let attempts: [&[(&str, &str)]; 4] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[],
        &[("referer", "http://emab.test/")],
    ];
    for headers in attempts {
        let answer = browser
            .send("POST", "/studies/clinic/open", "id=p1", headers)
            .await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{headers:?}");
        let token = format!("token={}", server.operator);
        let answer = browser.send("POST", "/sign-in", &token, headers).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{headers:?}");
    }
    assert_eq!(server.get("/v1/studies/clinic").await.at("/episodes"), 0);
    let answer = browser.post("/studies/clinic/open", &[("id", "p1")]).await;
    assert_eq!(answer.header("location"), "cases/p1?note=opened");
}

#[tokio::test]
async fn a_form_without_a_session_is_kept() {
    let server = TestServer::new();
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    let mut browser = Browser::new(&server);
    let page = browser
        .post("/studies/clinic/open", &[("id", "p\"1<")])
        .await;
    assert!(
        page.text
            .contains("name=\"kept.id\" value=\"p&quot;1&lt;\""),
        "{}",
        page.text
    );
    let next = "studies/clinic/open";
    let own = server.tokens.list().unwrap();
    let own = own.iter().find(|it| it.role == Role::Operator).unwrap();
    let fields = [
        ("token", &*server.operator),
        ("next", next),
        ("kept.shown-to", &own.id),
        ("kept.id", "p2"),
    ];
    let page = browser.post("/sign-in", &fields).await;
    assert!(
        page.text.contains("action=\"./studies/clinic/open\""),
        "{}",
        page.text
    );
    assert!(
        page.text.contains("name=\"id\" value=\"p2\""),
        "{}",
        page.text
    );
    assert!(!page.text.contains(&server.operator));
}

#[tokio::test]
async fn a_kept_form_is_shown_to_its_person_only() {
    let server = TestServer::new();
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    let named = |name: &str, person: &str| {
        let mut new = NewToken::new(name, Role::Operator);
        new.owner = Some(person.into());
        let (_, secret) = server.tokens.new_token(&new).unwrap();
        secret.reveal().to_owned()
    };
    let [first, second] = ["one", "two"].map(|name| named(name, "Nora"));
    let mut browser = Browser::new(&server);
    browser.sign_in(&first).await;
    // Every form says to whom it was shown.
    let page = browser.get("/studies/clinic").await;
    let id = page
        .text
        .split("name=\"shown-to\" value=\"")
        .nth(1)
        .unwrap();
    let id = id.split('"').next().unwrap().to_owned();
    server.tokens.revoke("one").unwrap();
    // The browser forgets the cookie when the session ends.
    browser.cookie = None;
    for (shown_to, token, is_shown) in [
        (&*id, &second, true),
        (&*id, &server.blinded, false),
        ("", &second, false),
        ("00000000", &second, false),
    ] {
        let form = [("shown-to", shown_to), ("id", "p1")];
        let page = browser.post("/studies/clinic/open", &form).await;
        page.shows(&format!("name=\"kept.shown-to\" value=\"{shown_to}\""));
        let fields = [
            ("token", token.as_str()),
            ("next", "studies/clinic/open"),
            ("kept.shown-to", shown_to),
            ("kept.id", "p1"),
        ];
        let page = browser.post("/sign-in", &fields).await.text;
        assert_eq!(page.contains("Send it now"), is_shown, "{page}");
        assert_eq!(page.contains("value=\"p1\""), is_shown, "{page}");
        browser.cookie = None;
    }
}

#[tokio::test]
async fn guesses_are_slowed_down_and_shown_nowhere() {
    let server = TestServer::new();
    let secret = format!("emab_{}", "1".repeat(64));
    let peer = Peer("192.0.2.7:9".parse().unwrap());
    let mut browser = Browser::of(server.router.clone().layer(axum::Extension(peer)));
    let mut statuses = Vec::new();
    while statuses.len() < 200 && statuses.last() != Some(&429) {
        let page = browser.sign_in(&secret).await;
        assert!(!page.text.contains(&secret[5..]) && browser.cookie.is_none());
        statuses.push(page.status.as_u16());
    }
    assert_eq!((statuses[0], statuses.last()), (401, Some(&429)));
}

#[tokio::test]
async fn every_page_has_a_strict_policy() {
    let server = TestServer::new();
    let mut browser = Browser::new(&server);
    browser.sign_in(&server.admin).await;
    for path in ["/", "/worklist", "/sign-in", "/nowhere", "/studies/none"] {
        let page = browser.get(path).await;
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert_eq!(page.header("cache-control"), "no-store", "{path}");
        for inline in [" style=", "<style", "onclick", "javascript:"] {
            assert!(!page.text.contains(inline), "{path}: {inline}");
        }
    }
}
