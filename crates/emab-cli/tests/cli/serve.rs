//! `emab serve` as a process: its log, its signals and its end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, ExitStatus};
use std::time::{Duration, Instant};

use crate::common::{emab, said, start};
use crate::test_dir::TestDir;

/// A timeout that no passing test reaches.
pub const LONG: Duration = Duration::from_secs(30);

const STUDY: &str = r#"{"horizon": 1, "states": ["s"], "actions": ["a", "b"], "feedbacks": ["f"],
    "transition": "0", "learner": "feedbal"}"#;

/// A running service with an empty store, and its admin token.
pub struct Service {
    pub child: Child,
    address: String,
    pub token: String,
}

impl Service {
    fn start(dir: &TestDir, options: &str) -> Service {
        let call = format!(
            "serve --json --listen 127.0.0.1:0 --store sqlite:{} --tokens @/tokens.json {options}",
            dir.at("studies.db")
        );
        let (mut service, ready) = Service::read(start(&dir.call(&call)));
        service.token = ready["admin_token"].as_str().unwrap_or("").into();
        service
    }

    /// A started service, without a token, and what it has printed as JSON.
    pub fn read(mut child: Child) -> (Service, serde_json::Value) {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        // Pretty-printed: the document ends with a line of its own.
        while !text.ends_with("\n}\n") {
            let n = out.read_line(&mut text).unwrap();
            assert!(n > 0, "the service ended: {:?}", child.wait_with_output());
        }
        let ready: serde_json::Value = serde_json::from_str(&text).unwrap();
        let address = ready["address"].as_str().unwrap();
        let (_, address) = address.split_once("://").unwrap();
        let service = Service {
            child,
            address: address.into(),
            token: String::new(),
        };
        (service, ready)
    }

    /// Sends a request with the admin token and returns the answer, head and body.
    pub fn call(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let (token, length) = (&self.token, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn signal(&self, name: &str) {
        let mut kill = std::process::Command::new("kill");
        let sent = kill.args([name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Sends SIGTERM and waits for the end.
    fn stop(self) -> ExitStatus {
        self.stop_by("-TERM")
    }

    /// Sends a signal and waits for the end.
    pub fn stop_by(mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        let end = Instant::now() + LONG;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it runs after the signal");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Reads the log until a line contains a text.
fn until(log: &mut BufReader<ChildStderr>, text: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "no {text:?}");
        if line.contains(text) {
            return line;
        }
    }
}

/// Where standard output becomes a log, no secret is printed; a token that is made later is valid at once.
#[test]
fn no_admin_token_is_created_where_none_is_wanted() {
    let dir = TestDir::new();
    let mut service = Service::start(&dir, "--no-admin-token");
    assert_eq!(service.token, "");
    assert!(service.call("GET", "/v1/studies", "").contains(" 401 "));
    let (secret, _) = said(&dir.call("token new admin --role admin --tokens @/tokens.json"));
    service.token = secret.trim().into();
    assert!(service.call("GET", "/v1/studies", "").contains(" 200 "));
    assert!(service.stop().success());
}

#[test]
fn an_unread_log_does_not_stop_the_service() {
    let dir = TestDir::new();
    let mut service = Service::start(&dir, "--log debug");
    let mut log = BufReader::with_capacity(1024, service.child.stderr.take().unwrap());
    let mut dropped = false;
    while !dropped {
        // More than a pipe holds.
        for _ in 0..500 {
            let answer = service.call("GET", "/livez", "");
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        let metrics = service.call("GET", "/metrics", "");
        let mut lines = metrics.lines();
        let count = lines.find_map(|line| line.strip_prefix("emab_log_lines_dropped_total "));
        dropped = count.unwrap() != "0";
    }
    let answer = service.call("PUT", "/v1/studies/clinic", STUDY);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    // The number is written once the log is read again.
    let line = until(&mut log, "log lines were dropped");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(line["fields"]["lines"].as_u64() > Some(0), "{line}");
    // The pipe is full again at the end.
    for _ in 0..500 {
        service.call("GET", "/livez", "");
    }
    assert!(service.stop().success());
}

#[test]
fn sighup_without_tls_is_ignored() {
    let dir = TestDir::new();
    let mut service = Service::start(&dir, "");
    let mut log = BufReader::new(service.child.stderr.take().unwrap());
    // It serves only after signals are handled.
    service.call("GET", "/livez", "");
    service.signal("-HUP");
    until(&mut log, "SIGHUP is ignored");
    let answer = service.call("GET", "/livez", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(service.stop().success());
}

#[test]
fn checkpoints_find_what_an_audit_of_the_store_cannot() {
    let dir = TestDir::new();
    let start = || Service::start(&dir, "--checkpoint-file @/elsewhere");
    let mut service = start();
    let mut log = BufReader::new(service.child.stderr.take().unwrap());
    let line = until(&mut log, "checkpoints are signed");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let key = line["fields"]["key"].as_str().unwrap().to_owned();
    let token = service.token.clone();
    let put = |service: &Service, study: &str| {
        let answer = service.call("PUT", &format!("/v1/studies/{study}"), STUDY);
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    };
    let open = |service: &Service| {
        let answer = service.call("POST", "/v1/studies/clinic/episodes", "");
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    };
    put(&service, "clinic");
    open(&service);
    assert!(service.stop().success());
    fs::copy(dir.at("studies.db"), dir.at("earlier.db")).unwrap();
    let mut service = start();
    service.token = token;
    open(&service);
    put(&service, "other");
    let export = service.call("GET", "/v1/studies/clinic:export", "");
    assert!(service.stop().success());

    let audit =
        |store: &str, rest: &str| dir.call(&format!("audit @/{store} --checkpoint @/{rest}"));
    let pinned = format!("elsewhere --checkpoint-key-public {key}");
    assert!(said(&audit("studies.db", &pinned)).0.contains("expected"));
    assert!(said(&audit("studies.db", "elsewhere")).0.contains(&key));
    // The earlier store is clean by itself; its last events and a study are missing.
    dir.emab("audit @/earlier.db");
    let found = |store: &str, rest: &str, words: &str| {
        let output = emab(&audit(store, rest));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for word in words.split(" | ") {
            assert!(text.contains(word), "{word:?} is not in\n{text}");
        }
    };
    found(
        "earlier.db",
        &pinned,
        "ends with event 2 | no study `other`",
    );
    let only = "elsewhere --study clinic";
    found("earlier.db", only, "had event 3");
    // An export, whole and cut off.
    let (_, lines) = export.split_once("\r\n\r\n").unwrap();
    let lines: Vec<&str> = lines.lines().filter(|line| line.starts_with('{')).collect();
    dir.write("whole", &(lines.join("\n") + "\n"));
    dir.write("cut", &(lines[1..lines.len() - 1].join("\n") + "\n"));
    dir.emab(&audit("whole", &pinned));
    found("cut", &pinned, "had event 3");
    // Changed, foreign and missing checkpoints.
    let file = dir.text("elsewhere");
    let other_key = format!("elsewhere --checkpoint-key-public {}", "0".repeat(64));
    found("studies.db", &other_key, "another key");
    dir.write("changed", &file.replace("\"seq\":3", "\"seq\":4"));
    found("studies.db", "changed", "signature does not match");
    dir.write("empty", "");
    found("studies.db", "empty", "no checkpoint");
}
