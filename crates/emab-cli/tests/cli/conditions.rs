//! Conditions on the command line, in problem files and in result folders.

use std::fs;

use crate::common::{emab, json, rejects};
use serde_json::{Value, json};

fn timeless(mut result: Value) -> Value {
    for learner in result["learners"].as_array_mut().unwrap() {
        learner.as_object_mut().unwrap().remove("seconds").unwrap();
    }
    result
}

const RUN: [&str; 7] = [
    "run",
    "resource",
    "--episodes",
    "300",
    "--runs",
    "6",
    "--json",
];

fn under(conditions: &[&str]) -> Vec<&'static str> {
    let flags = conditions.iter().flat_map(|text| ["--condition", text]);
    let flags = flags.map(|text| &*Box::leak(text.to_owned().into_boxed_str()));
    RUN.into_iter().chain(flags).collect()
}

#[test]
fn a_result_states_its_conditions() {
    assert!(json(&RUN).get("conditions").is_none());
    let texts = ["delay=geometric:20", "dropout=0.05", "drift=p:0.4@100"];
    let result = json(&under(&texts));
    assert_eq!(
        result["conditions"],
        json!({
            "delay": {"kind": "geometric", "mean": 20.0},
            "dropout": 0.05,
            "drift": [{"parameter": "p", "to": 0.4, "at": 100}],
        })
    );
    assert_ne!(result["problem_hash"], json(&RUN)["problem_hash"]);
    for threads in ["1", "4"] {
        let other = json(&[&under(&texts)[..], &["--threads", threads]].concat());
        assert_eq!(timeless(other), timeless(result.clone()));
    }
    let shown = emab(&[
        "run",
        "resource",
        "--episodes",
        "30",
        "--runs",
        "2",
        "--condition",
        "delay=3",
    ]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.lines().nth(1).unwrap() == "conditions: delay=3",
        "{shown}"
    );
    // Nothing of nothing.
    assert_eq!(
        timeless(json(&under(&["delay=none", "dropout=0"]))),
        timeless(json(&RUN))
    );
}

#[test]
fn conditions_of_the_call_override_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.toml");
    let text = String::from_utf8(emab(&["problems", "resource"]).stdout).unwrap();
    fs::write(
        &path,
        format!("{text}\n[conditions]\ndelay = 20\nlost = 0.1\n"),
    )
    .unwrap();
    let path = path.to_str().unwrap();
    let mut args = RUN;
    args[1] = path;
    let of_file = json(&args);
    assert_eq!(of_file["conditions"], json!({"delay": 20, "lost": 0.1}));
    assert_eq!(
        timeless(of_file),
        timeless(json(&under(&["delay=20", "lost=0.1"])))
    );
    let both = json(&[&args[..], &["--condition", "delay=5"]].concat());
    assert_eq!(both["conditions"], json!({"delay": 5, "lost": 0.1}));
    assert_eq!(
        json(&["check", path, "--json"])["conditions"],
        json!({"delay": 20, "lost": 0.1})
    );
    // What is about the problem itself says that it leaves them out.
    let solved = emab(&["solve", path]);
    let note = String::from_utf8(solved.stderr).unwrap();
    assert!(
        note.contains("(delay=20 lost=0.1) are ignored here"),
        "{note}"
    );
}

#[test]
fn a_result_folder_states_conditions() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let job = under(&["delay=20", "drift=p:0.4@100-200"]);
    let out = at("whole");
    let result = json(&[&job[..], &["--out", &out]].concat());
    let csv = fs::read_to_string(format!("{out}/curve.csv")).unwrap();
    assert!(
        csv.starts_with(
            "learner,episode,regret,stderr,gain,gain_stderr,regret_optimal,conditions\n"
        ),
        "{csv}"
    );
    assert!(
        csv.lines()
            .nth(1)
            .unwrap()
            .ends_with(",\"delay=20 drift=p:0.4@100-200\""),
        "{csv}"
    );
    assert!(!fs::exists(format!("{out}/places.csv")).unwrap());
    // The problem in it gives the same run again, with nothing said in the call.
    let mut again = RUN;
    let problem = format!("{out}/problem.json");
    again[1] = &problem;
    assert_eq!(timeless(json(&again)), timeless(result.clone()));
    rejects(
        &["plot", &out, "--bound"],
        2,
        &["has conditions", "which no theorem covers"],
    );
    json(&["plot", &out, "--json"]);
    // Shards keep them and merge to the same; shards under others do not go with them.
    let shard = |k: &str, job: &[&str], name: &str| {
        json(&[job, &["--shard", k, "--out", &at(name)]].concat());
        at(name)
    };
    let (one, two) = (shard("1/2", &job, "one"), shard("2/2", &job, "two"));
    let merged = json(&["merge", &one, &two, "--out", &at("merged"), "--json"]);
    assert_eq!(timeless(merged), timeless(result));
    let other = shard("2/2", &under(&["delay=21"]), "other");
    rejects(
        &["merge", &one, &other, "--out", &at("mixed")],
        2,
        &["its problem is"],
    );
}

#[test]
fn an_interrupted_run_resumes_with_its_conditions() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let job = [
        "run",
        "resource",
        "--episodes",
        "20000",
        "--runs",
        "60",
        "--threads",
        "2",
        "--json",
        "--condition",
        "delay=20",
        "--condition",
        "override=0.1",
    ];
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_emab"))
        .args(job)
        .args(["--out", out])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = std::path::Path::new(out).join("checkpoint.json");
    while !checkpoint.exists() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it could be killed"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    rejects(
        &["run", "--resume", out, "--condition", "delay=3"],
        2,
        &["--condition"],
    );
    let resumed = json(&["run", "--resume", out, "--json"]);
    assert_eq!(resumed["conditions"], json!({"delay": 20, "override": 0.1}));
    assert_eq!(timeless(resumed), timeless(json(&job)));
}

#[test]
fn rejects_invalid_conditions() {
    for (text, words) in [
        (
            "dropout=1.2",
            "--condition: `dropout` must lie in [0, 1), got 1.2",
        ),
        ("delay", "must be KEY=VALUE, such as delay=20, got `delay`"),
        ("dely=3", "did you mean `delay`?"),
        (
            "drift=q:0.4@50",
            "`q` drifts and is not among the [parameters]",
        ),
        ("drift=p:40@50", "`feedback` is wrong at t = 1"),
    ] {
        rejects(&["run", "resource", "--condition", text], 2, &[words]);
    }
    rejects(
        &["verify", "resource", "--learner", "feedbal:window=100"],
        2,
        &["promises nothing that could be checked once it forgets"],
    );
}

#[test]
fn a_sweep_plays_the_conditions_of_its_problem() {
    let folder = tempfile::tempdir().unwrap();
    let text = String::from_utf8(emab(&["problems", "resource"]).stdout).unwrap();
    let path = folder.path().join("late.toml");
    fs::write(&path, format!("{text}\n[conditions]\ndropout = 0.1\n")).unwrap();
    let sweep = folder.path().join("sweep.toml");
    fs::write(
        &sweep,
        format!(
            "problem = \"{}\"\nlearners = [\"benchmark\"]\nepisodes = 50\nruns = 4\n[grid]\nproblem.conditions.dropout = [0.1, 0.5]\n",
            path.to_str().unwrap()
        ),
    )
    .unwrap();
    let result = json(&["sweep", sweep.to_str().unwrap(), "--json"]);
    let value = |i: usize| result["cells"][i]["benchmark_value"].as_f64().unwrap();
    assert!(value(0) > value(1) && value(0) < 1.6, "{result}");
}
