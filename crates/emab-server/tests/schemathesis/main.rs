//! The OpenAPI document, checked by openapi-spec-validator, and the service, tried by Schemathesis. `./test --setup` installs both;
//! without them these tests are skipped and say so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../service/support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use emab_server::app::metrics::Metrics;
use emab_server::console;
use emab_server::http::rate_limit::RateLimiter;
use emab_server::http::{App, Rates, document};
use emab_server::tokens::Tokens;
use emab_server::transport::Limits;
use support::TestServer;
use support::documented::operation;
use support::socket::Running;

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schemathesis");

/// The folder of a tool that `./test --setup` installs.
fn tool(name: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let tool = target.join("venv-schemathesis/bin").join(name);
    if !tool.is_file() {
        println!(
            "skipped: {} is missing, `./test --setup` installs it",
            tool.display()
        );
        return None;
    }
    Some(tool)
}

#[test]
fn openapi_tools_accept_the_document() {
    let Some(validator) = tool("openapi-spec-validator") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openapi.json");
    let document = document();
    fs::write(&file, document.to_string()).unwrap();
    let output = Command::new(validator)
        .args(["--schema", "3.1"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openapi_tools_find_no_undocumented_answer() {
    let Some(schemathesis) = tool("schemathesis") else {
        return;
    };
    let server = TestServer::new();
    let study = &operation("PUT", "/v1/studies/clinic").unwrap()["requestBody"]["content"];
    let study = study["application/json"]["example"].to_string();
    let client = server.new_study("clinic", &study).await;
    // The names of the document's examples, in every state.
    for id in ["patient-1", "patient-2", "patient-3", "patient-4"] {
        client.open(id).await.is(201);
    }
    let script = r#"
        tell patient-2 1 test negative
        stop patient-2 2
        abandon patient-3 moved away
        open patient-5
        tell patient-5 1 test positive
        stop patient-5 2
        outcome patient-5 {"costs": [0.1], "rewards": [0, 1]}
    "#;
    client.run(script).await;
    // Schemathesis calls without a token; those calls must not be slowed down.
    let rates = Rates {
        calls: RateLimiter::new(0, 0),
        failures: RateLimiter::new(0, 0),
    };
    let tokens = Tokens::watch(server.tokens.path()).unwrap();
    let metrics = Metrics::default();
    let router = console::app(App::new(server.service.clone(), tokens, rates, metrics));
    let running = Running::start(router, Limits::default(), None).await;
    let mut command = Command::new(schemathesis);
    command
        .arg("--config-file")
        .arg(format!("{HERE}/schemathesis.toml"))
        .arg("run")
        .arg(format!("http://{}/openapi.json", running.addr))
        .arg(format!("--header=Authorization: Bearer {}", server.admin))
        .env("SCHEMATHESIS_HOOKS", format!("{HERE}/hooks.py"))
        // It writes files into the working directory.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(server.folder.path());
    // For a longer run: EMAB_SCHEMATHESIS="--seed 7 --max-examples 500".
    let more = std::env::var("EMAB_SCHEMATHESIS").unwrap_or_default();
    command.args(more.split_whitespace());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    client.assert_consistent().await;
}
