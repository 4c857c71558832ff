//! Episodes from the first decision to the estimates, as recommended and overridden.

use serde_json::json;

use crate::support::{STUDY, TestServer, study_of};

#[tokio::test]
async fn an_episode_from_its_first_decision_to_its_estimates() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let first = client.open("p1").await.is(201);
    assert_eq!(first.header("location"), client.episode_path("p1", ""));
    // Algorithm 2 stops at a pair that it has not observed.
    assert_eq!(first.at("/action"), "stop");
    assert_eq!(first.at("/step"), 1);
    assert_eq!(first.at("/state"), "unknown");
    assert_eq!(first.at("/explored"), true);
    assert_eq!(first.at("/as_of"), 1);
    let view = client.view().await;
    assert_eq!(first.at("/spec_hash"), view.at("/spec_hash"));

    // Asking again gives the same bytes.
    let ask = client.ask("p1").await.is(200);
    assert_eq!(ask.text, first.text);
    assert_eq!(client.open("p1").await.is(200).text, first.text);

    // Another action is an override and needs a reason.
    let path = client.episode_path("p1", ":tell");
    let tell = r#"{"step": 1, "action": "blood", "feedback": "positive"}"#;
    server
        .post(&path, tell)
        .await
        .expect_error_at(422, "/reason");
    let tell =
        r#"{"step": 1, "action": "blood", "feedback": "positive", "reason": "family history"}"#;
    let second = server.post(&path, tell).await.is(200);
    assert_eq!(second.at("/step"), 2);
    assert_eq!(second.at("/state"), "suspect");
    assert_eq!(server.post(&path, tell).await.is(200).text, second.text);
    let other = r#"{"step": 1, "action": "scan", "feedback": "positive", "reason": "x"}"#;
    let conflict = server.post(&path, other).await.expect_error(409);
    assert_eq!(conflict.at("/current_step"), 2);

    let stop = client.episode_path("p1", ":stop");
    server.post(&stop, r#"{"step": 2}"#).await.is(200);
    assert_eq!(client.estimate(1, "unknown", "blood").await, None);
    let outcome = r#"{"costs": [0.25], "rewards": [0, 1]}"#;
    let done = client.outcome("p1", outcome).await.is(200);
    assert_eq!(done.at("/status"), "learned");
    // The estimates are of the action taken.
    assert_eq!(
        client.estimate(1, "unknown", "blood").await,
        Some((1, 0.75))
    );
    assert_eq!(client.estimate(1, "unknown", "stop").await, Some((1, 0.0)));
    assert_eq!(client.estimate(2, "suspect", "stop").await, Some((1, 1.0)));
    client.assert_consistent().await;
}

#[tokio::test]
async fn an_episode_is_read_with_all_its_steps() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let first = client.open("p1").await.is(201);
    let second = client.tell("p1", 1, "scan", "negative").await.is(200);
    let open = client.get("/episodes/p1").await.is(200);
    assert_eq!(open.at("/status"), "open");
    assert_eq!(open.at("/outcome"), json!(null));
    client.stop("p1", 2).await.is(200);
    client
        .outcome("p1", r#"{"rewards": [null, 0.5]}"#)
        .await
        .is(200);
    let read = client.get("/episodes/p1").await.is(200);
    assert_eq!(read.at("/status"), "stopped");
    assert_eq!(
        (read.at("/step"), read.at("/state")),
        (json!(2), json!("clear"))
    );
    assert_eq!(
        read.at("/outcome"),
        json!({"costs": [null], "rewards": [null, 0.5], "final": false})
    );
    assert_eq!(
        (read.at("/opened"), read.at("/touched")),
        (json!(2), json!(5))
    );
    let expected = json!([
        {"step": 1, "state": "unknown", "decision": first.json(), "action": "scan", "feedback": "negative",
            "override": true, "reason": "as I see it"},
        {"step": 2, "state": "clear", "decision": second.json(), "action": "stop", "feedback": null,
            "override": false, "reason": "enough"},
    ]);
    assert_eq!(read.at("/steps"), expected);
    // The list contains it without its steps.
    let list = client.get("/episodes").await.is(200);
    assert_eq!(list.at("/episodes/0/episode"), "p1");
    assert_eq!(list.at("/episodes/0/steps"), json!(null));
    let open = client.get("/episodes?open=true").await.is(200);
    assert_eq!(open.at("/episodes"), json!([]));
}

#[tokio::test]
async fn names_and_indices_mean_the_same() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.open("p1").await.is(201);
    let path = client.episode_path("p1", ":tell");
    let by_name = r#"{"step": 1, "action": "scan", "feedback": "positive", "reason": "x"}"#;
    let recorded = server.post(&path, by_name).await.is(200);
    assert_eq!(recorded.at("/state"), "suspect");
    // The same by index, and with integral floats.
    let by_index = r#"{"step": 1.0, "action": 1, "feedback": 1.0, "reason": "x"}"#;
    assert_eq!(
        server.post(&path, by_index).await.is(200).text,
        recorded.text
    );
}

#[tokio::test]
async fn an_episode_without_an_id_gets_one() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let path = client.path("/episodes");
    let mut names = Vec::new();
    for body in [None, Some("{}"), Some("null"), Some(r#"{"id": null}"#)] {
        let answer = server.call_as(&server.admin, "POST", &path, body).await;
        let name = answer.is(201).at("/episode");
        client.ask(name.as_str().unwrap()).await.is(200);
        assert!(!names.contains(&name));
        names.push(name);
    }
    assert_eq!(client.view().await.at("/open"), 4);
}

#[tokio::test]
async fn a_stop_against_the_recommendation_is_an_override() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client
        .full_episode("a", &[("blood", "positive")], &[0.0], &[0.0, 1.0])
        .await;
    client
        .full_episode("b", &[("scan", "positive")], &[0.0], &[0.0, 1.0])
        .await;
    let next = client.open("p1").await.is(201);
    assert_ne!(next.at("/action"), "stop");

    let stop = client.episode_path("p1", ":stop");
    server
        .post(&stop, r#"{"step": 1}"#)
        .await
        .expect_error_at(422, "/reason");
    let stopped = server
        .post(&stop, r#"{"step": 1, "reason": "refused the needle"}"#)
        .await
        .is(200);
    assert_eq!(stopped.at("/status"), "stopped");
    let event = client.events("stopped").await.pop().unwrap();
    assert_eq!(event["data"]["override"], true);
    assert_eq!(event["data"]["reason"], "refused the needle");
    let read = client.get("/episodes/p1").await.is(200);
    assert_eq!(read.at("/steps/0/override"), true);
    assert_eq!(read.at("/steps/0/action"), "stop");

    client.outcome("p1", r#"{"rewards": [0.5]}"#).await.is(200);
    // Two zeros before, now 0.5.
    assert_eq!(
        client.estimate(1, "unknown", "stop").await,
        Some((3, 0.5 / 3.0))
    );
    client.assert_consistent().await;
}

#[tokio::test]
async fn the_learner_learns_from_the_action_taken() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client
        .full_episode("a", &[("blood", "positive")], &[0.0], &[0.0, 1.0])
        .await;
    client
        .full_episode("b", &[("scan", "positive")], &[0.0], &[0.0, 0.25])
        .await;
    let next = client.open("p1").await.is(201);
    assert_eq!(next.at("/action"), "blood");
    let path = client.episode_path("p1", ":tell");
    let scan = r#"{"step": 1, "action": "scan", "feedback": "negative"}"#;
    server
        .post(&path, scan)
        .await
        .expect_error_at(422, "/reason");
    // A blank reason is not accepted.
    let blank = r#"{"step": 1, "action": "scan", "feedback": "negative", "reason": " "}"#;
    server
        .post(&path, blank)
        .await
        .expect_error_at(422, "/reason");
    client.tell("p1", 1, "scan", "negative").await.is(200);
    client.stop("p1", 2).await.is(200);
    client
        .outcome("p1", r#"{"costs": [0.5], "rewards": [0, 0.75]}"#)
        .await
        .is(200);
    assert_eq!(client.estimate(1, "unknown", "blood").await, Some((1, 1.0)));
    assert_eq!(client.estimate(1, "unknown", "scan").await, Some((2, 0.25)));
    let recorded = client.events("told").await.pop().unwrap();
    assert_eq!(recorded["data"]["override"], true);
    assert_eq!(recorded["data"]["action"], "scan");

    // The recommended action needs no reason.
    let next = client.open("p2").await.is(201).at("/action");
    assert_eq!(next, "blood");
    let body = r#"{"step": 1, "action": "blood", "feedback": "negative"}"#;
    server
        .post(&client.episode_path("p2", ":tell"), body)
        .await
        .is(200);
    let recorded = client.events("told").await.pop().unwrap();
    assert_eq!(recorded["data"]["override"], false);
    client.assert_consistent().await;
}

#[tokio::test]
async fn outcomes_come_late_while_many_episodes_are_open() {
    const PATIENTS: usize = 40;
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let id = |i: usize| format!("p{i:02}");
    let mut first = Vec::new();
    for i in 0..PATIENTS {
        first.push(client.open(&id(i)).await.is(201));
    }
    let view = client.view().await;
    assert_eq!(
        (view.at("/open"), view.at("/learned")),
        (json!(PATIENTS), json!(0))
    );
    for i in 0..PATIENTS {
        let action = ["blood", "scan"][i % 2];
        let feedback = ["negative", "positive"][i / 2 % 2];
        client.tell(&id(i), 1, action, feedback).await.is(200);
    }
    for i in 0..PATIENTS {
        client.stop(&id(i), 2).await.is(200);
    }
    let view = client.view().await;
    assert_eq!(
        (view.at("/open"), view.at("/learned")),
        (json!(0), json!(0))
    );
    // The outcomes come later and in another order.
    for i in (0..PATIENTS).rev() {
        let reward = [0.25, 0.75][i % 2];
        let body = format!(r#"{{"costs": [0.125], "rewards": [0.5, {reward}]}}"#);
        let recorded = client.outcome(&id(i), &body).await.is(200);
        assert_eq!(recorded.at("/learned"), PATIENTS - 1 - i);
    }
    assert_eq!(
        client.estimate(1, "unknown", "blood").await,
        Some((20, 0.125))
    );
    assert_eq!(
        client.estimate(1, "unknown", "scan").await,
        Some((20, 0.625))
    );
    assert_eq!(client.estimate(1, "unknown", "stop").await, Some((40, 0.5)));
    // The first decision is unchanged.
    let path = client.episode_path(&id(7), "/decisions/1:replay");
    let replay = server.get(&path).await.is(200);
    assert_eq!(replay.at("/recorded"), first[7].json());
    assert_eq!(replay.at("/equal"), true);
    client.assert_consistent().await;
}

#[tokio::test]
async fn an_abandoned_episode_accepts_its_outcome_later() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.open("p1").await.is(201);
    client.tell("p1", 1, "scan", "positive").await.is(200);
    let gone = client.abandon("p1", "moved away").await.is(200);
    assert_eq!(gone.at("/status"), "abandoned");
    client
        .tell("p1", 2, "scan", "positive")
        .await
        .expect_error(409);
    client.stop("p1", 2).await.expect_error(409);
    let view = client.view().await;
    assert_eq!(
        (view.at("/open"), view.at("/missing")),
        (json!(0), json!(1))
    );

    client
        .outcome("p1", r#"{"costs": [0.5], "rewards": [null, 0.25]}"#)
        .await
        .is(200);
    assert_eq!(client.view().await.at("/missing"), 1);
    let whole = client.outcome("p1", r#"{"rewards": [0.75, 0.25]}"#).await;
    assert_eq!(whole.is(200).at("/status"), "learned");
    let view = client.view().await;
    assert_eq!(
        (view.at("/missing"), view.at("/learned")),
        (json!(0), json!(1))
    );
    assert_eq!(
        client.estimate(1, "unknown", "scan").await,
        Some((1, -0.25))
    );
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_closed_study_accepts_outcomes_and_no_episodes() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let first = client.open("p1").await.is(201);
    let closed = server.post(&client.path(":close"), "").await.is(200);
    assert_eq!(closed.at("/closed"), true);
    client.open("p2").await.expect_error(409);
    let past = r#"{"id": "old", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}"#;
    client.import(past).await.expect_error(409);
    // Open episodes continue.
    assert_eq!(client.open("p1").await.is(200).text, first.text);
    assert_eq!(client.ask("p1").await.is(200).text, first.text);
    client.tell("p1", 1, "scan", "positive").await.is(200);
    client.stop("p1", 2).await.is(200);
    client
        .outcome("p1", r#"{"costs": [0], "rewards": [0, 1]}"#)
        .await
        .is(200);
    client
        .amend("p1", r#"{"rewards": [null, 0.5], "reason": "x"}"#)
        .await
        .is(200);
    assert_eq!(client.view().await.at("/learned"), 1);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_restart_changes_no_answer() {
    let before = TestServer::new();
    let twin = TestServer::new();
    for server in [&before, &twin] {
        let client = server.new_study("clinic", STUDY).await;
        client
            .full_episode("a", &[("blood", "positive")], &[0.1], &[0.0, 0.7])
            .await;
        client.open("p1").await.is(201);
    }
    let asked = before.study("clinic").ask("p1").await.is(200);
    let estimates = before.study("clinic").estimates().await;
    let after = before.restarted();
    let client = after.study("clinic");
    assert_eq!(client.ask("p1").await.is(200).text, asked.text);
    assert_eq!(client.estimates().await.text, estimates.text);
    let next = client.tell("p1", 1, "scan", "negative").await.is(200);
    let other = twin.study("clinic").tell("p1", 1, "scan", "negative").await;
    for pointer in ["/action", "/estimate", "/runner_up", "/explored", "/as_of"] {
        assert_eq!(next.at(pointer), other.at(pointer), "{pointer}");
    }
    client.assert_consistent().await;
}

#[tokio::test]
async fn rejects_forbidden_actions_and_steps_past_the_horizon() {
    let server = TestServer::new();
    let spec = serde_json::json!({
        "horizon": 3, "states": ["unknown", "clear", "suspect"], "actions": ["blood", "scan"],
        "feedbacks": ["negative", "positive"], "transition": "1 + f", "allowed": "a == 0 or x == 2",
        "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]}, "learner": "feedbal:width=sound",
    });
    let client = server.new_study("clinic", &spec.to_string()).await;
    client.open("p1").await.is(201);
    let refused = client.tell("p1", 1, "scan", "positive").await;
    let refused = refused.expect_error_at(422, "/action");
    assert!(refused.at("/detail").as_str().unwrap().contains("`scan`"));
    client.tell("p1", 1, "blood", "positive").await.is(200);
    let last = client.tell("p1", 2, "scan", "positive").await.is(200);
    assert_eq!(last.at("/action"), "stop");
    assert_eq!(last.at("/runner_up"), json!(null));
    client
        .tell("p1", 3, "scan", "positive")
        .await
        .expect_error_at(422, "/step");
    client.stop("p1", 3).await.is(200);
    client.assert_consistent().await;
}

#[tokio::test]
async fn studies_are_independent() {
    let server = TestServer::new();
    let (one, two) = (
        server.new_study("one", STUDY).await,
        server.new_study("two", &study_of("feedbal")).await,
    );
    one.full_episode("p1", &[("blood", "positive")], &[0.25], &[0.0, 1.0])
        .await;
    assert_eq!(two.seq().await, 1);
    two.ask("p1").await.expect_error(404);
    two.open("p1").await.is(201);
    assert_eq!(one.estimate(1, "unknown", "blood").await, Some((1, 0.75)));
    assert_eq!(two.estimate(1, "unknown", "blood").await, None);
    let list = server.get("/v1/studies").await.is(200);
    assert_eq!(list.at("/studies/0/study"), "one");
    assert_eq!(list.at("/studies/1/study"), "two");
    one.assert_consistent().await;
    two.assert_consistent().await;
}
