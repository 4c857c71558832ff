//! Output of the command, result folders, and interrupted runs that end with the same bytes.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{emab, json, rejects};
use serde_json::Value;

/// Everything but the time.
fn timeless(mut result: Value) -> Value {
    for learner in result["learners"].as_array_mut().unwrap() {
        learner.as_object_mut().unwrap().remove("seconds").unwrap();
    }
    result
}

#[test]
fn snapshots() {
    println!("after an intended change, `tools/regenerate` rewrites the snapshots and the docs");
    trycmd::TestCases::new()
        .default_bin_path(env!("CARGO_BIN_EXE_emab"))
        .case("tests/cmd/*.trycmd")
        .case("../../README.md")
        .case("../../docs/*.md");
}

#[test]
fn run_prints_its_json_document() {
    let args = [
        "run",
        "resource",
        "--learner",
        "feedbal",
        "--learner",
        "ucb1v",
        "--episodes",
        "200",
        "--runs",
        "10",
        "--seed",
        "1",
        "--checkpoints",
        "50,100",
        "--json",
    ];
    let result = json(&args);
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
    let episodes: Vec<u64> = feedbal["curve"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["episode"].as_u64().unwrap())
        .collect();
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
    for threads in ["1", "3"] {
        let other = json(&[&args[..], &["--threads", threads]].concat());
        assert_eq!(timeless(other), timeless(result.clone()));
    }
}

#[test]
fn solve_prints_its_json_document() {
    let solved = json(&["solve", "resource", "--json"]);
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
    let parity = json(&["solve", "parity", "--json"]);
    assert_eq!(parity["benchmark"]["value"], 7.0);
    assert_eq!(parity["best_repeated"]["value"], 3.0);
}

#[test]
fn every_command_has_json_output() {
    for args in [
        &["check", "screening"][..],
        &["problems"],
        &["problems", "treatment"],
        &["learners"],
        &["schema"],
        &["completions", "bash"],
    ] {
        json(&[args, &["--json"]].concat());
    }
}

#[test]
fn reads_a_problem_from_standard_input() {
    let text = emab(&["problems", "parity", "--json"]).stdout;
    let mut child = Command::new(env!("CARGO_BIN_EXE_emab"))
        .args(["solve", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    let solved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(solved["optimal"]["value"], 7.0);
}

#[test]
fn a_run_writes_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let out = out.to_str().unwrap();
    let printed = json(&[
        "run",
        "tutoring",
        "--learner",
        "feedbal",
        "--learner",
        "random",
        "--episodes",
        "300",
        "--runs",
        "4",
        "--out",
        out,
        "--json",
    ]);
    let read = |name: &str| fs::read(Path::new(out).join(name)).unwrap();
    let result: Value = serde_json::from_slice(&read("run.json")).unwrap();
    assert_eq!(result, printed);
    assert_eq!(result["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        result["problem_hash"],
        json(&["check", "tutoring", "--json"])["problem_hash"]
    );
    let csv = String::from_utf8(read("curve.csv")).unwrap();
    let points = result["learners"][0]["curve"].as_array().unwrap().len();
    assert_eq!(csv.lines().count(), 1 + 2 * points);
    assert!(csv.starts_with(
        "learner,episode,regret,stderr,gain,gain_stderr,regret_optimal\n\"feedbal\",1,"
    ));
    assert!(
        String::from_utf8(read("regret.svg"))
            .unwrap()
            .starts_with("<svg")
    );
    assert!(read("regret.png").starts_with(b"\x89PNG"));
    // The problem in it gives the same run again.
    let problem = Path::new(out).join("problem.json");
    let again = json(&[
        "run",
        problem.to_str().unwrap(),
        "--learner",
        "feedbal",
        "--learner",
        "random",
        "--episodes",
        "300",
        "--runs",
        "4",
        "--json",
    ]);
    assert_eq!(timeless(again), timeless(result));
    // Nothing else, and nothing half-written.
    let mut names: Vec<String> = fs::read_dir(out)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "curve.csv",
            "places-1-feedbal.png",
            "places-1-feedbal.svg",
            "places-2-random.png",
            "places-2-random.svg",
            "places.csv",
            "problem.json",
            "regret.png",
            "regret.svg",
            "run.json"
        ]
    );

    let picture = folder.path().join("log.png");
    json(&[
        "plot",
        out,
        "--log-x",
        "--log-y",
        "--title",
        "Tutoring",
        "--output",
        picture.to_str().unwrap(),
        "--json",
    ]);
    assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    let before = read("regret.svg");
    json(&["plot", out, "--log-x", "--json"]);
    assert_ne!(read("regret.svg"), before);
}

#[test]
fn a_resumed_run_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let job = [
        "run",
        "resource",
        "--learner",
        "feedbal",
        "--learner",
        "ucb1",
        "--episodes",
        "20000",
        "--runs",
        "600",
        "--seed",
        "5",
        "--threads",
        "2",
        "--json",
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_emab"))
        .args(job)
        .args(["--out", out])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&Path::new(out).join("checkpoint.json"));
    let asked = Instant::now();
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .unwrap();
    assert!(
        sent.success() && child.try_wait().unwrap().is_none(),
        "it ended before it could be interrupted"
    );
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(asked.elapsed() < Duration::from_secs(30), "it did not stop");
    assert!(
        error.contains("continue with `emab run --resume"),
        "{error}"
    );
    assert!(Path::new(out).join("checkpoint.json").exists());
    assert!(!Path::new(out).join("run.json").exists());
    // Beginning anew in the same folder would lose what is done.
    rejects(
        &["run", "resource", "--out", out],
        2,
        &["contains an unfinished run", "--resume"],
    );

    // A state that was changed by hand is not believed.
    let checkpoint = Path::new(out).join("checkpoint.json");
    let sealed = fs::read_to_string(&checkpoint).unwrap();
    assert!(sealed.contains("\"seed\":5"));
    fs::write(&checkpoint, sealed.replace("\"seed\":5", "\"seed\":6")).unwrap();
    rejects(
        &["run", "--resume", out],
        1,
        &["checkpoint.json is damaged", "checksum"],
    );
    fs::write(&checkpoint, sealed).unwrap();

    let resumed = json(&["run", "--resume", out, "--threads", "1", "--json"]);
    assert_eq!(timeless(resumed.clone()), timeless(json(&job)));
    assert!(!Path::new(out).join("checkpoint.json").exists());
    // Once more: it is finished, and says the same.
    let again = emab(&["run", "--resume", out, "--json"]).stdout;
    assert_eq!(again, fs::read(Path::new(out).join("run.json")).unwrap());
    assert_eq!(serde_json::from_slice::<Value>(&again).unwrap(), resumed);
}

/// Until a run has begun, and a moment more.
fn wait_for(file: &Path) {
    for _ in 0..1000 {
        std::thread::sleep(Duration::from_millis(10));
        if file.exists() {
            break;
        }
    }
    std::thread::sleep(Duration::from_millis(60));
}

#[test]
fn a_killed_run_leaves_no_earlier_results() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    json(&[
        "run",
        "parity",
        "--episodes",
        "10",
        "--runs",
        "2",
        "--out",
        out,
        "--json",
    ]);
    let problem = folder.path().join("nameless.toml");
    let text = String::from_utf8(emab(&["problems", "resource"]).stdout).unwrap();
    let nameless: String = text
        .lines()
        .filter(|line| !line.starts_with("name"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&problem, nameless).unwrap();
    let job = [
        "run",
        problem.to_str().unwrap(),
        "--episodes",
        "20000",
        "--runs",
        "600",
        "--threads",
        "2",
        "--json",
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_emab"))
        .args(job)
        .args(["--out", out])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&Path::new(out).join("checkpoint.json"));
    assert!(
        child.try_wait().unwrap().is_none(),
        "it ended before it could be killed"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    // Nothing of the run before is left, and the new one begins again and ends as it would have.
    assert!(!Path::new(out).join("run.json").exists());
    let resumed = json(&["run", "--resume", out, "--json"]);
    assert_eq!(resumed["problem"], "nameless");
    assert_eq!(timeless(resumed), timeless(json(&job)));
}

#[test]
fn a_single_run_has_no_interval() {
    let output = emab(&["run", "parity", "--runs", "1", "--episodes", "5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("(one run)") && !text.contains('±'), "{text}");
}
