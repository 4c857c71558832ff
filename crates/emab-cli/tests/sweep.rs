//! Sweeps and shards: the same bytes however the work was cut and interrupted, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{emab, json, refuses};
use serde_json::Value;
use tempfile::TempDir;

const SWEEP: &str = r#"
problem     = "resource"
learners    = ["feedbal", "ucb1v"]
episodes    = 60
runs        = 5
checkpoints = [20]

[grid]
problem.p      = [0.4, 0.8]
learner.sigma2 = { from = 0.05, to = 0.2, steps = 3, scale = "log" }

[[cell]]
problem.horizon = 5
"#;

/// A folder, with the names of what is in it as the command takes them.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        Place { folder }
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.at(name), text).unwrap();
        self.at(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The command, which must do what it is asked, with `@` for this folder.
    fn emab(&self, call: &str) {
        let output = self.with(call, emab);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{call}: {error}");
    }

    fn refuses(&self, call: &str, code: i32, words: &[&str]) {
        self.with(call, |args| refuses(args, code, words));
    }

    fn with<T>(&self, call: &str, run: impl FnOnce(&[&str]) -> T) -> T {
        let call = call.replace('@', self.folder.path().to_str().unwrap());
        run(&call.split_whitespace().collect::<Vec<_>>())
    }

    /// The finished cells of a folder: what is in each, and the seconds it took.
    fn cells(&self, folder: &str) -> Vec<(Value, f64)> {
        let text = String::from_utf8(self.read(&format!("{folder}/cells.jsonl"))).unwrap();
        text.lines()
            .map(|line| {
                let mut cell = serde_json::from_str::<Value>(line).unwrap()["body"].take();
                let result = cell["result"].as_object_mut().unwrap();
                let seconds = result.remove("seconds").unwrap().as_f64().unwrap();
                (cell, seconds)
            })
            .collect()
    }

    /// Two folders of a sweep hold the same but for times.
    fn assert_same_sweep(&self, one: &str, other: &str) {
        for name in ["sweep.csv", "sweep.parquet", "sweep.json"] {
            let [one, other] = [one, other].map(|folder| self.read(&format!("{folder}/{name}")));
            assert_eq!(one, other, "{name}");
        }
        let [one, other] = [one, other].map(|folder| {
            let cells = self.cells(folder).into_iter();
            cells.map(|(cell, _)| cell).collect::<Vec<_>>()
        });
        assert_eq!(one, other);
    }

    /// Two folders of a run hold the same but for times.
    fn assert_same_run(&self, one: &str, other: &str) {
        let names = |folder: &str| {
            let files = fs::read_dir(self.at(folder)).unwrap();
            let mut names: Vec<String> = files
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(one), names(other));
        assert_eq!(names(one).len(), 10);
        for name in names(one) {
            let [one, other] = [one, other].map(|folder| {
                let bytes = self.read(&format!("{folder}/{name}"));
                if name != "run.json" {
                    return bytes;
                }
                let text = String::from_utf8(bytes).unwrap();
                let lines = text
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("\"seconds\": "));
                lines.collect::<Vec<_>>().join("\n").into_bytes()
            });
            assert!(one == other, "{name} differs");
        }
    }
}

#[test]
fn a_sweep_in_parts_is_the_sweep() {
    let place = Place::new();
    place.write("sweep.toml", SWEEP);
    place.emab("sweep @/sweep.toml --out @/whole --threads 1");
    let csv = String::from_utf8(place.read("whole/sweep.csv")).unwrap();
    let header = "cell,learner,problem.p,learner.sigma2,problem.horizon,label,runs,seed,episode,regret,stderr,gain,\
                  gain_stderr,early_stop,late_stop,wrong_action,benchmark_value,optimal_value,estimator";
    assert_eq!(csv.lines().next().unwrap(), header);
    // 6 of the grid and one of the list for feedbal; ucb1v has no sigma2, and 2 and one.
    assert_eq!(csv.lines().count(), 1 + 2 * (7 + 3));
    assert!(
        csv.lines()
            .nth(1)
            .unwrap()
            .starts_with("1,feedbal,0.4,0.05,,feedbal:sigma2=0.05,5,")
    );
    assert!(
        csv.lines()
            .last()
            .unwrap()
            .starts_with("10,ucb1v,,,5,ucb1v,5,")
    );

    place.emab("sweep @/sweep.toml --out @/three --threads 3");
    place.assert_same_sweep("whole", "three");
    // The last has more shards than there are cells.
    for of in [1, 3, 13] {
        let mut merge = format!("merge --out @/merged-{of}");
        for shard in (1..=of).rev() {
            place.emab(&format!(
                "sweep @/sweep.toml --shard {shard}/{of} --out @/{of}-{shard} --threads 2"
            ));
            merge += &format!(" @/{of}-{shard}");
        }
        place.emab(&merge);
        place.assert_same_sweep("whole", &format!("merged-{of}"));
    }
    // Merged once more, into the same folder; and as JSON.
    place.emab("merge @/3-1 @/3-2 @/3-3 --out @/merged-3");
    place.assert_same_sweep("whole", "merged-3");
    let printed = place.with("merge @/3-3 @/3-1 @/3-2 --out @/merged-3 --json", json);
    assert_eq!(printed["cells"].as_array().unwrap().len(), 10);
}

#[test]
fn each_cell_has_its_own_stream() {
    let place = Place::new();
    place.write("sweep.toml", SWEEP);
    place.emab("sweep @/sweep.toml --out @/one");
    let mut seeds: Vec<u64> = place
        .cells("one")
        .iter()
        .map(|(cell, _)| cell["seed"].as_u64().unwrap())
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 10);
    // A cell is what `emab run` gives with the cell's seed.
    let (cell, _) = place.cells("one").swap_remove(3);
    assert_eq!(cell["values"][0], serde_json::json!(["problem.p", 0.8]));
    let seed = cell["seed"].as_u64().unwrap();
    let run = format!(
        "run resource --learner feedbal:sigma2=0.05 --episodes 60 --runs 5 --checkpoints 20 --seed {seed} --json"
    );
    let run = place.with(&run, json);
    assert_eq!(run["learners"][0]["curve"], cell["result"]["curve"]);
    // Another seed gives other numbers to all of them.
    place.write("other.toml", &format!("seed = 2\n{SWEEP}"));
    place.emab("sweep @/other.toml --out @/other");
    for (one, other) in place.cells("one").iter().zip(place.cells("other")) {
        assert_eq!(one.0["values"], other.0["values"]);
        assert_ne!(one.0["seed"], other.0["seed"]);
    }
}

#[test]
fn a_run_in_parts_is_the_run() {
    let place = Place::new();
    let job = "run parity --learner feedbal --learner random --episodes 200 --runs 5 --seed 9";
    place.emab(&format!("{job} --out @/whole --threads 1"));
    // More shards than runs: some have none.
    let mut merge = "merge --out @/merged".to_owned();
    for shard in (1..=7).rev() {
        place.emab(&format!(
            "{job} --shard {shard}/7 --out @/part-{shard} --threads 2"
        ));
        merge += &format!(" @/part-{shard}");
    }
    place.emab(&merge);
    place.assert_same_run("whole", "merged");
    place.refuses("merge @/whole --out @/no", 2, &["whole holds a whole run"]);
    place.refuses(
        "run --resume @/part-1",
        2,
        &["holds a finished shard", "emab merge"],
    );
    // Nobody loses a shard by writing another one over it.
    place.refuses(
        &format!("{job} --shard 2/7 --out @/part-1"),
        2,
        &[
            "part-1 holds a finished shard",
            "choose another folder",
            "shard.json",
        ],
    );
    place.refuses(
        "merge @/part-1 @/part-2 @/part-3 @/part-4 @/part-5 @/part-6 @/part-7 --out @/part-1",
        2,
        &["part-1 holds a finished shard"],
    );
    assert!(Path::new(&place.at("part-1/shard.json")).exists());
}

/// Many cells, none of them long.
fn long(values: u32) -> String {
    format!(
        "problem = \"resource\"\nepisodes = 4000\nruns = 40\ncheckpoints = [100]\n[grid]\nproblem.p = {{ from = 0.1, to = 0.9, steps = {values} }}\n"
    )
}

#[test]
fn an_interrupted_sweep_goes_on_without_doing_cells_again() {
    let place = Place::new();
    let sweep = place.write("sweep.toml", &long(40));
    let mut child = Command::new(env!("CARGO_BIN_EXE_emab"))
        .args(["sweep", &sweep, "--out", &place.at("out"), "--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = || {
        let text = fs::read_to_string(place.at("out/cells.jsonl")).unwrap_or_default();
        text.matches('\n').count()
    };
    while lines() < 3 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it could be interrupted"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    let before = place.cells("out");
    let stopped = format!(
        "stopped after {} of 40 cells; the same call goes on from there",
        before.len()
    );
    assert!(error.contains(&stopped), "{error}");
    assert!((3..40).contains(&before.len()));
    assert!(!Path::new(&place.at("out/sweep.csv")).exists());
    // What is there can be drawn, and is no whole.
    place.emab("plot @/out");
    place.refuses(
        "merge @/out --out @/merged",
        2,
        &["holds an unfinished shard", "problem.p = ", "is missing"],
    );

    place.emab("sweep @/sweep.toml --out @/out --threads 2");
    let after = place.cells("out");
    assert_eq!(after.len(), 40);
    assert_eq!(after[..before.len()], before[..], "cells were done again");
    place.emab("sweep @/sweep.toml --out @/fresh");
    place.assert_same_sweep("out", "fresh");
    // Once more: nothing is left to do.
    let bytes = place.read("out/cells.jsonl");
    place.emab("sweep @/sweep.toml --out @/out");
    assert_eq!(bytes, place.read("out/cells.jsonl"));
}

#[test]
fn a_line_cut_short_is_done_again_and_a_changed_one_is_named() {
    let place = Place::new();
    place.write("sweep.toml", SWEEP);
    place.emab("sweep @/sweep.toml --out @/whole");
    place.emab("sweep @/sweep.toml --out @/cut");
    let before = place.cells("cut");
    let bytes = place.read("cut/cells.jsonl");
    fs::write(place.at("cut/cells.jsonl"), &bytes[..bytes.len() - 100]).unwrap();
    place.refuses(
        "merge @/cut --out @/merged",
        2,
        &["unfinished", "cell 10 (ucb1v"],
    );
    place.emab("sweep @/sweep.toml --out @/cut");
    place.assert_same_sweep("whole", "cut");
    let kept = |cells: &[(Value, f64)]| cells[..9].to_vec();
    assert_eq!(kept(&place.cells("cut")), kept(&before));

    let text = String::from_utf8(bytes).unwrap();
    let changed = text.replacen("\"regret\":", "\"regret\":1", 1);
    for damage in [changed.as_str(), "nonsense\n", "{}\n"] {
        place.write("cut/cells.jsonl", damage);
        for call in [
            "sweep @/sweep.toml --out @/cut",
            "merge @/cut --out @/merged",
            "plot @/cut",
        ] {
            place.refuses(call, 1, &["line 1 of ", "cells.jsonl is damaged"]);
        }
    }
    place.write("cut/cells.jsonl", &text);
    place.write("cut/sweep.json", "{\"sha256\": \"0\", \"body\": {}}");
    for call in [
        "sweep @/sweep.toml --out @/cut",
        "merge @/cut --out @/merged",
        "plot @/cut",
    ] {
        place.refuses(call, 1, &["sweep.json is damaged", "checksum"]);
    }
}

#[test]
fn cells_outlive_changes_of_the_grid() {
    let place = Place::new();
    let head = "problem = \"resource\"\nepisodes = 50\nruns = 3\n[grid]\nlearner.sigma2 = ";
    let times = |folder: &str| -> Vec<f64> {
        let cells = place.cells(folder).into_iter();
        cells.map(|(_, seconds)| seconds).collect()
    };
    place.write("sweep.toml", &format!("{head}[0.1, 0.2]\n"));
    place.emab("sweep @/sweep.toml --out @/out");
    let first = times("out");
    // A value before, between and after.
    place.write(
        "sweep.toml",
        &format!("{head}[0.05, 0.1, 0.15, 0.2, 0.3]\n"),
    );
    place.emab("sweep @/sweep.toml --out @/out");
    place.emab("sweep @/sweep.toml --out @/fresh");
    place.assert_same_sweep("out", "fresh");
    assert_eq!([times("out")[1], times("out")[3]], first[..]);
    // Another parameter, at the value it had and at another one: what is known is known under its new name.
    place.write(
        "sweep.toml",
        &format!("{head}[0.1, 0.2]\nproblem.p = [0.4, 0.8]\n"),
    );
    let output = place.with("sweep @/sweep.toml --out @/out", emab);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("3 of the 5 cells") && error.contains("left out"),
        "{error}"
    );
    place.emab("sweep @/sweep.toml --out @/anew");
    place.assert_same_sweep("out", "anew");
    assert_eq!([times("out")[1], times("out")[3]], first[..]);
    // Another number of runs: none of them is left, and none is lost.
    let cells = place.read("out/cells.jsonl");
    place.write(
        "sweep.toml",
        &format!("{head}[0.1, 0.2]\n").replace("runs = 3", "runs = 4"),
    );
    place.refuses(
        "sweep @/sweep.toml --out @/out",
        2,
        &["out holds 4 cells of another sweep"],
    );
    assert_eq!(cells, place.read("out/cells.jsonl"));
}

#[test]
fn a_problem_is_found_beside_the_sweep() {
    let place = Place::new();
    fs::create_dir_all(place.at("sub/größer")).unwrap();
    let text = String::from_utf8(emab(&["problems", "resource"]).stdout).unwrap();
    place.write("sub/mein problem.toml", &text);
    let sweep = "problem = \"../mein problem.toml\"\nepisodes = 10\nruns = 2\n[grid]\nproblem.beta = [0.5, 0.9]\nproblem.name = [\"ü, \\\"a\\\"\", \"b\"]\n";
    place.write("sub/größer/sweep.toml", sweep);
    place.emab("sweep @/sub/größer/sweep.toml --out @/größe");
    let csv = String::from_utf8(place.read("größe/sweep.csv")).unwrap();
    assert!(
        csv.contains("\n1,feedbal,0.5,\"ü, \"\"a\"\"\",feedbal,2,"),
        "{csv}"
    );
    place.emab("plot @/größe");
    assert!(place.read("größe/sweep.png").starts_with(b"\x89PNG"));
}

#[test]
fn shards_that_do_not_belong_together_are_named() {
    let place = Place::new();
    place.write("sweep.toml", SWEEP);
    place.write("other.toml", &SWEEP.replace("[0.4, 0.8]", "[0.4, 0.9]"));
    let run = "run parity --episodes 20 --runs 6";
    for (folder, call) in [
        ("s1", "sweep @/sweep.toml --shard 1/3"),
        ("s2", "sweep @/sweep.toml --shard 2/3"),
        ("s3", "sweep @/sweep.toml --shard 3/3"),
        ("half", "sweep @/sweep.toml --shard 2/2"),
        ("foreign", "sweep @/other.toml --shard 3/3"),
        ("r1", &format!("{run} --shard 1/3")),
        ("r2", &format!("{run} --shard 2/3")),
        ("r3", &format!("{run} --shard 3/3")),
        ("r-half", &format!("{run} --shard 2/2")),
        ("r-seed", &format!("{run} --shard 3/3 --seed 2")),
        ("r-learner", &format!("{run} --shard 3/3 --learner random")),
        ("r-tiny", &format!("{run} --shard 7/1000000000000000000")),
    ] {
        place.emab(&format!("{call} --out @/{folder}"));
    }
    fs::create_dir(place.at("empty")).unwrap();
    for (call, words) in [
        ("@/s1 @/s3", &["shards are missing: 2/3"][..]),
        ("@/r2", &["shards are missing: 1/3, 3/3"][..]),
        (
            "@/r-tiny",
            &[
                "missing: 1/1000000000000000000, 2/",
                "and 999999999999999979 more",
            ][..],
        ),
        (
            "@/s1 @/s2 @/s3 @/s2",
            &["s2 and ", "are both shard 2/3"][..],
        ),
        ("@/r1 @/r1 @/r3", &["r1 and ", "are both shard 1/3"][..]),
        (
            "@/s1 @/s2 @/foreign",
            &[
                "foreign is not a shard of the same",
                "its sweep is",
                "s1 is",
            ][..],
        ),
        (
            "@/r1 @/r2 @/r-seed",
            &[
                "r-seed is not a shard of the same: its seed is 2",
                "r1 is 1",
            ][..],
        ),
        (
            "@/r1 @/r2 @/r-learner",
            &["r-learner", "list of learners is random"][..],
        ),
        (
            "@/s1 @/half",
            &[
                "half is shard 2/2, and ",
                "s1 is shard 1/3",
                "different ways",
            ][..],
        ),
        (
            "@/r1 @/r-half",
            &["r-half is shard 2/2", "different ways"][..],
        ),
        (
            "@/s1 @/s2 @/r3",
            &["r3 holds no shard of a sweep, and others do"][..],
        ),
        ("@/r1 @/r2 @/empty", &["empty holds no shard"][..]),
        ("@/r1 @/nowhere", &["cannot read the folder", "nowhere"][..]),
    ] {
        place.refuses(&format!("merge {call} --out @/merged"), 2, words);
    }
    place.refuses("merge @/s1 @/s2 @/s3", 2, &["--out"]);
    // What was refused has left nothing.
    assert!(!Path::new(&place.at("merged")).exists());

    // A folder that holds something else keeps it.
    let shard = place.read("s1/sweep.json");
    place.refuses(
        "merge @/s1 @/s2 @/s3 --out @/s1",
        2,
        &["s1 holds shard 1/3"],
    );
    assert_eq!(shard, place.read("s1/sweep.json"));
    place.refuses(
        "merge @/s1 @/s2 @/s3 --out @/foreign",
        2,
        &["foreign holds another sweep"],
    );
    place.refuses(
        "merge @/s1 @/s2 @/s3 --out @/r1",
        2,
        &["r1 holds what `emab run` left"],
    );
    place.refuses("merge @/r1 @/r2 @/r3 --out @/s1", 2, &["s1 holds a sweep"]);
    place.refuses(
        "sweep @/sweep.toml --shard 2/3 --out @/s1",
        2,
        &["s1 holds shard 1/3, and this is shard 2/3"],
    );
    place.refuses(
        "sweep @/sweep.toml --out @/r1",
        2,
        &["r1 holds what `emab run` left"],
    );
    place.refuses(&format!("{run} --out @/s1"), 2, &["s1 holds a sweep"]);

    // Unfinished, and damaged.
    fs::rename(place.at("r2/shard.json"), place.at("r2/checkpoint.json")).unwrap();
    place.refuses(
        "merge @/r1 @/r2 @/r3 --out @/merged",
        2,
        &["r2 holds an unfinished shard", "--resume"],
    );
    fs::rename(place.at("r2/checkpoint.json"), place.at("r2/shard.json")).unwrap();
    let text = String::from_utf8(place.read("r2/shard.json")).unwrap();
    place.write(
        "r2/shard.json",
        &text.replacen("\"runs\":6", "\"runs\":7", 1),
    );
    place.refuses(
        "merge @/r1 @/r2 @/r3 --out @/merged",
        1,
        &["r2/shard.json is damaged", "checksum"],
    );
    let text = String::from_utf8(place.read("s2/cells.jsonl")).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    place.write("s2/cells.jsonl", rest);
    place.refuses(
        "merge @/s1 @/s2 @/s3 --out @/merged",
        2,
        &["s2 holds an unfinished shard: cell 2 (feedbal"],
    );
    place.write(
        "s2/cells.jsonl",
        &format!("{}\n{rest}", &first[..first.len() - 1]),
    );
    place.refuses(
        "merge @/s1 @/s2 @/s3 --out @/merged",
        1,
        &["line 1 of ", "s2/cells.jsonl is damaged"],
    );
    assert!(!Path::new(&place.at("merged")).exists());

    for shard in ["0/3", "4/3", "3", "a/b", "1/3/5"] {
        place.refuses(
            &format!("{run} --shard {shard} --out @/never"),
            2,
            &["--shard", "K from 1 to N", shard],
        );
    }
    place.refuses(&format!("{run} --shard 1/3"), 2, &["--out"]);
    place.refuses("sweep @/sweep.toml --shard 1/3", 2, &["--out"]);
}

#[test]
fn a_wrong_sweep_is_refused_in_words() {
    let place = Place::new();
    let head = "problem = \"resource\"\nepisodes = 10\nruns = 2\n";
    for (text, words) in [
        (
            "runz = 3",
            &[
                "sweep.toml",
                "line 4, column 1",
                "unknown field `runz`",
                "`runs`",
            ][..],
        ),
        ("seed = -1", &["line 4, column 8", "-1"][..]),
        ("seed = ", &["line 4, column 8"][..]),
        ("learners = []", &["`learners` is empty"][..]),
        (
            "learners = [\"feedball\"]",
            &["unknown learner `feedball`", "did you mean `feedbal`?"][..],
        ),
        (
            "checkpoints = [11]",
            &["`checkpoints`", "episodes, 10, got 11"][..],
        ),
        (
            "[grid]\np = [1]",
            &["`grid.p` is neither", "problem.NAME"][..],
        ),
        (
            "[grid]\nlearner = [1]",
            &["`grid.learner` is neither", "learner.NAME"][..],
        ),
        (
            "[grid]\nlearner.sigma = [1]",
            &[
                "`learner.sigma` is a parameter of none of the learners",
                "emab learners",
            ][..],
        ),
        (
            "[[cell]]\nlearner.sigma = 1",
            &["`learner.sigma` is a parameter of none"][..],
        ),
        (
            "[grid]\nlearner.sigma2 = []",
            &["`learner.sigma2` has no values"][..],
        ),
        (
            "[grid]\nlearner.sigma2 = [0.1, 1, 0.10]",
            &["`learner.sigma2` has 0.1 twice"][..],
        ),
        (
            "[grid]\nlearner.sigma2 = [nan]",
            &["`learner.sigma2` must be finite, got NaN"][..],
        ),
        (
            "[grid]\nproblem.p = [0.5, -inf]",
            &["`problem.p` must be finite, got -inf"][..],
        ),
        (
            "[grid]\nproblem.p = [9007199254740993]",
            &["`problem.p`", "at most 2^53, got 9007199254740993"][..],
        ),
        (
            "[grid]\nproblem.p = [[0.5]]",
            &["`problem.p` must be a number or a text, got a value of type array"][..],
        ),
        (
            "[grid]\nproblem.p = 1979-05-27",
            &["`problem.p`", "datetime"][..],
        ),
        (
            "[[cell]]\nproblem.p = [0.5]",
            &["`problem.p`", "type array"][..],
        ),
        (
            "[grid]\nproblem.p = {}",
            &[
                "`problem.p` must be a list, or { from",
                "missing field `from`",
            ][..],
        ),
        (
            "[grid]\nproblem.p = { to = 1, steps = 3 }",
            &["`problem.p`", "missing field `from`"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.1, to = 1 }",
            &["`problem.p`", "missing field `steps`"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.1, to = 1, step = 3 }",
            &["`problem.p`", "unknown field `step`"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.1, to = 1, steps = 2.5 }",
            &["`problem.p`", "2.5"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.1, to = 1, steps = 1 }",
            &["`problem.p`", "in 2 to 100000 steps, got 0.1 to 1 in 1"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.1, to = 1, steps = 100001 }",
            &["in 2 to 100000 steps", "in 100001"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.1, to = inf, steps = 3 }",
            &["got 0.1 to inf in 3"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.5, to = 0.5, steps = 3 }",
            &["`problem.p` has 0.5 twice"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0, to = 1, steps = 3, scale = \"log\" }",
            &["`problem.p` needs ends above 0 on a log scale, got 0 to 1"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.1, to = 1, steps = 3, scale = \"square\" }",
            &["`problem.p`", "`square`", "`log`"][..],
        ),
        (
            "[grid]\nproblem.p = { from = -1e308, to = 1e308, steps = 4 }",
            &["`problem.p` has ends too far apart"][..],
        ),
        (
            "[grid]\nproblem.q = [1]",
            &["`problem.q` is not in the problem", "(beta, p)"][..],
        ),
        (
            "[grid]\nproblem.model.cost_noise.varianz = [1]",
            &["`problem.model.cost_noise.varianz` is not in the problem"][..],
        ),
        (
            "[grid]\nproblem.model = [1]",
            &["`problem.model` is not in the problem"][..],
        ),
        (
            "[grid]\nproblem.p = [0.5, 1.5]",
            &[
                "cell 2 (feedbal; problem.p = 1.5)",
                "`feedback` is wrong at t = 1",
                "got -0.5, expected a probability",
            ][..],
        ),
        (
            "[grid]\nproblem.horizon = [2.5]",
            &["problem.horizon = 2.5", "horizon"][..],
        ),
        (
            "[grid]\nlearner.delta = [0.5, 1.5]",
            &[
                "cell 2 (",
                "learner.delta = 1.5",
                "`delta` must lie in (0, 1), got 1.5",
            ][..],
        ),
        (
            "[grid]\nproblem.p = [0.5]\nproblem.parameters.p = [0.6]",
            &["`problem.p` is given twice"][..],
        ),
        (
            "[grid]\nlearner.delta = [\"0.1,sigma2=3\"]",
            &["`learner.delta` must be one value", "`0.1,sigma2=3`"][..],
        ),
        (
            "learners = [\"feedbal:delta=0.1\"]\n[grid]\nlearner.delta = [0.5]",
            &["learner.delta = 0.5", "`delta` is given twice"][..],
        ),
        (
            "[grid]\nproblem.p = { from = 0.1, to = 1, steps = 1001 }\nproblem.beta = { from = 0.1, to = 1, steps = 1000 }",
            &["`grid` makes more than 1000000 cells"][..],
        ),
    ] {
        place.write("sweep.toml", &format!("{head}{text}\n"));
        place.refuses("sweep @/sweep.toml --out @/never", 2, words);
    }
    for (text, words) in [
        ("", &["missing field `problem`"][..]),
        ("problem = 3", &["line 1, column 11"][..]),
        (
            "problem = \"resurce\"",
            &["unknown problem `resurce`", "did you mean `resource`?"][..],
        ),
        ("problem = \"no.toml\"", &["cannot read", "no.toml"][..]),
        (
            "problem = \"resource\"\nruns = 0",
            &["`runs` must be at least 1, got 0"][..],
        ),
        (
            "problem = \"resource\"\nepisodes = 0",
            &["`episodes` must be at least 1, got 0"][..],
        ),
    ] {
        place.write("sweep.toml", text);
        place.refuses("sweep @/sweep.toml --out @/never", 2, words);
    }
    fs::write(place.at("sweep.toml"), b"problem = \"\xff\"").unwrap();
    place.refuses(
        "sweep @/sweep.toml --out @/never",
        2,
        &["cannot read", "UTF-8"],
    );
    place.refuses("sweep @/nowhere.toml", 2, &["cannot read", "nowhere.toml"]);
    // A refused sweep has written nothing.
    assert!(!Path::new(&place.at("never")).exists());
    place.write("sweep.toml", SWEEP);
    place.refuses(
        "sweep @/sweep.toml --out /dev/null/folder",
        1,
        &["cannot make the folder /dev/null/folder"],
    );
}

#[test]
fn a_sweep_is_drawn() {
    let place = Place::new();
    place.write("sweep.toml", SWEEP.split("[[cell]]").next().unwrap());
    place.emab("sweep @/sweep.toml --out @/out");
    let drawn = |call: &str| {
        place.emab(&format!("plot @/out --output @/picture.svg {call}"));
        String::from_utf8(place.read("picture.svg")).unwrap()
    };
    let has = |svg: &str, words: &[&str]| {
        for word in words {
            assert!(svg.contains(&format!(">{word}<")), "{word} is not in {svg}");
        }
    };
    // A map for each learner; the one without sigma2 is the same all along it.
    let map = drawn("");
    has(
        &map,
        &[
            "feedbal",
            "ucb1v",
            "problem.p",
            "learner.sigma2",
            "regret after 60 episodes",
            "0.4",
            "0.2",
        ],
    );
    let turned = drawn("--x learner.sigma2");
    assert_ne!(map, turned);
    assert_eq!(turned, drawn("--y p"));
    // One parameter is a line a learner.
    let line = drawn("--where p=0.8 --title Lines");
    has(&line, &["Lines", "learner.sigma2", "feedbal", "ucb1v"]);
    assert!(!line.contains(">problem.p<"));
    assert_ne!(line, drawn("--where problem.p=0.80 --title Lines --log-y"));
    // Regret over episodes.
    let curves = drawn("--curves --log-x --where sigma2=0.1");
    has(
        &curves,
        &[
            "episodes",
            "feedbal, problem.p = 0.4",
            "ucb1v, problem.p = 0.8",
        ],
    );
    place.emab("plot @/out");
    assert!(place.read("out/sweep.png").starts_with(b"\x89PNG"));
    assert!(place.read("out/sweep.svg").starts_with(b"<svg"));

    for (call, words) in [
        (
            "--x q",
            &["`q` does not vary in this sweep; what varies is problem.p, learner.sigma2"][..],
        ),
        ("--y learner.p", &["`learner.p` does not vary"][..]),
        (
            "--x p --y problem.p",
            &["--x and --y are both `problem.p`"][..],
        ),
        ("--where q=1", &["`q` does not vary"][..]),
        ("--where p", &["--where must be NAME=VALUE, got `p`"][..]),
        ("--where p=0.5", &["there is no such cell"][..]),
        (
            "--bound",
            &["--bound is for the result of a run", "holds a sweep"][..],
        ),
        (
            "--output @/picture.gif",
            &["--output must end in .svg or .png"][..],
        ),
    ] {
        place.refuses(&format!("plot @/out {call}"), 2, words);
    }
    fs::create_dir(place.at("empty")).unwrap();
    place.refuses(
        "plot @/empty --curves",
        2,
        &["are for sweeps", "empty holds none"],
    );
    // A picture of another sweep does not stay.
    place.write("sweep.toml", &SWEEP.replace("[0.4, 0.8]", "[0.4]"));
    place.emab("sweep @/sweep.toml --out @/out");
    assert!(!Path::new(&place.at("out/sweep.png")).exists());
    // Too many to be told apart.
    place.write(
        "many.toml",
        &long(25).replace("4000", "100").replace("40\n", "1\n"),
    );
    place.emab("sweep @/many.toml --out @/many");
    place.refuses(
        "plot @/many --curves",
        2,
        &["25 of them", "at most 12", "--where"],
    );
}

#[test]
fn two_at_once_do_no_harm() {
    let place = Place::new();
    let sweep = place.write("sweep.toml", &long(6));
    place.emab("sweep @/sweep.toml --out @/alone");
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_emab"))
            .args(["sweep", &sweep, "--out", &place.at("out"), "--threads", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut both = [start(), start()];
    for child in &mut both {
        assert!(child.wait().unwrap().success());
    }
    place.assert_same_sweep("alone", "out");
}

#[test]
fn one_run_claims_no_band() {
    let place = Place::new();
    place.write("sweep.toml", &SWEEP.replace("runs        = 5", "runs = 1"));
    let text = String::from_utf8(place.with("sweep @/sweep.toml", emab).stdout).unwrap();
    assert!(text.contains("(one run)") && !text.contains('±'), "{text}");
}
