//! `emab report`: one page of result folders.

use std::fs;

use crate::test_dir::{SWEEP, TestDir};

/// A folder with a run, a sweep and an arena.
fn results() -> TestDir {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    dir.emab(
        "run feedback-gap --learner feedbal --learner ucb1 --episodes 50 --runs 4 --out @/run",
    );
    dir.emab("sweep @/sweep.toml --out @/sweep");
    dir.emab("arena parity feedback-gap --learner ucb1 --episodes 20 --runs 4 --out @/arena");
    dir
}

#[test]
fn every_kind_of_result_has_a_page() {
    let dir = results();
    for (folder, parts) in [
        (
            "run",
            "emab run feedback-gap \\\n    --learner feedbal \\\n    --learner ucb1 | not sound here | Where regret is paid | Theorem 1",
        ),
        (
            "sweep",
            "Regret by parameters | problem.p | [grid] | hash of the sweep",
        ),
        (
            "arena",
            "emab arena parity feedback-gap \\\n    --learner | Ranking over all problems | best",
        ),
    ] {
        let written = dir.json(&format!("report @/{folder} --json"));
        assert_eq!(
            written["written"][0].as_str().unwrap(),
            dir.at(&format!("{folder}/report.html"))
        );
        let page = dir.text(&format!("{folder}/report.html"));
        for part in parts.split(" | ") {
            assert!(page.contains(part), "{folder}: {part}");
        }
        assert!(!page.contains("There is no figure"), "{folder}");
    }
    dir.emab("report @/run @/sweep @/arena --out @/all.html");
    let page = dir.text("all.html");
    assert!(page.contains("The problems differ"));
    assert_eq!(page.matches(">How to repeat it</h3>").count(), 3);
}

#[test]
fn the_command_in_a_page_repeats_the_run() {
    let dir = TestDir::new();
    dir.write("own.toml", OWN);
    let first =
        dir.json("run @/own.toml --learner ucb1 --episodes 40 --runs 3 --seed 9 --checkpoints 7,20 --condition delay=2 --out @/run --json");
    dir.emab("report @/run");
    let page = dir.text("run/report.html");
    let call = page.split("emab run ").nth(1).unwrap();
    let call = call.replace("\\\n", " ");
    let call = call
        .split("</code>")
        .next()
        .unwrap()
        .replace("&quot;", "\"");
    let again = dir.json(&format!("run {call} --json"));
    assert_eq!(
        crate::common::timeless(first),
        crate::common::timeless(again)
    );
}

/// A problem that is not built in.
const OWN: &str = r#"
name = "own"
horizon = 3
states = 3
actions = ["go"]
feedbacks = 2
transition = "min(x + f, 2)"
[model]
feedback = [0.4, 0.6]
reward = "x"
cost = 0.1
"#;

#[test]
fn nothing_is_replaced_unasked() {
    let dir = results();
    dir.emab("report @/run");
    // The same page again.
    dir.emab("report @/run");
    dir.write("run/report.html", "mine");
    dir.rejects(
        "report @/run",
        2,
        "report.html exists and has other content | --force",
    );
    assert_eq!(dir.text("run/report.html"), "mine");
    dir.emab("report @/run --force");
    // A run in place of the run removes the report of the former.
    dir.emab("run parity --episodes 10 --runs 2 --out @/run --force");
    assert!(!dir.exists("run/report.html"));
    dir.emab("report @/run");
    assert!(dir.text("run/report.html").starts_with("<!DOCTYPE html>"));
}

#[test]
fn invalid_calls_are_explained() {
    let dir = results();
    fs::create_dir(dir.at("empty")).unwrap();
    for (call, words) in [
        ("report @/run --out @/page.pdf", "--out must end in .html"),
        ("report @/run @/sweep", "several folders | --out FILE.html"),
        ("report @/empty", "contains no finished result | run.json"),
        ("report @/nowhere", "nowhere"),
    ] {
        dir.rejects(call, 2, words);
    }
    dir.write("run/places.csv", "learner\nfeedbal\n");
    dir.rejects("report @/run", 1, "places.csv is damaged | row 2");
}
