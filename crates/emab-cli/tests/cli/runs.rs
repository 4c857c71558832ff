//! Output of the command, result folders, and interrupted runs that end with the same bytes.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::common::{emab_with_input, interrupt, json, said, start, timeless};
use crate::device::has_no_driver;
use crate::test_dir::TestDir;
use serde_json::Value;

#[test]
fn snapshots() {
    println!("after an intended change, `tools/regenerate` rewrites the snapshots and the docs");
    let cases = trycmd::TestCases::new();
    cases
        .default_bin_path(env!("CARGO_BIN_EXE_emab"))
        .case("tests/cmd/*.trycmd")
        .case("../../README.md")
        .case("../../docs/*.md");
    if !has_no_driver() {
        cases.skip("../../docs/gpu.md");
    }
}

#[test]
fn run_prints_its_json_document() {
    let call = "run resource --learner feedbal --learner ucb1v --episodes 200 --runs 10 --seed 1 --checkpoints 50,100 --json";
    let result = json(call);
    assert_eq!(result["problem"], "resource collection");
    assert_eq!(
        (&result["seed"], &result["runs"], &result["episodes"]),
        (&1.into(), &10.into(), &200.into())
    );
    assert!((result["benchmark_value"].as_f64().unwrap() - 1.605673568).abs() < 1e-9);
    let feedbal = &result["learners"][0];
    assert_eq!(feedbal["learner"], "feedbal");
    let parameters = serde_json::json!({"sigma2": 0.2, "delta": 0.01, "width": "paper", "stop_bias": 0.0, "ties": "lowest"});
    assert_eq!(feedbal["parameters"], parameters);
    let points = feedbal["curve"].as_array().unwrap().iter();
    let episodes: Vec<u64> = points.map(|p| p["episode"].as_u64().unwrap()).collect();
    assert_eq!(episodes, [50, 100, 200]);
    for key in ["regret", "stderr", "gain"] {
        assert!(feedbal["curve"][2][key].as_f64().unwrap() > 0.0, "{key}");
    }
    let causes = ["early_stop", "late_stop", "wrong_action"]
        .map(|cause| feedbal["causes"][cause].as_f64().unwrap());
    let regret = feedbal["curve"][2]["regret"].as_f64().unwrap();
    assert!((causes.iter().sum::<f64>() - regret).abs() < 1e-9);
    assert!(feedbal["steps"].as_u64().unwrap() > 2000 && feedbal["seconds"].is_f64());
    // Threads change nothing.
    for threads in [1, 3] {
        let other = json(&format!("{call} --threads {threads}"));
        assert_eq!(timeless(other), timeless(result.clone()));
    }
}

#[test]
fn solve_prints_its_json_document() {
    let solved = json("solve resource --json");
    for who in ["benchmark", "optimal"] {
        assert!((solved[who]["value"].as_f64().unwrap() - 1.605673568).abs() < 1e-9);
        let policy = solved[who]["policy"].as_array().unwrap();
        assert_eq!(policy.len(), 10);
        assert_eq!(
            (&policy[0][0], &policy[0][1]),
            (&"cont".into(), &Value::Null)
        );
        assert_eq!(policy[4][4], "stop");
        assert_eq!(policy[9][0], "stop");
    }
    assert!((solved["best_fixed"]["value"].as_f64().unwrap() - 1.547522).abs() < 1e-6);
    let sequence = ["cont", "cont", "cont", "cont", "cont", "cont", "stop"];
    assert_eq!(
        solved["best_fixed"]["sequence"],
        serde_json::json!(sequence)
    );
    let parity = json("solve parity --json");
    assert_eq!(parity["benchmark"]["value"], 7.0);
    assert_eq!(parity["best_repeated"]["value"], 3.0);
}

#[test]
fn every_command_has_json_output() {
    for call in [
        "check screening",
        "problems",
        "problems treatment",
        "learners",
        "schema",
        "completions bash",
    ] {
        json(&format!("{call} --json"));
    }
}

#[test]
fn check_shows_the_starts_with_their_probabilities() {
    let checked = json("check screening-risk --json");
    assert_eq!(checked["start"], serde_json::json!([3, 11, 19]));
    let probabilities = serde_json::json!([0.6, 0.3, 0.1]);
    assert_eq!(checked["start_probabilities"], probabilities);
    let one = json("check screening --json");
    assert_eq!(one["start"], 2);
    assert!(one.get("start_probabilities").is_none());
    // Without a model there are no probabilities.
    let dir = TestDir::new();
    let text = said("problems screening-risk").0;
    dir.write("live.toml", text.split("[model]").next().unwrap());
    let live = dir.json("check @/live.toml --json");
    assert_eq!(live["start_probabilities"], Value::Null);
    let (table, _) = said("check screening-risk");
    assert!(
        table.contains("states low_3 (0.6000), medium_3 (0.3000), high_3 (0.1000)"),
        "{table}"
    );
}

#[test]
fn reads_a_problem_from_standard_input() {
    let (text, _) = said("problems parity --json");
    let output = emab_with_input("solve - --json", text.as_bytes());
    let solved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(solved["optimal"]["value"], 7.0);
}

#[test]
fn a_run_writes_its_folder() {
    let dir = TestDir::new();
    let options = "--learner feedbal --learner random --episodes 300 --runs 4 --json";
    let printed = dir.json(&format!("run tutoring {options} --out @/new/folder"));
    let result: Value = serde_json::from_slice(&dir.read("new/folder/run.json")).unwrap();
    assert_eq!(result, printed);
    assert_eq!(result["version"], env!("CARGO_PKG_VERSION"));
    let checked = json("check tutoring --json");
    assert_eq!(result["problem_hash"], checked["problem_hash"]);
    let csv = dir.text("new/folder/curve.csv");
    let points = result["learners"][0]["curve"].as_array().unwrap().len();
    assert_eq!(csv.lines().count(), 1 + 2 * points);
    let header = "learner,episode,regret,stderr,gain,gain_stderr,regret_optimal,q05,q25,q50,q75,q95\n\"feedbal\",1,";
    assert!(csv.starts_with(header));
    assert!(dir.text("new/folder/regret.svg").starts_with("<svg"));
    assert!(dir.read("new/folder/regret.png").starts_with(b"\x89PNG"));
    // The problem in it gives the same run again.
    let again = dir.json(&format!("run @/new/folder/problem.json {options}"));
    assert_eq!(timeless(again), timeless(result));
    // Nothing else, and nothing half-written.
    let names = "curve.csv places-1-feedbal.png places-1-feedbal.svg places-2-random.png places-2-random.svg places.csv \
                 problem.json regret.png regret.svg run.json runs.csv runs.parquet";
    assert_eq!(dir.names("new/folder").join(" "), names);

    let options = "--log-x --log-y --title Tutoring --output @/log.png --json";
    dir.json(&format!("plot @/new/folder {options}"));
    assert!(dir.read("log.png").starts_with(b"\x89PNG"));
    let before = dir.read("new/folder/regret.svg");
    dir.json("plot @/new/folder --log-x --json");
    assert_ne!(dir.read("new/folder/regret.svg"), before);
}

/// Starts a run, and waits until it has begun and a moment more.
pub fn start_run(dir: &TestDir, call: &str) -> Child {
    let mut child = start(&dir.call(call));
    for _ in 0..1000 {
        std::thread::sleep(Duration::from_millis(10));
        if dir.exists("out/checkpoint.json") {
            break;
        }
    }
    std::thread::sleep(Duration::from_millis(60));
    assert!(
        child.try_wait().unwrap().is_none(),
        "it ended before it could be stopped"
    );
    child
}

#[test]
fn a_resumed_run_gives_the_same_bytes() {
    let dir = TestDir::new();
    let job = "run resource --learner feedbal --learner ucb1 --episodes 20000 --runs 300 --seed 5 --threads 1 --json";
    let child = start_run(&dir, &format!("{job} --out @/out"));
    let asked = Instant::now();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(asked.elapsed() < Duration::from_secs(30), "it did not stop");
    assert!(
        error.contains("continue with `emab run --resume"),
        "{error}"
    );
    assert!(dir.exists("out/checkpoint.json"));
    assert!(!dir.exists("out/run.json"));
    // Beginning anew in the same folder would lose what is done.
    dir.rejects(
        "run resource --out @/out",
        2,
        "contains an unfinished run: a run of `resource collection` with feedbal, ucb1, 300 runs of 20000 episodes, seed 5 \
         | --resume | this call has the learner feedbal and 100 runs and 10000 episodes and seed 1 | --force replaces it",
    );

    // A state that was changed by hand is not believed.
    let sealed = dir.text("out/checkpoint.json");
    assert!(sealed.contains("\"seed\":5"));
    dir.write(
        "out/checkpoint.json",
        &sealed.replace("\"seed\":5", "\"seed\":6"),
    );
    dir.rejects(
        "run --resume @/out",
        1,
        "checkpoint.json is damaged | checksum",
    );
    dir.write("out/checkpoint.json", &sealed);

    let resumed = dir.json("run --resume @/out --threads 2 --json");
    assert_eq!(timeless(resumed.clone()), timeless(json(job)));
    assert!(!dir.exists("out/checkpoint.json"));
    // Once more: it is finished, and says the same.
    let (again, _) = said(&dir.call("run --resume @/out --json"));
    assert_eq!(again, dir.text("out/run.json"));
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), resumed);
}

#[test]
fn a_killed_run_leaves_no_earlier_results() {
    let dir = TestDir::new();
    dir.emab("run parity --episodes 10 --runs 2 --out @/out");
    let (text, _) = said("problems resource");
    let nameless = text.lines().filter(|line| !line.starts_with("name"));
    dir.write("nameless.toml", &nameless.collect::<Vec<_>>().join("\n"));
    let job = "run @/nameless.toml --episodes 20000 --runs 400 --threads 1 --json";
    let mut child = start_run(&dir, &format!("{job} --out @/out --force"));
    child.kill().unwrap();
    child.wait().unwrap();
    // Nothing of the run before is left, and the same call continues the new one, which ends as it would have.
    assert!(!dir.exists("out/run.json"));
    let (resumed, note) = said(&dir.call(&format!("{job} --out @/out")));
    assert!(note.contains("out contains this run with "), "{note}");
    let resumed: Value = serde_json::from_str(&resumed).unwrap();
    assert!(!dir.exists("out/.emab.lock"));
    assert_eq!(resumed["problem"], "nameless");
    assert_eq!(timeless(resumed), timeless(dir.json(job)));
}

#[test]
fn a_single_run_has_no_interval() {
    let (text, _) = said("run parity --runs 1 --episodes 5");
    assert!(text.contains("(one run)") && !text.contains('±'), "{text}");
}
