//! Many at once.

use serde_json::json;

use crate::support::desk::tell;
use crate::support::{CLINIC, Clinic};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_different_tells_exactly_one_wins() {
    let clinic = std::sync::Arc::new(Clinic::new());
    let desk = clinic.desk("clinic", CLINIC).await;
    for round in 0..20 {
        let id = format!("p{round}");
        desk.open(&id).await.is(201);
        let path = desk.of(&id, ":tell");
        let bodies = [tell(1, "blood", "positive"), tell(1, "scan", "negative")];
        let start = std::sync::Arc::new(tokio::sync::Barrier::new(2));
        let tasks = bodies.clone().map(|body| {
            let (clinic, path, start) = (clinic.clone(), path.clone(), start.clone());
            tokio::spawn(async move {
                start.wait().await;
                clinic.post(&path, &body).await
            })
        });
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        let won = answers.iter().position(|a| a.status == 200).unwrap();
        let lost = answers[1 - won].clone().refuses(409);
        assert_eq!(lost.at("/current_step"), 2);
        // Asked again, both hear the same as before.
        let again = clinic.post(&path, &bodies[won]).await.is(200);
        assert_eq!(again.text, answers[won].text);
        clinic.post(&path, &bodies[1 - won]).await.refuses(409);
        assert_eq!(desk.ask(&id).await.is(200).text, again.text);
    }
    assert_eq!(desk.seq().await, 1 + 2 * 20);
    desk.verify().await;
}

/// The same request from many at once: one of them is new, all hear the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_equal_requests_one_counts() {
    let clinic = std::sync::Arc::new(Clinic::new());
    let desk = clinic.desk("clinic", CLINIC).await;
    let requests = [
        ("POST", desk.path("/episodes"), r#"{"id": "p1"}"#.to_owned()),
        ("POST", desk.of("p1", ":tell"), tell(1, "scan", "positive")),
        (
            "POST",
            desk.of("p1", ":stop"),
            r#"{"step": 2, "reason": "x"}"#.into(),
        ),
        (
            "PUT",
            desk.of("p1", "/outcome"),
            r#"{"costs": [0.5], "rewards": [0, 1]}"#.into(),
        ),
    ];
    for (i, (method, path, body)) in requests.into_iter().enumerate() {
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let (clinic, path, body) = (clinic.clone(), path.clone(), body.clone());
                tokio::spawn(async move {
                    let token = clinic.admin.clone();
                    clinic.call_as(&token, method, &path, Some(&body)).await
                })
            })
            .collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        assert!(answers.iter().all(|a| a.status.is_success()));
        assert!(answers.iter().all(|a| a.text == answers[0].text));
        assert_eq!(desk.seq().await, i as u64 + 2);
    }
    desk.verify().await;
}

/// Whole episodes side by side, and somebody who reads all the while.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_busy_hour() {
    const PEOPLE: usize = 8;
    const PATIENTS: usize = 12;
    let clinic = std::sync::Arc::new(Clinic::new());
    clinic.desk("clinic", CLINIC).await;
    let people: Vec<_> = (0..PEOPLE)
        .map(|person| {
            let clinic = clinic.clone();
            tokio::spawn(async move {
                let desk = clinic.at("clinic");
                for i in 0..PATIENTS {
                    let id = format!("p{person}-{i}");
                    let steps = [("blood", "positive"), ("scan", "negative")];
                    desk.patient(
                        &id,
                        &steps[..1 + i % 2],
                        &[0.1, 0.2][..1 + i % 2],
                        &[0.3, 0.6, 0.9][..2 + i % 2],
                    )
                    .await;
                    if i % 3 == 0 {
                        let costs = if i % 2 == 0 { "[0.15]" } else { "[0.15, null]" };
                        let body = format!(r#"{{"costs": {costs}, "reason": "x"}}"#);
                        desk.amend(&id, &body).await.is(200);
                    }
                }
            })
        })
        .collect();
    let reader = tokio::spawn({
        let clinic = clinic.clone();
        async move {
            let desk = clinic.at("clinic");
            let mut seen = Vec::new();
            for _ in 0..400 {
                seen.push(desk.estimates().await);
            }
            seen
        }
    });
    for person in people {
        person.await.unwrap();
    }
    let desk = clinic.at("clinic");
    // Whatever was read in passing was true at the event that it names.
    let seen = reader.await.unwrap();
    for answer in seen.iter().step_by(7) {
        let path = format!("/estimates?as_of={}", answer.at("/as_of"));
        assert_eq!(desk.get(&path).await.is(200).text, answer.text);
    }
    let view = desk.view().await;
    assert_eq!(view.at("/learned"), json!(PEOPLE * PATIENTS));
    assert_eq!(view.at("/open"), json!(0));
    desk.verify().await;
}
