//! The guides, typed word for word in a folder: their `bash` blocks in one shell, and what follows each is what came out.

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
    let (mut before, mut follows) = ("", false);
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                follows = before == "```";
                open = Some((language, String::new()));
            }
            (Some(_), Some(_)) => match open.take() {
                Some(("bash", typed)) => blocks.push((typed, None)),
                // Output directly after a block; other text is not typed.
                Some(("text", seen)) if follows => blocks.last_mut().unwrap().1 = Some(seen),
                _ => {}
            },
            (Some((_, body)), None) => *body += &format!("{line}\n"),
            (None, None) => {}
        }
        before = line;
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
    let postgres = Server::start().unwrap();
    let url = postgres.database("guide").unwrap();
    let blocks = type_page("clinic.md", tempfile::tempdir().unwrap().path(), &url);
    assert!(blocks > 10);
}

#[test]
fn the_study() {
    let folder = tempfile::tempdir().unwrap();
    assert!(type_page("running-a-study.md", folder.path(), "") > 5);
}

#[test]
fn the_operator() {
    let folder = tempfile::tempdir().unwrap();
    assert!(type_page("operating.md", folder.path(), "") > 4);
}

#[test]
fn the_upgrade() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("data/studies.db");
    fs::create_dir(store.parent().unwrap()).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::copy(root.join("tests/fixtures/studies.db"), store).unwrap();
    assert_eq!(type_page("upgrading.md", folder.path(), ""), 4);
}

/// Types the blocks of a page in a folder, and compares what is seen; returns their number.
fn type_page(page: &str, folder: &Path, database: &str) -> usize {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut guide = fs::read_to_string(guide.join(page)).unwrap();
    for port in ["8420", "8421", "8422"] {
        guide = guide.replace(port, &free_port().to_string());
    }
    let blocks = blocks(&guide);
    let script: String = blocks
        .iter()
        .map(|(typed, _)| format!("{typed}\necho '{MARK}'\n"))
        .collect();

    fs::write(folder.join("typed"), script).unwrap();
    let emab = Path::new(env!("CARGO_BIN_EXE_emab")).parent().unwrap();
    let path = format!("{}:{}", emab.display(), std::env::var("PATH").unwrap());
    let output = Command::new("timeout")
        .args(["300", "bash", "-e", "typed"])
        .current_dir(folder)
        .env("PATH", path)
        .env("DATABASE_URL", database)
        .output()
        .unwrap();
    let seen = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let log = fs::read_to_string(folder.join("serve.log")).unwrap_or_default();
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
    blocks.len()
}
