//! A problem as a Markov decision process, and regret against its optimal policy.

use crate::common::{json, said};
use crate::test_dir::TestDir;
use serde_json::Value;

/// Value iteration on the document alone.
fn solved(mdp: &Value) -> Vec<f64> {
    let rewards = mdp["rewards"].as_array().unwrap();
    let transitions = mdp["transitions"].as_array().unwrap();
    let mut values = vec![0.0; rewards.len()];
    for _ in 0..=mdp["horizon"].as_u64().unwrap() {
        let mut ahead: Vec<Vec<Option<f64>>> = rewards
            .iter()
            .map(|row| row.as_array().unwrap().iter().map(Value::as_f64).collect())
            .collect();
        for transition in transitions {
            let [from, action, to] = [0, 1, 2].map(|i| transition[i].as_u64().unwrap() as usize);
            let chance = transition[3].as_f64().unwrap();
            *ahead[from][action].as_mut().unwrap() += chance * values[to];
        }
        let best = |row: &Vec<Option<f64>>| row.iter().flatten().copied().fold(f64::MIN, f64::max);
        values = ahead.iter().map(best).collect();
    }
    values
}

#[test]
fn the_document_is_sufficient_to_solve_the_problem() {
    for problem in [
        "resource",
        "coverage",
        "screening",
        "treatment",
        "tutoring",
        "screening-risk",
    ] {
        let mdp = json(&format!("mdp {problem} --json"));
        let oracle = json(&format!("solve {problem} --json"));
        let states = mdp["states"].as_array().unwrap();
        assert_eq!(
            states.len() as u64,
            oracle["reachable_pairs"].as_u64().unwrap() + 1
        );
        let end = mdp["end"].as_u64().unwrap();
        assert_eq!(end as usize, states.len() - 1);
        let found = solved(&mdp);
        let value = oracle["optimal"]["value"].as_f64().unwrap();
        // One start, or a list with probabilities.
        let weighted: Vec<(u64, f64)> = match mdp["start"].as_u64() {
            Some(start) => vec![(start, 1.0)],
            None => {
                let starts = mdp["start"].as_array().unwrap().iter();
                let probabilities = mdp["start_probabilities"].as_array().unwrap();
                let both = starts.zip(probabilities);
                both.map(|(start, p)| (start.as_u64().unwrap(), p.as_f64().unwrap()))
                    .collect()
            }
        };
        let mean: f64 = weighted
            .iter()
            .map(|(start, p)| p * found[*start as usize])
            .sum();
        assert!((mean - value).abs() < 1e-12 * value.abs(), "{problem}");
        for (i, state) in states.iter().enumerate().take(end as usize) {
            assert_eq!(state["index"], i);
            let known = mdp["optimal"]["values"][i].as_f64().unwrap();
            assert!((found[i] - known).abs() < 1e-11, "{problem}: {state}");
            let (t, x) = (state["t"].as_u64().unwrap(), state["x"].as_u64().unwrap());
            let action = mdp["optimal"]["policy"][i].as_u64().unwrap();
            let named = &oracle["optimal"]["policy"][t as usize - 1][x as usize];
            assert_eq!(
                &mdp["actions"][action as usize], named,
                "{problem}: {state}"
            );
        }
        for by in ["optimal", "value_iteration", "policy_iteration"] {
            let by = mdp[by]["value"].as_f64().unwrap();
            assert!((by - value).abs() < 1e-12 * value.abs(), "{problem}");
        }
        assert!(
            mdp["value_iteration"]["sweeps"].as_u64() <= mdp["horizon"].as_u64().map(|t| t + 1)
        );
        assert!(mdp["policy_iteration"]["rounds"].as_u64() <= mdp["horizon"].as_u64());
        assert_eq!(mdp["benchmark"]["value"], oracle["benchmark"]["value"]);
    }
}

#[test]
fn files_contain_the_printed_document() {
    let dir = TestDir::new();
    let call = |call: &str| said(&dir.call(call));
    let (printed, note) = call("mdp treatment --json --out @/new/mdp.json");
    assert_eq!(dir.text("new/mdp.json"), printed);
    assert!(
        note.contains("wrote") && note.contains("mdp.json"),
        "{note}"
    );
    let (table, _) = call("mdp treatment --out @/mdp.npz");
    assert_eq!(table, call("mdp treatment").0);
    let bytes = dir.read("mdp.npz");
    assert!(bytes.starts_with(b"PK\x03\x04"));
    // The same arrays are the same bytes, whenever they are written.
    call("mdp treatment --out @/mdp.npz");
    assert_eq!(dir.read("mdp.npz"), bytes);

    let text = "horizon = 2\nstates = 9000\nactions = 1\nfeedbacks = 9000\ntransition = \"f\"\n\
                [model]\nfeedback = \"1 / 9000\"\nreward = \"x\"\n";
    dir.write("wide.toml", text);
    dir.write("live.toml", text.split("[model]").next().unwrap());
    dir.rejects_each(
        2,
        "
        mdp treatment --out @/mdp.csv        => --out must end in .json | .npz | mdp.csv
        mdp resurce                          => did you mean `resource`?
        mdp @/wide.toml --out @/wide.npz     => 9002 states and 2 actions | at most 512 MB | .json is sparse
        mdp @/live.toml                      => live.toml | no [model]
        ",
    );
    assert!(!dir.exists("wide.npz"));
}

#[test]
fn long_horizons_are_not_solved_by_value_iteration() {
    let dir = TestDir::new();
    let text = "horizon = 100000\nstates = 1\nactions = 1\nfeedbacks = 1\ntransition = 0\n\
                [model]\nfeedback = 1\nreward = \"t\"\n";
    dir.write("long.toml", text);
    let mdp = dir.json("mdp @/long.toml --json");
    assert_eq!(mdp["optimal"]["value"], 100_000.0);
    assert_eq!(mdp["value_iteration"], Value::Null);
    // The benchmark is optimal, and policy iteration sees that at once.
    assert_eq!(mdp["policy_iteration"]["rounds"], 2);
}

const RUN: &str =
    "run coverage --learner feedbal --learner benchmark --learner optimal --episodes 500 --runs 10";

#[test]
fn both_regrets_differ_by_a_constant() {
    let result = json(&format!("{RUN} --json"));
    let number = |value: &Value| value.as_f64().unwrap();
    let gap = number(&result["optimal_value"]) - number(&result["benchmark_value"]);
    // By hand from `emab solve coverage`: 10.345 and 10.31.
    assert!((gap - 0.035).abs() < 1e-12, "{gap}");
    for learner in result["learners"].as_array().unwrap() {
        for point in learner["curve"].as_array().unwrap() {
            let [n, regret, optimal] =
                ["episode", "regret", "regret_optimal"].map(|key| number(&point[key]));
            assert!((optimal - regret - n * 0.035).abs() < 1e-9, "{point}");
            match learner["learner"].as_str().unwrap() {
                "benchmark" => assert_eq!((regret, optimal), (0.0, n * gap)),
                "optimal" => assert!(optimal.abs() <= 4.0 * number(&point["stderr"]) + 1e-9),
                _ => assert!(optimal > 0.0),
            }
        }
    }
    let (table, _) = said(RUN);
    assert!(table.contains("vs optimum"), "{table}");
    // Where the benchmark is optimal there is but one number.
    let result = json("run tutoring --episodes 100 --runs 3 --json");
    for point in result["learners"][0]["curve"].as_array().unwrap() {
        assert_eq!(point["regret_optimal"], point["regret"]);
    }
    let (table, _) = said("run tutoring --episodes 100 --runs 3");
    assert!(!table.contains("vs optimum"));
}

#[test]
fn results_of_earlier_versions_can_be_read() {
    let dir = TestDir::new();
    let run = "run coverage --learner optimal --episodes 500 --runs 10 --json";
    let result = dir.json(&format!("{run} --out @/run"));
    let csv = dir.text("run/curve.csv");
    let column = csv
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == "regret_optimal");
    let last = csv
        .lines()
        .last()
        .unwrap()
        .split(',')
        .nth(column.unwrap())
        .unwrap();
    let curve = result["learners"][0]["curve"].as_array().unwrap();
    let expected = curve.last().unwrap()["regret_optimal"].as_f64().unwrap();
    assert_eq!(last.parse::<f64>().unwrap(), expected);

    let mut old = result.clone();
    for learner in old["learners"].as_array_mut().unwrap() {
        for point in learner["curve"].as_array_mut().unwrap() {
            let point = point.as_object_mut().unwrap();
            point.remove("regret_optimal").unwrap();
        }
    }
    dir.write("run/run.json", &old.to_string());
    // It has all that it takes to say it.
    let read = dir.json("run --resume @/run --json");
    assert_eq!(read, result);
    dir.emab("plot @/run --output @/plot.svg");
}
