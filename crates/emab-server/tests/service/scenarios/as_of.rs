//! Estimates as of a past event.

use crate::support::every_command::COMMANDS;
use crate::support::study::clinic;
use crate::support::{STUDY, TestServer, study_of};

#[tokio::test]
async fn estimates_as_of_every_event_are_those_of_that_time() {
    for spec in [STUDY, &study_of("feedbal-model")] {
        let server = TestServer::new();
        let client = server.new_study("clinic", spec).await;
        let mut live = vec![client.estimates().await.text];
        for request in COMMANDS.iter() {
            let answer = client.send_command(*request).await;
            assert!(answer.status.is_success(), "{}", answer.text);
            assert_eq!(client.seq().await, live.len() as u64 + 1);
            live.push(client.estimates().await.text);
        }
        for (i, live) in live.iter().enumerate() {
            let past = client.get(&format!("/estimates?as_of={}", i + 1)).await;
            assert_eq!(past.is(200).text, *live, "as of {}", i + 1);
        }
        // Also after a restart.
        drop(client);
        let client = server.restarted().study("clinic");
        assert_eq!(client.estimates().await.text, live[live.len() - 1]);
        for seq in [1, 12, 16, 20] {
            let past = client.get(&format!("/estimates?as_of={seq}")).await;
            assert_eq!(past.is(200).text, live[seq - 1]);
        }
    }
}

#[tokio::test]
async fn rejects_events_out_of_range() {
    let client = clinic().await;
    for (status, values) in [
        (
            400,
            &["0", "-1", "1.5", "x", "", "99999999999999999999"][..],
        ),
        (422, &["2", "9007199254740991"]),
        (200, &["1", "1.0"]),
    ] {
        for value in values {
            let script = format!("GET /estimates?as_of={value} -> {status}");
            client.run(&script).await;
        }
    }
}
