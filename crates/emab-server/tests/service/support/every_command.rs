//! A week in the clinic: every kind of event, with episodes that overlap and outcomes that come late, in parts, corrected
//! and not at all.

use super::Answer;
use super::study::StudyClient;

/// Method, rest of the address, and body, in order. Each of them changes something.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("POST", "/episodes", r#"{"id": "p1"}"#),
    ("POST", "/episodes", r#"{"id": "p2"}"#),
    (
        "POST",
        "/episodes/p1:tell",
        r#"{"step": 1, "action": "blood", "feedback": "positive", "reason": "a"}"#,
    ),
    (
        "POST",
        "/episodes/p2:tell",
        r#"{"step": 1, "action": "scan", "feedback": "negative", "reason": "b"}"#,
    ),
    (
        "POST",
        "/episodes/p1:tell",
        r#"{"step": 2, "action": "scan", "feedback": "negative", "reason": "c"}"#,
    ),
    ("POST", "/episodes/p1:stop", r#"{"step": 3, "reason": "d"}"#),
    (
        "PUT",
        "/episodes/p1/outcome",
        r#"{"costs": [0.1, null], "rewards": [0.2, null, null]}"#,
    ),
    ("POST", "/episodes", r#"{"id": "p3"}"#),
    ("POST", "/episodes/p2:stop", r#"{"step": 2, "reason": "e"}"#),
    (
        "PUT",
        "/episodes/p2/outcome",
        r#"{"costs": [0.3], "rewards": [0.1, 0.9]}"#,
    ),
    (
        "PUT",
        "/episodes/p1/outcome",
        r#"{"costs": [null, 0.2], "rewards": [null, 0.4, 0.7]}"#,
    ),
    (
        "POST",
        "/episodes/p3:tell",
        r#"{"step": 1, "action": "scan", "feedback": "positive", "reason": "f"}"#,
    ),
    ("POST", "/episodes", r#"{"id": "p4"}"#),
    (
        "POST",
        "/episodes/p4:abandon",
        r#"{"reason": "moved away"}"#,
    ),
    (
        "POST",
        "/episodes/p2/outcome:amend",
        r#"{"rewards": [null, 0.35], "reason": "mistyped"}"#,
    ),
    (
        "POST",
        "/episodes/p3:tell",
        r#"{"step": 2, "action": "blood", "feedback": "negative", "reason": "g"}"#,
    ),
    ("POST", "/episodes/p3:stop", r#"{"step": 3, "reason": "h"}"#),
    (
        "PUT",
        "/episodes/p3/outcome",
        r#"{"costs": [0.1, 0.1], "rewards": [0, 0.5, null], "final": true}"#,
    ),
    (
        "POST",
        ":import",
        r#"{"id": "old", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.7], "rewards": [0.15, 0.6]}"#,
    ),
    ("PUT", "/episodes/p4/outcome", r#"{"rewards": [0.3]}"#),
    (
        "POST",
        "/episodes/p1/outcome:amend",
        r#"{"costs": [0.15, null], "rewards": [null, null, 0.65], "reason": "the other lab"}"#,
    ),
    ("POST", "/episodes", r#"{"id": "p5"}"#),
    ("POST", ":close", ""),
    (
        "POST",
        "/episodes/p5:tell",
        r#"{"step": 1, "action": "blood", "feedback": "negative", "reason": "i"}"#,
    ),
    ("POST", "/episodes/p5:stop", r#"{"step": 2, "reason": "j"}"#),
    (
        "PUT",
        "/episodes/p5/outcome",
        r#"{"costs": [0.05], "rewards": [0.45, 0.55]}"#,
    ),
];

impl StudyClient<'_> {
    /// One request of the week.
    pub async fn send_command(&self, (method, rest, body): (&str, &str, &str)) -> Answer {
        let body = Some(body).filter(|body| !body.is_empty());
        let path = self.path(rest);
        self.server
            .call_as(&self.server.admin, method, &path, body)
            .await
    }

    /// All of it.
    pub async fn send_all(&self) {
        for request in COMMANDS {
            let answer = self.send_command(*request).await;
            assert!(answer.status.is_success(), "{request:?}: {}", answer.text);
        }
    }
}
