//! Time travel: what was known at any past event of the log.

use crate::support::every_command::COMMANDS;
use crate::support::{STUDY, TestServer, study_of};

#[tokio::test]
async fn every_moment_of_a_week() {
    for spec in [STUDY, &study_of("feedbal-model")] {
        let server = TestServer::new();
        let client = server.new_study("clinic", spec).await;
        let mut live = vec![client.estimates().await.text];
        for request in COMMANDS {
            let answer = client.send_command(*request).await;
            assert!(answer.status.is_success(), "{}", answer.text);
            assert_eq!(client.seq().await, live.len() as u64 + 1);
            live.push(client.estimates().await.text);
        }
        for (i, live) in live.iter().enumerate() {
            let past = client.get(&format!("/estimates?as_of={}", i + 1)).await;
            assert_eq!(past.is(200).text, *live, "as of {}", i + 1);
        }
        // After a restart, too.
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
async fn neither_before_the_beginning_nor_after_the_end() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    for wrong in ["0", "-1", "1.5", "x", "", "99999999999999999999"] {
        let answer = client.get(&format!("/estimates?as_of={wrong}")).await;
        answer.is_error(400);
    }
    for beyond in ["2", "9007199254740991"] {
        let answer = client.get(&format!("/estimates?as_of={beyond}")).await;
        answer.is_error(422);
    }
    client.get("/estimates?as_of=1").await.is(200);
    client.get("/estimates?as_of=1.0").await.is(200);
}
