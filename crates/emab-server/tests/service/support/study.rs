//! A client of one study.

use std::sync::Arc;

use emab::learners::LearnerConfig;
use emab_logs::DecisionLog;
use emab_server::app::replay::Replay;
use emab_server::audit::audit_study;
use emab_server::decision_log::of_export;
use emab_server::domain::event::Record;
use emab_server::http::view::Estimates;
use emab_server::store::sqlite::Sqlite;
use serde_json::{Value, json};

use super::{Answer, STUDY, TestServer};

/// A client of one study.
#[derive(Clone)]
pub struct StudyClient {
    pub server: Arc<TestServer>,
    pub study: String,
}

/// Asserts that the learner of a log, replayed on it, repeats every recommendation that it made.
fn assert_replayed(log: &DecisionLog) {
    let learner = log.learner.as_deref().unwrap();
    let config = LearnerConfig::parse(learner, log.file.learning()).unwrap();
    let replayed = emab_logs::replay(log, &config, 1).unwrap();
    assert_eq!(replayed.recommended_same, replayed.recommended, "{learner}");
}

/// A new service with the study `clinic`.
pub async fn clinic() -> StudyClient {
    TestServer::new().new_study("clinic", STUDY).await
}

impl TestServer {
    /// Creates a study.
    pub async fn new_study(self: &Arc<Self>, study: &str, spec: &str) -> StudyClient {
        let client = self.study(study);
        self.put(&client.path(""), spec).await.is(201);
        client
    }

    /// A study that need not exist.
    pub fn study(self: &Arc<Self>, study: &str) -> StudyClient {
        StudyClient {
            server: self.clone(),
            study: study.into(),
        }
    }
}

impl StudyClient {
    /// A path of the study.
    pub fn path(&self, rest: &str) -> String {
        format!("/v1/studies/{}{rest}", self.study)
    }

    /// A path of an episode.
    pub fn episode_path(&self, id: &str, rest: &str) -> String {
        self.path(&format!("/episodes/{id}{rest}"))
    }

    pub async fn get(&self, rest: &str) -> Answer {
        self.server.get(&self.path(rest)).await
    }

    pub async fn post(&self, rest: &str, body: &str) -> Answer {
        self.server.post(&self.path(rest), body).await
    }

    pub async fn open(&self, id: &str) -> Answer {
        self.post("/episodes", &format!(r#"{{"id": "{id}"}}"#))
            .await
    }

    pub async fn ask(&self, id: &str) -> Answer {
        self.post(&format!("/episodes/{id}:ask"), "").await
    }

    /// With a reason.
    pub async fn tell(&self, id: &str, step: u64, action: &str, feedback: &str) -> Answer {
        let body =
            json!({"step": step, "action": action, "feedback": feedback, "reason": "as I see it"});
        let body = body.to_string();
        self.post(&format!("/episodes/{id}:tell"), &body).await
    }

    /// With a reason.
    pub async fn stop(&self, id: &str, step: u64) -> Answer {
        let body = format!(r#"{{"step": {step}, "reason": "enough"}}"#);
        self.post(&format!("/episodes/{id}:stop"), &body).await
    }

    pub async fn abandon(&self, id: &str, reason: &str) -> Answer {
        let body = format!(r#"{{"reason": "{reason}"}}"#);
        self.post(&format!("/episodes/{id}:abandon"), &body).await
    }

    pub async fn outcome(&self, id: &str, body: &str) -> Answer {
        let path = self.episode_path(id, "/outcome");
        self.server.put(&path, body).await
    }

    pub async fn amend(&self, id: &str, body: &str) -> Answer {
        let path = format!("/episodes/{id}/outcome:amend");
        self.post(&path, body).await
    }

    pub async fn import(&self, lines: &str) -> Answer {
        self.post(":import", lines).await
    }

    /// Discards the study, which is being restored.
    pub async fn discard(&self) -> Answer {
        let admin = &self.server.admin;
        let (server, path) = (&self.server, self.path(""));
        server.call_as(admin, "DELETE", &path, None).await
    }

    pub async fn dry_run(&self, lines: &str) -> Answer {
        self.post(":import?dry_run=true", lines).await
    }

    pub async fn replay(&self, id: &str, step: impl std::fmt::Display) -> Answer {
        let path = format!("/episodes/{id}/decisions/{step}:replay");
        self.get(&path).await
    }

    /// An episode from its first request to its outcome. Steps are `action feedback cost`, separated by commas.
    pub async fn episode(&self, id: &str, steps: &str, rewards: &[f64]) {
        self.open(id).await.is(201);
        let mut costs = Vec::new();
        for (step, text) in (1..).zip(steps.split(", ")) {
            let [action, feedback, cost] = words(text);
            self.tell(id, step, action, feedback).await.is(200);
            costs.push(cost.parse::<f64>().unwrap());
        }
        self.stop(id, costs.len() as u64 + 1).await.is(200);
        let body = format!(r#"{{"costs": {costs:?}, "rewards": {rewards:?}}}"#);
        self.outcome(id, &body).await.is(200);
    }

    /// The study, read as an admin.
    pub async fn view(&self) -> Answer {
        self.get("").await.is(200)
    }

    /// The number of its last event.
    pub async fn seq(&self) -> u64 {
        self.view().await.at("/seq").as_u64().unwrap()
    }

    pub async fn estimates(&self) -> Answer {
        self.get("/estimates").await.is(200)
    }

    /// An export.
    pub async fn export_file(&self) -> String {
        self.get(":export").await.is(200).text
    }

    /// The log, one event a line: an export without its first line.
    pub async fn export(&self) -> String {
        let export = self.export_file().await;
        let (header, events) = export.split_once('\n').unwrap();
        assert!(header.starts_with("{\"emab_export\":2,"), "{header}");
        events.to_owned()
    }

    /// The events of a kind.
    pub async fn events(&self, kind: &str) -> Vec<Value> {
        let export = self.export().await;
        let events = export.lines().map(serde_json::from_str);
        let events = events.map(|event: Result<Value, _>| event.unwrap());
        events.filter(|event| event["kind"] == kind).collect()
    }

    /// The count and mean of an action.
    pub async fn estimate(&self, step: u64, state: &str, action: &str) -> Option<(u64, f64)> {
        let rows = self.estimates().await.at("/estimates");
        let place = [json!(step), json!(state), json!(action)];
        let mut rows = rows.as_array().unwrap().iter();
        let row =
            rows.find(|row| ["step", "state", "action"].map(|name| row[name].clone()) == place)?;
        Some((row["count"].as_u64()?, row["mean"].as_f64()?))
    }

    /// Asserts that the store, the export and the estimates follow from the log, and that its learner repeats what it recommended.
    pub async fn assert_consistent(&self) {
        let mut store = Sqlite::inspect(&self.server.file()).unwrap();
        store.begin_snapshot().unwrap();
        let head = store.head(&self.study).unwrap().unwrap();
        let report = audit_study(&mut *store, head.clone()).unwrap();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(report.recomputed, head.seq);

        let export = self.get(":export").await.is(200);
        assert_eq!(export.header("emab-seq"), head.seq.to_string());
        assert_eq!(export.header("emab-hash"), head.hash);
        let mut replay = Replay::default();
        for line in export.text.lines().skip(1) {
            let record = Record::from_line(line).unwrap();
            assert_eq!(replay.feed(&record), Ok(None), "{line}");
        }
        replay.refresh().unwrap();
        let estimates = Estimates::of(replay.state.as_mut().unwrap());
        let estimates = serde_json::to_string(&estimates).unwrap();
        assert_eq!(self.estimates().await.text, estimates);
        assert_replayed(&of_export(export.text.as_bytes(), |_| {}).unwrap());
    }
}

/// The words of a text.
pub fn words<const N: usize>(text: &str) -> [&str; N] {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .try_into()
        .unwrap_or_else(|_| panic!("not {N} words: {text}"))
}
