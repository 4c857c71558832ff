//! The page of people and tokens: creating, replacing and revoking, and who may use it.

use emab_server::tokens::{NewToken, Role, Token, TokenStore};

use super::Browser;
use crate::support::{Answer, STUDY, TestServer};

const PAGE: &str = "/people";

const WARD: [(&str, &str); 6] = [
    ("name", "ward"),
    ("person", "Zoë Müller"),
    ("role", "operator"),
    ("scope", "some"),
    ("studies", "clinic, later"),
    ("lifetime", "90d"),
];

fn with<'a>(set: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = WARD
        .iter()
        .filter(|(name, _)| set.iter().all(|(other, _)| name != other));
    kept.chain(set).copied().collect()
}

/// The secret that a page shows.
fn secret(page: &Answer) -> String {
    let at = page
        .text
        .find("emab_")
        .unwrap_or_else(|| panic!("{}", page.text));
    let text: String = page.text[at..].chars().take(69).collect();
    // In the text, and in the button that copies it.
    assert_eq!(page.text.matches(&text).count(), 2, "{}", page.text);
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("location"), "");
    text
}

fn token(server: &TestServer, name: &str) -> Token {
    let found = server.tokens.list().unwrap();
    found.into_iter().rfind(|it| it.name == name).unwrap()
}

#[tokio::test]
async fn a_token_is_created_replaced_and_revoked() {
    let server = TestServer::new();
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    let mut browser = Browser::signed_in(&server, &server.admin).await;
    let page = browser.post(PAGE, &WARD).await.is(200);
    let first = secret(&page);
    page.shows("It is shown once");
    page.shows("There is no study <b><bdi>later</bdi></b> yet");
    let mut ward = Browser::signed_in(&server, &first).await;
    let page = ward.get("/studies/clinic").await.is(200);
    page.shows("Zoë Müller");
    let page = browser.get(PAGE).await.is(200);
    page.shows("Zoë Müller");
    assert!(!page.text.contains("emab_"), "{}", page.text);
    // The list shows the use of a moment ago.
    let made = token(&server, "ward");
    assert!(made.used.is_some() && made.expires.is_some());
    assert_eq!(made.studies.unwrap(), ["clinic", "later"]);

    let address = format!("{PAGE}/{}", made.id);
    browser.get(&address).await.is(200);
    let page = browser
        .post(&address, &[("do", "replace"), ("grace", "1h")])
        .await
        .is(200);
    let second = secret(&page);
    assert_ne!(first, second);
    page.shows("stays valid for 1h");
    let page = browser.get(&address).await;
    page.shows("active, replaced");
    // Both are valid.
    ward.get("/studies/clinic").await.is(200);
    let mut again = Browser::signed_in(&server, &second).await;
    again.get("/studies/clinic").await.is(200);
    let page = browser
        .post(&address, &[("do", "replace"), ("grace", "1h")])
        .await
        .expect_rejected();
    page.shows("was replaced by");

    let next = token(&server, "ward");
    let address = format!("{PAGE}/{}", next.id);
    let page = browser
        .post(&address, &[("do", "revoke")])
        .await
        .expect_rejected();
    page.shows("tick the box");
    again.get("/studies/clinic").await.is(200);
    let answer = browser
        .post(&address, &[("do", "revoke"), ("sure", "yes")])
        .await
        .is(303);
    assert_eq!(answer.header("location"), "../people?note=revoked");
    browser.get("/people?note=revoked").await.is(200);
    again.get("/studies/clinic").await.asks_to_sign_in();
    browser.get(&address).await.shows("not valid any more");
    browser.get("/people/00000000").await.is(404);
    browser
        .post(&address, &[("do", "other")])
        .await
        .expect_rejected();
}

#[tokio::test]
async fn wrong_forms_are_rejected_and_kept() {
    let server = TestServer::new();
    let mut browser = Browser::signed_in(&server, &server.admin).await;
    let before = server.tokens.list().unwrap().len();
    for (set, says) in [
        (("name", ""), "must have 1 to 64"),
        (("name", "admin"), "a token named <code>admin</code> exists"),
        (("name", "<script>alert(1)</script>"), "&lt;script&gt;"),
        (("name", "a\"b'"), "must have 1 to 64"),
        (("name", "\u{202e}admin"), "must have 1 to 64"),
        (("role", ""), "choose a role"),
        (("role", "king"), "<code>king</code> is not a role"),
        (("scope", ""), "choose the studies"),
        (("scope", "all"), "choose one"),
        (("studies", ""), "name the studies"),
        (("studies", "<b>"), "is not the name of a study"),
        (("lifetime", "soon"), "got <code>soon</code>"),
        (("lifetime", "1000y"), "a hundred years at most"),
        (("person", "a\nb"), "owner"),
    ] {
        let page = browser.post(PAGE, &with(&[set])).await.expect_rejected();
        page.shows(says);
        assert!(
            !page.text.contains("<script>alert") && !page.text.contains("emab_"),
            "{}",
            page.text
        );
        if set.0 != "person" {
            page.shows("value=\"Zoë Müller\"");
        }
    }
    assert_eq!(server.tokens.list().unwrap().len(), before);
}

#[tokio::test]
async fn the_last_administrator_and_the_own_token_are_revoked_with_a_warning() {
    let server = TestServer::new();
    let mut browser = Browser::signed_in(&server, &server.admin).await;
    let own = format!("{PAGE}/{}", token(&server, "admin").id);
    let page = browser.get(&own).await;
    page.shows("You are signed in with this token");
    page.shows("the last active administrator");
    // Of a page that is out of date: it has shown no warning.
    let stale = [("do", "revoke"), ("sure", "yes")];
    let page = browser.post(&own, &stale).await.expect_rejected();
    page.shows("has become the last active administrator");
    let other = NewToken::new("other", Role::Admin);
    server.tokens.new_token(&other).unwrap();
    let page = browser.get(&own).await;
    assert!(
        !page.text.contains("the last active administrator"),
        "{}",
        page.text
    );
    let page = browser
        .get(&format!("{PAGE}/{}", token(&server, "operator").id))
        .await;
    assert!(
        !page.text.contains("You are signed in with this token"),
        "{}",
        page.text
    );
    browser
        .post(&own, &[("do", "revoke"), ("sure", "yes")])
        .await
        .is(303);
    browser.get(PAGE).await.asks_to_sign_in();
}

#[tokio::test]
async fn many_tokens_are_shown_in_pages() {
    let server = TestServer::new();
    server
        .tokens
        .change(&mut |there| {
            let mut tokens = there.unwrap();
            let last = tokens.last().unwrap().clone();
            for i in 0..120 {
                // Their hashes differ in the part that is the id.
                let mut text = serde_json::to_value(&last).unwrap();
                let id = format!("{i:08x}");
                let hash = text["hash"].as_str().unwrap().replace(&last.id, &id);
                text["hash"] = hash.into();
                text["id"] = id.into();
                text["name"] = format!("many-{i}").into();
                tokens.push(serde_json::from_value(text).unwrap());
            }
            Ok(Some(tokens))
        })
        .unwrap();
    let mut browser = Browser::signed_in(&server, &server.admin).await;
    let rows = |page: &Answer| page.text.matches("<th scope=\"row\">").count();
    let page = browser.get(PAGE).await;
    assert_eq!(rows(&page), 50);
    page.shows("many-119");
    page.shows("people?page=2");
    let page = browser.get("/people?page=3").await;
    assert_eq!(rows(&page), 25);
    page.shows("operator");
    for odd in ["0", "99999999999999999999", "-1", "x", "4"] {
        browser.get(&format!("/people?page={odd}")).await.is(200);
    }
    server.tokens.revoke("many-7").unwrap();
    browser
        .get("/people?show=active")
        .await
        .shows("Active (124)");
}

#[tokio::test]
async fn only_administrators_of_all_studies_see_tokens() {
    let server = TestServer::new();
    let id = token(&server, "viewer").id;
    for secret in [
        &server.operator,
        &server.viewer,
        &server.blinded,
        &server.elsewhere,
    ] {
        let mut browser = Browser::signed_in(&server, secret).await;
        for page in [
            browser.get(PAGE).await,
            browser.post(PAGE, &WARD).await,
            browser.get(&format!("{PAGE}/{id}")).await,
            browser
                .post(
                    &format!("{PAGE}/{id}"),
                    &[("do", "revoke"), ("sure", "yes")],
                )
                .await,
        ] {
            page.is(403);
        }
    }
    assert!(token(&server, "viewer").is_active());
    let mut bound = Browser::signed_in(&server, &server.elsewhere).await;
    assert!(!bound.get("/").await.text.contains("People and tokens"));
}
