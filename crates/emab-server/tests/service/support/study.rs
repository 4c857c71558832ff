//! A client of one study.

use emab_server::app::replay::Replay;
use emab_server::audit::audit_study;
use emab_server::domain::event::Record;
use emab_server::http::view::Estimates;
use emab_server::store::sqlite::Sqlite;
use serde_json::Value;

use super::{Answer, TestServer};

/// A client of one study.
pub struct StudyClient<'a> {
    pub server: &'a TestServer,
    pub study: &'a str,
}

impl TestServer {
    /// Creates a study.
    pub async fn new_study<'a>(&'a self, study: &'a str, spec: &str) -> StudyClient<'a> {
        let client = self.study(study);
        self.put(&client.path(""), spec).await.is(201);
        client
    }

    /// A study that need not exist.
    pub fn study<'a>(&'a self, study: &'a str) -> StudyClient<'a> {
        StudyClient {
            server: self,
            study,
        }
    }
}

impl StudyClient<'_> {
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

    pub async fn open(&self, id: &str) -> Answer {
        let body = format!(r#"{{"id": "{id}"}}"#);
        self.server.post(&self.path("/episodes"), &body).await
    }

    pub async fn ask(&self, id: &str) -> Answer {
        self.server.post(&self.episode_path(id, ":ask"), "").await
    }

    /// With a reason.
    pub async fn tell(&self, id: &str, step: u64, action: &str, feedback: &str) -> Answer {
        let body = tell(step, action, feedback);
        self.server
            .post(&self.episode_path(id, ":tell"), &body)
            .await
    }

    /// With a reason.
    pub async fn stop(&self, id: &str, step: u64) -> Answer {
        let body = format!(r#"{{"step": {step}, "reason": "enough"}}"#);
        self.server
            .post(&self.episode_path(id, ":stop"), &body)
            .await
    }

    pub async fn abandon(&self, id: &str, reason: &str) -> Answer {
        let body = format!(r#"{{"reason": "{reason}"}}"#);
        self.server
            .post(&self.episode_path(id, ":abandon"), &body)
            .await
    }

    pub async fn outcome(&self, id: &str, body: &str) -> Answer {
        self.server
            .put(&self.episode_path(id, "/outcome"), body)
            .await
    }

    pub async fn amend(&self, id: &str, body: &str) -> Answer {
        self.server
            .post(&self.episode_path(id, "/outcome:amend"), body)
            .await
    }

    pub async fn import(&self, lines: &str) -> Answer {
        self.server.post(&self.path(":import"), lines).await
    }

    /// An episode from its first request to its outcome.
    pub async fn full_episode(
        &self,
        id: &str,
        steps: &[(&str, &str)],
        costs: &[f64],
        rewards: &[f64],
    ) -> Answer {
        self.open(id).await.is(201);
        for (i, (action, feedback)) in steps.iter().enumerate() {
            self.tell(id, i as u64 + 1, action, feedback).await.is(200);
        }
        self.stop(id, steps.len() as u64 + 1).await.is(200);
        let body = format!(r#"{{"costs": {costs:?}, "rewards": {rewards:?}}}"#);
        self.outcome(id, &body).await.is(200)
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

    /// The log, one event a line.
    pub async fn export(&self) -> String {
        self.get(":export").await.is(200).text
    }

    /// The events of a kind.
    pub async fn events(&self, kind: &str) -> Vec<Value> {
        let export = self.export().await;
        let events = export
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        events
            .filter(|event: &Value| event["kind"] == kind)
            .collect()
    }

    /// The count and mean of an action.
    pub async fn estimate(&self, step: u64, state: &str, action: &str) -> Option<(u64, f64)> {
        let rows = self.estimates().await.at("/estimates");
        let row =
            rows.as_array().unwrap().iter().find(|row| {
                row["step"] == step && row["state"] == state && row["action"] == action
            })?;
        Some((
            row["count"].as_u64().unwrap(),
            row["mean"].as_f64().unwrap(),
        ))
    }

    /// Asserts that the store, the export and the estimates follow from the log.
    pub async fn assert_consistent(&self) {
        let mut store = Sqlite::inspect(&self.server.file()).unwrap();
        store.begin_snapshot().unwrap();
        let head = store.head(self.study).unwrap().unwrap();
        let report = audit_study(&mut *store, head.clone()).unwrap();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(report.recomputed, head.seq);

        let export = self.get(":export").await.is(200);
        assert_eq!(export.header("emab-seq"), head.seq.to_string());
        assert_eq!(export.header("emab-hash"), head.hash);
        let mut replay = Replay::default();
        for line in export.text.lines() {
            let record = Record::from_line(line).unwrap();
            assert_eq!(replay.feed(&record), Ok(None), "{line}");
        }
        replay.refresh().unwrap();
        let estimates = Estimates::of(replay.state.as_mut().unwrap());
        let estimates = serde_json::to_string(&estimates).unwrap();
        assert_eq!(self.estimates().await.text, estimates);
    }
}

/// The body of a tell, with a reason.
pub fn tell(step: u64, action: &str, feedback: &str) -> String {
    format!(
        r#"{{"step": {step}, "action": "{action}", "feedback": "{feedback}", "reason": "as I see it"}}"#
    )
}
