//! `emab serve` as a process: its log, its signals and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, ExitStatus};
use std::time::{Duration, Instant};

use crate::common::start;
use crate::test_dir::TestDir;

/// A timeout that no passing test reaches.
const LONG: Duration = Duration::from_secs(30);

const STUDY: &str = r#"{"horizon": 1, "states": ["s"], "actions": ["a", "b"], "feedbacks": ["f"],
    "transition": "0", "learner": "feedbal"}"#;

/// A running service with an empty store, and its admin token.
struct Service {
    child: Child,
    address: String,
    token: String,
}

impl Service {
    fn start(dir: &TestDir, options: &str) -> Service {
        let call = format!(
            "serve --json --listen 127.0.0.1:0 --store sqlite:{} --tokens @/tokens.json {options}",
            dir.at("studies.db")
        );
        let mut child = start(&dir.call(&call));
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        // Pretty-printed: the document ends with a line of its own.
        while !text.ends_with("}\n") {
            let n = out.read_line(&mut text).unwrap();
            assert!(n > 0, "the service ended: {:?}", child.wait_with_output());
        }
        let ready: serde_json::Value = serde_json::from_str(&text).unwrap();
        let address = ready["address"].as_str().unwrap();
        let (_, address) = address.split_once("://").unwrap();
        Service {
            child,
            address: address.into(),
            token: ready["admin_token"].as_str().unwrap_or("").into(),
        }
    }

    /// Sends a request with the admin token and returns the answer, head and body.
    fn call(&self, method: &str, path: &str, body: &str) -> String {
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
    fn stop(mut self) -> ExitStatus {
        self.signal("-TERM");
        let end = Instant::now() + LONG;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it runs after SIGTERM");
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
    service.signal("-HUP");
    until(&mut log, "SIGHUP is ignored");
    let answer = service.call("GET", "/livez", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(service.stop().success());
}
