//! `emab demo` as a process: simulated studies that grow, and nothing left at the end.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{command, rejects, said};
use crate::serve::{LONG, Service};
use crate::test_dir::TestDir;

/// Starts a demo whose folder is in `dir`.
fn start(dir: &TestDir, options: &str) -> (Service, Value) {
    let call = format!("demo --json --pace 0.05 --cases 40 {options}");
    let mut command = command(&call);
    command.env("TMPDIR", dir.at("")).stdout(Stdio::piped());
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let (mut service, ready) = Service::read(child);
    service.token = ready["tokens"][0]["token"].as_str().unwrap().into();
    (service, ready)
}

/// The JSON body of an answer to a token.
fn get(service: &Service, path: &str) -> Value {
    let answer = service.call("GET", path, "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

#[test]
fn simulated_cases_arrive_until_the_demo_is_interrupted() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let dir = TestDir::new();
        let (mut service, ready) = start(&dir, "--listen 127.0.0.1:0 --seed 3");
        let folder = ready["folder"].as_str().unwrap().to_owned();
        assert!(Path::new(&folder).join("studies.db").exists());
        if signal == "-INT" {
            check(&mut service, &ready);
        }
        assert_eq!(service.stop_by(signal).code(), Some(0), "{signal}");
        assert!(!Path::new(&folder).exists());
        assert_eq!(fs::read_dir(dir.at("")).unwrap().count(), 0);
    }
}

fn check(service: &mut Service, ready: &Value) {
    let tokens = ready["tokens"].as_array().unwrap();
    let roles: Vec<&str> = tokens
        .iter()
        .map(|it| it["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["admin", "operator", "viewer", "blinded"]);
    for study in ["clinic", "tutoring"] {
        let path = format!("/v1/studies/{study}");
        let before = get(service, &path)["seq"].as_u64().unwrap();
        let end = Instant::now() + LONG;
        let mut missing = vec!["open", "stopped", "learned"];
        while !missing.is_empty() || get(service, &path)["seq"].as_u64().unwrap() <= before {
            let episodes = get(service, &format!("{path}/episodes?limit=1000")).to_string();
            missing.retain(|status| !episodes.contains(&format!("\"status\":\"{status}\"")));
            assert!(
                Instant::now() < end,
                "{study}: no {missing:?}, or no new event"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let admin = service.token.clone();
    for token in tokens {
        service.token = token["token"].as_str().unwrap().into();
        assert_eq!(
            get(service, "/v1/studies")["studies"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
    }
    service.token = admin;
    let store = ready["store"].as_str().unwrap();
    let (text, _) = said(&format!("audit {store}"));
    for study in ["clinic", "tutoring"] {
        assert!(text.contains(&format!("study {study}: clean")), "{text}");
    }
}

#[test]
fn the_default_port_is_replaced_if_it_is_in_use() {
    let dir = TestDir::new();
    // If this fails, the port is in use as well.
    let _held = TcpListener::bind("127.0.0.1:8420");
    let (mut service, ready) = start(&dir, "");
    let address = ready["address"].as_str().unwrap();
    assert!(address.starts_with("http://127.0.0.1:") && !address.ends_with(":8420"));
    let mut note = String::new();
    let mut errors = BufReader::new(service.child.stderr.take().unwrap());
    errors.read_line(&mut note).unwrap();
    assert!(note.contains("127.0.0.1:8420 is in use"), "{note}");
    assert!(service.stop_by("-INT").success());
}

#[test]
fn rejects_addresses_that_cannot_be_used() {
    let dir = TestDir::new();
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let call = format!("demo --listen {}", held.local_addr().unwrap());
    let output = command(&call).env("TMPDIR", dir.at("")).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("cannot listen on"), "{error}");
    assert_eq!(fs::read_dir(dir.at("")).unwrap().count(), 0);
    rejects(
        "demo --listen 0.0.0.0:0",
        2,
        "can be reached from other machines | --behind-proxy",
    );
    rejects("demo --pace 0", 2, "--pace | from 0.001 to 3600");
    rejects("demo --cases 1e9", 2, "--cases | at most 100000");
}
