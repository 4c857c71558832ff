//! Commands of every kind, with episodes that overlap and outcomes that come late, in parts, corrected and not at all.

use std::sync::LazyLock;

use super::study::StudyClient;
use super::{Answer, Call, requests};

/// In order; each of them changes something.
pub static COMMANDS: LazyLock<Vec<Call>> = LazyLock::new(|| requests(TEXT));

const TEXT: &str = r#"
POST /episodes {"id": "p1"}
POST /episodes {"id": "p2"}
POST /episodes/p1:tell {"step": 1, "action": "blood", "feedback": "positive", "reason": "a"}
POST /episodes/p2:tell {"step": 1, "action": "scan", "feedback": "negative", "reason": "b"}
POST /episodes/p1:tell {"step": 2, "action": "scan", "feedback": "negative", "reason": "c"}
POST /episodes/p1:stop {"step": 3, "reason": "d"}
PUT /episodes/p1/outcome {"costs": [0.1, null], "rewards": [0.2, null, null]}
POST /episodes {"id": "p3"}
POST /episodes/p2:stop {"step": 2, "reason": "e"}
PUT /episodes/p2/outcome {"costs": [0.3], "rewards": [0.1, 0.9]}
PUT /episodes/p1/outcome {"costs": [null, 0.2], "rewards": [null, 0.4, 0.7]}
POST /episodes/p3:tell {"step": 1, "action": "scan", "feedback": "positive", "reason": "f"}
POST /episodes {"id": "p4"}
POST /episodes/p4:abandon {"reason": "moved away"}
POST /episodes/p2/outcome:amend {"rewards": [null, 0.35], "reason": "mistyped"}
POST /episodes/p3/steps/1:amend {"feedback": "negative", "reason": "read wrongly"}
POST /episodes/p3:tell {"step": 2, "action": "blood", "feedback": "negative", "reason": "g"}
POST /episodes/p3:stop {"step": 3, "reason": "h"}
PUT /episodes/p3/outcome {"costs": [0.1, 0.1], "rewards": [0, 0.5, null], "final": true}
POST :import {"id": "old", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.7], "rewards": [0.15, 0.6]}
PUT /episodes/p4/outcome {"rewards": [0.3]}
POST /episodes/p1/outcome:amend {"costs": [0.15, null], "rewards": [null, null, 0.65], "reason": "the other lab"}
POST /episodes/p1/steps/2:amend {"action": "blood", "feedback": "positive", "reason": "the other device"}
POST :pause {"reason": "repair", "request": "r1"}
POST /episodes/p2:void {"reason": "entered twice"}
POST :resume {"reason": "repaired", "request": "r2"}
POST /episodes {"id": "p6"}
POST /episodes/p6:void {"reason": "a test"}
POST /episodes {"id": "p5"}
POST :close
POST :reopen {"reason": "too early", "request": "r3"}
POST :close
POST /episodes/p5:tell {"step": 1, "action": "blood", "feedback": "negative", "reason": "i"}
POST /episodes/p5:stop {"step": 2, "reason": "j"}
PUT /episodes/p5/outcome {"costs": [0.05], "rewards": [0.45, 0.55]}
"#;

impl StudyClient {
    /// Sends one of them.
    pub async fn send_command(&self, (method, rest, body): Call) -> Answer {
        let body = Some(body).filter(|body| !body.is_empty());
        let path = self.path(rest);
        self.server
            .call_as(&self.server.admin, method, &path, body)
            .await
    }

    /// Sends all of them.
    pub async fn send_all(&self) {
        for request in COMMANDS.iter() {
            let answer = self.send_command(*request).await;
            assert!(answer.status.is_success(), "{request:?}: {}", answer.text);
        }
    }
}
