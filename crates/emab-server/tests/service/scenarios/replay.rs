//! Decisions recomputed from the log, also after changes of the file.

use rusqlite::{Connection, params};
use serde_json::json;

use crate::support::study::StudyClient;
use crate::support::{STUDY, TestServer};

/// Every decision of an episode that was opened.
const DECISIONS: [(&str, u64); 9] = [
    ("p1", 1),
    ("p1", 2),
    ("p1", 3),
    ("p2", 1),
    ("p2", 2),
    ("p3", 3),
    ("p4", 1),
    ("p5", 1),
    ("p5", 2),
];

async fn replayed(client: &StudyClient<'_>, id: &str, step: u64) -> crate::support::Answer {
    let path = format!("/episodes/{id}/decisions/{step}:replay");
    client.get(&path).await
}

/// Changes one row of the store's file while the service runs.
fn plant(server: &TestServer, sql: &str, values: impl rusqlite::Params) {
    let file = Connection::open(server.file()).unwrap();
    assert_eq!(file.execute(sql, values).unwrap(), 1);
}

#[tokio::test]
async fn every_decision_replays_to_the_same_bytes() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.send_all().await;
    for (id, step) in DECISIONS {
        let answer = replayed(&client, id, step).await.is(200);
        assert_eq!(answer.at("/equal"), true, "{}", answer.text);
        assert_eq!(answer.at("/differs"), json!([]));
        assert_eq!(answer.at("/recorded"), answer.at("/recomputed"));
        assert_eq!(answer.at("/recorded/episode"), id);
    }
    for (id, step) in [
        ("p1", "4"),
        ("p1", "0"),
        ("p1", "-1"),
        ("p1", "1.0"),
        ("p1", "x"),
        ("no", "1"),
        ("old", "1"),
    ] {
        let path = format!("/episodes/{id}/decisions/{step}:replay");
        client.get(&path).await.expect_error(404);
    }
}

#[tokio::test]
async fn replay_finds_a_changed_decision() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.send_all().await;
    let text = client.ask("p5").await.is(200).text;
    let was = client.ask("p5").await.is(200);
    let other = if was.at("/action") == "scan" {
        "blood"
    } else {
        "scan"
    };
    let action = format!(r#""action":{}"#, was.at("/action"));
    let planted = text.replacen(&action, &format!(r#""action":"{other}""#), 1);
    assert_ne!(planted, text);
    plant(
        &server,
        "UPDATE answers SET text = ?1 WHERE episode = 'p5' AND step = 2",
        params![planted],
    );
    let answer = replayed(&client, "p5", 2).await.is(200);
    assert_eq!(answer.at("/equal"), false);
    assert_eq!(answer.at("/differs"), json!(["/action"]));
    assert_eq!(answer.at("/recorded/action"), other);
    assert_eq!(answer.at("/recomputed/action"), was.at("/action"));

    // A nested number.
    let count = r#""count":"#;
    let deep = text.replacen(count, r#""count":1"#, 1);
    plant(
        &server,
        "UPDATE answers SET text = ?1 WHERE episode = 'p5' AND step = 2",
        params![deep],
    );
    let answer = replayed(&client, "p5", 2).await.is(200);
    assert_eq!(answer.at("/differs"), json!(["/estimate/count"]));
    // Other decisions are unchanged.
    let answer = replayed(&client, "p5", 1).await.is(200);
    assert_eq!(answer.at("/equal"), true);
}

#[tokio::test]
async fn replay_finds_a_changed_event() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.send_all().await;
    let text: String = Connection::open(server.file())
        .unwrap()
        .query_row("SELECT text FROM events WHERE seq = 11", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(text.contains("0.9"), "{text}");
    let planted = text.replace("0.9", "0.8");
    let sql = "UPDATE events SET text = ?1 WHERE seq = 11";
    plant(&server, sql, params![planted]);
    // Decisions before the change replay; later ones cannot.
    let answer = replayed(&client, "p3", 1).await.is(200);
    assert_eq!(answer.at("/equal"), true);
    let refused = replayed(&client, "p5", 1).await.expect_error(503);
    assert!(refused.at("/detail").as_str().unwrap().contains("damaged"));
    assert!(!refused.header("retry-after").is_empty());
    client.get("/estimates?as_of=12").await.expect_error(503);
    client.get("/estimates?as_of=10").await.is(200);

    // With its hash recomputed, the next event does not match.
    let hash = emab_server::domain::event::sha256(planted.as_bytes());
    let sql = "UPDATE events SET hash = ?1 WHERE seq = 11";
    plant(&server, sql, params![hash]);
    replayed(&client, "p5", 1).await.expect_error(503);
    // The same without the event.
    plant(&server, "DELETE FROM events WHERE seq = 11", []);
    replayed(&client, "p5", 1).await.expect_error(503);
}
