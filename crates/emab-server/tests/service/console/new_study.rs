//! The page that creates a study: each way, what is rejected and how it is said, and who may use it.

use super::{Browser, HOST};
use crate::support::{Answer, STUDY, TestServer};

const PAGE: &str = "/new-study";

const TOML: &str = r#"
horizon    = 3
states     = ["unknown", "clear", "suspect"]
actions    = ["blood", "scan"]
feedbacks  = ["negative", "positive"]
transition = "1 + f"

[learning]
sigma2       = 0.25
delta        = 0.05
reward_range = [0, 1]

[model]
feedback = [0.5, 0.5]
reward   = 1
"#;

const SMALL: [(&str, &str); 8] = [
    ("name", "small"),
    ("way", "form"),
    ("states", "unknown\nclear\nsuspect"),
    ("actions", "blood, scan"),
    ("feedbacks", "negative, positive"),
    ("horizon", "3"),
    ("transition", "1 + f"),
    ("delta", "0.05"),
];

async fn admin(server: &TestServer) -> Browser {
    Browser::signed_in(server, &server.admin).await
}

/// The form with some fields set, sent by one of the buttons.
fn with<'a>(
    fields: &[(&'a str, &'a str)],
    set: &[(&'a str, &'a str)],
    button: &'a str,
) -> Vec<(&'a str, &'a str)> {
    let kept = fields
        .iter()
        .filter(|(name, _)| set.iter().all(|(other, _)| name != other));
    let all = kept.chain(set).copied();
    all.chain([("do", button)]).collect()
}

/// A form with a file, as browsers send it.
async fn upload(browser: &mut Browser, fields: &[(&str, &str)], file: &[u8]) -> Answer {
    let mut body = Vec::new();
    for (name, value) in fields {
        let part =
            format!("--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend(part.into_bytes());
    }
    body.extend(
        b"--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.toml\"\r\n\r\n",
    );
    body.extend(file);
    body.extend(b"\r\n--xyz--\r\n");
    let headers = [
        ("origin", &*format!("http://{HOST}")),
        ("content-type", "multipart/form-data; boundary=xyz"),
    ];
    browser.exchange("POST", PAGE, body, &headers).await.0
}

#[tokio::test]
async fn a_study_is_created_by_each_way() {
    let server = TestServer::new();
    let mut browser = admin(&server).await;
    let page = browser.get(PAGE).await.is(200);
    page.shows("data-check=\"./new-study\"");
    let pasted = [("name", "pasted"), ("problem", STUDY), ("do", "create")];
    let answer = browser.post(PAGE, &pasted).await.is(303);
    assert_eq!(answer.header("location"), "./studies/pasted");
    let fields = [
        ("name", "uploaded"),
        ("problem", "not used"),
        ("do", "create"),
    ];
    let answer = upload(&mut browser, &fields, TOML.as_bytes()).await.is(303);
    assert_eq!(answer.header("location"), "./studies/uploaded");
    browser
        .post(PAGE, &with(&SMALL, &[], "create"))
        .await
        .is(303);
    for (name, learner) in [
        ("pasted", "feedbal:width=sound"),
        ("uploaded", "feedbal-pooled"),
        ("small", "feedbal-pooled"),
    ] {
        let study = server.get(&format!("/v1/studies/{name}")).await.is(200);
        assert_eq!(study.at("/learner"), learner);
        assert_eq!(study.at("/withheld"), serde_json::Value::Null, "{name}");
        browser.get(&format!("/studies/{name}")).await.is(200);
    }
}

#[tokio::test]
async fn a_check_creates_nothing_and_shows_the_study() {
    let server = TestServer::new();
    let mut browser = admin(&server).await;
    let page = browser
        .post(PAGE, &[("name", "a"), ("problem", TOML), ("do", "check")])
        .await
        .is(200);
    page.shows("No problem was found");
    page.shows("<code>model</code> of the file is left out");
    page.shows("<b>certificates</b>");
    page.shows("5 pairs of a step and a state");
    page.shows("<b><bdi>blood</bdi></b>: <bdi>negative</bdi> → <bdi>clear</bdi>");
    // Without a button too: the script sends the fields only.
    let page = browser.post(PAGE, &SMALL).await.is(200);
    page.shows("No problem was found");
    // Why there are no certificates.
    let unsound = TOML.replace("sigma2       = 0.25\n", "");
    let page = browser
        .post(PAGE, &[("name", "a"), ("problem", &unsound)])
        .await
        .is(200);
    page.shows("<b>no certificates</b>: ");
    assert_eq!(
        server.get("/v1/studies").await.at("/studies"),
        serde_json::json!([])
    );
}

#[tokio::test]
async fn every_problem_has_a_place_and_what_was_typed_stays() {
    let server = TestServer::new();
    let mut browser = admin(&server).await;
    let wrong = TOML.replace("1 + f", "1 + g");
    let page = browser
        .post(
            PAGE,
            &[("name", "a"), ("problem", &wrong), ("do", "create")],
        )
        .await
        .expect_rejected();
    page.shows("<a href=\"#problem\">Problem file, line 6</a>: ");
    page.shows("transition = &quot;1 + g&quot;");
    let set = [
        ("name", "a b"),
        ("horizon", "many"),
        ("states", ""),
        ("cost-least", "x"),
        ("expected_delay", "soon"),
    ];
    let page = browser
        .post(PAGE, &with(&SMALL, &set, "create"))
        .await
        .expect_rejected();
    page.shows("3 problems were found");
    for id in ["name", "states", "horizon"] {
        page.shows(&format!("<li><a href=\"#{id}\">"));
    }
    for value in [
        "value=\"a b\"",
        "value=\"many\"",
        "value=\"x\"",
        "value=\"soon\"",
    ] {
        page.shows(value);
    }
    for (set, place, says) in [
        (
            ("cost-least", "x"),
            "cost-least",
            "two numbers, got <code>x</code> and <code>1</code>",
        ),
        (
            ("expected_delay", "soon"),
            "expected_delay",
            "got <code>soon</code>",
        ),
        (
            ("own_learner", "feedball"),
            "learner",
            "did you mean <code>feedbal</code>?",
        ),
        (("transition", "1 + g"), "transition", "<code>g</code>"),
        (("delta", "2"), "delta", "delta"),
        (
            ("start", "nowhere"),
            "start",
            "no state is called <code>nowhere</code>",
        ),
        (("reward-least", "5"), "reward-least", "5"),
    ] {
        let page = browser.post(PAGE, &with(&SMALL, &[set], "create")).await;
        let page = page.expect_rejected();
        page.shows(&format!("<li><a href=\"#{place}\">"));
        page.shows(says);
        page.shows(&format!("value=\"{}\"", set.1));
    }
    assert_eq!(
        server.get("/v1/studies").await.at("/studies"),
        serde_json::json!([])
    );
}

#[tokio::test]
async fn a_file_that_is_not_text_or_too_large_is_rejected() {
    let server = TestServer::new();
    let mut browser = admin(&server).await;
    let fields = [("name", "a"), ("do", "create")];
    let page = upload(&mut browser, &fields, b"horizon = 3\n# caf\xe9\n")
        .await
        .expect_rejected();
    page.shows("Problem file, line 2");
    page.shows("not UTF-8");
    for bytes in [&[0_u8; 64][..], &[0xff; 64], b"\x7fELF"] {
        upload(&mut browser, &fields, bytes).await.expect_rejected();
    }
    upload(&mut browser, &fields, &vec![b' '; 17 << 20])
        .await
        .is(413);
    // A file that is large and valid is not repeated on the page.
    let comments = "# measured at the first visit\n".repeat(60_000);
    let page = upload(
        &mut browser,
        &fields[..1],
        format!("{TOML}{comments}").as_bytes(),
    )
    .await;
    page.shows("No problem was found");
    page.shows("is not repeated here");
    assert!(page.text.len() < 100_000);
    // A large form is read for a person who is signed in only.
    let mut stranger = Browser::new(&server);
    let page = upload(&mut stranger, &fields, &vec![b' '; 2 << 20]).await;
    page.shows("too large to be kept");
    assert!(page.text.len() < 10_000);
    upload(&mut stranger, &fields, TOML.as_bytes())
        .await
        .asks_to_sign_in();
}

#[tokio::test]
async fn a_name_that_exists() {
    let server = TestServer::new();
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    let mut browser = admin(&server).await;
    let same = [("name", "clinic"), ("problem", STUDY)];
    let page = browser.post(PAGE, &same).await.is(200);
    page.shows("this is its specification");
    let page = browser
        .post(PAGE, &with(&same, &[], "create"))
        .await
        .is(200);
    page.shows("Nothing was changed");
    page.shows("href=\"./studies/clinic\"");
    let page = browser
        .post(PAGE, &with(&SMALL, &[("name", "clinic")], "create"))
        .await
        .expect_rejected();
    page.shows("exists with another specification");
}

#[tokio::test]
async fn hostile_names_are_escaped() {
    let server = TestServer::new();
    let mut browser = admin(&server).await;
    let hostile = "<script>alert(1)</script>";
    let quoted = "a\"><b onclick='x'";
    let turned = "\u{202e}evil\u{2066}";
    for name in [hostile, quoted, turned] {
        let problem = serde_json::json!({"horizon": 2, "states": [name, "b", "c"], "actions": [format!("{name}1")],
            "feedbacks": [format!("{name}2"), "f"], "transition": "1", "learner": "feedbal"});
        let problem = problem.to_string();
        let small = [
            ("states", name),
            ("actions", name),
            ("transition", name),
            ("name", name),
            ("own_learner", name),
        ];
        for page in [
            browser
                .post(PAGE, &[("name", "a"), ("problem", &problem)])
                .await,
            browser
                .post(PAGE, &[("name", name), ("problem", name)])
                .await,
            browser.post(PAGE, &with(&SMALL, &small, "create")).await,
        ] {
            assert!(
                !page.text.contains("<script>alert") && !page.text.contains("<b onclick"),
                "{}",
                page.text
            );
        }
    }
}

#[tokio::test]
async fn only_administrators_create_studies() {
    let server = TestServer::new();
    for token in [&server.operator, &server.viewer, &server.blinded] {
        let mut browser = Browser::signed_in(&server, token).await;
        browser.get(PAGE).await.is(403);
        browser
            .post(PAGE, &with(&SMALL, &[], "create"))
            .await
            .is(403);
    }
    // One who is bound to a study creates this one only.
    let mut bound = Browser::signed_in(&server, &server.elsewhere).await;
    bound.get(PAGE).await.is(200);
    let page = bound
        .post(PAGE, &with(&SMALL, &[], "create"))
        .await
        .expect_rejected();
    page.shows("not valid for study <code>small</code>");
    page.shows("value=\"small\"");
    bound
        .post(PAGE, &with(&SMALL, &[("name", "elsewhere")], "create"))
        .await
        .is(303);
    let mut stranger = Browser::new(&server);
    stranger.get(PAGE).await.asks_to_sign_in();
}
