//! Runs the command. The arguments of a call are separated by spaces; `␣` is a space and `␤` a line break in an argument.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

pub fn command(call: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_emab"));
    // The width of the terminal that runs the tests does not matter.
    command.env_remove("COLUMNS");
    let arguments = call.split_whitespace();
    command.args(arguments.map(|argument| argument.replace('␣', " ").replace('␤', "\n")));
    command
}

pub fn emab(call: &str) -> Output {
    command(call).output().unwrap()
}

/// Starts the command, with pipes.
pub fn start(call: &str) -> Child {
    let mut command = command(call);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends Ctrl-C.
pub fn interrupt(child: &Child) {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Runs the command with this standard input.
pub fn emab_with_input(call: &str, input: &[u8]) -> Output {
    let mut child = start(call);
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// Standard output and standard error of a command that must succeed.
pub fn said(call: &str) -> (String, String) {
    let output = emab(call);
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(0), "{call}: {err}");
    (out, err)
}

pub fn json(call: &str) -> Value {
    serde_json::from_str(&said(call).0).unwrap_or_else(|e| panic!("{call}: {e}"))
}

/// The command must fail with this exit code and these words, between bars, on standard error.
pub fn rejects(call: &str, code: i32, words: &str) {
    let output = emab(call);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{call}: {error}");
    assert!(output.stdout.is_empty(), "{call} printed data");
    for word in words.split(" | ").map(str::trim) {
        assert!(error.contains(word), "{call}: {word:?} is not in\n{error}");
    }
    assert!(!error.contains("panicked"), "{error}");
}

/// A result without the times that it took.
pub fn timeless(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .filter(|(name, _)| !["seconds", "nanoseconds"].contains(&&**name));
            kept.map(|(name, value)| (name, timeless(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(timeless).collect(),
        other => other,
    }
}
