//! `emab bounds`, `emab verify`, the warnings of widths and the bound beside a curve.

use std::fs;

use crate::common::{emab, json, rejects};
use serde_json::Value;

#[test]
fn bounds_prints_its_json_document() {
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
fn extreme_bounds_are_explained() {
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
    rejects(
        &["bounds", "resource", "--delta", "1/n", "--episodes", "1"],
        2,
        &["1/n is 1 for a single episode", "at least 2 episodes"],
    );
    rejects(
        &["bounds", "resource", "--delta", "1"],
        2,
        &["`delta` must lie in (0, 1), got 1"],
    );
    rejects(
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
    // A sound width needs a spread, and takes it from the call.
    let ways = folder.path().join("ways.toml");
    let sound = ["bounds", ways.to_str().unwrap(), "--width", "sound"];
    rejects(
        &sound,
        2,
        &["`feedback_spread` must be known for width=sound"],
    );
    let stated = json(&[&sound[..], &["--feedback-spread", "2", "--json"]].concat());
    assert_eq!(stated["coefficients"]["action"], 3.0); // 2 (2 * 0.25 + 2^2 / 4)
    rejects(
        &[&sound[..], &["--feedback-spread", "-1"]].concat(),
        2,
        &["from 0 to 1e100, got -1"],
    );
    // One option is one value.
    rejects(
        &["bounds", "resource", "--delta", "0.1,sigma2=3"],
        2,
        &["--delta takes one value", "0.1,sigma2=3"],
    );

    // Without a model there is nothing to evaluate or to verify.
    let live = folder.path().join("live.toml");
    fs::write(&live, text.split("[model]").next().unwrap()).unwrap();
    for command in ["bounds", "verify"] {
        rejects(&[command, live.to_str().unwrap()], 2, &["no [model]"]);
    }
}

#[test]
fn warns_of_an_unsound_width_with_both_coefficients() {
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
    let checked = json(&["check", "feedback-gap", "--json"]);
    assert_eq!(checked["widths"]["paper"]["action"], 0.01);
    assert_eq!(checked["widths"]["needed"]["action"], 0.51);
}

#[test]
fn verify_reports_violations() {
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
    rejects(
        &["verify", "resource", "--learner", "ucb1"],
        2,
        &["promises nothing that could be checked"],
    );
}

#[test]
fn a_bound_is_drawn_only_where_a_theorem_applies() {
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
    rejects(
        &["plot", out, "--bound"],
        2,
        &["is not the problem of the run"],
    );
    // What is not ours stays, and what was drawn of the old run goes.
    fs::write(folder.path().join("places-of-interest.svg"), "mine").unwrap();
    json(&[&run[..], &["--learner", "random", "--json"]].concat());
    assert!(folder.path().join("places-of-interest.svg").exists());
    assert!(!folder.path().join("bound.svg").exists());
    rejects(
        &["plot", out, "--bound"],
        2,
        &["no theorem covers other learners"],
    );
}
