//! Import of a saved learner into a study.

use emab::learners::LearnerConfig;
use emab::{Action, ConditionedEnvironment, Episode, Learner, Role, Stream};
use emab_episodes::{SavedEntry, SavedLearner};
use emab_problem::ProblemFile;
use serde_json::{Value, json};

use super::import::taken;
use crate::support::{STUDY, TestServer};

/// A learner that records what it learns from.
struct Noted {
    learner: Box<dyn Learner + Send>,
    past: Vec<SavedEntry>,
}

impl Learner for Noted {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        self.learner.choose(t, x)
    }
    fn learn(&mut self, episode: &Episode) {
        self.past.push(SavedEntry::Episode(episode.clone()));
        self.learner.learn(episode);
    }
    fn reset(&mut self, stream: Stream) {
        self.learner.reset(stream);
    }
}

fn screening() -> ProblemFile {
    let file = ProblemFile::builtin("screening").unwrap().unwrap();
    // Includes episodes that drop out.
    let conditions = file.conditions().with(["dropout=0.1"]).unwrap();
    file.with_conditions(&conditions).unwrap()
}

/// FeedBAL after this many simulated episodes, and its file.
fn trained(episodes: u64) -> (Box<dyn Learner + Send>, String) {
    let file = screening();
    let problem = file.problem().unwrap();
    let config = LearnerConfig::parse("feedbal:width=sound", file.learning()).unwrap();
    let mut noted = Noted {
        learner: config.build(file.spec(), None).unwrap(),
        past: Vec::new(),
    };
    noted.reset(Stream::new(1, 0, Role::Learner));
    let mut world = ConditionedEnvironment::new(problem, &file.scenario(), episodes).unwrap();
    world.restart(1, 0);
    for _ in 0..episodes {
        world.play(&mut noted).unwrap();
    }
    let saved = SavedLearner {
        file: file.without_model().unwrap(),
        learner: "feedbal:width=sound".into(),
        seed: 1,
        entries: noted.past,
    };
    let mut text = Vec::new();
    saved.write(&mut text).unwrap();
    (noted.learner, String::from_utf8(text).unwrap())
}

/// A study of the same problem, with some fields set.
fn study(fields: Value) -> String {
    let file = screening().without_model().unwrap();
    let mut spec: Value = serde_json::from_str(file.canonical()).unwrap();
    spec["learner"] = "feedbal:width=sound".into();
    for (name, value) in fields.as_object().unwrap() {
        spec[name] = value.clone();
    }
    spec.to_string()
}

#[tokio::test]
async fn the_study_has_the_estimates_of_the_saved_learner() {
    let (mut learner, file) = trained(200);
    let spec = screening().spec().clone();
    let server = TestServer::new();
    let client = server.new_study("clinic", &study(json!({}))).await;
    let foreseen = client.dry_run(&file).await.is(200);
    assert_eq!(foreseen.json(), taken(200, 0, true));
    assert_eq!(client.seq().await, 1);
    let done = client.import(&file).await.is(200);
    assert_eq!(done.at("/taken"), 200);

    let estimates = client.estimates().await.at("/estimates");
    let rows = estimates.as_array().unwrap();
    assert!(rows.len() > 10, "{estimates}");
    let index = |names: &emab::Names, name: &Value| {
        (0..names.len()).find(|&i| names.name(i) == name.as_str().unwrap())
    };
    for row in rows {
        let t = row["step"].as_u64().unwrap() as usize;
        let x = index(spec.states(), &row["state"]).unwrap();
        let action = index(spec.actions(), &row["action"]).map_or(Action::Stop, Action::Continue);
        let estimate = learner.estimate(t, x, action).unwrap();
        assert_eq!(row["count"], estimate.count);
        let values = [estimate.mean, estimate.width, estimate.index];
        let bits = ["mean", "width", "index"].map(|name| row[name].as_f64().unwrap().to_bits());
        assert_eq!(bits, values.map(f64::to_bits), "{row}");
    }
    let next = client.open("p1").await.is(201);
    let chosen = learner.choose(1, spec.starts()[0]);
    assert_ne!(chosen, Action::Stop);
    assert_eq!(next.at("/action"), *spec.action_name(chosen));

    // The same file again changes nothing.
    let again = client.import(&file).await.is(200);
    again.has(json!({"taken": 0, "repeated": 200}));
    let again = client.dry_run(&file).await.is(200);
    again.has(json!({"repeated": 200}));
    client.view().await.has(json!({"learned": 200}));
    client.assert_consistent().await;
}

#[tokio::test]
async fn the_problem_may_be_written_differently() {
    let (_, file) = trained(20);
    let file = file.replace("\"feedbal:width=sound\"", "\"psrl\"");
    let asks = "\n{\"ask\": [1, 2]}\n{ \"ask\" : [2, 0] }\n{\"id\"";
    let questions = file.replace("\n{\"id\"", asks);
    assert_eq!(questions.matches("ask").count(), 40);
    let server = TestServer::new();
    let words = json!({"name": "ours", "description": "ours", "parameters": {}, "states": 7, "learning": {},
        "learner": "q-learning", "allowed": "t > 0",
        "transition": [[[["max(x - 1, 0)", "x", "min(x + 2, 6)", "min(x + 3, 6)"],
            ["max(x - 2, 0)", "x", "min(x + 1, 6)", "min(x + 3, 6)"],
            ["max(x - 3, 0)", "max(x - 1, 0)", "min(x + 2, 6)", "min(x + 3, 6)"]]]]});
    let client = server.new_study("clinic", &study(words)).await;
    for answer in [
        client.dry_run(&questions).await,
        client.import(&questions).await,
    ] {
        answer.is(200).has(json!({"taken": 20}));
    }
    client.assert_consistent().await;
}

#[tokio::test]
async fn rejects_a_learner_of_another_problem() {
    let (_, file) = trained(3);
    let server = TestServer::new();
    // A field of the study, and what differs in the problem of the learner, at which pointer.
    let cases = [
        r#"{"horizon": 6} /problem/horizon `horizon` is 5 in `screening` and 6 in study"#,
        r#"{"start": "even"} /problem/start `start` is 2 in `screening` and 4 in study"#,
        r#"{"feedbacks": ["negative", "benign", "suspicious", "malignant"]} /problem/feedbacks number 1 of the `feedbacks` is `probably_benign` in `screening` and `benign` in study"#,
        r#"{"transition": "min(x + f, very_high)"} /problem/transition `transition` at t = 1, x = 2, a = 0, f = 0 is 1 in `screening` and 2 in study"#,
        r#"{"allowed": "t < 3 or a == 0"} /problem/allowed `allowed` at t = 3, x = 0, a = 1 is true"#,
    ];
    for (i, case) in cases.into_iter().enumerate() {
        let (fields, rest) = case.split_once(" /").unwrap();
        let (pointer, words) = rest.split_once(' ').unwrap();
        let spec = study(serde_json::from_str(fields).unwrap());
        let client = server.new_study(&format!("study{i}"), &spec).await;
        let refused = client.import(&file).await;
        let refused = refused.expect_error_at(422, &format!("/{pointer}"));
        let detail = refused.says(words).at("/detail");
        let text = detail.as_str().unwrap();
        let start = "line 1: this learner learned on another problem: ";
        let end = "import it into a study of the same problem";
        assert!(text.starts_with(start) && text.ends_with(end), "{text}");
        assert_eq!(client.seq().await, 1);
        // A dry run reports the same error.
        let foreseen = client.dry_run(&file).await.is(200);
        foreseen.has(json!({"mistakes/0": detail}));
    }
    let none = server.study("none").import(&file).await;
    none.expect_error(404);
}

#[tokio::test]
async fn rejects_damaged_files() {
    let (_, file) = trained(3);
    let (head, rest) = file.split_once('\n').unwrap();
    let server = TestServer::new();
    let client = server.new_study("clinic", &study(json!({}))).await;
    for (old, new, status, words) in [
        ("1", "2", 400, "line 1: the format is 2"),
        ("\"seed\"", "\"sead\"", 400, "line 1: unknown field `sead`"),
        (
            "\"horizon\":5",
            "\"horizon\":0",
            422,
            "line 1: the problem of this learner is invalid: `horizon`",
        ),
        (
            "max(x - 1, minimal)",
            "x - 9",
            422,
            "`transition` at t = 1, x = 2, a = 0, f = 0: got -7",
        ),
    ] {
        let wrong = head.replacen(old, new, 1);
        let answer = client.import(&format!("{wrong}\n{rest}")).await;
        answer.expect_error(status).says(words);
        assert_eq!(client.seq().await, 1);
    }
    // A second learner, or an event of a log, in the same file is an error.
    let two = client.import(&format!("{file}{file}")).await;
    two.expect_error(400).says("line 5: ").says("first line");
    client.view().await.has(json!({"learned": 3}));
    let export = client.export().await;
    let mixed = client.import(&format!("{head}\n{export}")).await;
    mixed.expect_error(400);
    // Questions are allowed in the file of a saved learner only.
    let other = server.new_study("other", STUDY).await;
    let answer = other.import("{\"ask\": [1, 0]}").await.expect_error(400);
    answer.says("unknown field `ask`");
    // A file without episodes is accepted.
    assert_eq!(client.import(head).await.is(200).at("/taken"), 0);
    client.assert_consistent().await;
}
