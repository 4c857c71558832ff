//! Decisions recomputed from the log, also after changes of the file.

use rusqlite::{Connection, params};
use serde_json::json;

use crate::support::study::{StudyClient, clinic};

/// A study with every kind of event.
async fn recorded() -> StudyClient {
    let client = clinic().await;
    client.send_all().await;
    client
}

/// Changes one row of the store's file while the service runs.
fn plant(client: &StudyClient, sql: &str, values: impl rusqlite::Params) {
    let file = Connection::open(client.server.file()).unwrap();
    assert_eq!(file.execute(sql, values).unwrap(), 1);
}

#[tokio::test]
async fn every_decision_replays_to_the_same_bytes() {
    let client = recorded().await;
    for decision in "p1 1,p1 2,p1 3,p2 1,p2 2,p3 3,p4 1,p5 1,p5 2".split(',') {
        let (id, step) = decision.split_once(' ').unwrap();
        let answer = client.replay(id, step).await.is(200);
        let again = answer.at("/recomputed");
        answer
            .has(json!({"equal": true, "differs": [], "recorded": again, "recorded/episode": id}));
    }
    for absent in ["p1 4", "p1 0", "p1 -1", "p1 1.0", "p1 x", "no 1", "old 1"] {
        let (id, step) = absent.split_once(' ').unwrap();
        client.replay(id, step).await.expect_error(404);
    }
}

#[tokio::test]
async fn replay_finds_a_changed_decision() {
    let client = recorded().await;
    let was = client.ask("p5").await.is(200);
    let action = was.at("/action");
    let other = ["scan", "blood"][usize::from(action == "scan")];
    let changed = format!(r#""action":"{other}""#);
    let planted = was
        .text
        .replacen(&format!(r#""action":{action}"#), &changed, 1);
    assert_ne!(planted, was.text);
    let sql = "UPDATE answers SET text = ?1 WHERE episode = 'p5' AND step = 2";
    plant(&client, sql, params![planted]);
    let answer = client.replay("p5", 2).await.is(200);
    answer.has(json!({"equal": false, "differs": ["/action"], "recorded/action": other, "recomputed/action": action}));

    // A nested number.
    let deep = was.text.replacen(r#""count":"#, r#""count":1"#, 1);
    plant(&client, sql, params![deep]);
    let answer = client.replay("p5", 2).await.is(200);
    answer.has(json!({"differs": ["/estimate/count"]}));
    // Other decisions are unchanged.
    let answer = client.replay("p5", 1).await.is(200);
    answer.has(json!({"equal": true}));
}

#[tokio::test]
async fn replay_finds_a_changed_event() {
    let client = recorded().await;
    let file = Connection::open(client.server.file()).unwrap();
    let sql = "SELECT text FROM events WHERE seq = 11";
    let text: String = file.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(text.contains("0.9"), "{text}");
    let planted = text.replace("0.9", "0.8");
    let sql = "UPDATE events SET text = ?1 WHERE seq = 11";
    plant(&client, sql, params![planted]);
    // Decisions before the change replay; later ones cannot.
    let script = r#"
        GET /episodes/p3/decisions/1:replay -> {"equal": true}
        GET /episodes/p5/decisions/1:replay -> 503 ~ damaged
        GET /estimates?as_of=12 -> 503
        GET /estimates?as_of=10
    "#;
    let refused = &client.run(script).await[1];
    assert!(!refused.header("retry-after").is_empty());

    // With its hash recomputed, the next event does not match.
    let hash = emab_server::domain::event::sha256(planted.as_bytes());
    let sql = "UPDATE events SET hash = ?1 WHERE seq = 11";
    plant(&client, sql, params![hash]);
    client.replay("p5", 1).await.expect_error(503);
    // The same without the event.
    plant(&client, "DELETE FROM events WHERE seq = 11", []);
    client.replay("p5", 1).await.expect_error(503);
}
