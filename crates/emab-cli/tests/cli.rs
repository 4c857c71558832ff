//! What the command prints, how it exits, and that an interrupted run ends with the same bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn emab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_emab"))
        .args(args)
        .output()
        .unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = emab(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}"))
}

/// The command must refuse, with this exit code and with these words on standard error.
fn refuses(args: &[&str], code: i32, words: &[&str]) {
    let output = emab(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(output.stdout.is_empty(), "{args:?} printed data");
    for word in words {
        assert!(
            error.contains(word),
            "{args:?}: {word:?} is not in\n{error}"
        );
    }
    assert!(!error.contains("panicked"), "{error}");
}

/// Everything but the time.
fn timeless(mut result: Value) -> Value {
    for learner in result["learners"].as_array_mut().unwrap() {
        learner.as_object_mut().unwrap().remove("seconds").unwrap();
    }
    result
}

#[test]
fn snapshots() {
    trycmd::TestCases::new()
        .default_bin_path(env!("CARGO_BIN_EXE_emab"))
        .case("tests/cmd/*.trycmd")
        .case("../../README.md")
        .case("../../docs/*.md");
}

#[test]
fn run_prints_the_contract() {
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
fn solve_prints_the_contract() {
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
fn every_command_speaks_json() {
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
fn a_problem_can_come_from_standard_input() {
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
fn a_run_leaves_its_folder() {
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
    assert!(csv.starts_with("learner,episode,regret,stderr,gain,gain_stderr\n\"feedbal\",1,"));
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
fn an_interrupted_run_goes_on_to_the_same_bytes() {
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
        "150",
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
    std::thread::sleep(Duration::from_millis(400));
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
    assert!(error.contains("go on with `emab run --resume"), "{error}");
    assert!(Path::new(out).join("checkpoint.json").exists());
    assert!(!Path::new(out).join("run.json").exists());
    // Beginning anew in the same folder would lose what is done.
    refuses(
        &["run", "resource", "--out", out],
        2,
        &["holds an unfinished run", "--resume"],
    );

    // A state that was changed by hand is not believed.
    let checkpoint = Path::new(out).join("checkpoint.json");
    let sealed = fs::read_to_string(&checkpoint).unwrap();
    assert!(sealed.contains("\"seed\":5"));
    fs::write(&checkpoint, sealed.replace("\"seed\":5", "\"seed\":6")).unwrap();
    refuses(
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

#[test]
fn a_killed_run_is_not_mistaken_for_the_one_before_it() {
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
        "150",
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
    std::thread::sleep(Duration::from_millis(400));
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
fn one_run_claims_no_band() {
    let output = emab(&["run", "parity", "--runs", "1", "--episodes", "5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("(one run)") && !text.contains('±'), "{text}");
}

#[test]
fn wrong_input_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let coin = "horizon = 3\nstates = 3\nactions = [\"toss\"]\nfeedbacks = 2\ntransition = \"x + f\"\n\
                [model]\nfeedback = [\"0.5\", \"0.5\"]\nreward = \"x\"\n";
    let misspelt = write("misspelt.toml", &coin.replace("horizon", "horizn"));
    let law = write("law.toml", &coin.replace("\"0.5\"]", "\"0.6\"]"));
    let zero = write("zero.toml", &coin.replace("\"x\"\n", "\"1 / (2 - x)\"\n"));
    let range = write("range.toml", &coin.replace("x + f", "x + 3 * f"));
    let long = write(
        "long.toml",
        &coin.replace("horizon = 3", "horizon = 1000000000000"),
    );
    let live = write("live.toml", coin.split("[model]").next().unwrap());
    let many = write(
        "many.toml",
        &coin
            .replace("horizon = 3", "horizon = 30")
            .replace("[\"toss\"]", "3")
            .replace("x + f", "x"),
    );
    let good = write("good.toml", coin);
    let odd = write("odd.txt", coin);
    let bytes = folder.path().join("bytes.toml");
    fs::write(&bytes, b"name = \"\xff\"").unwrap();

    for command in ["run", "solve", "check"] {
        refuses(
            &[command, &misspelt],
            2,
            &[
                "misspelt.toml:1:1",
                "unknown field `horizn`",
                "did you mean `horizon`?",
            ],
        );
        refuses(
            &[command, &law],
            2,
            &["law.toml:7:12", "t = 1, x = 0", "sum to 1.1, expected 1"],
        );
        refuses(
            &[command, &zero],
            2,
            &["zero.toml:8:11", "t = 3, x = 2", "division by zero: 1 / 0"],
        );
        refuses(
            &[command, &range],
            2,
            &[
                "range.toml:5:14",
                "t = 1, x = 0",
                "f = 1",
                "got 3",
                "from 0 to 2",
            ],
        );
        refuses(
            &[command, &long],
            2,
            &["long.toml:1:11", "from 1 to 1000000, got 1000000000000"],
        );
        refuses(&[command, &odd], 2, &["ends in .toml or .json"]);
        refuses(
            &[command, bytes.to_str().unwrap()],
            2,
            &["not UTF-8", "byte 8"],
        );
        refuses(&[command, "nowhere.toml"], 2, &["cannot read nowhere.toml"]);
        refuses(
            &[command, "resurce"],
            2,
            &["unknown problem `resurce`", "did you mean `resource`?"],
        );
    }
    for command in ["run", "solve"] {
        refuses(&[command, &live], 2, &["live.toml", "no [model]"]);
    }
    refuses(
        &["run", &good, "--learner", "feedball"],
        2,
        &["unknown learner `feedball`", "did you mean `feedbal`?"],
    );
    refuses(
        &["run", &good, "--learner", "feedbal:sigma=1"],
        2,
        &["no parameter `sigma`", "`sigma2`"],
    );
    refuses(
        &["run", &good, "--learner", "feedbal:delta=1.5"],
        2,
        &["`delta` must lie in (0, 1), got 1.5"],
    );
    refuses(
        &["run", &good, "--learner", "feedbal:delta=nan"],
        2,
        &["`delta` must lie in (0, 1), got NaN"],
    );
    refuses(
        &["run", &good, "--learner", "feedbal:sigma2=-1"],
        2,
        &["`sigma2`", "got -1"],
    );
    refuses(
        &["run", &good, "--learner", "feedbal:sigma2=much"],
        2,
        &["`sigma2` must be a number, got much"],
    );
    refuses(
        &["run", &good, "--learner", "feedbal:width=narrow"],
        2,
        &["`width` must be `paper` or `sound`, got `narrow`"],
    );
    refuses(
        &["run", &good, "--learner", "feedbal:delta"],
        2,
        &["`delta` is not of the form key=value"],
    );
    refuses(
        &["run", &good, "--learner", "feedbal:delta=0.1,delta=0.2"],
        2,
        &["`delta` is given twice"],
    );
    refuses(
        &["run", &good, "--learner", "ucb1:c=2"],
        2,
        &["no parameter `c`", "it has none"],
    );
    refuses(
        &["run", &many, "--learner", "ucb1"],
        2,
        &["102945566047324 arms", "1000000"],
    );
    refuses(
        &["run", &good, "--episodes", "0"],
        2,
        &["--episodes", "at least 1"],
    );
    refuses(
        &["run", &good, "--runs", "many"],
        2,
        &["--runs", "whole number"],
    );
    refuses(&["run", &good, "--threads", "0"], 2, &["--threads"]);
    refuses(
        &["run", &good, "--episodes", "10", "--checkpoints", "5,11"],
        2,
        &[
            "--checkpoints",
            "from 1 to the number of episodes, 10, got 11",
        ],
    );
    refuses(
        &["run", &good, "--out", "/dev/null/folder"],
        1,
        &["cannot make the folder /dev/null/folder"],
    );
    refuses(
        &[
            "reproduce",
            "--runs",
            "1",
            "--episodes",
            "1",
            "--out",
            "/dev/null/folder",
        ],
        1,
        &["/dev/null/folder"],
    );
    refuses(
        &["run", "--resume", folder.path().to_str().unwrap()],
        2,
        &["holds no unfinished run"],
    );
    refuses(
        &["run", "--resume", "/nowhere"],
        2,
        &["cannot read the folder /nowhere"],
    );
    refuses(
        &["run", "--resume", "/nowhere", "--runs", "3"],
        2,
        &["cannot be used with"],
    );
    refuses(
        &["plot", folder.path().to_str().unwrap()],
        2,
        &["holds no results"],
    );
    refuses(&["problems", "nothing"], 2, &["unknown problem `nothing`"]);
    refuses(&["run"], 2, &["PROBLEM"]);
    refuses(&["fly"], 2, &["unrecognized subcommand"]);
    // A refused run has written nothing.
    let out = folder.path().join("never");
    refuses(&["run", &zero, "--out", out.to_str().unwrap()], 2, &[]);
    assert!(!out.exists());
}

#[test]
fn a_damaged_checkpoint_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("checkpoint.json"), "{").unwrap();
    refuses(
        &["run", "--resume", folder.path().to_str().unwrap()],
        1,
        &["checkpoint.json is damaged"],
    );
}

/// Next to no runs: nothing can be decided that needs an error, and nothing is NaN.
#[test]
fn reproduce_with_nothing_to_go_by() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let document = json(&[
        "reproduce",
        "--runs",
        "2",
        "--episodes",
        "3",
        "--out",
        out,
        "--json",
    ]);
    for claim in document["claims"].as_array().unwrap() {
        let measured = claim["measured"].as_str().unwrap();
        assert!(
            !measured.contains("NaN") && !measured.contains("inf"),
            "{measured}"
        );
        if claim["says"].as_str().unwrap().contains("Equation 2") {
            assert_eq!(claim["verdict"], "undecided");
        }
    }
}

#[test]
fn reproduce_in_small() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let document = json(&[
        "reproduce",
        "--runs",
        "60",
        "--episodes",
        "2000",
        "--out",
        out,
        "--json",
    ]);
    let claims = document["claims"].as_array().unwrap();
    assert!(claims.len() >= 8);
    let verdict = |place: &str, says: &str| {
        let claim = claims
            .iter()
            .find(|c| c["place"] == place && c["says"].as_str().unwrap().contains(says));
        claim.unwrap_or_else(|| panic!("{place}: {says}"))["verdict"]
            .as_str()
            .unwrap()
    };
    assert_eq!(verdict("Section 5", "UCB1 and UCB1-V"), "holds");
    assert_eq!(verdict("Section 5", "optimal policy"), "holds");
    assert_eq!(verdict("Section 2.3, example", "earns 7"), "holds");
    assert_eq!(verdict("Section 2.3, example", "earns 3"), "holds-in-part");
    assert_eq!(verdict("our own reference", "separate program"), "holds");
    assert_eq!(verdict("Lemma 1", "in Section 5"), "holds");
    assert_eq!(verdict("Lemma 1", "in every problem"), "fails");
    assert_eq!(verdict("Lemma 1, repaired", "width=sound"), "holds");
    assert_eq!(verdict("Lemma 2, as printed", "every path"), "fails");
    assert_eq!(verdict("Lemma 2, as derived", "every path"), "holds");
    assert_eq!(verdict("Theorem 1, ties", "Assumption 1"), "fails");
    assert_eq!(verdict("Theorem 2", "log n"), "holds");
    for name in [
        "figure1.svg",
        "figure1.png",
        "figure2.svg",
        "figure2.png",
        "places.svg",
        "bound.svg",
        "feedback-gap.svg",
        "logarithm.svg",
        "report.md",
        "report.html",
    ] {
        assert!(
            fs::metadata(folder.path().join(name)).unwrap().len() > 1000,
            "{name}"
        );
    }
    let report = fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert!(report.contains("(figure1.png)") && report.contains("**holds in part**"));
}

#[test]
fn bounds_prints_the_contract() {
    let bounds = json(&["bounds", "resource", "--episodes", "20000", "--json"]);
    let near = |value: &Value, expected: f64, by: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - expected).abs() < by, "{value} for {expected}");
    };
    assert_eq!(bounds["k"], 200);
    assert_eq!(
        (&bounds["delta"], &bounds["sigma2"]),
        (&0.01.into(), &0.2.into())
    );
    assert_eq!(bounds["width"], "paper");
    near(&bounds["omega_max"], 1.605673568, 1e-9);
    near(&bounds["theorem1"]["printed"], 947_429.486, 0.01);
    near(&bounds["theorem1"]["derived"], 1_379_153.225, 0.01);
    near(&bounds["theorem2"]["printed"], 1_178_401.179, 0.01);
    near(&bounds["theorem2"]["derived"], 1_841_095.004, 0.01);
    near(&bounds["corollary2"]["printed"], 734_589.721, 0.01);
    near(&bounds["corollary2"]["derived"], 1_196_971.256, 0.01);
    near(&bounds["trivial"], 32_113.471, 0.01);
    assert_eq!(bounds["informative_from_episode"], 858_926);
    assert_eq!(
        bounds["assumption1"],
        serde_json::json!({"holds": true, "violations": []})
    );
    assert_eq!(bounds["assumption2"]["holds"], false);
    let first = serde_json::json!({"t": 5, "x": 4, "a": "cont"});
    assert_eq!(bounds["assumption2"]["violations"][0], first);
    let triplet = &bounds["triplets"][0];
    assert_eq!(
        (&triplet["t"], &triplet["x"], &triplet["a"]),
        (&1.into(), &0.into(), &"stop".into())
    );
    near(&triplet["delta_gap"], 0.72, 1e-12);
    near(&triplet["omega"], 1.605673568, 1e-9);
    near(&triplet["lemma2"]["printed"], 75.37, 0.01);
    near(&triplet["lemma2"]["derived"], 136.50, 0.01);

    let sound = json(&[
        "bounds",
        "resource",
        "--episodes",
        "20000",
        "--width",
        "sound",
        "--json",
    ]);
    near(&sound["theorem1"]["printed"], 1_538_148.05, 0.01);
    near(&sound["theorem1"]["derived"], 2_219_792.71, 0.01);
    assert_eq!(
        (&sound["sound"], &bounds["sound"]),
        (&true.into(), &false.into())
    );
}

/// Every number in a document, with where it is; there must be no null where a number belongs.
fn numbers(value: &Value, path: &str, out: &mut Vec<(String, f64)>) {
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(k, v)| numbers(v, &format!("{path}.{k}"), out)),
        Value::Array(list) => list.iter().for_each(|v| numbers(v, path, out)),
        Value::Number(n) => out.push((path.into(), n.as_f64().unwrap())),
        Value::Null => out.push((path.into(), f64::NAN)),
        _ => {}
    }
}

#[test]
fn bounds_at_the_edges_are_numbers_with_an_explanation() {
    let finite = |args: &[&str]| {
        let mut all = Vec::new();
        numbers(&json(&[args, &["--json"]].concat()), "", &mut all);
        all.retain(|(path, n)| !n.is_finite() && !path.contains("informative"));
        assert!(all.is_empty(), "{args:?}: {all:?}");
    };
    let says = |args: &[&str], words: &str| {
        let output = emab(args);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.replace('\n', " ").contains(words), "{args:?}: {text}");
        assert!(!text.contains("NaN"), "{text}");
    };
    let zero = ["bounds", "resource", "--sigma2", "0"];
    finite(&zero);
    says(&zero, "sigma2 is 0");
    let once = ["bounds", "resource", "--episodes", "1"];
    finite(&once);
    says(&once, "At n = 1");
    refuses(
        &["bounds", "resource", "--delta", "1/n", "--episodes", "1"],
        2,
        &["at n = 1", "at least 2 episodes"],
    );
    refuses(
        &["bounds", "resource", "--delta", "1"],
        2,
        &["`delta` must lie in (0, 1), got 1"],
    );
    refuses(
        &["bounds", "resource", "--sigma2", "-1"],
        2,
        &["at least 0, got -1"],
    );
    says(
        &["bounds", "resource", "--episodes", "20000"],
        "Theorem 1 is vacuous: 1,379,153 as derived",
    );
    says(
        &["bounds", "resource", "--episodes", "20000"],
        "informative from episode 858,926 and 35,041 on",
    );

    // A gap of 0: stop ties with going on, and nothing is ever lost.
    let folder = tempfile::tempdir().unwrap();
    let tie = folder.path().join("tie.toml");
    let text = "horizon = 2\nstates = 1\nactions = [\"on\"]\nfeedbacks = 1\ntransition = 0\n\
                [model]\nfeedback = [1]\nreward = 0.3\ncost = 0\n[learning]\ndelta = 0.1\nsigma2 = 0.1\n";
    fs::write(&tie, text).unwrap();
    let tie = tie.to_str().unwrap();
    finite(&["bounds", tie]);
    says(
        &["bounds", tie],
        "Assumption 1 does not hold (1 triplet, the first at t = 1, x = 0, a = on)",
    );
    says(&["bounds", tie], "there is no regret to bound");
    let document = json(&["bounds", tie, "--json"]);
    assert_eq!(document["theorem1"]["derived"], 0.0);
    assert_eq!(document["informative_from_episode"], Value::Null);

    // Best one step ahead and not after it: no theorem covers that, whatever its number.
    let ways = folder.path().join("ways.toml");
    let text2 = "horizon = 3\nstates = 2\nactions = [\"road\", \"end\"]\nfeedbacks = 1\ntransition = \"if(t == 1, a, x)\"\n\
                 [model]\nfeedback = [1]\nreward = \"if(t == 1, 0, if(t == 2, 1, 2 * (x == 0)))\"\n";
    fs::write(&ways, text2).unwrap();
    let ways = json(&["bounds", ways.to_str().unwrap(), "--json"]);
    assert_eq!(
        ways["uncovered"],
        serde_json::json!([{"t": 1, "x": 0, "a": "end"}])
    );
    assert_eq!(ways["assumption1"]["holds"], true);
    let biased = ["bounds", "feedback-gap", "--stop-bias", "0.1"];
    says(
        &biased,
        "No theorem covers this problem and this learner (1 triplet, the first at t = 1, x = 0, a = stop)",
    );
    let none = json(&["bounds", "feedback-gap", "--stop-bias", "0.01", "--json"]);
    assert_eq!(none["uncovered"], serde_json::json!([]));
    // One option is one value.
    refuses(
        &["bounds", "resource", "--delta", "0.1,sigma2=3"],
        2,
        &["--delta takes one value", "0.1,sigma2=3"],
    );

    // Without a model there is nothing to evaluate or to verify.
    let live = folder.path().join("live.toml");
    fs::write(&live, text.split("[model]").next().unwrap()).unwrap();
    for command in ["bounds", "verify"] {
        refuses(&[command, live.to_str().unwrap()], 2, &["no [model]"]);
    }
}

#[test]
fn a_width_that_is_not_sound_is_warned_of_with_both_numbers() {
    let warned = |args: &[&str]| {
        let output = emab(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let both = [output.stdout, output.stderr].concat();
        String::from_utf8(both).unwrap()
    };
    let words = "its coefficient for an action is 0.0100, and 0.5100 is needed";
    assert!(warned(&["check", "feedback-gap"]).contains(words));
    let run = ["run", "feedback-gap", "--runs", "1", "--episodes", "10"];
    assert!(warned(&run).contains(words));
    assert!(
        !warned(&[&run[..], &["--learner", "feedbal:width=sound"]].concat()).contains("warning")
    );
    // The feedback of `parity` is certain, and a reward of 0 or 1 stays one whatever the feedback: nothing to warn of.
    for problem in ["parity", "treatment"] {
        assert!(
            !warned(&["check", problem]).contains("warning"),
            "{problem}"
        );
    }
    // Without a model the file's own words are held against each other.
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("live.toml");
    let text = "horizon = 2\nstates = 2\nactions = 1\nfeedbacks = 2\ntransition = \"f\"\n\
                [learning]\nsigma2 = 0.0025\nreward_range = [0, 1]\n";
    fs::write(&live, text).unwrap();
    assert!(warned(&["check", live.to_str().unwrap()]).contains(words));
    // A spread that the truth does not keep to makes the sound width unsound.
    let short = [
        &run[..],
        &["--learner", "feedbal:width=sound,feedback_spread=0.5"],
    ]
    .concat();
    assert!(warned(&short).contains("0.1350, and 0.5100 is needed"));
    let told = json(&["check", "feedback-gap", "--json"]);
    assert_eq!(told["widths"]["paper"]["action"], 0.01);
    assert_eq!(told["widths"]["needed"]["action"], 0.51);
}

#[test]
fn verify_reports_what_is_broken() {
    let args = [
        "verify",
        "resource",
        "--learner",
        "feedbal:sigma2=0.002",
        "--runs",
        "50",
        "--episodes",
        "300",
    ];
    let document = json(&[&args[..], &["--json"]].concat());
    let promises = document["promises"].as_array().unwrap();
    let lemma1 = promises
        .iter()
        .find(|p| p["statement"] == "Lemma 1")
        .unwrap();
    assert_eq!(lemma1["verdict"], "broken");
    assert_eq!(
        (&lemma1["promised"], &lemma1["runs"]),
        (&0.01.into(), &50.into())
    );
    assert!(lemma1["interval"][0].as_f64().unwrap() > 0.5);
    assert!(document["worst"]["runs"].as_u64().unwrap() > 25);
    refuses(
        &["verify", "resource", "--learner", "ucb1"],
        2,
        &["promises nothing that could be checked"],
    );
}

#[test]
fn a_bound_is_drawn_only_where_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let run = [
        "run",
        "resource",
        "--runs",
        "2",
        "--episodes",
        "50",
        "--out",
        out,
    ];
    json(&[&run[..], &["--json"]].concat());
    let output = emab(&["plot", out, "--bound"]);
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(
        note.contains("from episode 858,926 on as derived"),
        "{note}"
    );
    let svg = fs::read_to_string(folder.path().join("bound.svg")).unwrap();
    assert!(svg.contains("Theorem 1, derived") && svg.contains("not the realised"));
    // Another problem's bound is not drawn beside these curves.
    let problem = folder.path().join("problem.json");
    let text = fs::read_to_string(&problem).unwrap();
    fs::write(&problem, text.replace("0.9", "0.8")).unwrap();
    refuses(
        &["plot", out, "--bound"],
        2,
        &["is not the problem that was run"],
    );
    // What is not ours stays, and what was drawn of the old run goes.
    fs::write(folder.path().join("places-of-interest.svg"), "mine").unwrap();
    json(&[&run[..], &["--learner", "random", "--json"]].concat());
    assert!(folder.path().join("places-of-interest.svg").exists());
    assert!(!folder.path().join("bound.svg").exists());
    refuses(
        &["plot", out, "--bound"],
        2,
        &["no theorem speaks of the others"],
    );
}
