//! Concurrent requests.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Barrier;

use crate::support::Answer;
use crate::support::study::{StudyClient, clinic};

/// Sends a request to each client at the same time.
async fn at_once(requests: Vec<(&StudyClient, String)>) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(requests.len()));
    let mut tasks = Vec::new();
    for (client, request) in requests {
        let (client, start) = (client.clone(), start.clone());
        tasks.push(tokio::spawn(async move {
            start.wait().await;
            client.request(&request).await
        }));
    }
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

/// Two different tells of the first step, one on each client: one is recorded.
pub async fn race(one: &StudyClient, two: &StudyClient, id: &str) {
    one.open(id).await.is(201);
    let tells = ["blood positive", "scan negative"].map(|rest| format!("tell {id} 1 {rest}"));
    let requests = std::iter::zip([one, two], tells.clone()).collect();
    let answers = at_once(requests).await;
    let won = answers.iter().position(|a| a.status == 200).unwrap();
    let lost = answers[1 - won].clone().expect_error(409);
    assert_eq!(lost.at("/current_step"), 2);
    // Resent, both get the same answers.
    for client in [one, two] {
        let again = client.request(&tells[won]).await.is(200);
        assert_eq!(again.text, answers[won].text);
        client.request(&tells[1 - won]).await.expect_error(409);
        assert_eq!(client.ask(id).await.is(200).text, again.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_concurrent_tells_one_is_recorded() {
    let client = clinic().await;
    for round in 0..20 {
        race(&client, &client, &format!("p{round}")).await;
    }
    assert_eq!(client.seq().await, 1 + 2 * 20);
    client.assert_consistent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_equal_requests_are_recorded_once() {
    let client = clinic().await;
    let requests = [
        "open p1",
        "tell p1 1 scan positive",
        "stop p1 2",
        r#"outcome p1 {"costs": [0.5], "rewards": [0, 1]}"#,
    ];
    for (i, request) in requests.into_iter().enumerate() {
        let answers = at_once(vec![(&client, request.to_owned()); 16]).await;
        assert!(answers.iter().all(|a| a.status.is_success()));
        assert!(answers.iter().all(|a| a.text == answers[0].text));
        assert_eq!(client.seq().await, i as u64 + 2);
    }
    client.assert_consistent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reads_are_consistent_while_clients_write() {
    const PEOPLE: usize = 8;
    const PATIENTS: usize = 12;
    let client = clinic().await;
    let people: Vec<_> = (0..PEOPLE)
        .map(|person| {
            let client = client.clone();
            tokio::spawn(async move {
                for i in 0..PATIENTS {
                    let id = format!("p{person}-{i}");
                    let steps = [
                        "blood positive 0.1",
                        "blood positive 0.1, scan negative 0.2",
                    ];
                    let rewards = &[0.3, 0.6, 0.9][..2 + i % 2];
                    client.episode(&id, steps[i % 2], rewards).await;
                    if i % 3 == 0 {
                        let costs = if i % 2 == 0 { "[0.15]" } else { "[0.15, null]" };
                        let body = format!(r#"{{"costs": {costs}, "reason": "x"}}"#);
                        client.amend(&id, &body).await.is(200);
                    }
                }
            })
        })
        .collect();
    let reader = tokio::spawn({
        let client = client.clone();
        async move {
            let mut seen = Vec::new();
            for _ in 0..400 {
                seen.push(client.estimates().await);
            }
            seen
        }
    });
    for person in people {
        person.await.unwrap();
    }
    // Every read equals the estimates as of its event.
    let seen = reader.await.unwrap();
    for answer in seen.iter().step_by(7) {
        let path = format!("/estimates?as_of={}", answer.at("/as_of"));
        assert_eq!(client.get(&path).await.is(200).text, answer.text);
    }
    let all = json!({"learned": PEOPLE * PATIENTS, "open": 0});
    client.view().await.has(all);
    client.assert_consistent().await;
}
