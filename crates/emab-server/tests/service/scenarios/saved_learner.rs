//! Import of a saved learner into a study.

use emab::learners::LearnerConfig;
use emab::{Action, ConditionedEnvironment, Episode, Learner, Role, Stream};
use emab_episodes::{SavedEntry, SavedLearner};
use emab_problem::ProblemFile;
use serde_json::{Value, json};

use crate::support::study::StudyClient;
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

async fn dry(client: &StudyClient<'_>, lines: &str) -> Value {
    let path = client.path(":import?dry_run=true");
    client.server.post(&path, lines).await.is(200).json()
}

#[tokio::test]
async fn the_study_has_the_estimates_of_the_saved_learner() {
    let (mut learner, file) = trained(200);
    let spec = screening().spec().clone();
    let server = TestServer::new();
    let client = server.new_study("clinic", &study(json!({}))).await;
    let all = json!({"taken": 200, "repeated": 0, "dry_run": true, "mistakes": []});
    assert_eq!(dry(&client, &file).await, all);
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
        for (name, value) in [
            ("mean", estimate.mean),
            ("width", estimate.width),
            ("index", estimate.index),
        ] {
            let bits = row[name].as_f64().unwrap().to_bits();
            assert_eq!(bits, value.to_bits(), "{name} of {row}");
        }
    }
    let next = client.open("p1").await.is(201);
    let chosen = learner.choose(1, spec.start());
    assert_ne!(chosen, Action::Stop);
    assert_eq!(next.at("/action"), *spec.action_name(chosen));

    // The same file again changes nothing.
    let again = client.import(&file).await.is(200);
    assert_eq!(
        (again.at("/taken"), again.at("/repeated")),
        (json!(0), json!(200))
    );
    assert_eq!(dry(&client, &file).await["repeated"], 200);
    assert_eq!(client.view().await.at("/learned"), 200);
    client.assert_consistent().await;
}

#[tokio::test]
async fn the_problem_may_be_written_differently() {
    let (_, file) = trained(20);
    let file = file.replace(
        "\"learner\":\"feedbal:width=sound\"",
        "\"learner\":\"psrl\"",
    );
    let questions = file.replace(
        "\n{\"id\"",
        "\n{\"ask\": [1, 2]}\n{ \"ask\" : [2, 0] }\n{\"id\"",
    );
    assert_eq!(questions.matches("ask").count(), 40);
    let server = TestServer::new();
    let words = json!({"name": "ours", "description": "ours", "parameters": {}, "states": 7, "learning": {},
        "learner": "q-learning", "allowed": "t > 0",
        "transition": [[[["max(x - 1, 0)", "x", "min(x + 2, 6)", "min(x + 3, 6)"],
            ["max(x - 2, 0)", "x", "min(x + 1, 6)", "min(x + 3, 6)"],
            ["max(x - 3, 0)", "max(x - 1, 0)", "min(x + 2, 6)", "min(x + 3, 6)"]]]]});
    let client = server.new_study("clinic", &study(words)).await;
    assert_eq!(dry(&client, &questions).await["taken"], 20);
    assert_eq!(client.import(&questions).await.is(200).at("/taken"), 20);
    client.assert_consistent().await;
}

#[tokio::test]
async fn rejects_a_learner_of_another_problem() {
    let (_, file) = trained(3);
    let server = TestServer::new();
    for (i, (fields, pointer, words)) in [
        (
            json!({"horizon": 6}),
            "/problem/horizon",
            "`horizon` is 5 in `screening` and 6 in study",
        ),
        (
            json!({"start": "even"}),
            "/problem/start",
            "`start` is 2 in `screening` and 4 in study",
        ),
        (
            json!({"feedbacks": ["negative", "benign", "suspicious", "malignant"]}),
            "/problem/feedbacks",
            "number 1 of the `feedbacks` is `probably_benign` in `screening` and `benign` in study",
        ),
        (
            json!({"transition": "min(x + f, very_high)"}),
            "/problem/transition",
            "`transition` at t = 1, x = 2, a = 0, f = 0 is 1 in `screening` and 2 in study",
        ),
        (
            json!({"allowed": "t < 3 or a == 0"}),
            "/problem/allowed",
            "`allowed` at t = 3, x = 0, a = 1 is true",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("study{i}");
        let client = server.new_study(&name, &study(fields)).await;
        let refused = client.import(&file).await.expect_error_at(422, pointer);
        let detail = refused.at("/detail").as_str().unwrap().to_owned();
        assert!(
            detail.starts_with("line 1: this learner learned on another problem: "),
            "{detail}"
        );
        assert!(detail.contains(words), "{detail}");
        assert!(
            detail.ends_with("import it into a study of the same problem"),
            "{detail}"
        );
        assert_eq!(client.seq().await, 1);
        // A dry run reports the same error.
        let foreseen = dry(&client, &file).await;
        assert_eq!(foreseen["mistakes"][0], detail);
    }
    server
        .post("/v1/studies/none:import", &file)
        .await
        .expect_error(404);
}

#[tokio::test]
async fn rejects_damaged_files() {
    let (_, file) = trained(3);
    let (head, rest) = file.split_once('\n').unwrap();
    let server = TestServer::new();
    let client = server.new_study("clinic", &study(json!({}))).await;
    for (wrong, status, words) in [
        (head.replacen('1', "2", 1), 400, "line 1: the format is 2"),
        (
            head.replace("\"seed\"", "\"sead\""),
            400,
            "line 1: unknown field `sead`",
        ),
        (
            head.replace("\"horizon\":5", "\"horizon\":0"),
            422,
            "line 1: the problem of this learner is invalid: `horizon`",
        ),
        (
            head.replace("max(x - 1, minimal)", "x - 9"),
            422,
            "`transition` at t = 1, x = 2, a = 0, f = 0: got -7",
        ),
    ] {
        let answer = client
            .import(&format!("{wrong}\n{rest}"))
            .await
            .expect_error(status);
        let detail = answer.at("/detail").as_str().unwrap().to_owned();
        assert!(detail.contains(words), "{detail}");
        assert_eq!(client.seq().await, 1);
    }
    // A second learner, or an event of a log, in the same file is an error.
    let two = client
        .import(&format!("{file}{file}"))
        .await
        .expect_error(400);
    let detail = two.at("/detail").as_str().unwrap().to_owned();
    assert!(
        detail.starts_with("line 5: ") && detail.contains("first line"),
        "{detail}"
    );
    assert_eq!(client.view().await.at("/learned"), 3);
    let export = client.export().await;
    client
        .import(&format!("{head}\n{export}"))
        .await
        .expect_error(400);
    // Questions are allowed in the file of a saved learner only.
    let other = server.new_study("other", STUDY).await;
    let answer = other.import("{\"ask\": [1, 0]}").await.expect_error(400);
    assert!(
        answer.text.contains("unknown field `ask`"),
        "{}",
        answer.text
    );
    // A file without episodes is accepted.
    assert_eq!(client.import(head).await.is(200).at("/taken"), 0);
    client.assert_consistent().await;
}
