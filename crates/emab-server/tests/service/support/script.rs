//! Scripts: requests on one study and the answers expected of them.
//!
//! A line is `REQUEST [-> [STATUS] [/POINTER] [{FIELDS}] [~ TEXT]]`. Without a status the request succeeds: 201 for `open`, 200
//! otherwise. The pointer and the text are those of an error; the fields are those of [`Answer::has`]. A request is one of
//!
//! ```text
//! METHOD PATH [BODY]                 the path continues that of the study
//! open ID, ask ID, stop ID STEP, tell ID STEP ACTION FEEDBACK, abandon ID REASON
//! outcome ID BODY, amend ID BODY, amend-step ID STEP BODY, void ID REASON, import LINE, close, view
//! estimate STEP STATE ACTION -> COUNT MEAN
//! ```
//!
//! An `estimate` of an action without observations is `none`. Lines that begin with `//` are comments.

use super::Answer;
use super::study::{StudyClient, words};

impl StudyClient {
    /// Sends the requests of a script, checks the answers and returns them.
    pub async fn run(&self, script: &str) -> Vec<Answer> {
        let mut answers = Vec::new();
        let lines = script.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with("//")) {
            let (request, expected) = line.split_once(" -> ").unwrap_or((line, ""));
            if let Some(place) = request.strip_prefix("estimate ") {
                self.check_estimate(place, expected).await;
            } else {
                println!("{line}");
                let answer = self.request(request).await;
                let success = if request.starts_with("open ") {
                    201
                } else {
                    200
                };
                answers.push(check(answer, success, expected));
            }
        }
        answers
    }

    async fn check_estimate(&self, place: &str, expected: &str) {
        let [step, state, action] = words(place);
        let found = self.estimate(step.parse().unwrap(), state, action).await;
        let found = found.map_or("none".into(), |(count, mean)| format!("{count} {mean}"));
        assert_eq!(found, expected, "{place}");
    }

    /// Sends the request of a line.
    pub async fn request(&self, request: &str) -> Answer {
        let (verb, rest) = request.split_once(' ').unwrap_or((request, ""));
        let (id, body) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "open" => self.open(id).await,
            "ask" => self.ask(id).await,
            "tell" => {
                let [step, action, feedback] = words(body);
                self.tell(id, step.parse().unwrap(), action, feedback).await
            }
            "stop" => self.stop(id, body.parse().unwrap()).await,
            "abandon" => self.abandon(id, body).await,
            "outcome" => self.outcome(id, body).await,
            "amend" => self.amend(id, body).await,
            "amend-step" => {
                let (step, body) = body.split_once(' ').unwrap();
                let path = format!("/episodes/{id}/steps/{step}:amend");
                self.post(&path, body).await
            }
            "void" => {
                let body = format!(r#"{{"reason": "{body}"}}"#);
                self.post(&format!("/episodes/{id}:void"), &body).await
            }
            "import" => self.import(rest).await,
            "close" => self.post(":close", "").await,
            "view" => self.get("").await,
            method => {
                let (path, body) = (self.path(id), Some(body).filter(|body| !body.is_empty()));
                let admin = &self.server.admin;
                self.server.call_as(admin, method, &path, body).await
            }
        }
    }
}

fn check(answer: Answer, success: u16, expected: &str) -> Answer {
    let (expected, text) = expected.split_once('~').unwrap_or((expected, ""));
    let (status, fields) = expected.split_at(expected.find('{').unwrap_or(expected.len()));
    let (mut wanted, mut pointer) = (success, None);
    for word in status.split_whitespace() {
        match word.parse() {
            Ok(status) => wanted = status,
            Err(_) => pointer = Some(word),
        }
    }
    let mut answer = match pointer {
        Some(pointer) => answer.expect_error_at(wanted, pointer),
        None if wanted >= 400 => answer.expect_error(wanted),
        None => answer.is(wanted),
    };
    if !fields.is_empty() {
        answer = answer.has(serde_json::from_str(fields).unwrap());
    }
    if !text.is_empty() {
        answer = answer.says(text.trim());
    }
    answer
}
