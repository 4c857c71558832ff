//! The log of a study as decisions: replayed, evaluated and fitted.

use emab::{Role, Stream};
use emab_logs::evaluate::Settings;
use emab_logs::read::read_csv_log;
use emab_logs::{DecisionLog, Policy, evaluate};
use emab_server::decision_log::{of_export, of_store};
use emab_server::log_source::{LogSource, study_problem};
use emab_server::remote::StudyUrl;
use emab_server::store::sqlite::Sqlite;
use emab_server::tables::{Format, Table, write};
use emab_server::transport::Limits;
use emab_testkit::postgres::Server;
use serde_json::json;

use super::in_flight::overlapping;
use super::postgres_replicas::copy;
use crate::support::socket::Running;
use crate::support::study::{StudyClient, clinic};
use crate::support::{STUDY, TestServer, study_of, study_with};

fn read(export: &str) -> DecisionLog {
    of_export(export.as_bytes(), |_| {}).unwrap()
}

/// The episodes as text: an unknown value is NaN, which equals nothing.
fn shown(log: &DecisionLog) -> String {
    format!("{:?}", log.episodes)
}

async fn store_log(client: &StudyClient) -> DecisionLog {
    let mut store = Sqlite::inspect(&client.server.file()).unwrap();
    store.begin_snapshot().unwrap();
    let head = store.head(&client.study).unwrap().unwrap();
    of_store(&mut *store, &head, |_| {}).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_service_is_a_log() {
    let client = clinic().await;
    client
        .episode("p1", "blood positive 0.1", &[0.0, 1.0])
        .await;
    let server = &client.server;
    let router = server.router.clone();
    let running = Running::start(router, Limits::default(), None).await;
    let url = format!("http://{}/v1/studies/{}", running.addr, client.study);
    let export = async |url: &str, token: &str| {
        let (url, token) = (StudyUrl::parse(url, None).unwrap(), token.to_owned());
        let read = tokio::task::spawn_blocking(move || url.export(&token));
        read.await.unwrap()
    };
    let bytes = export(&url, &server.viewer).await.unwrap();
    let log = read(std::str::from_utf8(&bytes).unwrap());
    assert_eq!(shown(&log), shown(&read(&client.export_file().await)));
    // Errors say what failed, and never the token.
    for (url, token, expected) in [
        (url.clone(), "emab_wrong", " answers 401: "),
        (
            url.replace("clinic", "clinics"),
            &*server.viewer,
            " answers 404: ",
        ),
        (url.clone(), &*server.operator, " answers 403: "),
        (
            url.clone(),
            "no\ntoken",
            "the token has characters that no token has",
        ),
    ] {
        let error = export(&url, token).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains(token), "{error}");
    }
    let gone = "http://127.0.0.1:1/v1/studies/clinic";
    let error = export(gone, "emab_token").await.unwrap_err().to_string();
    assert!(
        error.starts_with("the service at 127.0.0.1:1 cannot be read"),
        "{error}"
    );
}

#[test]
fn no_error_of_an_address_contains_a_password() {
    for place in [
        "http://ada:s3cret@desk/v1/studies/clinic",
        "http://ada:s3cret@desk:999999/v1/studies/clinic",
        "postgress://ada:s3cret@desk/emab",
        "postgres://ada:s3cret@127.0.0.1:1/emab",
    ] {
        let source = LogSource {
            place,
            study: None,
            problem: None,
            progress: &mut |_| {},
        };
        let error = source.read().map(|_| ()).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn every_kind_of_event_becomes_a_log() {
    let client = clinic().await;
    client.send_all().await;
    let log = read(&client.export_file().await);
    let counts = log.counts();
    // p1, p3, p4, p5 and the imported one; p2 and p6 are voided.
    assert_eq!((counts.learned, counts.voided, counts.episodes), (5, 2, 7));
    assert_eq!(
        (counts.open, counts.abandoned, counts.incomplete),
        (0, 0, 1)
    );
    let p1 = log.episodes.iter().find(|it| it.id == "p1").unwrap();
    // As corrected: the second step, a cost and a reward.
    assert_eq!(p1.episode.actions, [0, 0]);
    assert_eq!(p1.episode.costs, [0.15, 0.2]);
    assert_eq!(p1.episode.rewards, [0.2, 0.4, 0.65]);
    assert_eq!(p1.earlier.len(), 2);
    assert_eq!(p1.earlier[0].episode.costs, [0.1, 0.2]);
    client.assert_consistent().await;
    let stored = store_log(&client).await;
    assert_eq!(shown(&stored), shown(&log));
    // The export without its first line is one as well.
    assert_eq!(shown(&read(&client.export().await)), shown(&log));
}

#[tokio::test]
async fn choices_in_flight_are_replayed() {
    let client = TestServer::new();
    let client = client
        .new_study("clinic", &study_of("feedbal-pooled"))
        .await;
    let (client, _) = overlapping(client, |client| client).await;
    let log = read(&client.export_file().await);
    assert!(log.counts().abandoned > 0);
    client.assert_consistent().await;
}

/// Requests of every kind in random order, many of which the service rejects: overrides, corrections, and cases that end and are
/// voided while others wait.
#[tokio::test]
async fn random_histories_are_replayed() {
    let learners = [
        "feedbal-pooled",
        "feedbal-pooled:explore=3",
        "feedbal-model",
        "feedbal:width=sound",
    ];
    for (seed, learner) in (1..).zip(learners) {
        let client = TestServer::new()
            .new_study("clinic", &study_of(learner))
            .await;
        let mut stream = Stream::new(seed, 0, Role::Learner);
        let mut accepted = 0;
        for number in 0..1200 {
            let mut draw = |n: u64| stream.bits() % n;
            let id = format!("p{}", (number / 12_u64).saturating_sub(draw(6)));
            let step = 1 + draw(3);
            let action = ["blood", "scan"][draw(2) as usize];
            let feedback = ["negative", "positive"][draw(2) as usize];
            let value = draw(8) as f64 / 8.0;
            let answer = match draw(24) {
                0..=3 => client.open(&id).await,
                4..=11 => client.tell(&id, step, action, feedback).await,
                12 | 13 => client.stop(&id, step).await,
                14..=19 => {
                    let costs = &[json!(value), json!(null), json!(0.5)][..draw(3) as usize];
                    let rewards = vec![0.25 + value / 2.0; costs.len() + 1];
                    let outcome =
                        json!({"costs": costs, "rewards": rewards, "final": draw(2) == 0});
                    client.outcome(&id, &outcome.to_string()).await
                }
                20 => {
                    let body =
                        json!({"action": action, "feedback": feedback, "reason": "mistyped"});
                    let path = format!("/episodes/{id}/steps/{step}:amend");
                    client.post(&path, &body.to_string()).await
                }
                21 => {
                    let body = json!({"rewards": [value], "reason": "mistyped"});
                    client.amend(&id, &body.to_string()).await
                }
                _ if draw(4) > 0 => client.abandon(&id, "moved away").await,
                _ => {
                    let path = format!("/episodes/{id}:void");
                    client.post(&path, r#"{"reason": "entered twice"}"#).await
                }
            };
            accepted += u32::from(answer.status.is_success());
        }
        let log = read(&client.export_file().await);
        let counts = log.counts();
        assert!(
            accepted > 200 && counts.learned > 5 && counts.voided > 0 && counts.overridden > 0,
            "{counts:?}"
        );
        client.assert_consistent().await;
    }
}

#[tokio::test]
async fn a_table_is_the_same_log() {
    let client = clinic().await;
    for (i, cost) in ["0.1", "0.3", "0.2", "0.4"].into_iter().enumerate() {
        let steps = format!("blood positive {cost}, scan negative 0.2");
        client
            .episode(&format!("p{i}"), &steps, &[0.0, 0.5, 1.0])
            .await;
    }
    client.open("p9").await.is(201);
    let log = read(&client.export_file().await);
    let mut store = Sqlite::inspect(&client.server.file()).unwrap();
    let head = store.head("clinic").unwrap().unwrap();
    let table = write(
        &mut *store,
        &head,
        Table::Decisions,
        Format::Csv,
        Vec::new(),
    );
    let (bytes, _) = table.unwrap();
    let table = read_csv_log(log.file.clone(), &bytes[..]).unwrap();
    assert_eq!(shown(&table), shown(&log));
    let json = |log: &DecisionLog| {
        let choose = |_, _| Some(emab::Action::Stop);
        let mut policy = Policy::new("stop", false, choose);
        serde_json::to_string(&evaluate(log, &mut policy, &Settings::default()).unwrap()).unwrap()
    };
    assert_eq!(json(&table), json(&log));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_postgres_store_is_a_log() {
    let made = tokio::task::spawn_blocking(|| {
        let server = Server::shared().unwrap();
        let url = server.database("decision_log").unwrap();
        (server, copy(&url), url)
    });
    let (_server, service, url) = made.await.unwrap();
    let client = service.new_study("clinic", STUDY).await;
    client.send_all().await;
    let export = client.export_file().await;
    let read_store = move || {
        let source = LogSource {
            place: &url,
            study: Some("clinic"),
            problem: None,
            progress: &mut |_| {},
        };
        shown(&source.read().unwrap())
    };
    let stored = tokio::task::spawn_blocking(read_store).await.unwrap();
    assert_eq!(stored, shown(&read(&export)));
    service.service.finish();
}

#[tokio::test]
async fn a_broken_log_is_named() {
    let client = clinic().await;
    client
        .episode("p1", "blood positive 0.1", &[0.0, 1.0])
        .await;
    let export = client.export_file().await;
    let error = |text: &str| of_export(text.as_bytes(), |_| {}).unwrap_err().to_string();
    let changed = export.replace("\"positive\"", "\"negative\"");
    assert!(
        error(&changed).starts_with("event 1: its hash"),
        "{}",
        error(&changed)
    );
    let told = export.replace("\"feedback\":\"positive\"", "\"feedback\":\"negative\"");
    assert!(
        error(&told).starts_with("event 3: its hash"),
        "{}",
        error(&told)
    );
    let lines: Vec<&str> = export.lines().collect();
    let short = lines[..lines.len() - 1].join("\n");
    assert!(
        error(&short).contains("names event 5 as the last one"),
        "{}",
        error(&short)
    );
    let gap = [&lines[..3], &lines[4..]].concat().join("\n");
    assert!(
        error(&gap).starts_with("event 4: it has number 4, after 2"),
        "{}",
        error(&gap)
    );
    assert_eq!(error(""), "the log has no events");
    assert!(error("{\"emab_export\":9}\n").contains("format version 9"));
}

#[tokio::test]
async fn a_log_of_another_problem_is_rejected() {
    let client = clinic().await;
    client
        .episode("p1", "blood positive 0.1", &[0.0, 1.0])
        .await;
    let file = client.server.file();
    let source = |problem| {
        LogSource {
            place: file.to_str().unwrap(),
            study: None,
            problem,
            progress: &mut |_| {},
        }
        .read()
    };
    assert_eq!(source(None).unwrap().counts().learned, 1);
    let same = study_problem(STUDY.as_bytes()).unwrap().unwrap();
    assert_eq!(source(Some(same)).unwrap().counts().learned, 1);
    let other = study_with(json!({"transition": "2 - f"}));
    let other = study_problem(other.as_bytes()).unwrap().unwrap();
    let error = source(Some(other)).unwrap_err().to_string();
    assert!(
        error.starts_with("the log is of another problem: `transition` at t = 1"),
        "{error}"
    );
}

#[tokio::test]
async fn the_current_policies_are_evaluated() {
    let server = TestServer::new();
    let spec = study_with(json!({"shadow": ["feedbal-pooled", "feedbal"]}));
    let client = server.new_study("clinic", &spec).await;
    let empty = client.get("/evaluation").await.expect_error(422);
    assert!(
        empty.text.contains("no episode with an outcome"),
        "{}",
        empty.text
    );
    for i in 0..6 {
        client
            .episode(&format!("p{i}"), "blood positive 0.1", &[0.0, 1.0])
            .await;
    }
    let answer = client.get("/evaluation").await.is(200);
    let log = read(&client.export_file().await);
    assert_eq!(answer.at("/as_of"), client.seq().await);
    assert_eq!(
        (answer.at("/episodes"), answer.at("/overridden")),
        (json!(6), json!(6))
    );
    assert_eq!(
        answer.at("/logged_value"),
        json!(log.logged_gain().unwrap().mean)
    );
    let policies = answer.at("/policies");
    let names: Vec<_> = policies
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["learner"].clone())
        .collect();
    assert_eq!(names, ["feedbal:width=sound", "feedbal-pooled", "feedbal"]);
    assert_eq!(
        (policies[0]["shadow"].clone(), policies[1]["shadow"].clone()),
        (json!(false), json!(true))
    );
    // The current choices of the learner, evaluated on the export, give the same numbers.
    let document = client.get("/policy").await.is(200).text.clone();
    let mut policy = Policy::read("learner", &document, None, log.spec()).unwrap();
    let exported = evaluate(&log, &mut policy, &Settings::default()).unwrap();
    assert!(exported.from_log);
    for (name, expected) in [
        ("lower", exported.value.lower),
        ("value", exported.value.value),
        ("upper", exported.value.upper),
    ] {
        assert_eq!(policies[0][name], json!(expected), "{name}");
    }
    let without = exported.without_overrides.unwrap();
    assert_eq!(
        policies[0]["without_overrides"],
        json!({"value": without.value, "lower": without.lower, "upper": without.upper})
    );
    let narrow = client.get("/evaluation?confidence=0.5").await.is(200);
    assert_eq!(narrow.at("/confidence"), json!(0.5));
    for wrong in ["1", "0", "x", "NaN"] {
        client
            .get(&format!("/evaluation?confidence={wrong}"))
            .await
            .expect_error(400);
    }
    client
        .get("/evaluation?confidense=0.5")
        .await
        .expect_error(400);
    // As the log, it shows the shadow learners.
    let path = client.path("/evaluation");
    for (token, status) in [
        (&server.viewer, 200),
        (&server.operator, 403),
        (&server.blinded, 403),
    ] {
        server.call_as(token, "GET", &path, None).await.is(status);
    }
}
