//! The guide, typed word for word in an empty folder: its `bash` blocks in one shell, and what follows each is what came out.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use emab_testkit::postgres::Server;

const MARK: &str = "=== end of block ===";

/// What is typed, and what should be seen where the guide says so.
fn blocks(text: &str) -> Vec<(String, Option<String>)> {
    let mut blocks: Vec<(String, Option<String>)> = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language, String::new())),
            (Some(_), Some(_)) => match open.take() {
                Some(("bash", typed)) => blocks.push((typed, None)),
                Some(("text", seen)) => blocks.last_mut().unwrap().1 = Some(seen),
                _ => {}
            },
            (Some((_, body)), None) => *body += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}

/// Whether a line is what the guide shows; `[..]` stands for anything.
fn matches(shown: &str, line: &str) -> bool {
    let Some((first, shown)) = shown.split_once("[..]") else {
        return shown == line;
    };
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = shown.split("[..]").collect();
    let last = parts.pop().unwrap();
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn the_clinic() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clinic.md");
    let mut guide = fs::read_to_string(guide).unwrap();
    for port in ["8420", "8421", "8422"] {
        guide = guide.replace(port, &free_port().to_string());
    }
    let blocks = blocks(&guide);
    assert!(blocks.len() > 10);
    let script: String = blocks
        .iter()
        .map(|(typed, _)| format!("{typed}\necho '{MARK}'\n"))
        .collect();

    let postgres = Server::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("typed"), script).unwrap();
    let emab = Path::new(env!("CARGO_BIN_EXE_emab")).parent().unwrap();
    let path = format!("{}:{}", emab.display(), std::env::var("PATH").unwrap());
    let output = Command::new("timeout")
        .args(["300", "bash", "-e", "typed"])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("DATABASE_URL", postgres.database("guide").unwrap())
        .output()
        .unwrap();
    let seen = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let log = fs::read_to_string(folder.path().join("serve.log")).unwrap_or_default();
    assert!(output.status.success(), "{seen}\n{said}\n{log}");
    let mark = format!("{MARK}\n");
    let mut seen = seen.split(&mark);
    for (typed, shown) in &blocks {
        let seen = seen.next().unwrap();
        let Some(shown) = shown else { continue };
        let same = seen.lines().count() == shown.lines().count()
            && shown
                .lines()
                .zip(seen.lines())
                .all(|(shown, line)| matches(shown, line));
        assert!(
            same,
            "typed:\n{typed}\nthe guide shows:\n{shown}\nseen:\n{seen}"
        );
    }
}
