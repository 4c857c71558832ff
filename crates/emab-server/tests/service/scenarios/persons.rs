//! Who did what, and when: persons and times in events and in what is read of them; expiry and last use of tokens.

use std::time::Duration;

use axum::http::Request;
use emab_server::console;
use emab_server::http::{Peer, PersonHeader};
use emab_server::tokens::{NewToken, Role, TokenStore};
use serde_json::{Value, json};

use crate::support::{STUDY, TestServer, request};

fn token(server: &TestServer, new: &NewToken) -> String {
    let (_, secret) = server.tokens.new_token(new).unwrap();
    secret.reveal().into()
}

fn of_person(name: &str, owner: &str, role: Role) -> NewToken {
    NewToken {
        owner: Some(owner.into()),
        ..NewToken::new(name, role)
    }
}

#[tokio::test]
async fn events_and_episodes_name_persons_and_times() {
    let server = TestServer::new();
    let anna = token(&server, &of_person("ward", "Anna Meyer", Role::Operator));
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    let path = "/v1/studies/clinic/episodes";
    let call = async |secret: &str, path: &str, body: Value| {
        let body = body.to_string();
        let method = match path.ends_with("/outcome") {
            true => "PUT",
            false => "POST",
        };
        let answer = server.call_as(secret, method, path, Some(&body)).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        answer
    };
    let admin = server.admin.clone();
    let opened = call(&anna, path, json!({"id": "p1"})).await;
    let step =
        json!({"step": 1, "action": "scan", "feedback": "negative", "reason": "as I see it"});
    call(&admin, &format!("{path}/p1:tell"), step).await;
    let fix = json!({"feedback": "positive", "reason": "mistyped"});
    call(&anna, &format!("{path}/p1/steps/1:amend"), fix).await;
    let stop = json!({"step": 2, "reason": "enough"});
    call(&anna, &format!("{path}/p1:stop"), stop).await;
    let outcome = json!({"costs": [0.1], "rewards": [0.2, 0.5]});
    call(&admin, &format!("{path}/p1/outcome"), outcome).await;

    let log = server.get("/v1/studies/clinic:export").await.is(200).text;
    let events: Vec<Value> = log
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let persons: Vec<&str> = events
        .iter()
        .map(|it| it["person"].as_str().unwrap())
        .collect();
    let expected = [
        "admin",
        "Anna Meyer",
        "admin",
        "Anna Meyer",
        "Anna Meyer",
        "admin",
    ];
    assert_eq!(persons, expected);

    // The decision has the time of the event that records it, and every part of the episode its stamp.
    assert_eq!(opened.at("/at"), events[1]["at"]);
    let stamp = |i: usize| json!({"at": events[i]["at"], "by": events[i]["person"]});
    let read = server.get(&format!("{path}/p1")).await.is(200);
    for (pointer, event) in [
        ("/opened_by", 1),
        ("/steps/0/reported", 2),
        ("/steps/0/corrected_by", 3),
        ("/steps/1/reported", 4),
        ("/ended_by", 4),
        ("/outcome_by", 5),
        ("/touched_by", 5),
    ] {
        assert_eq!(read.at(pointer), stamp(event), "{pointer}");
    }
    // So has the study, and what is read as of an event.
    for path in ["", "/policy", "/estimates"] {
        let read = server.get(&format!("/v1/studies/clinic{path}")).await;
        assert_eq!(read.is(200).at("/at"), events[5]["at"], "{path}");
    }
    // A blinded token sees who opened it and reported steps, and nothing of its outcome and corrections.
    let path = format!("{path}/p1");
    let blind = server.call_as(&server.blinded, "GET", &path, None).await;
    assert_eq!(blind.at("/opened_by"), stamp(1));
    assert_eq!(blind.at("/steps/0/reported"), stamp(2));
    for hidden in ["/steps/0/corrected_by", "/outcome_by", "/touched_by"] {
        assert_eq!(blind.at(hidden), Value::Null, "{hidden}");
    }
}

#[tokio::test]
async fn a_trusted_proxy_names_the_person() {
    let server = TestServer::new();
    let mut parts = server.app.clone();
    let proxies = vec!["10.0.0.1".parse().unwrap()];
    let header = PersonHeader::new("X-Forwarded-User", proxies).unwrap();
    parts.person_header = Some(header.into());
    let router = console::app(parts);
    let send = async |peer: &str, person: &str, id: &str| {
        let headers = [
            ("content-type", "application/json"),
            ("x-forwarded-user", person),
        ];
        let path = "/v1/studies/clinic/episodes";
        let body = json!({"id": id}).to_string();
        let mut request: Request<_> = request(&server.operator, "POST", path, &headers, body);
        let peer = Peer(peer.parse().unwrap());
        request.extensions_mut().insert(peer);
        let answer = tower::ServiceExt::oneshot(router.clone(), request).await;
        answer.unwrap().status().as_u16()
    };
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    assert_eq!(send("10.0.0.1:5", "zoe@clinic.example", "p1").await, 201);
    // From elsewhere the header counts for nothing.
    assert_eq!(send("10.0.0.2:5", "zoe@clinic.example", "p2").await, 201);
    assert_eq!(send("10.0.0.1:5", " ", "p3").await, 400);
    let read = async |id: &str| {
        let path = format!("/v1/studies/clinic/episodes/{id}");
        server.get(&path).await
    };
    assert_eq!(read("p1").await.at("/opened_by/by"), "zoe@clinic.example");
    assert_eq!(read("p2").await.at("/opened_by/by"), "operator");
    read("p3").await.expect_error(404);
}

#[tokio::test]
async fn a_token_expires_and_its_last_use_is_known() {
    let server = TestServer::new();
    let short = NewToken {
        lifetime: Some(Duration::from_secs(4)),
        ..NewToken::new("short", Role::Viewer)
    };
    let secret = token(&server, &short);
    let ask = async || {
        let answer = server.call_as(&secret, "GET", "/v1/studies", None).await;
        answer.status.as_u16()
    };
    assert_eq!(ask().await, 200);
    while ask().await == 200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let refused = server.call_as(&secret, "GET", "/v1/studies", None).await;
    refused.expect_error(401).says("expired");
    server.app.tokens.write_uses();
    let tokens = server.tokens.list().unwrap();
    assert!(tokens.last().unwrap().used.is_some());
}
