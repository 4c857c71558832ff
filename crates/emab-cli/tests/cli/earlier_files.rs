//! Files in `tests/fixtures`, which an earlier build wrote: audited, resumed, merged and drawn with the same results.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{json, said, timeless};
use crate::test_dir::TestDir;

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    folder.join(name)
}

fn read(name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(name)).unwrap()).unwrap()
}

/// A folder with copies of fixtures.
fn copies(names: &[&str]) -> TestDir {
    let dir = TestDir::new();
    for name in names {
        let from = fixture(name);
        if from.is_file() {
            fs::copy(from, dir.at(name)).unwrap();
            continue;
        }
        fs::create_dir(dir.at(name)).unwrap();
        for file in fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            let to = Path::new(&dir.at(name)).join(file.file_name());
            fs::copy(file.path(), to).unwrap();
        }
    }
    dir
}

#[test]
fn audits_report_the_same() {
    for (file, expected) in [
        ("studies.db", read("studies.audit.json")["studies"].clone()),
        (
            "clinic.ndjson",
            read("studies.audit.json")["studies"].as_array().unwrap()[..1].into(),
        ),
    ] {
        let report = json(&format!("audit {} --json", fixture(file).to_str().unwrap()));
        assert_eq!(report["clean"], true);
        let mut studies = report["studies"].clone();
        for study in studies.as_array_mut().unwrap() {
            // Earlier versions did not report it.
            assert!(study["last_at"].take().is_string());
            study.as_object_mut().unwrap().remove("last_at");
        }
        assert_eq!(studies, expected, "{file}");
    }
}

#[test]
fn a_finished_run_is_read_and_drawn() {
    let dir = copies(&["run"]);
    let result = dir.json("run --resume @/run --json");
    assert_eq!(result, read("run/run.json"));
    dir.emab("plot @/run");
    for name in ["regret.svg", "regret.png"] {
        assert!(!dir.read(&format!("run/{name}")).is_empty(), "{name}");
    }
}

#[test]
fn an_interrupted_run_is_resumed() {
    let dir = copies(&["run-interrupted"]);
    let result = dir.json("run --resume @/run-interrupted --threads 1 --json");
    assert_eq!(timeless(result), read("run-interrupted.expected.json"));
}

#[test]
fn shards_of_a_run_are_merged() {
    let dir = copies(&["run-shard-1", "run-shard-2"]);
    dir.emab("merge @/run-shard-1 @/run-shard-2 --out @/merged");
    for name in ["curve.csv", "places.csv", "problem.json"] {
        let before = fs::read_to_string(fixture("run").join(name)).unwrap();
        // Columns that earlier versions did not have are empty.
        let merged = dir.text(&format!("merged/{name}"));
        let merged = merged.replace(",q05,q25,q50,q75,q95\n", "\n");
        assert!(merged.replace(",,,,,\n", "\n") == before, "{name}");
    }
    let merged = serde_json::from_slice(&dir.read("merged/run.json")).unwrap();
    assert_eq!(timeless(merged), timeless(read("run/run.json")));
}

#[test]
fn an_interrupted_sweep_continues_and_shards_of_a_sweep_are_merged() {
    let names = [
        "sweep",
        "sweep.toml",
        "sweep-interrupted",
        "sweep-shard-1",
        "sweep-shard-2",
    ];
    let dir = copies(&names);
    let before = fs::read_to_string(fixture("sweep-interrupted/cells.jsonl")).unwrap();
    let (before, _) = before.rsplit_once('\n').unwrap();
    dir.emab("sweep @/sweep.toml --out @/sweep-interrupted");
    let after = dir.text("sweep-interrupted/cells.jsonl");
    assert!(
        after.starts_with(before),
        "finished cells are computed again"
    );
    dir.emab("merge @/sweep-shard-2 @/sweep-shard-1 --out @/merged");
    // All cells are finished: not even their times change.
    let cells = dir.read("sweep/cells.jsonl");
    dir.emab("sweep @/sweep.toml --out @/sweep");
    assert_eq!(dir.read("sweep/cells.jsonl"), cells);
    for name in ["sweep.csv", "sweep.parquet"] {
        let [whole, merged] =
            ["sweep", "merged"].map(|folder| dir.read(&format!("{folder}/{name}")));
        assert!(whole == merged, "{name}");
    }
    let [all, continued] = ["sweep", "sweep-interrupted"].map(|folder| {
        let cells = dir.cells(folder).into_iter();
        cells
            .map(|(cell, _)| without_distribution(cell))
            .collect::<Vec<_>>()
    });
    assert_eq!(all, continued);
    dir.emab("plot @/sweep --output @/plot.svg");
}

/// A cell without what earlier versions did not compute.
fn without_distribution(mut cell: Value) -> Value {
    let result = cell["result"].as_object_mut().unwrap();
    for name in ["stuck", "groups"] {
        result.remove(name);
    }
    for point in result["curve"].as_array_mut().unwrap() {
        point.as_object_mut().unwrap().remove("quantiles");
    }
    cell
}

#[test]
fn an_arena_folder_is_not_computed_again() {
    let dir = copies(&["arena"]);
    let job = "arena parity --learner ucb1 --learner best-fixed --episodes 50 --runs 3";
    dir.emab(&format!("{job} --out @/arena"));
    let before = |name: &str| fs::read_to_string(fixture("arena").join(name)).unwrap();
    assert_eq!(dir.text("arena/arena.jsonl"), before("arena.jsonl"));
    // A report of an earlier result.
    let dir_before = copies(&["arena"]);
    dir_before.emab("report @/arena");
    assert!(
        dir_before
            .text("arena/report.html")
            .contains("emab arena parity ")
    );
    // Columns that were added since are at the end; the regret at half length is not known.
    let now = dir.text("arena/arena.csv");
    for (now, before) in now.lines().zip(before("arena.csv").lines()) {
        let added = now.strip_prefix(before);
        assert!(
            added.is_some_and(
                |added| added.starts_with(",ranked_at,") || added.starts_with(",50,,,,,")
            ),
            "{now}"
        );
    }
}

#[test]
fn saved_learners_choose_the_same() {
    for name in ["feedbal", "psrl"] {
        let file = fixture(&format!("learner-{name}.jsonl"));
        let policy = json(&format!("policy {} --json", file.to_str().unwrap()));
        assert_eq!(policy, read(&format!("learner-{name}.policy.json")));
        said(&format!("policy {}", file.display()));
    }
}
