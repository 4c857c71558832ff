//! Studies that are paused, resumed, closed and reopened.

use crate::support::study::clinic;

#[tokio::test]
async fn a_paused_study_opens_no_episodes_and_finishes_open_ones() {
    let client = clinic().await;
    let script = r#"
        open p
        POST :resume {"reason": "x"} -> {"paused": false, "seq": 2}
        POST :pause -> 400
        POST :pause {"reason": ""} -> 422 /reason
        POST :pause {"reason": "repair"} -> {"paused": true, "closed": false, "seq": 3}
        POST :pause {"reason": "again"} -> {"seq": 3}
        open q -> 409 ~ :resume
        // A repeated request is answered as before.
        open p -> 200
        tell p 1 blood positive
        stop p 2
        outcome p {"costs": [0], "rewards": [0, 1]}
        import {"id": "old", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}
        POST :resume {"reason": "repaired", "request": "r1"} -> {"paused": false}
        open q
        POST :pause {"reason": "repair"} -> {"paused": true}
        // A late copy of a request with an id.
        POST :resume {"reason": "repaired", "request": "r1"} -> {"paused": true}
        POST :resume {"reason": "another", "request": "r1"} -> 409 /request
        POST :pause {"reason": "repaired", "request": "r1"} -> 409 /request
    "#;
    client.run(script).await;
    let paused = client.events("paused").await;
    assert_eq!(paused[0]["data"]["reason"], "repair");
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_closed_study_is_reopened() {
    let client = clinic().await;
    let script = r#"
        POST :reopen {"reason": "x"} -> {"closed": false, "seq": 1}
        close
        open p -> 409 ~ closed
        POST :reopen {"reason": "the second year is funded"} -> {"closed": false, "seq": 3}
        open p
        close -> {"closed": true}
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}
