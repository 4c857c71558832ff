//! Conditions on the command line, in problem files and in result folders.

use crate::common::{json, rejects, said, start, timeless};
use crate::test_dir::{TestDir, cases};
use serde_json::json;

const SMALL: &str = "--episodes 300 --runs 6 --json";

/// A run under these conditions.
fn under(conditions: &[&str]) -> String {
    let conditions = conditions.iter().map(|text| format!(" --condition {text}"));
    format!("run resource {SMALL}{}", conditions.collect::<String>())
}

/// A folder with `late.toml`: the problem `resource` with conditions.
fn late(conditions: &str) -> TestDir {
    let dir = TestDir::new();
    let (text, _) = said("problems resource");
    dir.write(
        "late.toml",
        &format!("{text}\n[conditions]\n{conditions}\n"),
    );
    dir
}

#[test]
fn a_result_states_its_conditions() {
    let plain = json(&under(&[]));
    assert!(plain.get("conditions").is_none());
    let call = under(&["delay=geometric:20", "dropout=0.05", "drift=p:0.4@100"]);
    let result = json(&call);
    assert_eq!(
        result["conditions"],
        json!({
            "delay": {"kind": "geometric", "mean": 20.0},
            "dropout": 0.05,
            "drift": [{"parameter": "p", "to": 0.4, "at": 100}],
        })
    );
    assert_ne!(result["problem_hash"], plain["problem_hash"]);
    for threads in [1, 4] {
        let other = json(&format!("{call} --threads {threads}"));
        assert_eq!(timeless(other), timeless(result.clone()));
    }
    let (shown, _) = said("run resource --episodes 30 --runs 2 --condition delay=3");
    assert_eq!(shown.lines().nth(1), Some("conditions: delay=3"), "{shown}");
    // Nothing of nothing.
    let none = json(&under(&["delay=none", "dropout=0"]));
    assert_eq!(timeless(none), timeless(plain));
}

#[test]
fn conditions_of_the_call_override_those_of_the_file() {
    let dir = late("delay = 20\nlost = 0.1");
    let call = format!("run @/late.toml {SMALL}");
    let of_file = dir.json(&call);
    let stated = json!({"delay": 20, "lost": 0.1});
    assert_eq!(of_file["conditions"], stated);
    let of_call = json(&under(&["delay=20", "lost=0.1"]));
    assert_eq!(timeless(of_file), timeless(of_call));
    let both = dir.json(&format!("{call} --condition delay=5"));
    assert_eq!(both["conditions"], json!({"delay": 5, "lost": 0.1}));
    assert_eq!(dir.json("check @/late.toml --json")["conditions"], stated);
    // What is about the problem itself says that it leaves them out.
    let note = dir.emab("solve @/late.toml");
    assert!(
        note.contains("(delay=20 lost=0.1) are ignored here"),
        "{note}"
    );
}

#[test]
fn a_result_folder_states_conditions() {
    let dir = TestDir::new();
    let job = under(&["delay=20", "drift=p:0.4@100-200"]);
    let result = dir.json(&format!("{job} --out @/whole"));
    let csv = dir.text("whole/curve.csv");
    let header = "learner,episode,regret,stderr,gain,gain_stderr,regret_optimal,q05,q25,q50,q75,q95,conditions\n";
    assert!(csv.starts_with(header), "{csv}");
    let conditions = ",\"delay=20 drift=p:0.4@100-200\"";
    assert!(csv.lines().nth(1).unwrap().ends_with(conditions), "{csv}");
    assert!(!dir.exists("whole/places.csv"));
    // The problem in it gives the same run again, with nothing said in the call.
    let again = dir.json(&format!("run @/whole/problem.json {SMALL}"));
    assert_eq!(timeless(again), timeless(result.clone()));
    dir.rejects(
        "plot @/whole --bound",
        2,
        "has conditions | which no theorem covers",
    );
    dir.emab("plot @/whole --output @/plot.svg");
    // Shards keep them and merge to the same; shards under others do not go with them.
    dir.emab(&format!("{job} --shard 1/2 --out @/one"));
    dir.emab(&format!("{job} --shard 2/2 --out @/two"));
    dir.emab(&format!(
        "{} --shard 2/2 --out @/other",
        under(&["delay=21"])
    ));
    let merged = dir.json("merge @/one @/two --out @/merged --json");
    assert_eq!(timeless(merged), timeless(result));
    dir.rejects("merge @/one @/other --out @/mixed", 2, "its problem is");
}

#[test]
fn an_interrupted_run_resumes_with_its_conditions() {
    let dir = TestDir::new();
    let job = "run resource --episodes 20000 --runs 60 --threads 2 --json --condition delay=20 --condition override=0.1";
    let mut child = start(&dir.call(&format!("{job} --out @/out")));
    while !dir.exists("out/checkpoint.json") {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it could be killed"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    dir.rejects("run --resume @/out --condition delay=3", 2, "--condition");
    let resumed = dir.json("run --resume @/out --json");
    assert_eq!(resumed["conditions"], json!({"delay": 20, "override": 0.1}));
    assert_eq!(timeless(resumed), timeless(json(job)));
}

#[test]
fn rejects_invalid_conditions() {
    for (text, words) in cases(
        "
        dropout=1.2    => --condition: `dropout` must lie in [0, 1), got 1.2
        delay          => must be KEY=VALUE, such as delay=20, got `delay`
        dely=3         => did you mean `delay`?
        drift=q:0.4@50 => --condition: `q` drifts and is not among the [parameters]
        drift=p:40@50  => `feedback` is wrong at t = 1
        missing_costs=0:0.1:0.2 => --condition: `missing_costs` must have one probability, or one for each of the 2 feedbacks, got 3
        ",
    ) {
        rejects(&format!("run resource --condition {text}"), 2, words);
    }
    let words = "promises nothing that could be checked once it forgets";
    rejects("verify resource --learner feedbal:window=100", 2, words);
}

#[test]
fn a_verification_simulates_missing_values() {
    let verify = "verify feedback-gap --runs 20 --episodes 400 --json";
    let job = format!("{verify} --learner feedbal-model:unknown_costs=drop");
    let failed = |document: serde_json::Value| document["promises"][0]["broken"].clone();
    assert!(json(&job).get("conditions").is_none());
    let under = json(&format!("{job} --condition missing_costs=0.8:0"));
    assert_eq!(under["conditions"], json!({"missing_costs": [0.8, 0.0]}));
    assert_ne!(failed(under.clone()), failed(json(&job)), "{under}");
    // Those of the file as well; its other conditions are noted.
    let dir = TestDir::new();
    let (text, _) = said("problems feedback-gap");
    let conditions = "[conditions]\nmissing_costs = [0.8, 0]\ndelay = 3";
    dir.write("gap.toml", &format!("{text}\n{conditions}\n"));
    let job = "verify @/gap.toml --runs 20 --episodes 400";
    let learner = "--learner feedbal-model:unknown_costs=drop";
    assert_eq!(
        failed(dir.json(&format!("{job} --json {learner}"))),
        failed(under)
    );
    let (shown, notes) = said(&dir.call(job));
    assert!(notes.contains("(delay=3) are ignored here"), "{notes}");
    assert!(
        shown.contains("conditions: missing_costs=0.8:0\n"),
        "{shown}"
    );
    let words = "simulates `missing_costs` and `missing_rewards` only | remove delay=3";
    rejects("verify feedback-gap --condition delay=3", 2, words);
}

#[test]
fn a_sweep_plays_the_conditions_of_its_problem() {
    let dir = late("dropout = 0.1");
    dir.write(
        "sweep.toml",
        "problem = \"late.toml\"\nlearners = [\"benchmark\"]\nepisodes = 50\nruns = 4\n[grid]\nproblem.conditions.dropout = [0.1, 0.5]\n",
    );
    let result = dir.json("sweep @/sweep.toml --json");
    let value = |i: usize| result["cells"][i]["benchmark_value"].as_f64().unwrap();
    assert!(value(0) > value(1) && value(0) < 1.6, "{result}");
    // A condition that the problem does not set has no effect at 0.
    let sweep = |key: &str, problem: &str| {
        let text = format!("problem = \"{problem}\"\nepisodes = 50\nruns = 4\n[grid]\n{key}\n");
        dir.write("absent.toml", &text);
    };
    sweep("problem.conditions.dropout = [0, 0.5]", "resource");
    let result = dir.json("sweep @/absent.toml --json");
    let cell = |i: usize, key: &str| result["cells"][i][key].clone();
    let plain = json("solve resource --json");
    assert_eq!(cell(0, "problem_hash"), plain["problem_hash"], "{result}");
    assert!(cell(0, "benchmark_value").as_f64() > cell(1, "benchmark_value").as_f64());
    // A list cannot be replaced.
    let lists = late("missing_costs = [0, 0.5]");
    dir.write("late.toml", &lists.text("late.toml"));
    sweep("problem.conditions.missing_costs = [0.1]", "late.toml");
    let words = "`problem.conditions.missing_costs` is a list in the problem, and a sweep replaces single values only";
    dir.rejects("sweep @/absent.toml", 2, words);
}

#[test]
fn conditions_that_no_proof_covers_are_warned_of() {
    let dir = late("missing_costs = [0, 0.5]");
    let biased = "warning: feedbal: its confidence bounds do not cover missing_costs=0:0.5: which gains are known depends on the feedback";
    let size = "--runs 2 --episodes 20";
    for learner in ["", "--learner feedbal-model"] {
        let call = format!("run @/late.toml {size} {learner} --out @/out --force");
        let (_, notes) = said(&dir.call(&call));
        assert_eq!(notes.contains(biased), learner.is_empty(), "{notes}");
        dir.emab("report @/out --force");
        let page = dir.text("out/report.html");
        let sound = "and its proof covers missing_costs=0:0.5; no theorem bounds the regret under conditions";
        assert_eq!(page.contains(sound), !learner.is_empty());
    }
    let (checked, _) = said(&dir.call("check @/late.toml"));
    assert!(checked.contains(biased), "{checked}");
    let (_, notes) = said(&dir.call(&format!("verify @/late.toml {size}")));
    assert!(notes.contains(biased), "{notes}");
    let (_, notes) = said(&format!(
        "run resource {size} --condition delay=3 --condition lost=0.1"
    ));
    assert!(!notes.contains("do not cover"), "{notes}");
}
