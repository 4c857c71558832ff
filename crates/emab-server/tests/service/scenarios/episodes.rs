//! Episodes from the first decision to the estimates, as recommended and overridden.

use serde_json::json;

use crate::support::study::clinic;
use crate::support::{STUDY, TestServer, study_of, study_with};

#[tokio::test]
async fn an_episode_from_its_first_decision_to_its_estimates() {
    let client = clinic().await;
    let first = client.open("p1").await.is(201);
    assert_eq!(first.header("location"), client.episode_path("p1", ""));
    // Algorithm 2 stops at a pair that it has not observed.
    let spec_hash = client.view().await.at("/spec_hash");
    let first = first.has(
        json!({"action": "stop", "step": 1, "state": "unknown", "explored": true, "as_of": 1,
        "spec_hash": spec_hash}),
    );
    // Asking again gives the same bytes.
    assert_eq!(client.ask("p1").await.is(200).text, first.text);
    assert_eq!(client.open("p1").await.is(200).text, first.text);

    // Another action is an override and needs a reason.
    let tells = r#"
        POST /episodes/p1:tell {"step": 1, "action": "blood", "feedback": "positive"} -> 422 /reason
        POST /episodes/p1:tell {"step": 1, "action": "blood", "feedback": "positive", "reason": "family history"} -> {"step": 2, "state": "suspect"}
        POST /episodes/p1:tell {"step": 1, "action": "blood", "feedback": "positive", "reason": "family history"}
        POST /episodes/p1:tell {"step": 1, "action": "scan", "feedback": "positive", "reason": "x"} -> 409 {"current_step": 2}
    "#;
    let answers = client.run(tells).await;
    assert_eq!(answers[1].text, answers[2].text);
    // The estimates are of the action taken.
    let end = r#"
        POST /episodes/p1:stop {"step": 2}
        estimate 1 unknown blood -> none
        outcome p1 {"costs": [0.25], "rewards": [0, 1]} -> {"status": "learned"}
        estimate 1 unknown blood -> 1 0.75
        estimate 1 unknown stop -> 1 0
        estimate 2 suspect stop -> 1 1
    "#;
    client.run(end).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn an_episode_is_read_with_all_its_steps() {
    let client = clinic().await;
    let first = client.open("p1").await.is(201);
    let second = client.tell("p1", 1, "scan", "negative").await.is(200);
    let script = r#"
        GET /episodes/p1 -> {"status": "open", "outcome": null}
        stop p1 2
        outcome p1 {"rewards": [null, 0.5]}
        GET /episodes/p1 -> {"status": "stopped", "step": 2, "state": "clear", "opened": 2, "touched": 5, "outcome": {"costs": [null], "rewards": [null, 0.5], "final": false}}
    "#;
    let read = client.run(script).await.pop().unwrap();
    let expected = json!([
        {"step": 1, "state": "unknown", "decision": first.json(), "action": "scan", "feedback": "negative",
            "override": true, "reason": "as I see it", "reported": {"at": second.at("/at"), "by": "admin"}},
        {"step": 2, "state": "clear", "decision": second.json(), "action": "stop", "feedback": null,
            "override": false, "reason": "enough", "reported": read.at("/ended_by")},
    ]);
    assert_eq!(read.at("/steps"), expected);
    // The list contains it without its steps.
    let lists = r#"
        GET /episodes -> {"episodes/0/episode": "p1", "episodes/0/steps": null}
        GET /episodes?open=true -> {"episodes": []}
    "#;
    client.run(lists).await;
}

#[tokio::test]
async fn names_and_indices_mean_the_same() {
    let client = clinic().await;
    // The same by name and by index, and with integral floats.
    let script = r#"
        open p1
        POST /episodes/p1:tell {"step": 1, "action": "scan", "feedback": "positive", "reason": "x"} -> {"state": "suspect"}
        POST /episodes/p1:tell {"step": 1.0, "action": 1, "feedback": 1.0, "reason": "x"}
    "#;
    let answers = client.run(script).await;
    assert_eq!(answers[1].text, answers[2].text);
}

#[tokio::test]
async fn an_episode_without_an_id_gets_one() {
    let client = clinic().await;
    let mut names = Vec::new();
    for body in ["", "{}", "null", r#"{"id": null}"#] {
        let script = format!("POST /episodes {body} -> 201");
        let name = client.run(&script).await[0].at("/episode");
        client.ask(name.as_str().unwrap()).await.is(200);
        assert!(!names.contains(&name));
        names.push(name);
    }
    client.view().await.has(json!({"open": 4}));
}

#[tokio::test]
async fn a_stop_against_the_recommendation_is_an_override() {
    let client = clinic().await;
    client.episode("a", "blood positive 0", &[0.0, 1.0]).await;
    client.episode("b", "scan positive 0", &[0.0, 1.0]).await;
    let next = client.open("p1").await.is(201);
    assert_ne!(next.at("/action"), "stop");
    let script = r#"
        POST /episodes/p1:stop {"step": 1} -> 422 /reason
        POST /episodes/p1:stop {"step": 1, "reason": "refused the needle"} -> {"status": "stopped"}
        GET /episodes/p1 -> {"steps/0/override": true, "steps/0/action": "stop"}
        outcome p1 {"rewards": [0.5]}
        // Two zeros before, now 0.5.
        estimate 1 unknown stop -> 3 0.16666666666666666
    "#;
    client.run(script).await;
    let event = client.events("stopped").await.pop().unwrap();
    assert_eq!(event["data"]["override"], true);
    assert_eq!(event["data"]["reason"], "refused the needle");
    client.assert_consistent().await;
}

#[tokio::test]
async fn the_learner_learns_from_the_action_taken() {
    let client = clinic().await;
    client.episode("a", "blood positive 0", &[0.0, 1.0]).await;
    client.episode("b", "scan positive 0", &[0.0, 0.25]).await;
    // A blank reason is not accepted.
    let script = r#"
        open p1 -> {"action": "blood"}
        POST /episodes/p1:tell {"step": 1, "action": "scan", "feedback": "negative"} -> 422 /reason
        POST /episodes/p1:tell {"step": 1, "action": "scan", "feedback": "negative", "reason": " "} -> 422 /reason
        tell p1 1 scan negative
        stop p1 2
        outcome p1 {"costs": [0.5], "rewards": [0, 0.75]}
        estimate 1 unknown blood -> 1 1
        estimate 1 unknown scan -> 2 0.25
    "#;
    client.run(script).await;
    let recorded = client.events("told").await.pop().unwrap();
    assert_eq!(recorded["data"]["override"], true);
    assert_eq!(recorded["data"]["action"], "scan");

    // The recommended action needs no reason.
    let script = r#"
        open p2 -> {"action": "blood"}
        POST /episodes/p2:tell {"step": 1, "action": "blood", "feedback": "negative"}
    "#;
    client.run(script).await;
    let recorded = client.events("told").await.pop().unwrap();
    assert_eq!(recorded["data"]["override"], false);
    client.assert_consistent().await;
}

#[tokio::test]
async fn outcomes_come_late_while_many_episodes_are_open() {
    const PATIENTS: usize = 40;
    let client = clinic().await;
    let id = |i: usize| format!("p{i:02}");
    let mut first = Vec::new();
    for i in 0..PATIENTS {
        first.push(client.open(&id(i)).await.is(201));
    }
    let open = json!({"open": PATIENTS, "learned": 0});
    client.view().await.has(open);
    for i in 0..PATIENTS {
        let action = ["blood", "scan"][i % 2];
        let feedback = ["negative", "positive"][i / 2 % 2];
        client.tell(&id(i), 1, action, feedback).await.is(200);
    }
    for i in 0..PATIENTS {
        client.stop(&id(i), 2).await.is(200);
    }
    client.view().await.has(json!({"open": 0, "learned": 0}));
    // The outcomes come later and in another order.
    for i in (0..PATIENTS).rev() {
        let reward = [0.25, 0.75][i % 2];
        let body = format!(r#"{{"costs": [0.125], "rewards": [0.5, {reward}]}}"#);
        let recorded = client.outcome(&id(i), &body).await.is(200);
        assert_eq!(recorded.at("/learned"), PATIENTS - 1 - i);
    }
    let estimates = "
        estimate 1 unknown blood -> 20 0.125
        estimate 1 unknown scan -> 20 0.625
        estimate 1 unknown stop -> 40 0.5
    ";
    client.run(estimates).await;
    // The first decision is unchanged.
    let replay = client.replay("p07", 1).await.is(200);
    replay.has(json!({"recorded": first[7].json(), "equal": true}));
    client.assert_consistent().await;
}

#[tokio::test]
async fn an_abandoned_episode_accepts_its_outcome_later() {
    let client = clinic().await;
    let script = r#"
        open p1
        tell p1 1 scan positive
        abandon p1 moved away -> {"status": "abandoned"}
        tell p1 2 scan positive -> 409
        stop p1 2 -> 409
        view -> {"open": 0, "missing": 1}
        outcome p1 {"costs": [0.5], "rewards": [null, 0.25]}
        view -> {"missing": 1}
        outcome p1 {"rewards": [0.75, 0.25]} -> {"status": "learned"}
        view -> {"missing": 0, "learned": 1}
        estimate 1 unknown scan -> 1 -0.25
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_closed_study_accepts_outcomes_and_no_episodes() {
    let client = clinic().await;
    let first = client.open("p1").await.is(201);
    // Open episodes continue.
    let script = r#"
        close -> {"closed": true}
        open p2 -> 409
        import {"id": "old", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]} -> 409
        open p1 -> 200
        ask p1
        tell p1 1 scan positive
        stop p1 2
        outcome p1 {"costs": [0], "rewards": [0, 1]}
        amend p1 {"rewards": [null, 0.5], "reason": "x"}
        view -> {"learned": 1}
    "#;
    let answers = client.run(script).await;
    assert_eq!([&answers[3].text, &answers[4].text], [&first.text; 2]);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_restart_changes_no_answer() {
    let (before, twin) = (clinic().await, clinic().await);
    for client in [&before, &twin] {
        client.episode("a", "blood positive 0.1", &[0.0, 0.7]).await;
        client.open("p1").await.is(201);
    }
    let asked = before.ask("p1").await.is(200);
    let estimates = before.estimates().await;
    let client = before.server.restarted().study("clinic");
    assert_eq!(client.ask("p1").await.is(200).text, asked.text);
    assert_eq!(client.estimates().await.text, estimates.text);
    let next = client.tell("p1", 1, "scan", "negative").await.is(200);
    let other = twin.tell("p1", 1, "scan", "negative").await;
    for pointer in ["/action", "/estimate", "/runner_up", "/explored", "/as_of"] {
        assert_eq!(next.at(pointer), other.at(pointer), "{pointer}");
    }
    client.assert_consistent().await;
}

#[tokio::test]
async fn rejects_forbidden_actions_and_steps_past_the_horizon() {
    let spec = study_with(json!({"allowed": "a == 0 or x == 2"}));
    let client = TestServer::new().new_study("clinic", &spec).await;
    let script = r#"
        open p1
        tell p1 1 scan positive -> 422 /action ~ `scan`
        tell p1 1 blood positive
        tell p1 2 scan positive -> {"action": "stop", "runner_up": null}
        tell p1 3 scan positive -> 422 /step
        stop p1 3
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn studies_are_independent() {
    let server = TestServer::new();
    let one = server.new_study("one", STUDY).await;
    let two = server.new_study("two", &study_of("feedbal")).await;
    one.episode("p1", "blood positive 0.25", &[0.0, 1.0]).await;
    assert_eq!(two.seq().await, 1);
    two.run("ask p1 -> 404\nopen p1").await;
    one.run("estimate 1 unknown blood -> 1 0.75").await;
    two.run("estimate 1 unknown blood -> none").await;
    let list = server.get("/v1/studies").await.is(200);
    list.has(json!({"studies/0/study": "one", "studies/1/study": "two"}));
    one.assert_consistent().await;
    two.assert_consistent().await;
}
