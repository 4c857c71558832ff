//! Decisions recomputed from the log, and changes that somebody planted in the file.

use rusqlite::{Connection, params};
use serde_json::json;

use crate::support::desk::Desk;
use crate::support::{CLINIC, Clinic};

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

async fn replayed(desk: &Desk<'_>, id: &str, step: u64) -> crate::support::Answer {
    let path = format!("/episodes/{id}/decisions/{step}:replay");
    desk.get(&path).await
}

/// Runs a statement on the store's file, behind the back of the service.
fn plant(clinic: &Clinic, sql: &str, values: impl rusqlite::Params) {
    let file = Connection::open(clinic.file()).unwrap();
    assert_eq!(file.execute(sql, values).unwrap(), 1);
}

#[tokio::test]
async fn every_decision_comes_out_again() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.week().await;
    for (id, step) in DECISIONS {
        let answer = replayed(&desk, id, step).await.is(200);
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
        desk.get(&path).await.refuses(404);
    }
}

#[tokio::test]
async fn a_changed_answer_is_found() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.week().await;
    let text = desk.ask("p5").await.is(200).text;
    let was = desk.ask("p5").await.is(200);
    let other = if was.at("/action") == "scan" {
        "blood"
    } else {
        "scan"
    };
    let action = format!(r#""action":{}"#, was.at("/action"));
    let planted = text.replacen(&action, &format!(r#""action":"{other}""#), 1);
    assert_ne!(planted, text);
    plant(
        &clinic,
        "UPDATE answers SET text = ?1 WHERE episode = 'p5' AND step = 2",
        params![planted],
    );
    let answer = replayed(&desk, "p5", 2).await.is(200);
    assert_eq!(answer.at("/equal"), false);
    assert_eq!(answer.at("/differs"), json!(["/action"]));
    assert_eq!(answer.at("/recorded/action"), other);
    assert_eq!(answer.at("/recomputed/action"), was.at("/action"));

    // A number deep inside.
    let count = r#""count":"#;
    let deep = text.replacen(count, r#""count":1"#, 1);
    plant(
        &clinic,
        "UPDATE answers SET text = ?1 WHERE episode = 'p5' AND step = 2",
        params![deep],
    );
    let answer = replayed(&desk, "p5", 2).await.is(200);
    assert_eq!(answer.at("/differs"), json!(["/estimate/count"]));
    // The others are as they were.
    let answer = replayed(&desk, "p5", 1).await.is(200);
    assert_eq!(answer.at("/equal"), true);
}

#[tokio::test]
async fn a_changed_event_is_found() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.week().await;
    let text: String = Connection::open(clinic.file())
        .unwrap()
        .query_row("SELECT text FROM events WHERE seq = 11", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(text.contains("0.9"), "{text}");
    let planted = text.replace("0.9", "0.8");
    let sql = "UPDATE events SET text = ?1 WHERE seq = 11";
    plant(&clinic, sql, params![planted]);
    // Before it nothing has changed; after it nothing can be told.
    let answer = replayed(&desk, "p3", 1).await.is(200);
    assert_eq!(answer.at("/equal"), true);
    let refused = replayed(&desk, "p5", 1).await.refuses(503);
    assert!(refused.at("/detail").as_str().unwrap().contains("damaged"));
    assert!(!refused.header("retry-after").is_empty());
    desk.get("/estimates?as_of=12").await.refuses(503);
    desk.get("/estimates?as_of=10").await.is(200);

    // With the hash made to fit, the next event does not.
    let hash = emab_server::domain::event::sha256(planted.as_bytes());
    let sql = "UPDATE events SET hash = ?1 WHERE seq = 11";
    plant(&clinic, sql, params![hash]);
    replayed(&desk, "p5", 1).await.refuses(503);
    // Nor does it help to take one out.
    plant(&clinic, "DELETE FROM events WHERE seq = 11", []);
    replayed(&desk, "p5", 1).await.refuses(503);
}
