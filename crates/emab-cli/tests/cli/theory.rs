//! `emab bounds`, `emab verify`, the warnings of widths and the bound beside a curve.

use crate::common::{json, rejects, said};
use crate::test_dir::TestDir;
use serde_json::{Value, json};

#[test]
fn bounds_prints_its_json_document() {
    let bounds = json("bounds resource --episodes 20000 --json");
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
        json!({"holds": true, "violations": []})
    );
    assert_eq!(bounds["assumption2"]["holds"], false);
    let first = json!({"t": 5, "x": 4, "state": "4", "a": "cont"});
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

    let sound = json("bounds resource --episodes 20000 --width sound --json");
    near(&sound["theorem1"]["printed"], 1_538_148.05, 0.01);
    near(&sound["theorem1"]["derived"], 2_219_792.71, 0.01);
    assert_eq!(
        (&sound["sound"], &bounds["sound"]),
        (&true.into(), &false.into())
    );
}

/// The contract, and values of a separate program for Section 5's problem.
#[test]
fn the_lower_bound_is_in_the_document() {
    let document = json("bounds resource --episodes 20000 --lower --json");
    let lower = &document["lower"];
    let near = |value: &Value, expected: f64, by: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - expected).abs() < by, "{value} for {expected}");
    };
    near(&lower["constant"], 145.980, 1e-3);
    let keys: Vec<&String> = document["lower"].as_object().unwrap().keys().collect();
    let expected = [
        "target",
        "constant",
        "constant_of_optimal",
        "at_n",
        "triplets",
        "better_than_benchmark",
    ];
    assert!(
        expected
            .iter()
            .all(|key| keys.contains(&&(*key).to_owned()))
            && keys.len() == 6
    );
    let triplet = lower["triplets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["t"] == 6 && it["x"] == 3)
        .unwrap();
    assert_eq!(triplet["a"], "cont");
    near(&triplet["loss"], 0.0035791, 1e-7);
    near(&triplet["information"], 3.9468e-5, 1e-9);
    near(&triplet["constant"], 90.684, 1e-3);
    let at_n = lower["at_n"].as_f64().unwrap();
    let measured = 270.0; // of FeedBAL with sigma2 = 0.05
    assert!((10.0..measured).contains(&at_n), "{at_n}");
    // Costs that cannot be below 0, which they are here.
    let paper = json("bounds resource --lower --least-cost 0 --json");
    near(&paper["lower"]["constant"], 53.344, 1e-3);
    assert_eq!(json("bounds resource --json").get("lower"), None);
}

#[test]
fn there_is_no_lower_bound_where_the_benchmark_is_not_optimal() {
    let lower = &json("bounds screening --lower --json")["lower"];
    assert_eq!(
        (&lower["constant"], &lower["at_n"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(lower["better_than_benchmark"].as_array().unwrap().len(), 8);
    let (text, _) = said("bounds screening --lower");
    assert!(
        text.contains("There is no lower bound: the benchmark is not optimal"),
        "{text}"
    );
    let optimal = &json("bounds screening --lower --target optimal --json")["lower"];
    assert!(optimal["constant"].as_f64().unwrap() > 600.0);
    rejects("bounds resource --target optimal", 2, "--lower");
    rejects(
        "bounds resource --lower --least-cost nan",
        2,
        "--least-cost <C> | write a number",
    );
    rejects(
        "bounds resource --lower --target best",
        2,
        "benchmark, optimal",
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
    let dir = TestDir::new();
    let finite = |call: &str| {
        let mut all = Vec::new();
        numbers(&dir.json(&format!("{call} --json")), "", &mut all);
        all.retain(|(path, n)| !n.is_finite() && !path.contains("informative"));
        assert!(all.is_empty(), "{call}: {all:?}");
    };
    let says = |call: &str, words: &str| {
        let (text, _) = said(&dir.call(call));
        assert!(text.replace('\n', " ").contains(words), "{call}: {text}");
        assert!(!text.contains("NaN"), "{text}");
    };
    finite("bounds resource --sigma2 0");
    says("bounds resource --sigma2 0", "sigma2 is 0");
    finite("bounds resource --episodes 1");
    says("bounds resource --episodes 1", "At n = 1");
    let many = "bounds resource --episodes 20000";
    says(many, "Theorem 1 is vacuous: 1,379,153 as derived");
    says(many, "informative from episode 858,926 and 35,041 on");

    // A gap of 0: stop ties with going on, and nothing is ever lost.
    let tie = "horizon = 2\nstates = 1\nactions = [\"on\"]\nfeedbacks = 1\ntransition = 0\n\
               [model]\nfeedback = [1]\nreward = 0.3\ncost = 0\n[learning]\ndelta = 0.1\nsigma2 = 0.1\n";
    dir.write("tie.toml", tie);
    finite("bounds @/tie.toml");
    let words = "Assumption 1 does not hold (1 triplet, the first at t = 1, x = 0, a = on)";
    says("bounds @/tie.toml", words);
    says("bounds @/tie.toml", "there is no regret to bound");
    let document = dir.json("bounds @/tie.toml --json");
    assert_eq!(document["theorem1"]["derived"], 0.0);
    assert_eq!(document["informative_from_episode"], Value::Null);

    // Best one step ahead and not after it: no theorem covers that, whatever its number.
    let ways = "horizon = 3\nstates = 2\nactions = [\"road\", \"end\"]\nfeedbacks = 1\ntransition = \"if(t == 1, a, x)\"\n\
                [model]\nfeedback = [1]\nreward = \"if(t == 1, 0, if(t == 2, 1, 2 * (x == 0)))\"\n";
    dir.write("ways.toml", ways);
    let ways = dir.json("bounds @/ways.toml --json");
    assert_eq!(
        ways["uncovered"],
        json!([{"t": 1, "x": 0, "state": "0", "a": "end"}])
    );
    assert_eq!(ways["assumption1"]["holds"], true);
    let words = "No theorem covers this problem and this learner (1 triplet, the first at t = 1, x = 0, a = stop)";
    says("bounds feedback-gap --stop-bias 0.1", words);
    let none = json("bounds feedback-gap --stop-bias 0.01 --json");
    assert_eq!(none["uncovered"], json!([]));
    // A sound width takes its spread from the call.
    let stated = dir.json("bounds @/ways.toml --width sound --feedback-spread 2 --json");
    assert_eq!(stated["coefficients"]["action"], 3.0); // 2 (2 * 0.25 + 2^2 / 4)

    dir.write("live.toml", tie.split("[model]").next().unwrap());
    dir.rejects_each(
        2,
        "
        bounds resource --delta 1/n --episodes 1                  => 1/n is 1 for a single episode | at least 2 episodes
        bounds resource --delta 1                                 => `delta` must lie in (0, 1), got 1
        bounds resource --sigma2 -1                               => at least 0, got -1
        bounds resource --delta 0.1,sigma2=3                      => --delta takes one value | 0.1,sigma2=3
        bounds @/ways.toml --width sound                          => `feedback_spread` must be known for width=sound
        bounds @/ways.toml --width sound --feedback-spread -1     => from 0 to 1e100, got -1
        bounds @/live.toml                                        => no [model]
        verify @/live.toml                                        => no [model]
        ",
    );
}

#[test]
fn warns_of_an_unsound_width_with_both_coefficients() {
    let dir = TestDir::new();
    let warned = |call: &str| {
        let (out, err) = said(&dir.call(call));
        out + &err
    };
    let words = "its coefficient for an action is 0.0100, and 0.5100 is needed";
    let run = "run feedback-gap --runs 1 --episodes 10";
    assert!(warned("check feedback-gap").contains(words));
    assert!(warned(run).contains(words));
    let sound = warned(&format!("{run} --learner feedbal:width=sound"));
    assert!(!sound.contains("warning"));
    // The feedback of `parity` is certain, and a reward of 0 or 1 stays one whatever the feedback: nothing to warn of.
    for problem in ["parity", "treatment"] {
        assert!(
            !warned(&format!("check {problem}")).contains("warning"),
            "{problem}"
        );
    }
    // Without a model the file's own words are held against each other.
    let text = "horizon = 2\nstates = 2\nactions = 1\nfeedbacks = 2\ntransition = \"f\"\n\
                [learning]\nsigma2 = 0.0025\nreward_range = [0, 1]\n";
    dir.write("live.toml", text);
    assert!(warned("check @/live.toml").contains(words));
    // A spread that the truth does not keep to makes the sound width unsound.
    let short = warned(&format!(
        "{run} --learner feedbal:width=sound,feedback_spread=0.5"
    ));
    assert!(short.contains("0.1350, and 0.5100 is needed"));
    let checked = json("check feedback-gap --json");
    assert_eq!(checked["widths"]["paper"]["action"], 0.01);
    assert_eq!(checked["widths"]["needed"]["action"], 0.51);
}

/// The guarantees of `emab verify --json`, by statement.
fn guarantee(document: &Value, statement: &str) -> Value {
    let guarantees = document["promises"].as_array().unwrap();
    let found = guarantees.iter().find(|p| p["statement"] == statement);
    found.unwrap_or_else(|| panic!("{statement}")).clone()
}

#[test]
fn verify_reports_violations() {
    let call = "verify resource --learner feedbal:sigma2=0.002 --runs 50 --episodes 300 --json";
    let document = json(call);
    let lemma1 = guarantee(&document, "Lemma 1");
    assert_eq!(lemma1["verdict"], "broken");
    assert_eq!(
        (&lemma1["promised"], &lemma1["runs"]),
        (&0.01.into(), &50.into())
    );
    assert!(lemma1["interval"][0].as_f64().unwrap() > 0.5);
    assert_eq!(lemma1["control"], json!({"broken": 50, "runs": 50}));
    assert!(document["worst"]["runs"].as_u64().unwrap() > 25);
    rejects(
        "verify resource --learner ucb1",
        2,
        "no confidence bounds are proved for learner `ucb1`",
    );
    rejects(
        "verify resource --learner feedbal-lookahead",
        2,
        "are proved, and a verification does not check them",
    );
}

/// `holds` needs a test that could have failed: enough runs, a bound that can be violated, and a control that violates it.
#[test]
fn verify_holds_only_where_it_could_have_failed() {
    let document = json("verify resource --runs 400 --episodes 500 --json");
    for (statement, verdict) in [("Lemma 1", "kept"), ("Theorem 1, derived", "vacuous")] {
        let found = guarantee(&document, statement);
        assert_eq!(found["verdict"], verdict, "{statement}");
    }
    let bound = document["theorem1"]["derived"].as_f64().unwrap();
    assert!(bound > document["largest_regret"].as_f64().unwrap());
    let few = json("verify resource --runs 20 --episodes 500 --json");
    assert_eq!(guarantee(&few, "Lemma 1")["verdict"], "consistent");
    let (text, _) = said(&TestDir::new().call("verify resource --runs 20 --episodes 500"));
    for note in [
        "each may fail with probability 1 %",
        "Consistent: 368 runs without a failure are needed",
        "Vacuous: no learner can violate it",
        "Control: the test with half of each width",
        "regret at most 1,379,153.2",
        ", except with probability 1 %.",
    ] {
        assert!(text.contains(note), "{note}: {text}");
    }
}

/// Two reasons for `consistent` in one table, and Theorem 1 judged as `emab bounds` does.
#[test]
fn verify_explains_both_reasons_of_consistent() {
    let (text, _) = said("verify screening --runs 20 --episodes 880");
    for note in [
        "Consistent: 368 runs without a failure are needed",
        "Consistent: not violated, but the control passes as well: the test has little power, which more runs do not change.",
    ] {
        assert!(text.contains(note), "{note}: {text}");
    }
    let (bounds, _) = said("bounds screening --episodes 880");
    for said in [
        "no learner's regret exceeds 5,417.2, except with probability 0.01: Theorem 1 says something at its tightest only",
        "No learner's expected regret exceeds n * Omega_max = 5,027.7: Theorem 2 is vacuous",
    ] {
        assert!(bounds.contains(said), "{bounds}");
    }
    assert!(text.contains("No learner's regret exceeds 5,417.2, except with probability 1 %."));
}

#[test]
fn a_bound_is_drawn_only_where_a_theorem_applies() {
    let dir = TestDir::new();
    let run = "run resource --runs 2 --episodes 50 --out @";
    dir.emab(run);
    let note = dir.emab("plot @ --bound");
    assert!(
        note.contains("from episode 858,926 on as derived"),
        "{note}"
    );
    let svg = dir.text("bound.svg");
    assert!(svg.contains("Theorem 1, derived") && svg.contains("not the realised"));
    // Another problem's bound is not drawn beside these curves.
    dir.write(
        "problem.json",
        &dir.text("problem.json").replace("0.9", "0.8"),
    );
    dir.rejects("plot @ --bound", 2, "is not the problem of the run");
    // What is not ours stays, and what was drawn of the old run goes.
    dir.write("places-of-interest.svg", "mine");
    dir.emab(&format!("{run} --learner random --force"));
    assert!(dir.exists("places-of-interest.svg"));
    assert!(!dir.exists("bound.svg"));
    dir.rejects("plot @ --bound", 2, "no theorem covers other learners");
}
