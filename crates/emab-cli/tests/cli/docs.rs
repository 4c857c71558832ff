//! Every code block of the docs is of a kind that is tested.

use std::fs;
use std::path::{Path, PathBuf};

use emab_episodes::SavedLearner;
use emab_problem::{Format, ProblemFile};
use emab_sim::compare::sweep::{Sweep, SweepFile};

/// Commands in `sh` blocks: what a newcomer types. CI runs the second; the first is run in small by `cli.rs`, the third by
/// `python/test`.
const COMMANDS: [&str; 3] = [
    "cargo run --release -- reproduce",
    "./test",
    "pip install ./python",
];

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    pages.extend(
        fs::read_dir(root.join("docs/reference"))
            .unwrap()
            .map(|e| e.unwrap().path()),
    );
    for name in [
        "README.md",
        "DESIGN.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
    ] {
        pages.push(root.join(name));
    }
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    pages
}

/// The code blocks of a page: language and text.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => open = Some((language.trim().into(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, body)), None) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a code block is not closed");
    blocks
}

#[test]
fn every_block_is_tested() {
    for page in pages() {
        let name = page.display();
        for (language, body) in blocks(&fs::read_to_string(&page).unwrap()) {
            match language.as_str() {
                // Run by `cli.rs` through trycmd.
                "console" => assert!(
                    body.lines().any(|line| line.starts_with("$ emab")),
                    "{name}: {body}"
                ),
                // Run by rustdoc: `docs/rust.md` is part of emab-sim's documentation.
                "rust" => assert!(
                    page.ends_with("rust.md"),
                    "{name}: Rust goes into docs/rust.md"
                ),
                // Run by python/tests: `test_pages.py`, and `client/` where a service is needed.
                "python" => {}
                "toml" if page.ends_with("sweeps.md") => {
                    let file = SweepFile::parse("block.toml", &body)
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                    let problem = ProblemFile::builtin(&file.problem).unwrap().unwrap();
                    let sweep = Sweep::new(file, &problem)
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                    sweep
                        .check(&problem)
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                }
                // A study, which `tests/browser/test_guide.py` creates.
                "toml" if page.ends_with("clinic.md") => {}
                "toml" => {
                    let file = ProblemFile::parse_as(Format::Toml, "block.toml", &body)
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                    file.check(100_000)
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                }
                "json" => {
                    serde_json::from_str::<serde_json::Value>(&body)
                        .unwrap_or_else(|e| panic!("{name}: {e}"));
                }
                // Saved learners.
                "jsonl" => {
                    let trained = SavedLearner::read(body.as_bytes())
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                    trained
                        .rebuild()
                        .map(drop)
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                }
                "sh" => {
                    for line in body.lines().filter(|line| !line.trim().is_empty()) {
                        let command = line.split("  #").next().unwrap().trim();
                        assert!(
                            COMMANDS.contains(&command),
                            "{name}: `{command}` is tested nowhere"
                        );
                    }
                }
                // Typed by `./release` in an empty system.
                "bash" if page.ends_with("install.md") => {}
                // Typed by `clinic_guide.rs`.
                "bash" => {
                    let typed = [
                        "clinic.md",
                        "operating.md",
                        "running-a-study.md",
                        "upgrading.md",
                    ];
                    let is_typed = typed.iter().any(|it| page.ends_with(it));
                    assert!(is_typed, "{name}: {body}");
                }
                // Pictures in text, formulas, trees of files.
                "text" => {}
                other => panic!("{name}: a block of `{other}` is tested nowhere"),
            }
        }
    }
}

#[test]
fn the_files_on_the_pages_are_those_that_are_run() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name: &str| fs::read_to_string(docs.join(name)).unwrap();
    for (page, file) in [
        ("sweeps.md", "sweeps.in/sweep.toml"),
        ("mdp.md", "mdp.in/detour.toml"),
        ("tutorial.md", "tutorial.in/desk.toml"),
    ] {
        let (_, body) = blocks(&read(page)).swap_remove(0);
        assert_eq!(body, read(file));
    }
}

#[test]
fn every_link_leads_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let target = link.split('#').next().unwrap();
            // `docs/build` makes and checks the API.
            if target.is_empty() || target.contains("://") || target.starts_with("api/") {
                continue;
            }
            let path = page.parent().unwrap().join(target);
            assert!(path.exists(), "{}: {link}", page.display());
        }
    }
}
