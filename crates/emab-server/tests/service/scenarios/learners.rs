//! Learners that a study accepts: those that choose from their tables alone.

use emab::learners::{CATALOGUE, LearnerConfig, LearnerDefaults};

use emab_server::domain::study::Study;

use crate::support::{STUDY, TestServer, study_of};

/// Every accepted learner, and settings that change how it works.
pub const GOOD: &[&str] = &[
    "feedbal",
    "feedbal:width=paper",
    "feedbal:width=sound",
    "feedbal:width=bernstein",
    "feedbal:window=2",
    "feedbal:width=sound,gamma=0.5",
    "feedbal:stop_bias=0.5",
    "feedbal:pending=true",
    "feedbal-pooled",
    "feedbal-pooled:target=benchmark",
    "feedbal-kl",
    "feedbal-model",
    "feedbal-lookahead",
    "olp",
    "q-learning",
];

#[tokio::test]
async fn every_accepted_learner_serves_every_command() {
    let server = TestServer::new();
    for (i, learner) in GOOD.iter().enumerate() {
        let name = format!("study{i}");
        let client = server.new_study(&name, &study_of(learner)).await;
        assert_eq!(client.view().await.at("/learner"), *learner);
        client.send_all().await;
        client.assert_consistent().await;
        for id in ["p1", "p2", "p3"] {
            let replay = client.replay(id, 2).await.is(200);
            assert_eq!(replay.at("/equal"), true, "{learner}");
        }
    }
}

#[tokio::test]
async fn rejects_learners_that_do_not_choose_from_tables() {
    let server = TestServer::new();
    let refused = |learner: String| {
        let server = &server;
        async move {
            let answer = server.put("/v1/studies/clinic", &study_of(&learner)).await;
            let answer = answer.expect_error_at(422, "/learner");
            server.get("/v1/studies/clinic").await.expect_error(404);
            answer.at("/detail").to_string()
        }
    };
    let study = Study::read("clinic", STUDY.as_bytes()).unwrap();
    for entry in CATALOGUE {
        let config = LearnerConfig::parse(entry.name, &LearnerDefaults::default()).unwrap();
        // Some learners need the true model.
        let fits = config.chooses_from_tables().is_ok() && config.build(&study.spec, None).is_ok();
        assert_eq!(GOOD.contains(&entry.name), fits, "{}", entry.name);
        if !fits {
            refused(entry.name.into()).await;
        }
    }
    let drawn = refused("feedbal:ties=random".into()).await;
    assert!(drawn.contains("leave `ties` out"), "{drawn}");
    assert!(refused("feedball".into()).await.contains("feedbal"));
    for wrong in " : feedbal:width feedbal:width=none feedbal:delta=2 feedbal:a=b".split(' ') {
        refused(wrong.into()).await;
    }
    // The same for shadows.
    let spec = crate::support::study_with(serde_json::json!({"shadow": ["feedbal", "random"]}));
    let answer = server.put("/v1/studies/clinic", &spec).await;
    answer.expect_error_at(422, "/shadow/1");
}
