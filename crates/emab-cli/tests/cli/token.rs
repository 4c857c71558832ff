//! `emab token`: tokens are created, listed and revoked; secrets are not stored.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::{emab, json, rejects};

#[test]
fn a_token_is_created_listed_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/tokens.json");
    let file = path.to_str().unwrap();

    let output = emab(&[
        "token", "new", "ward 3", "--role", "operator", "--tokens", file,
    ]);
    assert_eq!(output.status.code(), Some(0));
    let secret = String::from_utf8(output.stdout).unwrap();
    let secret = secret.strip_suffix('\n').unwrap();
    assert!(
        secret.starts_with("emab_") && secret.len() == 69,
        "{secret}"
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("not shown again") && !said.contains(secret),
        "{said}"
    );

    let other = json(&[
        "--json", "token", "new", "nurse", "--role", "blinded", "--study", "one", "--study", "two",
        "--tokens", file,
    ]);
    assert_eq!(other["studies"], serde_json::json!(["one", "two"]));
    let other_secret = other["secret"].as_str().unwrap();
    assert_ne!(secret, other_secret);

    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let kept = fs::read_to_string(&path).unwrap();
    let listed = json(&["token", "list", "--json", "--tokens", file]);
    let table = emab(&["token", "list", "--tokens", file]);
    let table = String::from_utf8(table.stdout).unwrap();
    for secret in [secret, other_secret] {
        for text in [&kept, &listed.to_string(), &table] {
            assert!(!text.contains(&secret[5..]), "{text}");
        }
    }
    assert_eq!(listed[0]["name"], "ward 3");
    assert_eq!(listed[1]["id"], other["id"]);
    assert_eq!(listed[1]["revoked"], serde_json::Value::Null);
    assert!(
        table.contains("ward 3") && table.contains("one, two"),
        "{table}"
    );

    let output = emab(&["token", "revoke", "ward 3", "--tokens", file]);
    assert_eq!(output.status.code(), Some(0));
    let id = other["id"].as_str().unwrap();
    let revoked = json(&["token", "revoke", id, "--json", "--tokens", file]);
    assert_eq!(revoked["name"], "nurse");
    assert!(revoked["revoked"].is_string());
    // Again is as good.
    assert_eq!(
        json(&["token", "revoke", id, "--json", "--tokens", file]),
        revoked
    );
    let listed = json(&["token", "list", "--json", "--tokens", file]);
    assert!(
        listed
            .as_array()
            .unwrap()
            .iter()
            .all(|token| token["revoked"].is_string())
    );
}

#[test]
fn rejects_invalid_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let file = path.to_str().unwrap();
    rejects(
        &["token", "list", "--tokens", file],
        2,
        &["there is no token file", "emab token new"],
    );
    rejects(
        &["token", "revoke", "x", "--tokens", file],
        2,
        &["there is no token file"],
    );
    rejects(&["token", "new", "x", "--tokens", file], 2, &["--role"]);
    rejects(
        &["token", "new", "x", "--role", "boss", "--tokens", file],
        2,
        &["boss", "blinded"],
    );
    rejects(
        &["token", "new", "a\nb", "--role", "viewer", "--tokens", file],
        2,
        &["letters, digits"],
    );
    rejects(
        &[
            "token", "new", "x", "--role", "viewer", "--study", "", "--tokens", file,
        ],
        2,
        &["study"],
    );
    assert!(!path.exists());

    assert!(
        emab(&["token", "new", "x", "--role", "viewer", "--tokens", file])
            .status
            .success()
    );
    rejects(
        &["token", "new", "x", "--role", "viewer", "--tokens", file],
        2,
        &["`x` exists", "revoke"],
    );
    rejects(
        &["token", "revoke", "y", "--tokens", file],
        2,
        &["`y`", "emab token list"],
    );

    fs::write(&path, "[{\"id\": 7}]").unwrap();
    for args in [
        &["token", "list"][..],
        &["token", "new", "z", "--role", "admin"],
        &["token", "revoke", "x"],
    ] {
        let args = [args, &["--tokens", file]].concat();
        rejects(&args, 2, &["tokens.json is invalid", "line 1"]);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "[{\"id\": 7}]");

    let below = path.join("tokens.json");
    let below = below.to_str().unwrap();
    rejects(
        &["token", "new", "x", "--role", "viewer", "--tokens", below],
        1,
        &["cannot be written"],
    );
}

#[test]
fn the_default_file_is_in_the_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, key: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_emab"))
            .args(["token", "new", name, "--role", "viewer"])
            .env_clear()
            .env(key, folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run("a", "EMAB_DATA");
    run("b", "XDG_DATA_HOME");
    run("c", "HOME");
    for dir in [
        "tokens.json",
        "emab/tokens.json",
        ".local/share/emab/tokens.json",
    ] {
        assert!(folder.path().join(dir).exists(), "{dir}");
    }
    let mut lost = Command::new(env!("CARGO_BIN_EXE_emab"));
    let output = lost.args(["token", "list"]).env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("EMAB_DATA"));
}
