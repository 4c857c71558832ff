//! The texts of errors: the pointer, the value found, the rule and the remedy, in the words of the service and not in those of a
//! parser. `expect_error` checks the latter for every error of these tests.

use serde_json::{Value, json};

use super::{CALLS, Fixture};
use crate::support::{requests, study_with};

/// Calls with malformed bodies: the number of the call in `CALLS`, the pointer, the body, and the words of the error.
const BODIES: &str = r#"
1 /id {"id": 7} => `/id` must be a text, got 7; write it in double quotes
1 /idd {"idd": "x"} => unknown field `idd` (did you mean `id`?)
1 "" {"id": "x" => this is not JSON (character 10): it ends before an object is closed
2 "" {"action": "blood", "feedback": "positive"} => the JSON object has no `step`; add it
2 /step {"step": "1", "action": "blood", "feedback": "positive"} => `/step` must be a whole number from 1 to 2^53 - 1, got the text `1`; write it without quotes
2 /step {"step": 1.5, "action": "blood", "feedback": "positive"} => `/step` must be a whole number from 1 to 2^53 - 1, got 1.5
2 /step {"step": 99999999999999999999999, "action": "blood", "feedback": "positive"} => from 1 to 2^53 - 1, got 1e23
2 /decided_by {"step": 1, "action": "blood", "feedback": "positive", "decided_by": "fallbak"} => `/decided_by` must be `fallback`, got `fallbak`
2 /action {"step": 1, "action": ["blood"], "feedback": "positive"} => `/action` must be a name, or a whole number from 0 to 2^53 - 1, got a list
2 /action {"step": 1, "action": "blod", "feedback": "positive"} => this study has no action `blod` (did you mean `blood`?); there are `blood`
2 /feedback {"step": 1, "action": "blood", "feedback": "positve"} => no feedback `positve` (did you mean `positive`?)
2 /feeback {"step": 1, "action": "blood", "feeback": "positive"} => unknown field `feeback` (did you mean `feedback`?)
2 "" {"step": 1, "action": "blood", "feedback": "positive", "step": 2} => `step` is given twice; remove one
3 /reason {"step": 1, "reason": 5} => `/reason` must be a text, got 5; write it in double quotes
4 "" {} => the JSON object has no `reason`; add it
5 /rewards {"rewards": 1} => `/rewards` must be a list, got 1; write it in brackets
5 /rewards/1 {"rewards": [0, "1"]} => `/rewards/1` must be a number, got the text `1`; write it without quotes
5 /final {"final": "yes"} => `/final` must be true or false, got the text `yes`
5 /rewards/0 {"rewards": [1e999]} => a number is too large for a double
6 /rewards/1 {"rewards": [0, true], "reason": "x"} => `/rewards/1` must be a number, got true
7 /actions {"id": "a", "actions": "scan"} => line 1: `/actions` must be a list, got the text `scan`
7 "" {"id": "a", "actions": ["scan"]} => line 1: the JSON object has no `feedbacks`; add it
7 "" [] => line 1: an episode must be a JSON object, got []
7 /actions/0 {"id": "a", "actions": ["scna"], "feedbacks": [0], "costs": [0], "rewards": [0, 0]} => did you mean `scan`?
8 /surprise {"surprise": 1} => unknown field `surprise`
"#;

#[tokio::test]
async fn errors_of_bodies_name_the_pointer_the_value_and_the_remedy() {
    let fixture = Fixture::new().await;
    for line in BODIES.trim().lines() {
        let (request, words) = line.split_once(" => ").unwrap();
        let (call, rest) = request.split_once(' ').unwrap();
        let (pointer, body) = rest.split_once(' ').unwrap();
        let (method, path, _) = CALLS[call.parse::<usize>().unwrap()];
        let answer = fixture.json(method, path, body.to_owned()).await;
        let status = answer.status.as_u16();
        assert!([400, 422].contains(&status), "{line}: {}", answer.text);
        let answer = answer.expect_error(status).says(words);
        let found = answer.at("/pointer");
        assert_eq!(found, pointer.trim_matches('"'), "{line}: {}", answer.text);
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn errors_of_studies_name_the_pointer_the_value_and_the_remedy() {
    let fixture = Fixture::new().await;
    let limits = json!({"overides": {"yellow": 0.2, "red": 0.5}});
    let cases: [(Value, &str, &str); 28] = [
        (json!({"thresholds": 3}), "/thresholds", "got 3"),
        (
            json!({"thresholds": {"overrides": 1}}),
            "/thresholds/overrides",
            "must be an object, got 1",
        ),
        (
            json!({"thresholds": limits}),
            "/thresholds/overides",
            "did you mean `overrides`?",
        ),
        (
            json!({"thresholds": {"overrides": {"yellow": "0.2", "red": 1}}}),
            "/thresholds/overrides/yellow",
            "must be a number, got the text `0.2`; write it without quotes",
        ),
        (
            json!({"thresholds": {"overrides": {"yellow": 0.2}}}),
            "/thresholds/overrides",
            "`/thresholds/overrides` has no `red`; add it",
        ),
        (
            json!({"outcome_range": {"reward": [0]}}),
            "/outcome_range/reward",
            "a list of 2 values, got 1 value",
        ),
        (
            json!({"outcome_range": {"rewards": [0, 1]}}),
            "/outcome_range/rewards",
            "did you mean `reward`?",
        ),
        (
            json!({"outcome_range": [0, 1]}),
            "/outcome_range",
            "got [0,1]",
        ),
        (
            json!({"protocol": {"first": "20", "sequence": []}}),
            "/protocol/first",
            "got the text `20`",
        ),
        (
            json!({"protocol": {"first": 1, "sequence": ["blod"]}}),
            "/protocol/sequence/0",
            "did you mean `blood`?",
        ),
        (
            json!({"missing_at_random": "yes"}),
            "/missing_at_random",
            "got \"yes\"",
        ),
        (json!({"expected_delay": 30}), "/expected_delay", "got 30"),
        (
            json!({"learner": "feedball"}),
            "/learner",
            "did you mean `feedbal`?",
        ),
        (
            json!({"learner": "feedbal:delt=0.1"}),
            "/learner",
            "did you mean `delta`?",
        ),
        (
            json!({"start": {"state": 0}}),
            "/start",
            "`start` must be a state, or a list of states; got an object",
        ),
        (
            json!({"shdow": []}),
            "/shdow",
            "unknown field `shdow` (did you mean `shadow`?)",
        ),
        (
            json!({"protocl": {}}),
            "/protocl",
            "(did you mean `protocol`?)",
        ),
        (
            json!({"expected_dely": "1d"}),
            "/expected_dely",
            "(did you mean `expected_delay`?)",
        ),
        (json!({"horizn": 3}), "/horizn", "(did you mean `horizon`?)"),
        (
            json!({"surprise": 3}),
            "/surprise",
            "unknown field `surprise`; a study has `learner`, `shadow`",
        ),
        (
            json!({"shadow": [3]}),
            "/shadow/0",
            "an entry of `shadow` is a text such as",
        ),
        (
            json!({"learning": {"sigma": 1}}),
            "/learning/sigma",
            "unknown field `sigma` in [learning]; did you mean `sigma2`?",
        ),
        (
            json!({"horizon": "three"}),
            "/horizon",
            "must be a whole number from 1 to 1000000; got the text `three`",
        ),
        (
            json!({"horizon": 1e20}),
            "/horizon",
            "must be a whole number from 1 to 1000000, got 1e20",
        ),
        (json!({"horizon": 3.5}), "/horizon", "got 3.5"),
        (
            json!({"learning": 3}),
            "/learning",
            "[learning] must be an object; got 3",
        ),
        (
            json!({"start": [0, 0]}),
            "/start/1",
            "got `unknown` twice; remove one",
        ),
        (
            json!({"thresholds": {"overrides": {"yellow": 0.2, "red": 2}}}),
            "/thresholds/overrides",
            "both are from 0 to 1, and",
        ),
    ];
    for (fields, pointer, words) in cases {
        let answer = fixture.json("PUT", CALLS[0].1, study_with(fields)).await;
        let status = answer.status.as_u16();
        assert!([400, 422].contains(&status), "{pointer}: {}", answer.text);
        let answer = answer.expect_error_at(status, pointer).says(words);
        // The labels that mark a place in a file are not part of the sentence.
        for label in ["; out of range", "; this name", "; unknown field"] {
            assert!(!answer.text.contains(label), "{}", answer.text);
        }
    }
    let misspelt = CALLS[0].2.replace("\"learner\"", "\"lerner\"");
    let answer = fixture.json("PUT", CALLS[0].1, misspelt).await;
    let answer = answer.expect_error_at(400, "/lerner");
    answer.says("unknown field `lerner` (did you mean `learner`?)");
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn errors_of_documents_of_episodes_point_at_them() {
    let fixture = Fixture::new().await;
    let kind = [("content-type", "application/vnd.emab.episodes+json")];
    for (episode, pointer, words) in [
        (
            r#"{"id": "i1", "actions": ["blood"]}"#,
            "",
            "the JSON object has no `feedbacks`; add it",
        ),
        (
            r#"{"id": "i1", "actions": 3}"#,
            "/actions",
            "`/episodes/0/actions` must be a list",
        ),
        ("[]", "", "an episode must be a JSON object, got []"),
    ] {
        let body = format!(r#"{{"episodes": [{episode}]}}"#);
        let answer = fixture.send("POST", CALLS[7].1, &kind, body).await;
        let answer = answer.expect_error_at(400, &format!("/episodes/0{pointer}"));
        assert!(!answer.says(words).text.contains("line 1"), "{episode}");
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn errors_of_paths_suggest_what_is_near() {
    let fixture = Fixture::new().await;
    let cases = r#"
        GET /v1/studies/clinc there is no study `clinc` (did you mean `clinic`?)
        POST /v1/studies/clinc/episodes there is no study `clinc` (did you mean `clinic`?)
        GET /v1/studies/elsewhere there is no study `elsewhere`
        GET /v1/studies/clinic/episodes/opn no episode `opn`
        GET /v1/studys no such path (did you mean `/v1/studies`?)
        GET /v1/studies/clinic/estimate no such path (did you mean `/v1/studies/clinic/estimates`?)
        POST /v1/studies/clinic/episodes/open:aks no such path (did you mean `/v1/studies/clinic/episodes/open:ask`?)
        GET /v1/elephant no such path; GET /docs lists the calls
        POST /v1/studies/clinic/episodes/open/steps/-1:amend episode `open` has no step `-1`; steps count from 1
    "#;
    for (method, path, words) in requests(cases) {
        fixture.refuses(404, method, path, "{}").await.says(words);
    }
    // A token that is bound to some studies does not learn of others.
    let own = &fixture.server.elsewhere;
    let answer = fixture
        .server
        .call_as(own, "GET", "/v1/studies/elsewhere", None);
    let answer = answer.await.expect_error(404);
    assert!(!answer.text.contains("clinic"), "{}", answer.text);
    let answer = fixture.refuses(405, "DELETE", "/v1/studies", "").await;
    answer.says("this path supports GET, HEAD and no other method");
    let viewer = &fixture.server.viewer;
    let path = "/v1/studies/clinic/episodes/open:ask";
    let answer = fixture.server.call_as(viewer, "POST", path, None).await;
    answer
        .expect_error(403)
        .says("one of role `admin`, `operator` or `blinded` does");
}

#[tokio::test]
async fn errors_of_queries_name_the_parameter() {
    let fixture = Fixture::new().await;
    let cases = r#"
        GET /v1/studies/clinic/episodes?limt=3 unknown parameter `limt` (did you mean `limit`?)
        GET /v1/studies/clinic/episodes?limit=many `limit` must be a whole number from 1 to 1000, got `many`
        GET /v1/studies/clinic/episodes?limit=0 `limit` must be a whole number from 1 to 1000, got `0`
        GET /v1/studies/clinic/estimates?as_of=1.5 `as_of` must be a whole number from 1 to 9007199254740991, got `1.5`
        GET /v1/studies/clinic/estimates?as_of=99999999999999999999 from 1 to 9007199254740991, got `99999999999999999999`
        GET /v1/studies/clinic?x=1 unknown parameter `x`
    "#;
    for (method, path, words) in requests(cases) {
        let answer = fixture.send(method, path, &[], "").await;
        answer.expect_error(400).says(words);
    }
}
