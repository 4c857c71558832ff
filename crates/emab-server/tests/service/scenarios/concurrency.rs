//! Concurrent requests.

use serde_json::json;

use crate::support::study::{clinic, tell};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_concurrent_tells_one_is_recorded() {
    let client = clinic().await;
    for round in 0..20 {
        let id = format!("p{round}");
        client.open(&id).await.is(201);
        let path = format!("/episodes/{id}:tell");
        let bodies = [tell(1, "blood", "positive"), tell(1, "scan", "negative")];
        let start = std::sync::Arc::new(tokio::sync::Barrier::new(2));
        let tasks = bodies.clone().map(|body| {
            let (client, path, start) = (client.clone(), path.clone(), start.clone());
            tokio::spawn(async move {
                start.wait().await;
                client.post(&path, &body).await
            })
        });
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        let won = answers.iter().position(|a| a.status == 200).unwrap();
        let lost = answers[1 - won].clone().expect_error(409);
        assert_eq!(lost.at("/current_step"), 2);
        // Resent, both get the same answers.
        let again = client.post(&path, &bodies[won]).await.is(200);
        assert_eq!(again.text, answers[won].text);
        client.post(&path, &bodies[1 - won]).await.expect_error(409);
        assert_eq!(client.ask(&id).await.is(200).text, again.text);
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
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { client.request(request).await })
            })
            .collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
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
