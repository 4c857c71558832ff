//! Sweeps and shards: the same bytes for any shards and interruptions.

use std::fs;
use std::time::Duration;

use crate::common::{interrupt, said, start};
use crate::test_dir::{SWEEP, TestDir, cases};
use serde_json::Value;

#[test]
fn merged_shards_of_a_sweep_are_byte_identical() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    dir.emab("sweep @/sweep.toml --out @/whole --threads 1");
    let csv = dir.text("whole/sweep.csv");
    let header = "cell,learner,problem.p,learner.sigma2,problem.horizon,label,runs,seed,episode,regret,stderr,gain,\
                  gain_stderr,regret_optimal,q05,q25,q50,q75,q95,early_stop,late_stop,wrong_action,stuck,benchmark_value,\
                  optimal_value,estimator";
    assert_eq!(csv.lines().next().unwrap(), header);
    // 6 of the grid and one of the list for feedbal; ucb1v has no sigma2, and 2 and one.
    assert_eq!(csv.lines().count(), 1 + 2 * (7 + 3));
    let (first, last) = (csv.lines().nth(1).unwrap(), csv.lines().last().unwrap());
    assert!(
        first.starts_with("1,feedbal,0.4,0.05,,feedbal:sigma2=0.05,5,"),
        "{first}"
    );
    assert!(last.starts_with("10,ucb1v,,,5,ucb1v,5,"), "{last}");

    dir.emab("sweep @/sweep.toml --out @/three --threads 3");
    dir.assert_same_sweep("whole", "three");
    // The last has more shards than there are cells.
    for of in [1, 3, 13] {
        let mut merge = format!("merge --out @/merged-{of}");
        for shard in (1..=of).rev() {
            dir.emab(&format!(
                "sweep @/sweep.toml --shard {shard}/{of} --out @/{of}-{shard} --threads 2"
            ));
            merge += &format!(" @/{of}-{shard}");
        }
        dir.emab(&merge);
        dir.assert_same_sweep("whole", &format!("merged-{of}"));
    }
    // Merged once more, into the same folder; and as JSON.
    dir.emab("merge @/3-1 @/3-2 @/3-3 --out @/merged-3");
    dir.assert_same_sweep("whole", "merged-3");
    let printed = dir.json("merge @/3-3 @/3-1 @/3-2 --out @/merged-3 --json");
    assert_eq!(printed["cells"].as_array().unwrap().len(), 10);
}

#[test]
fn each_cell_has_its_own_random_numbers() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    dir.emab("sweep @/sweep.toml --out @/one");
    let mut seeds: Vec<u64> = dir
        .cells("one")
        .iter()
        .map(|(cell, _)| cell["seed"].as_u64().unwrap())
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 10);
    // A cell is what `emab run` gives with the cell's seed.
    let (cell, _) = dir.cells("one").swap_remove(3);
    assert_eq!(cell["values"][0], serde_json::json!(["problem.p", 0.8]));
    let seed = cell["seed"].as_u64().unwrap();
    let run = format!(
        "run resource --learner feedbal:sigma2=0.05 --episodes 60 --runs 5 --checkpoints 20 --seed {seed} --json"
    );
    let run = dir.json(&run);
    assert_eq!(run["learners"][0]["curve"], cell["result"]["curve"]);
    // Another seed gives other numbers to all of them.
    dir.write("other.toml", &format!("seed = 2\n{SWEEP}"));
    dir.emab("sweep @/other.toml --out @/other");
    for (one, other) in dir.cells("one").iter().zip(dir.cells("other")) {
        assert_eq!(one.0["values"], other.0["values"]);
        assert_ne!(one.0["seed"], other.0["seed"]);
    }
}

#[test]
fn merged_shards_of_a_run_are_byte_identical() {
    let dir = TestDir::new();
    let job = "run parity --learner feedbal --learner random --episodes 200 --runs 5 --seed 9";
    dir.emab(&format!("{job} --out @/whole --threads 1"));
    // More shards than runs: some have none.
    let mut merge = "merge --out @/merged".to_owned();
    for shard in (1..=7).rev() {
        dir.emab(&format!(
            "{job} --shard {shard}/7 --out @/part-{shard} --threads 2"
        ));
        merge += &format!(" @/part-{shard}");
    }
    dir.emab(&merge);
    dir.assert_same_run("whole", "merged");
    dir.rejects("merge @/whole --out @/no", 2, "whole contains a whole run");
    dir.rejects(
        "run --resume @/part-1",
        2,
        "contains a finished shard | emab merge",
    );
    // A shard is not overwritten by another one.
    dir.rejects(
        &format!("{job} --shard 2/7 --out @/part-1"),
        2,
        "part-1 contains shard 1/7 of a run of | this call has shard 2/7 | choose another folder",
    );
    dir.rejects(
        "merge @/part-1 @/part-2 @/part-3 @/part-4 @/part-5 @/part-6 @/part-7 --out @/part-1",
        2,
        "part-1 is one of the folders to merge",
    );
    assert!(dir.exists("part-1/shard.json"));
}

/// Many cells, none of them long.
fn long(values: u32) -> String {
    format!(
        "problem = \"resource\"\nepisodes = 4000\nruns = 40\ncheckpoints = [100]\n[grid]\nproblem.p = {{ from = 0.1, to = 0.9, steps = {values} }}\n"
    )
}

#[test]
fn a_resumed_sweep_does_not_repeat_cells() {
    let dir = TestDir::new();
    dir.write("sweep.toml", &long(40));
    let mut child = start(&dir.call("sweep @/sweep.toml --out @/out --threads 1"));
    let lines = || {
        let text = fs::read_to_string(dir.at("out/cells.jsonl")).unwrap_or_default();
        text.matches('\n').count()
    };
    while lines() < 3 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it could be interrupted"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    let before = dir.cells("out");
    let stopped = format!(
        "stopped after {} of 40 cells; run the same command again to continue",
        before.len()
    );
    assert!(error.contains(&stopped), "{error}");
    assert!((3..40).contains(&before.len()));
    assert!(!dir.exists("out/sweep.csv"));
    // What is there can be drawn, and is no whole.
    dir.emab("plot @/out --output @/plot.svg");
    dir.rejects(
        "merge @/out --out @/merged",
        2,
        "contains an unfinished shard | problem.p =  | is missing",
    );

    dir.emab("sweep @/sweep.toml --out @/out --threads 2");
    let after = dir.cells("out");
    assert_eq!(after.len(), 40);
    assert_eq!(after[..before.len()], before[..], "cells were done again");
    dir.emab("sweep @/sweep.toml --out @/fresh");
    dir.assert_same_sweep("out", "fresh");
    // Once more: nothing is left to do.
    let bytes = dir.read("out/cells.jsonl");
    let note = dir.emab("sweep @/sweep.toml --out @/out");
    assert!(note.contains("out contains this sweep already"), "{note}");
    assert_eq!(bytes, dir.read("out/cells.jsonl"));
}

#[test]
fn an_interrupted_line_is_repeated_and_an_edited_one_is_rejected() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    dir.emab("sweep @/sweep.toml --out @/whole");
    dir.emab("sweep @/sweep.toml --out @/cut");
    let before = dir.cells("cut");
    let bytes = dir.read("cut/cells.jsonl");
    fs::write(dir.at("cut/cells.jsonl"), &bytes[..bytes.len() - 100]).unwrap();
    dir.rejects(
        "merge @/cut --out @/merged",
        2,
        "unfinished | cell 10 (ucb1v",
    );
    dir.emab("sweep @/sweep.toml --out @/cut");
    dir.assert_same_sweep("whole", "cut");
    let kept = |cells: &[(Value, f64)]| cells[..9].to_vec();
    assert_eq!(kept(&dir.cells("cut")), kept(&before));

    let text = String::from_utf8(bytes).unwrap();
    let changed = text.replacen("\"regret\":", "\"regret\":1", 1);
    let all_reject = |words: &str| {
        dir.rejects("sweep @/sweep.toml --out @/cut", 1, words);
        dir.rejects("merge @/cut --out @/merged", 1, words);
        dir.rejects("plot @/cut", 1, words);
    };
    for damage in [changed.as_str(), "nonsense\n", "{}\n"] {
        dir.write("cut/cells.jsonl", damage);
        all_reject("line 1 of | cells.jsonl is damaged");
    }
    dir.write("cut/cells.jsonl", &text);
    dir.write("cut/sweep.json", "{\"sha256\": \"0\", \"body\": {}}");
    all_reject("sweep.json is damaged | checksum");
}

#[test]
fn cells_are_reused_after_changes_of_the_grid() {
    let dir = TestDir::new();
    let head = "problem = \"resource\"\nepisodes = 50\nruns = 3\n[grid]\nlearner.sigma2 = ";
    let times = |folder: &str| -> Vec<f64> {
        let cells = dir.cells(folder).into_iter();
        cells.map(|(_, seconds)| seconds).collect()
    };
    dir.write("sweep.toml", &format!("{head}[0.1, 0.2]\n"));
    dir.emab("sweep @/sweep.toml --out @/out");
    let first = times("out");
    // A value before, between and after.
    dir.write(
        "sweep.toml",
        &format!("{head}[0.05, 0.1, 0.15, 0.2, 0.3]\n"),
    );
    dir.emab("sweep @/sweep.toml --out @/out");
    dir.emab("sweep @/sweep.toml --out @/fresh");
    dir.assert_same_sweep("out", "fresh");
    assert_eq!([times("out")[1], times("out")[3]], first[..]);
    // Another parameter, at the value it had and at another one: what is known is known under its new name.
    dir.write(
        "sweep.toml",
        &format!("{head}[0.1, 0.2]\nproblem.p = [0.4, 0.8]\n"),
    );
    dir.rejects(
        "sweep @/sweep.toml --out @/out",
        2,
        "5 finished cells; 3 of them are not in this sweep | --force",
    );
    let note = dir.emab("sweep @/sweep.toml --out @/out --force");
    assert!(
        note.contains("3 of the 5 cells") && note.contains("removed"),
        "{note}"
    );
    dir.emab("sweep @/sweep.toml --out @/anew");
    dir.assert_same_sweep("out", "anew");
    assert_eq!([times("out")[1], times("out")[3]], first[..]);
    // Another number of runs: none of them is left, and none is lost.
    let cells = dir.read("out/cells.jsonl");
    dir.write(
        "sweep.toml",
        &format!("{head}[0.1, 0.2]\n").replace("runs = 3", "runs = 4"),
    );
    dir.rejects(
        "sweep @/sweep.toml --out @/out",
        2,
        "4 finished cells; 4 of them are not in this sweep",
    );
    assert_eq!(cells, dir.read("out/cells.jsonl"));
}

#[test]
fn a_problem_path_is_relative_to_the_sweep_file() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.at("sub/größer")).unwrap();
    let text = said("problems resource").0;
    dir.write("sub/mein problem.toml", &text);
    let sweep = "problem = \"../mein problem.toml\"\nepisodes = 10\nruns = 2\n[grid]\nproblem.beta = [0.5, 0.9]\nproblem.name = [\"ü, \\\"a\\\"\", \"b\"]\n";
    dir.write("sub/größer/sweep.toml", sweep);
    dir.emab("sweep @/sub/größer/sweep.toml --out @/größe");
    let csv = dir.text("größe/sweep.csv");
    assert!(
        csv.contains("\n1,feedbal,0.5,\"ü, \"\"a\"\"\",feedbal,2,"),
        "{csv}"
    );
    dir.emab("plot @/größe --output @/größe.svg");
    assert!(dir.text("größe.svg").starts_with("<svg"));
}

#[test]
fn plots_a_sweep() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP.split("[[cell]]").next().unwrap());
    dir.emab("sweep @/sweep.toml --out @/out");
    let drawn = |call: &str| {
        dir.emab(&format!("plot @/out --output @/picture.svg --force {call}"));
        dir.text("picture.svg")
    };
    let has = |svg: &str, words: &str| {
        for word in words.split(" | ") {
            assert!(svg.contains(&format!(">{word}<")), "{word} is not in {svg}");
        }
    };
    // A map for each learner; the one without sigma2 is the same all along it.
    let map = drawn("");
    has(
        &map,
        "feedbal | ucb1v | problem.p | learner.sigma2 | regret after 60 episodes | 0.4 | 0.2",
    );
    let turned = drawn("--x learner.sigma2");
    assert_ne!(map, turned);
    assert_eq!(turned, drawn("--y p"));
    // One parameter is a line a learner.
    let line = drawn("--where p=0.8 --title Lines");
    has(&line, "Lines | learner.sigma2 | feedbal | ucb1v");
    assert!(!line.contains(">problem.p<"));
    assert_ne!(line, drawn("--where problem.p=0.80 --title Lines --log-y"));
    // Regret over episodes.
    let curves = drawn("--curves --log-x --where sigma2=0.1");
    has(
        &curves,
        "episodes | feedbal, problem.p = 0.4 | ucb1v, problem.p = 0.8",
    );
    dir.emab("plot @/out");
    assert!(dir.read("out/sweep.png").starts_with(b"\x89PNG"));
    assert!(dir.read("out/sweep.svg").starts_with(b"<svg"));

    for (call, words) in cases(
        "
        --x q                  => `q` does not vary in this sweep; the varied parameters are problem.p, learner.sigma2
        --y learner.p          => `learner.p` does not vary
        --x p --y problem.p    => --x and --y are both `problem.p`
        --where q=1            => `q` does not vary
        --where p              => --where must be NAME=VALUE, got `p`
        --where p=0.5          => --where p=0.5: no finished cell has this value; the values of `problem.p` are 0.4, 0.8
        --bound                => --bound: | contains a sweep, and bounds are for the result of a run
        --output @/picture.gif => --output must end in .pdf, .svg or .png
        ",
    ) {
        dir.rejects(&format!("plot @/out {call}"), 2, words);
    }
    fs::create_dir(dir.at("empty")).unwrap();
    dir.rejects(
        "plot @/empty --curves",
        2,
        "--curves: | empty contains no sweep",
    );
    // A picture of another sweep does not stay.
    dir.write("sweep.toml", &SWEEP.replace("[0.4, 0.8]", "[0.4]"));
    dir.emab("sweep @/sweep.toml --out @/out --force");
    assert!(!dir.exists("out/sweep.png"));
    // Too many to distinguish.
    dir.write(
        "many.toml",
        &long(25).replace("4000", "100").replace("40\n", "1\n"),
    );
    dir.emab("sweep @/many.toml --out @/many");
    dir.rejects(
        "plot @/many --curves",
        2,
        "25 lines or maps | at most 12 | --learner NAME | --where",
    );
}

#[test]
fn a_single_run_has_no_interval() {
    let dir = TestDir::new();
    dir.write("sweep.toml", &SWEEP.replace("runs        = 5", "runs = 1"));
    let (text, _) = said(&dir.call("sweep @/sweep.toml"));
    assert!(text.contains("(one run)") && !text.contains('±'), "{text}");
}
