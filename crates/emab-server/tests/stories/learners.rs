//! Who can recommend: learners that choose from what they learned alone.

use emab::learners::{CATALOGUE, LearnerConfig, LearnerDefaults};

use emab_server::domain::study::Study;

use crate::support::{CLINIC, Clinic, clinic_of};

/// Every learner that can be a study's, and settings that make another one of it.
pub const GOOD: &[&str] = &[
    "feedbal",
    "feedbal:width=paper",
    "feedbal:width=sound",
    "feedbal:width=bernstein",
    "feedbal:window=2",
    "feedbal:width=sound,gamma=0.5",
    "feedbal:stop_bias=0.5",
    "feedbal-model",
    "feedbal-lookahead",
    "olp",
    "q-learning",
];

#[tokio::test]
async fn each_of_them_through_a_week() {
    let clinic = Clinic::new();
    for (i, learner) in GOOD.iter().enumerate() {
        let name = format!("study{i}");
        let desk = clinic.desk(&name, &clinic_of(learner)).await;
        assert_eq!(desk.view().await.at("/learner"), *learner);
        desk.week().await;
        desk.verify().await;
        for id in ["p1", "p2", "p3"] {
            let path = desk.of(id, "/decisions/2:replay");
            let replay = clinic.get(&path).await.is(200);
            assert_eq!(replay.at("/equal"), true, "{learner}");
        }
    }
}

/// The list above is that of the catalogue; all others are refused, with the place and a word on who could.
#[tokio::test]
async fn all_others_are_refused() {
    let clinic = Clinic::new();
    let refused = |learner: String| {
        let clinic = &clinic;
        async move {
            let answer = clinic.put("/v1/studies/clinic", &clinic_of(&learner)).await;
            let answer = answer.refuses_at(422, "/learner");
            clinic.get("/v1/studies/clinic").await.refuses(404);
            answer.at("/detail").to_string()
        }
    };
    let study = Study::read("clinic", CLINIC.as_bytes()).unwrap();
    for entry in CATALOGUE {
        let config = LearnerConfig::parse(entry.name, &LearnerDefaults::default()).unwrap();
        // Some choose from tables that only the truth could fill.
        let fits = config.chooses_from_tables().is_ok() && config.build(&study.spec, None).is_ok();
        assert_eq!(GOOD.contains(&entry.name), fits, "{}", entry.name);
        if !fits {
            refused(entry.name.into()).await;
        }
    }
    let drawn = refused("feedbal:ties=random".into()).await;
    assert!(drawn.contains("leave `ties` out"), "{drawn}");
    assert!(refused("feedball".into()).await.contains("feedbal"));
    for wrong in [
        "",
        ":",
        "feedbal:width",
        "feedbal:width=none",
        "feedbal:delta=2",
        "feedbal:a=b",
    ] {
        refused(wrong.into()).await;
    }
    // The same for shadows.
    let spec = crate::support::clinic_with(serde_json::json!({"shadow": ["feedbal", "random"]}));
    clinic
        .put("/v1/studies/clinic", &spec)
        .await
        .refuses_at(422, "/shadow/1");
}
