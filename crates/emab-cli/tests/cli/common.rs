//! Runs the command.

use std::process::{Command, Output};

use serde_json::Value;

pub fn emab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_emab"))
        .args(args)
        .output()
        .unwrap()
}

pub fn json(args: &[&str]) -> Value {
    let output = emab(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}"))
}

/// The command must fail with this exit code and these words on standard error.
pub fn rejects(args: &[&str], code: i32, words: &[&str]) {
    let output = emab(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(output.stdout.is_empty(), "{args:?} printed data");
    for word in words {
        assert!(
            error.contains(word),
            "{args:?}: {word:?} is not in\n{error}"
        );
    }
    assert!(!error.contains("panicked"), "{error}");
}
