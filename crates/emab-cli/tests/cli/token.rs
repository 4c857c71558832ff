//! `emab token`: tokens are created, listed and revoked; secrets are not stored.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use emab_server::store::postgres::Postgres;
use emab_testkit::postgres::Server;
use serde_json::Value;

use crate::common::{command, said};
use crate::test_dir::TestDir;

#[test]
fn a_token_is_created_listed_and_revoked() {
    let dir = TestDir::new();
    let call = |call: &str| dir.call(&format!("token {call} --tokens @/new/tokens.json"));
    let (secret, said_new) = said(&call("new ward␣3 --role operator"));
    let secret = secret.strip_suffix('\n').unwrap();
    assert!(
        secret.starts_with("emab_") && secret.len() == 69,
        "{secret}"
    );
    let silent = !said_new.contains(secret);
    assert!(said_new.contains("not shown again") && silent, "{said_new}");

    let other = dir.json(
        "--json token new nurse --role blinded --study one --study two --tokens @/new/tokens.json",
    );
    assert_eq!(other["studies"], serde_json::json!(["one", "two"]));
    let other_secret = other["secret"].as_str().unwrap();
    assert_ne!(secret, other_secret);

    let metadata = fs::metadata(dir.at("new/tokens.json")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let kept = dir.text("new/tokens.json");
    let list = || dir.json(&call("list --json"));
    let (listed, table) = (list(), said(&call("list")).0);
    for secret in [secret, other_secret] {
        for text in [&kept, &listed.to_string(), &table] {
            assert!(!text.contains(&secret[5..]), "{text}");
        }
    }
    assert_eq!(listed[0]["name"], "ward 3");
    assert_eq!(listed[1]["id"], other["id"]);
    assert_eq!(listed[1]["revoked"], serde_json::Value::Null);
    assert!(
        table.contains("ward 3") && table.contains("one,") && table.contains("two"),
        "{table}"
    );

    dir.emab(&call("revoke ward␣3"));
    let revoke = call(&format!("revoke {} --json", other["id"].as_str().unwrap()));
    let revoked = dir.json(&revoke);
    assert_eq!(revoked["name"], "nurse");
    assert!(revoked["revoked"].is_string());
    // Again is as good.
    assert_eq!(dir.json(&revoke), revoked);
    let listed = list();
    let mut tokens = listed.as_array().unwrap().iter();
    assert!(tokens.all(|token| token["revoked"].is_string()));
}

#[test]
fn rejects_invalid_calls() {
    let dir = TestDir::new();
    dir.rejects_each(
        2,
        "
        token list --tokens @/tokens.json                             => there is no token file | emab token new
        token revoke x --tokens @/tokens.json                         => there is no token file
        token new x --tokens @/tokens.json                            => --role
        token new x --role boss --tokens @/tokens.json                => boss | blinded
        token new a␤b --role viewer --tokens @/tokens.json            => letters, digits
        token new x --role viewer --study= --tokens @/tokens.json     => study
        ",
    );
    assert!(!dir.exists("tokens.json"));

    dir.emab("token new x --role viewer --tokens @/tokens.json");
    dir.rejects_each(
        2,
        "
        token new x --role viewer --tokens @/tokens.json => `x` exists | revoke
        token revoke y --tokens @/tokens.json            => `y` | emab token list
        ",
    );

    dir.write("tokens.json", "[{\"id\": 7}]");
    for call in ["list", "new z --role admin", "revoke x"] {
        let call = format!("token {call} --tokens @/tokens.json");
        dir.rejects(
            &call,
            2,
            "tokens.json is invalid | `/0/id` must be a text, got 7",
        );
    }
    assert_eq!(dir.text("tokens.json"), "[{\"id\": 7}]");
    let call = "token new x --role viewer --tokens @/tokens.json/tokens.json";
    dir.rejects(call, 1, "cannot be written");
}

#[test]
fn tokens_of_a_postgres_store_are_in_the_database() {
    let server = Server::shared().unwrap();
    let url = server.database("cli_tokens").unwrap();
    let call = |store: &str, call: &str| {
        let mut call = command(&format!("token {call} --json"));
        let output = call.env("EMAB_STORE", store).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        (
            output.status.code(),
            serde_json::from_slice::<Value>(&output.stdout),
            error,
        )
    };
    let (code, _, error) = call(&url, "list");
    assert_eq!(code, Some(1));
    assert!(error.contains("`emab serve` creates them"), "{error}");
    drop(Postgres::open(&url).unwrap());
    let (_, new, said) = call(&url, "new a --role viewer");
    assert!(said.contains("is in the database"), "{said}");
    let new = new.unwrap();
    let secret = new["secret"].as_str().unwrap();
    call(&url, "revoke a").1.unwrap();
    let listed = call(&url, "list").1.unwrap();
    assert_eq!(listed[0]["id"], new["id"]);
    assert!(listed[0]["revoked"].is_string());
    assert!(!listed.to_string().contains(&secret[5..]));
    // A wrong address is not shown: it may contain a password.
    let (code, _, error) = call("postgress://a:secret@b/c", "list");
    assert_eq!(code, Some(2));
    assert!(
        error.contains("EMAB_STORE: a store is") && !error.contains("secret"),
        "{error}"
    );
    let (code, _, error) = call("", "list --store sqlite:a.db");
    assert_eq!(code, Some(2));
    assert!(error.contains("--tokens FILE"), "{error}");
}

#[test]
fn the_default_file_is_in_the_data_folder() {
    let dir = TestDir::new();
    for (key, file) in [
        ("EMAB_DATA", "tokens.json"),
        ("XDG_DATA_HOME", "emab/tokens.json"),
        ("HOME", ".local/share/emab/tokens.json"),
    ] {
        let mut new = command("token new a --role viewer");
        let output = new.env_clear().env(key, dir.at("")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(dir.exists(file), "{file}");
    }
    let output = command("token list").env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("EMAB_DATA"));
}
