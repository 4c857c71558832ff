//! Estimates as of a past event.

use crate::support::every_command::COMMANDS;
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
        let after = server.restarted();
        let client = after.study("clinic");
        assert_eq!(client.estimates().await.text, live[live.len() - 1]);
        for seq in [1, 12, 16, 20] {
            let past = client.get(&format!("/estimates?as_of={seq}")).await;
            assert_eq!(past.is(200).text, live[seq - 1]);
        }
    }
}

#[tokio::test]
async fn rejects_events_out_of_range() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    for wrong in ["0", "-1", "1.5", "x", "", "99999999999999999999"] {
        let answer = client.get(&format!("/estimates?as_of={wrong}")).await;
        answer.expect_error(400);
    }
    for beyond in ["2", "9007199254740991"] {
        let answer = client.get(&format!("/estimates?as_of={beyond}")).await;
        answer.expect_error(422);
    }
    client.get("/estimates?as_of=1").await.is(200);
    client.get("/estimates?as_of=1.0").await.is(200);
}
