//! `emab report`: one page of result folders.

use std::fs;

use serde_json::Value;

use crate::common::timeless;
use crate::test_dir::{OWN, SWEEP, TestDir};

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
        dir.json("run @/own.toml --learner ucb1 --episodes 40 --runs 3 --seed 9 --checkpoints 7,20 --record-at 11 --condition delay=2 --out @/run --json");
    let call = reported_command(&dir, "run");
    assert!(call.starts_with("run "), "{call}");
    let again = dir.json(&format!("{call} --out @/again --json"));
    assert_eq!(timeless(first), timeless(again));
    assert_eq!(dir.read("run/runs.csv"), dir.read("again/runs.csv"));
}

/// Writes the report of a folder and returns the command in it, without `emab`.
fn reported_command(dir: &TestDir, folder: &str) -> String {
    dir.emab(&format!("report @/{folder} --force"));
    let page = dir.text(&format!("{folder}/report.html"));
    let code = page.rsplit(">How to repeat it<").next().unwrap();
    let call = code.split("emab ").nth(1).unwrap();
    let call = call.split("</code>").next().unwrap();
    let call = call.replace("\\\n", " ").replace("&quot;", "\"");
    call.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_command_in_a_page_repeats_the_arena() {
    let dir = TestDir::new();
    dir.write("own.toml", OWN);
    let delayed = format!("{OWN}[conditions]\ndelay = 2\n");
    dir.write("delayed.toml", &delayed.replace("own", "own, delayed"));
    dir.emab("problems --random small --seed 2 --count 11 --out @/family");
    for (i, (problems, options, words)) in [
        // Default learners, one of which needs a parameter that the file does not state.
        (
            "@/own.toml",
            "",
            "arena @/0/arena-problems/0001-own.json --episodes",
        ),
        (
            "@/delayed.toml parity @/own.toml",
            "--learner optimal --learner benchmark --learner ucb1",
            "arena @/1/arena-problems/0001-own--delayed.json parity @/1/arena-problems/0003-own.json ",
        ),
        // Conditions of the call: those of built-in problems are options if they have the same.
        (
            "parity resource",
            "--learner ucb1 --condition delay=3",
            "arena parity resource | --condition delay=3",
        ),
        (
            "parity @/own.toml @/delayed.toml",
            "--learner ucb1 --condition dropout=0.2",
            "arena @/3/arena-problems ",
        ),
        // In the order of the files.
        (
            "resource @/family",
            "--learner ucb1 --until-decided --margin 20 --runs 100",
            "arena resource @/4/arena-problems ",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let runs = if options.contains("--runs") { "" } else { "--runs 4" };
        dir.emab(&format!(
            "arena {problems} --episodes 20 {runs} {options} --out @/{i}"
        ));
        let call = reported_command(&dir, &i.to_string());
        for part in words.split(" | ") {
            let part = part.replace('@', dir.at("").trim_end_matches('/'));
            assert!(call.contains(&part), "{call}\n{part}");
        }
        let first: Value = serde_json::from_str(&dir.text(&format!("{i}/arena.json"))).unwrap();
        let again = dir.json(&format!("{call} --json"));
        assert_eq!(timeless(first), timeless(again), "{call}");
        // The same call again writes nothing.
        let note = dir.emab(&format!(
            "arena {problems} --episodes 20 {runs} {options} --out @/{i}"
        ));
        assert!(note.contains("contains this arena already"), "{note}");
    }
    assert_eq!(dir.names("4/arena-problems").len(), 11);
    // A file that emab did not write is not played.
    dir.write("3/arena-problems/mine.toml", OWN);
    let call = reported_command(&dir, "3");
    assert!(
        call.contains("/3/arena-problems/0003-own--delayed.json "),
        "{call}"
    );
}

#[test]
fn the_page_of_an_arena_checks_its_problem_files() {
    let dir = TestDir::new();
    dir.write("own.toml", OWN);
    dir.emab("arena @/own.toml parity --learner thompson --episodes 20 --runs 4 --out @/arena");
    dir.emab("report @/arena");
    let page = dir.text("arena/report.html");
    let unsound = "own: thompson: its parameters do not hold for this problem";
    assert!(page.contains(unsound), "{page}");
    assert!(!page.contains("not checked"));
    // Steps, states, actions and feedbacks.
    let sizes = [3, 3, 1, 2].map(|size| format!("<td class=\"n\">{size}</td>"));
    let row = format!("own</th>{}<td><code>022899fdb523", sizes.concat());
    assert!(page.contains(&row), "{page}");

    // The folder of an earlier version does not have the files.
    fs::remove_dir_all(dir.at("arena/arena-problems")).unwrap();
    dir.emab("report @/arena --force");
    let page = dir.text("arena/report.html");
    assert!(!page.contains(unsound));
    assert!(
        page.contains(
            "own: not checked: it is not built in, and the result folder has no file of it"
        )
    );
    assert!(page.contains("emab arena FILE-022899fdb523 parity"));
    assert!(page.contains("stands for the problem file with this hash"));
    // The same call adds them; a changed file is another problem, and an invalid one is an error.
    let call = "arena @/own.toml parity --learner thompson --episodes 20 --runs 4 --out @/arena";
    let stored = "arena/arena-problems/0001-own.json";
    assert!(dir.emab(call).contains("contains this arena already"));
    dir.write(stored, &dir.text(stored).replace("0.1", "0.2"));
    dir.emab("report @/arena --force");
    assert!(dir.text("arena/report.html").contains("own: not checked"));
    dir.write(stored, "{");
    dir.rejects("report @/arena --force", 2, "0001-own.json");
    dir.emab(call);
    dir.emab("report @/arena --force");
    assert!(dir.text("arena/report.html").contains(unsound));
}

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
