//! Random sequences of requests, most of them wrong: never 5xx, and the store stays consistent with its log.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::study::clinic;
use crate::support::{request, study_of};

/// Method, path and body.
type Call = (&'static str, String, String);

pub fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

fn one_of(values: &[&'static str]) -> impl Strategy<Value = &'static str> + use<> {
    proptest::sample::select(values.to_vec())
}

fn study() -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => Just("clinic"), 1 => Just("ward"), 1 => Just("none"), 1 => Just("a%2Fb")]
}

fn episode() -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => one_of(&["p1", "p2", "p3"]), 1 => one_of(&["none", "..", "%00", "P1"])]
}

fn step() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => one_of(&["1", "2", "3"]), 1 => one_of(&["0", "4", "2.0", "2.5", "-1", "1e18", "null", "\"1\""])]
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        8 => one_of(&["\"blood\"", "\"scan\"", "0", "1", "\"negative\"", "\"positive\"", "1.0"]),
        1 => one_of(&["\"stop\"", "2", "-1", "null", "\"\\u0000\"", "[]"]),
    ]
}

fn reason() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just("\"because\""), 2 => one_of(&["null", "\"\"", "7", "\"\\ud83d\\ude00 \\\"\\\\\""])]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (-1.0..2.0).prop_map(|value: f64| value.to_string()),
        4 => Just("null".to_owned()),
        2 => one_of(&["0", "-0.0", "0.1", "1e100", "1e-320"]).prop_map(str::to_owned),
        1 => one_of(&["1e101", "1e999", "NaN", "\"1\""]).prop_map(str::to_owned),
    ]
}

fn values() -> impl Strategy<Value = String> {
    let list = proptest::collection::vec(value(), 0..4);
    prop_oneof![
        8 => list.prop_map(|list| format!("[{}]", list.join(","))),
        1 => Just("null".to_owned()),
        1 => Just("{}".to_owned()),
    ]
}

/// Method, rest of the path and body of a request on an episode.
fn body() -> impl Strategy<Value = (&'static str, &'static str, String)> {
    let tell = (step(), name(), name(), reason()).prop_map(|(step, action, feedback, reason)| {
        let fields = format!(r#""step":{step},"action":{action},"feedback":{feedback}"#);
        (
            "POST",
            ":tell",
            format!(r#"{{{fields},"reason":{reason}}}"#),
        )
    });
    let stop = (step(), reason()).prop_map(|(step, reason)| {
        let body = format!(r#"{{"step":{step},"reason":{reason}}}"#);
        ("POST", ":stop", body)
    });
    let abandon =
        reason().prop_map(|reason| ("POST", ":abandon", format!(r#"{{"reason":{reason}}}"#)));
    let last = one_of(&["false", "false", "true", "null"]);
    let reveal = (values(), values(), last).prop_map(|(costs, rewards, last)| {
        let body = format!(r#"{{"costs":{costs},"rewards":{rewards},"final":{last}}}"#);
        ("PUT", "/outcome", body)
    });
    let amend = (values(), values(), reason()).prop_map(|(costs, rewards, reason)| {
        let body = format!(r#"{{"costs":{costs},"rewards":{rewards},"reason":{reason}}}"#);
        ("POST", "/outcome:amend", body)
    });
    prop_oneof![4 => tell, 2 => stop, 1 => abandon, 4 => reveal, 2 => amend]
}

fn past() -> impl Strategy<Value = String> {
    let steps = proptest::collection::vec((name(), name()), 0..3);
    (one_of(&["old1", "old2", "p1", ""]), steps, values(), values()).prop_map(|(id, steps, costs, rewards)| {
        let (actions, feedbacks): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        format!(
            r#"{{"id":"{id}","actions":[{}],"feedbacks":[{}],"costs":{costs},"rewards":{rewards}}}"#,
            actions.join(","),
            feedbacks.join(",")
        )
    })
}

fn call() -> impl Strategy<Value = Call> {
    // Method, rest of the study's path and body.
    let act = (episode(), body());
    let act =
        act.prop_map(|(id, (method, rest, body))| (method, format!("/episodes/{id}{rest}"), body));
    let open = one_of(&["p1", "p2", "p3", "p/4", ""]);
    let open = open.prop_map(|id| ("POST", "/episodes".into(), format!(r#"{{"id":"{id}"}}"#)));
    let read = one_of(&[
        "",
        "/estimates",
        "/estimates?as_of=3",
        "/episodes?open=true",
        "/episodes/p1",
        "/events?after=2&limit=3",
        "/episodes/p1/decisions/1:replay",
        "/episodes/p2/decisions/2:replay",
        "/estimates?as_of=-1",
        ":export",
    ]);
    let read = read.prop_map(|rest| ("GET", rest.to_owned(), String::new()));
    let ask = episode().prop_map(|id| ("POST", format!("/episodes/{id}:ask"), String::new()));
    let import = (proptest::collection::vec(past(), 0..3), any::<bool>());
    let import = import
        .prop_map(|(lines, dry)| ("POST", format!(":import?dry_run={dry}"), lines.join("\n")));
    let create = one_of(&["feedbal:width=sound", "feedbal", "random", ""]);
    let create = create.prop_map(|learner| ("PUT", String::new(), study_of(learner)));
    let request =
        prop_oneof![80 => act, 32 => open, 16 => read, 8 => ask, 8 => import, 4 => create];
    let request = (study(), request);
    let request = request.prop_map(|(study, (method, rest, body)): (_, Call)| {
        (method, format!("/v1/studies/{study}{rest}"), body)
    });
    // Closing is final, so it is rare.
    let close = one_of(&["ward", "ward", "clinic", "none"]);
    let close =
        close.prop_map(|study| ("POST", format!("/v1/studies/{study}:close"), String::new()));
    prop_oneof![148 => request, 1 => close]
}

/// A request, sometimes with one byte of its body changed.
fn damaged() -> impl Strategy<Value = (Call, Option<(usize, u8)>)> {
    let damage = proptest::option::weighted(0.05, (any::<usize>(), any::<u8>()));
    (call(), damage)
}

#[test]
fn random_requests_never_cause_a_server_error() {
    let runtime = runtime();
    let config = Config {
        cases: 64,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let calls = proptest::collection::vec(damaged(), 1..120);
    let counted = std::cell::RefCell::new(std::collections::BTreeMap::new());
    let tried = TestRunner::new(config).run(&calls, |calls| {
        runtime.block_on(async {
            let client = clinic().await;
            let server = &client.server;
            client.run("open p1\nopen p2").await;
            for ((method, path, body), damage) in calls {
                let mut bytes = body.clone().into_bytes();
                if let (Some((at, byte)), false) = (damage, bytes.is_empty()) {
                    let at = at % bytes.len();
                    bytes[at] = byte;
                }
                let json = [("content-type", "application/json")];
                let request = request(&server.admin, method, &path, &json, bytes);
                let answer = server.send(request).await;
                let status = answer.status.as_u16();
                *counted.borrow_mut().entry(status).or_insert(0) += 1;
                prop_assert!(status < 500, "{method} {path} {body}: {}", answer.text);
                if status >= 400 {
                    answer.expect_error(status);
                }
            }
            for study in ["clinic", "ward"] {
                let client = server.study(study);
                if client.get("").await.status == 200 {
                    client.assert_consistent().await;
                }
            }
            Ok(())
        })
    });
    tried.unwrap();
    // Both accepted and rejected requests occur.
    let counted = counted.into_inner();
    println!("{counted:?}");
    for status in [200, 201, 400, 404, 409, 422] {
        assert!(counted.get(&status).is_some_and(|n| *n > 10), "{counted:?}");
    }
}
