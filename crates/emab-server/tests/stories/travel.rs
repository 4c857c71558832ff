//! Time travel: what was known at any past event of the log.

use crate::support::week::WEEK;
use crate::support::{CLINIC, Clinic, clinic_of};

#[tokio::test]
async fn every_moment_of_a_week() {
    for spec in [CLINIC, &clinic_of("feedbal-model")] {
        let clinic = Clinic::new();
        let desk = clinic.desk("clinic", spec).await;
        let mut live = vec![desk.estimates().await.text];
        for request in WEEK {
            let answer = desk.day(*request).await;
            assert!(answer.status.is_success(), "{}", answer.text);
            assert_eq!(desk.seq().await, live.len() as u64 + 1);
            live.push(desk.estimates().await.text);
        }
        for (i, live) in live.iter().enumerate() {
            let past = desk.get(&format!("/estimates?as_of={}", i + 1)).await;
            assert_eq!(past.is(200).text, *live, "as of {}", i + 1);
        }
        // After a restart, too.
        let after = clinic.restarted();
        let desk = after.at("clinic");
        assert_eq!(desk.estimates().await.text, live[live.len() - 1]);
        for seq in [1, 12, 16, 20] {
            let past = desk.get(&format!("/estimates?as_of={seq}")).await;
            assert_eq!(past.is(200).text, live[seq - 1]);
        }
    }
}

#[tokio::test]
async fn neither_before_the_beginning_nor_after_the_end() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    for wrong in ["0", "-1", "1.5", "x", "", "99999999999999999999"] {
        let answer = desk.get(&format!("/estimates?as_of={wrong}")).await;
        answer.refuses(400);
    }
    for beyond in ["2", "9007199254740991"] {
        let answer = desk.get(&format!("/estimates?as_of={beyond}")).await;
        answer.refuses(422);
    }
    desk.get("/estimates?as_of=1").await.is(200);
    desk.get("/estimates?as_of=1.0").await.is(200);
}
