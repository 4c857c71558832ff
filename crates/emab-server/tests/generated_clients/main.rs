//! Clients that are generated from the OpenAPI document: every call is in them, no warning is printed, and they work.
//! `./test --setup` installs the generators; without them these tests are skipped and say so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../service/support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::TestServer;
use support::documented::DOCUMENT;
use support::socket::Running;

use emab_server::transport::Limits;

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/generated_clients");

/// A program that `./test --setup` installs.
fn tool(path: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let tool = target.join(path);
    if tool.is_file() {
        return Some(tool);
    }
    let missing = tool.display();
    println!("skipped: {missing} is missing, `./test --setup` installs it");
    None
}

/// The ids of all operations.
fn operations() -> impl Iterator<Item = &'static str> {
    let paths = DOCUMENT["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|item| item.as_object().unwrap().values());
    operations.map(|operation| operation["operationId"].as_str().unwrap())
}

/// Runs a command; fails if it fails. Returns what it prints.
async fn run(mut command: Command) -> String {
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.unwrap().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

fn assert_no_warning(printed: &str) {
    for word in ["warn", "skip", "unsupported", "unable", "error"] {
        let found = printed.to_lowercase().contains(word);
        assert!(!found, "the generator prints:\n{printed}");
    }
}

/// A service on a socket, and the arguments of a client.
async fn service() -> (Running, [String; 2]) {
    let server = TestServer::new();
    let running = Running::start(server.router.clone(), Limits::default(), None).await;
    let arguments = [format!("http://{}", running.addr), server.admin.clone()];
    // The service ends with the test.
    std::mem::forget(server);
    (running, arguments)
}

fn write_document(folder: &Path) -> PathBuf {
    let file = folder.join("openapi.json");
    fs::write(&file, DOCUMENT.to_string()).unwrap();
    file
}

/// `readStudy` as the name of a module: `read_study`.
fn snake(name: &str) -> String {
    name.chars().fold(String::new(), |mut text, c| {
        if c.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
        text
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openapi_tools_generate_a_python_client() {
    let Some(generator) = tool("venv-generated-clients/bin/openapi-python-client") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("emab_generated");
    let programs = generator.parent().unwrap();
    // It formats the client with ruff, which is installed beside it.
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(&generator);
    command
        .args(["generate", "--meta", "none", "--fail-on-warning", "--path"])
        .arg(write_document(folder.path()))
        .arg("--output-path")
        .arg(&out)
        .env("PATH", format!("{}:{path}", programs.display()));
    assert_no_warning(&run(command).await);
    let modules = |folder: PathBuf| {
        let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        files.collect::<Vec<_>>()
    };
    let tags = modules(out.join("api")).into_iter();
    let modules: Vec<_> = tags.filter(|it| it.is_dir()).flat_map(modules).collect();
    for operation in operations() {
        let module = format!("{}.py", snake(operation));
        let found = modules.iter().any(|it| it.ends_with(&module));
        assert!(found, "{operation} is left out");
    }
    let (_running, arguments) = service().await;
    let mut command = Command::new(programs.join("python"));
    command
        .arg(format!("{HERE}/use_client.py"))
        .args(arguments)
        .env("PYTHONPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    run(command).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openapi_tools_generate_a_typescript_client() {
    let generator = tool("node-generated-clients/node_modules/.bin/openapi-ts");
    let compiler = tool("node-generated-clients/node_modules/.bin/tsc");
    let (Some(generator), Some(compiler)) = (generator, compiler) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("generated");
    let mut command = Command::new(generator);
    command
        .arg("--input")
        .arg(write_document(folder.path()))
        .arg("--output")
        .arg(&out)
        .args(["--client", "@hey-api/client-fetch"])
        .current_dir(folder.path())
        .env("NO_COLOR", "1");
    assert_no_warning(&run(command).await);
    let sdk = fs::read_to_string(out.join("sdk.gen.ts")).unwrap();
    for operation in operations() {
        let function = format!("export const {operation} =");
        assert!(sdk.contains(&function), "{operation} is left out");
    }
    // The types are strict, and the client works.
    for file in ["use_client.ts", "globals.d.ts", "tsconfig.json"] {
        fs::copy(format!("{HERE}/{file}"), folder.path().join(file)).unwrap();
    }
    let mut command = Command::new(compiler);
    command.args(["--project", "tsconfig.json", "--outDir", "out"]);
    command.current_dir(folder.path());
    run(command).await;
    let (_running, arguments) = service().await;
    let mut command = Command::new("node");
    command.arg("out/use_client.js").args(arguments);
    command.current_dir(folder.path());
    run(command).await;
}
