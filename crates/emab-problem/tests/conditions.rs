//! Section `[conditions]`: its meaning and its errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab_problem::{Format, ProblemFile, SCHEMA};
use serde_json::Value;

const COIN: &str = r#"
horizon = 3
states = 3
actions = ["toss"]
feedbacks = 2
transition = "x + f"
[parameters]
p = 0.5
step = 1
[model]
feedback = ["1 - p", "p"]
reward = "step * x"
"#;

fn toml(text: &str) -> Result<ProblemFile, String> {
    ProblemFile::parse_as(Format::Toml, "mine.toml", text).map_err(|error| error.to_string())
}

fn under(conditions: &str) -> Result<ProblemFile, String> {
    toml(&format!("{COIN}[conditions]\n{conditions}\n"))
}

#[test]
fn reads_conditions() {
    const CASES: &str = r#"
|
delay = 0\ndropout = 0 |
delay = 20 | delay=20
delay = { kind = "fixed", episodes = 20 } | delay=20
delay = { kind = "geometric", mean = 2.5 } | delay=geometric:2.5
delay = { kind = "batches", size = 50 } | delay=batches:50
dropout = 0.05\nlost = 0.1\noverride = 0.2 | dropout=0.05 lost=0.1 override=0.2
missing_costs = [0, 0.5]\nmissing_rewards = 0.25 | missing_costs=0:0.5 missing_rewards=0.25
missing_costs = [0, 0]\nmissing_rewards = 0 |
drift = [{ parameter = "p", to = 0.4, at = 5000 }, { parameter = "p", to = 1, from = 6000, until = 7000 }] | drift=p:0.4@5000 drift=p:1@6000-7000
"#;
    for case in CASES.trim_matches('\n').lines() {
        let (stated, meant) = case.split_once('|').unwrap();
        let (stated, meant) = (&stated.replace("\\n", "\n"), meant.trim());
        let file = under(stated).unwrap();
        assert_eq!(file.conditions().to_string(), meant, "{stated}");
        // The canonical form says the same, and so does the line.
        let again = ProblemFile::parse_as(Format::Json, "again.json", file.canonical()).unwrap();
        assert_eq!(again.conditions().to_string(), meant);
        let plain = toml(COIN).unwrap();
        let by_line = plain.conditions().with(meant.split_whitespace()).unwrap();
        let by_line = plain.with_conditions(&by_line).unwrap();
        assert_eq!(by_line.canonical(), file.canonical());
        assert_eq!(by_line.hash(), again.hash());
        assert_eq!(plain.hash() == file.hash(), meant.is_empty());
    }
}

#[test]
fn models_follow_drifting_parameters() {
    let file = under(
        "drift = [{ parameter = \"p\", to = 0.9, from = 10, until = 12 }, { parameter = \"step\", to = 3, at = 20 }]",
    );
    let file = file.unwrap();
    let phases = file.scenario().phases;
    let known: Vec<(u64, f64, f64)> = phases
        .iter()
        .map(|phase| {
            let mut chances = [0.0; 2];
            phase
                .problem
                .feedback_distribution(1, 0, 0, &mut chances)
                .unwrap();
            (phase.first, chances[1], phase.problem.reward(2, 1).unwrap())
        })
        .collect();
    assert_eq!(known, [(11, 0.7, 1.0), (12, 0.9, 1.0), (20, 0.9, 3.0)]);
    assert!(file.check(1000).unwrap().complete);
}

#[test]
fn errors_point_at_their_place() {
    // The section, the line and column, and the message.
    const CASES: &str = r#"
dropout = 1.2 | 14:11 | `dropout` must lie in [0, 1), got 1.2
dropout = true | 14:11 | `dropout` must be a number, an expression or an array
dropout = "t / " | 14:16 | the expression ends too early
dropout = [[0, 0.5]] | 14:12 | `dropout` has 2 entries here
dropout = [0, 0.5, 0] | 14:11 | `dropout` has 3 entries here
lost = "often" | 14:8 | `lost` must be a number
delai = 3 | 14:1 | did you mean `delay`?
delay = -1 | 14:9 | `delay` must be a whole number from 0 to 9e15, got -1
delay = "3" | 14:9 | `delay` must be a number of episodes, or a table
delay = { mean = 3 } | 14:9 | a delay needs a `kind`
delay = { kind = "poisson", mean = 3 } | 14:18 | unknown delay `poisson`
delay = { kind = "batches" } | 14:9 | delay `batches` needs `size`
delay = { kind = "batches", size = 0 } | 14:36 | `size` must be a whole number from 1 to 9e15, got 0
delay = { kind = "geometric", mean = -3 } | 14:38 | `mean` must be a number from 0 to 1e15, got -3
delay = { kind = "geometric", size = 3 } | 14:31 | unknown field `size` in this delay
missing_costs = [0.1, 1] | 14:17 | `missing_costs` must lie in [0, 1), got 1
missing_costs = [0.1, "no"] | 14:23 | `missing_costs` must be a number, or a list of numbers, one for each feedback
missing_rewards = { a = 1 } | 14:19 | `missing_rewards` must be a number, or a list of numbers
missing_rewards = [0.1, 0.2, 0.3] | 14:19 | must have one probability, or one for each of the 2 feedbacks, got 3
drift = 3 | 14:9 | `drift` must be a list
drift = [{ to = 0.4, at = 5 }] | 14:10 | a change needs `parameter`
drift = [{ parameter = "p", to = 0.4 }] | 14:10 | either `at`, or both `from` and `until`
drift = [{ parameter = "p", to = 0.4, at = 1 }] | 14:44 | `at` must be a whole number from 2 to 9e15, got 1
drift = [{ parameter = "p", to = 0.4, from = 9, until = 9 }] | 14:10 | `until` must be an episode after `from`, which is 9, got 9
drift = [{ parameter = "stap", to = 0.4, at = 9 }] | 14:24 | did you mean `step`?
drift = [{ parameter = "p", to = 0.4, at = 9 }, { parameter = "p", to = 0.5, at = 9 }] | 14:49 | `p` must change again after its change before is over
"#;
    for case in CASES.trim().lines() {
        let [stated, place, said] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let error = under(stated).unwrap_err();
        assert!(
            error.contains(&format!("mine.toml:{place}")),
            "{case}: {error}"
        );
        assert!(error.contains(said), "{case}: {error}");
    }
}

#[test]
fn a_dropout_may_vary() {
    let dropout = |file: &ProblemFile, t, x, f| {
        let problem = file.problem().unwrap();
        let problem = problem.with_dropout(file.conditions().dropout.clone());
        problem.dropout_at(t, x, 0, f).unwrap()
    };
    let expression = under("dropout = \"if(t > 1, p * f, 0)\"").unwrap();
    let table = under("dropout = [[[[0]]], [[[0, 'p']]]]").unwrap();
    let plain = toml(COIN).unwrap();
    let line = plain.conditions().with(["dropout=if(t > 1, p * f, 0)"]);
    let line = plain.with_conditions(&line.unwrap()).unwrap();
    for file in [&expression, &table, &line] {
        file.check(1000).unwrap();
        let met = [(1, 0, 1), (2, 0, 0), (2, 1, 1)].map(|(t, x, f)| dropout(file, t, x, f));
        assert_eq!(met, [0.0, 0.0, 0.5]);
        let again = ProblemFile::parse_as(Format::Json, "again.json", file.canonical()).unwrap();
        assert_eq!(again.conditions(), file.conditions());
        assert_eq!(again.hash(), file.hash());
        // Other conditions leave it as it is, also its place in errors.
        let late = file.conditions().with(["delay=3"]).unwrap();
        assert_eq!(dropout(&file.with_conditions(&late).unwrap(), 2, 1, 1), 0.5);
    }
    let flat = under("dropout = [0, 0.25]").unwrap();
    assert_eq!([0, 1].map(|f| dropout(&flat, 2, 1, f)), [0.0, 0.25]);
    assert_eq!(line.hash(), expression.hash());
    // Parameters that drift have their value of the phase.
    let drift = expression.conditions().with(["drift=p:0.8@10"]).unwrap();
    let drift = expression.with_conditions(&drift).unwrap();
    let phase = &drift.scenario().phases[0].problem;
    assert_eq!(phase.dropout_at(2, 0, 0, 1).unwrap(), 0.8);

    let error = under("dropout = \"t - 1 + p * x\"").unwrap().check(1000);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("mine.toml:14:11"), "{error}");
    assert!(
        error.contains("`dropout` is wrong at t = 2, x = 1, a = 0 (toss), f = 0"),
        "{error}"
    );
    assert!(
        error.contains("got 1.5, expected a probability from 0 to 1"),
        "{error}"
    );
    let given = |text: &str| plain.with_conditions(&plain.conditions().with([text]).unwrap());
    let error = given("dropout=q * t").unwrap_err().to_string();
    assert_eq!(
        error,
        "error: mine.toml: the expression for `dropout` cannot be read: unknown name `q`; declare it in `parameters`"
    );
    let error = given("dropout=1 / x").unwrap().check(1000).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("division by zero: 1 / 0 in `1 / x`"),
        "{error}"
    );
}

#[test]
fn rejects_drift_of_the_specification() {
    let drifting = "drift = [{ parameter = \"step\", to = 2, at = 9 }]";
    let text = COIN.replace("\"x + f\"", "\"x + step * f\"");
    let error = toml(&format!("{text}[conditions]\n{drifting}\n")).unwrap_err();
    assert!(
        error.contains("`transition` uses `step`, which drifts"),
        "{error}"
    );
    assert!(error.contains("mine.toml:6:19"), "{error}");
    let text = COIN.replace("[parameters]", "allowed = \"x < 2 * step\"\n[parameters]");
    let error = toml(&format!("{text}[conditions]\n{drifting}\n")).unwrap_err();
    assert!(
        error.contains("`allowed` uses `step`, which drifts"),
        "{error}"
    );
}

#[test]
fn checks_every_model() {
    let file = under("drift = [{ parameter = \"p\", to = 1.5, from = 1, until = 11 }]").unwrap();
    let error = file.check(1000).unwrap_err().to_string();
    assert!(
        error.contains("mine.toml:11:13") && error.contains("`feedback` is wrong at t = 1"),
        "{error}"
    );
    assert!(error.contains("for the model from episode 7 on"), "{error}");
    // On the command line there is no place in the file to show.
    let plain = toml(COIN).unwrap();
    let drift = plain.conditions().with(["drift=pp:1@9"]).unwrap();
    let error = plain.with_conditions(&drift).unwrap_err().to_string();
    assert_eq!(
        error,
        "error: mine.toml: `pp` drifts and is not among the [parameters]\n  = help: did you mean `p`?"
    );
    let drift: Vec<String> = (0..21)
        .map(|i| format!("drift=p:0.{}@{}-{}", i % 2, 200 * i + 1, 200 * i + 190))
        .collect();
    let drift = plain
        .conditions()
        .with(drift.iter().map(String::as_str))
        .unwrap();
    let error = plain.with_conditions(&drift).unwrap_err().to_string();
    assert!(
        error.contains("at most 1000 changes of the model are supported, got 1050"),
        "{error}"
    );
}

#[test]
fn schema_lists_the_same_fields() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let fields = schema["properties"]["conditions"]["properties"]
        .as_object()
        .unwrap();
    let error = under("zzzzzzzz = 1").unwrap_err();
    for field in fields.keys() {
        assert!(error.contains(&format!("`{field}`")), "{field}: {error}");
    }
    assert_eq!(fields.len(), 8);
}
