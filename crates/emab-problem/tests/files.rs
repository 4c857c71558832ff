//! Problem files: the built-in ones, both formats, and errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab::oracle::{Benchmark, Optimal, best_fixed, best_repeated};
use emab_problem::{Builtin, Format, ProblemFile, SCHEMA};
use proptest::prelude::*;
use serde_json::Value;

fn toml(text: &str) -> Result<ProblemFile, String> {
    ProblemFile::parse_as(Format::Toml, "mine.toml", text).map_err(|error| error.to_string())
}

fn json(text: &str) -> Result<ProblemFile, String> {
    ProblemFile::parse_as(Format::Json, "mine.json", text).map_err(|error| error.to_string())
}

/// Reads a file and checks all reachable pairs.
fn checked(text: &str) -> Result<usize, String> {
    let reached = toml(text)?
        .check(100_000)
        .map_err(|error| error.to_string())?;
    assert!(reached.complete);
    Ok(reached.pairs)
}

const COIN: &str = r#"
horizon = 3
states = ["none", "one", "two"]
actions = ["toss"]
feedbacks = ["tails", "heads"]
transition = "x + f"
[parameters]
p = 0.5
[model]
feedback = ["1 - p", "p"]
cost = 0.1
reward = "x"
"#;

fn with(from: &str, to: &str) -> String {
    assert!(COIN.contains(from), "{from}");
    COIN.replacen(from, to, 1)
}

/// Each line of `cases` is `from -> to | line:column | part & part`: the coin with this change is rejected by `read`, with an
/// error that has the place and all parts.
fn assert_errors(cases: &str, read: impl Fn(&str) -> Result<(), String>) {
    for case in cases.trim().lines() {
        let [change, place, parts] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let (from, to) = change.split_once(" -> ").expect(case);
        let error = read(&with(from, &to.replace("\\n", "\n"))).expect_err(case);
        for part in parts.split(" & ").chain([&*format!("mine.toml:{place}")]) {
            assert!(error.contains(part), "{case}\n{error}");
        }
    }
}

#[test]
fn built_in_problems_are_valid_and_described() {
    for builtin in Builtin::all() {
        let file = ProblemFile::builtin(builtin.name).unwrap().unwrap();
        assert!(file.check(100_000).unwrap().complete, "{}", builtin.name);
        assert!(!file.description().is_empty(), "{}", builtin.name);
        let learning = file.learning();
        let stated = learning.delta.is_some() && learning.sigma2.is_some();
        // The source is in a comment.
        assert!(stated && builtin.text.starts_with('#'), "{}", builtin.name);
    }
}

/// Values from the paper or from an independent program.
#[test]
fn built_in_problems_have_their_known_values() {
    for (name, value, optimum, fixed, repeated) in [
        ("resource", 1.605673568, 1.605673568, 1.547522, 1.547522),
        ("parity", 7.0, 7.0, 7.0, 3.0),
        ("coverage", 10.31, 10.345, 9.68, f64::NAN),
        (
            "screening",
            28.611511175,
            28.717945503,
            28.165034785,
            f64::NAN,
        ),
        ("treatment", 0.6264815, 0.6264815, 0.5679, f64::NAN),
        ("tutoring", 3.811598437, 3.811598437, 2.902625, f64::NAN),
        ("feedback-gap", 0.5, 0.5, 0.5, 0.5),
        (
            "screening-risk",
            28.370217344,
            28.370217344,
            28.004098927,
            28.004098927,
        ),
    ] {
        let file = ProblemFile::builtin(name).unwrap().unwrap();
        let mut benchmark = Benchmark::new(file.problem().unwrap()).unwrap();
        let optimal = Optimal::new(benchmark.pairs_mut()).unwrap();
        let near = |got: f64, expected: f64| expected.is_nan() || (got - expected).abs() < 5e-7;
        assert!(near(benchmark.start_value().unwrap(), value), "{name}");
        assert!(
            near(optimal.start_value(benchmark.pairs()), optimum),
            "{name}"
        );
        let best = best_fixed(benchmark.pairs(), &optimal, 1_000_000).unwrap();
        assert!(near(best.value, fixed), "{name}: {}", best.value);
        let best = best_repeated(benchmark.pairs_mut()).unwrap();
        assert!(near(best.value, repeated), "{name}: {}", best.value);
    }
}

#[test]
fn toml_and_json_give_the_same_problem() {
    for builtin in Builtin::all() {
        let file = ProblemFile::builtin(builtin.name).unwrap().unwrap();
        let again = ProblemFile::parse_as(Format::Json, "again.json", file.canonical()).unwrap();
        assert_eq!(again.hash(), file.hash(), "{}", builtin.name);
        assert_eq!(again.learning(), file.learning());
        assert_eq!(format!("{:?}", again.spec()), format!("{:?}", file.spec()));
    }
}

#[test]
fn hash_depends_on_the_content_only() {
    let file = toml(COIN).unwrap();
    let commented = with("horizon = 3", "horizon = 3.0 # steps");
    let commented = toml(&format!("# a remark\n{commented}")).unwrap();
    assert_eq!(file.hash(), commented.hash());
    let other = toml(&with("p = 0.5", "p = 0.25")).unwrap();
    assert_ne!(file.hash(), other.hash());
    assert_eq!(file.hash().len(), 64);
}

#[test]
fn name_does_not_change_the_hash() {
    let file = ProblemFile::parse("somewhere/coin.toml", COIN).unwrap();
    assert_eq!(file.name(), "coin");
    let again = ProblemFile::parse("elsewhere/problem.json", file.canonical()).unwrap();
    assert_eq!((again.name(), again.hash()), ("coin", file.hash()));
    let renamed = toml(&format!("name = \"flip\"\ndescription = \"a coin\"{COIN}")).unwrap();
    assert_eq!(renamed.hash(), file.hash());
}

#[test]
fn accepts_names_that_resemble_reserved_ones() {
    // `stop` is an action and may be the name of a state; counted actions have no names that parameters could clash with.
    let text = with("\"two\"]", "\"stop\"]")
        .replace("[\"toss\"]", "3")
        .replace("p = 0.5", "p = 0.5\na1 = 2");
    assert_eq!(checked(&text), Ok(6));
}

#[test]
fn rejects_numbers_whose_sums_overflow() {
    let cases = r#"
reward = "x" -> reward = "1e200 * x" | 12:10 | got 1e200, expected a finite number of at most 1e100
p = 0.5 -> p = 1e400 | 8:5 | must be finite
"#;
    assert_errors(cases, |text| checked(text).map(drop));
}

#[test]
fn arrays_follow_the_documented_dimensions() {
    let text = r#"
        horizon = 3
        states = 2
        actions = ["a0", "a1"]
        feedbacks = 2
        start = 1
        transition = [[[[0, 1]], [[1, "1 - f"], [0, 0]]], [[["x"]]]]
        allowed = [[[true, false], [1, 1]], [["x == 0"]]]
        [model]
        feedback = [[[[0.25, 0.75]]]]
        cost = [[[1, 2]]]
        reward = [[10, 11], [20, 21], [30, 31]]
    "#;
    let file = toml(text).unwrap();
    let (spec, problem) = (file.spec(), file.problem().unwrap());
    assert_eq!(spec.starts(), [1]);
    // Step 1, state 0: one action row for both; state 1: a row each. Step 2: one entry for everything.
    assert_eq!(spec.next(1, 0, 1, 1).unwrap(), 1);
    assert_eq!(spec.next(1, 1, 0, 0).unwrap(), 1);
    assert_eq!(spec.next(1, 1, 0, 1).unwrap(), 0);
    assert_eq!(spec.next(1, 1, 1, 1).unwrap(), 0);
    assert_eq!(spec.next(2, 1, 0, 0).unwrap(), 1);
    assert_eq!([0, 1].map(|a| spec.is_allowed(1, 0, a)), [true, false]);
    assert_eq!([0, 1].map(|x| spec.is_allowed(2, x, 0)), [true, false]);
    assert!(!spec.is_allowed(3, 0, 0), "nothing but stop at the horizon");
    assert_eq!(
        [(1, 0), (2, 1), (3, 1)].map(|(t, x)| problem.reward(t, x).unwrap()),
        [10.0, 21.0, 31.0]
    );
    assert_eq!([0, 1].map(|a| problem.cost(2, 1, a).unwrap()), [1.0, 2.0]);
    let mut distribution = [0.0; 2];
    problem
        .feedback_distribution(2, 1, 1, &mut distribution)
        .unwrap();
    assert_eq!(distribution, [0.25, 0.75]);
}

#[test]
fn starts_are_read_in_order_with_their_probabilities() {
    let several = with("transition", "start = [\"two\", 0]\ntransition");
    let file = toml(&several.replace("[model]", "[model]\nstart = [\"1 - p / 2\", 0.25]")).unwrap();
    assert_eq!(file.spec().starts(), [2, 0]);
    let problem = file.problem().unwrap();
    assert_eq!(problem.start_distribution().unwrap(), [0.75, 0.25]);
    // A live study needs no probabilities.
    let live = file.without_model().unwrap();
    assert_eq!(live.spec().starts(), [2, 0]);
    // A list of one state is that state, with or without its probability.
    let one = with("transition", "start = [\"one\"]\ntransition");
    for text in [one.clone(), one.replace("[model]", "[model]\nstart = [1]")] {
        let file = toml(&text).unwrap();
        assert_eq!(file.spec().starts(), [1]);
        assert_eq!(file.problem().unwrap().start_distribution().unwrap(), [1.0]);
    }
    // The content of a file with one start is what it was.
    let file = toml(&with("transition", "start = \"one\"\ntransition")).unwrap();
    assert!(file.canonical().contains(r#""start":"one""#));
}

#[test]
fn errors_of_start_probabilities_have_place_and_rule() {
    for (start, place, expected) in [
        (
            "0.5",
            "11:9",
            "a list of 2 probabilities, one for each state of `start`",
        ),
        ("[1]", "11:9", "a list of 2 probabilities"),
        (
            "[0.5, 0.4]",
            "11:9",
            "the probabilities sum to 0.9, expected 1",
        ),
        (
            "[0.5, 1.5]",
            "11:15",
            "got 1.5, expected a probability from 0 to 1",
        ),
        ("[0.5, \"q\"]", "11:16", "q"),
        ("[0.5, \"x\"]", "11:16", "x"),
        ("[0.5, \"p / 0\"]", "11:16", "division by zero"),
        ("[0.5, [0.5]]", "11:15", "must be a number or an expression"),
    ] {
        let text = with("horizon = 3", "horizon = 3\nstart = [0, 1]");
        let text = text.replace("[model]", &format!("[model]\nstart = {start}"));
        let error = checked(&text).unwrap_err();
        assert!(error.contains(&format!("mine.toml:{place}")), "{error}");
        assert!(
            error.contains(expected) && error.contains("`start`"),
            "{error}"
        );
    }
}

#[test]
fn names_stand_for_indices_and_may_be_quoted() {
    let text = r#"
        horizon = 2
        states = ["in situ", "gone"]
        actions = ["cut"]
        feedbacks = 1
        start = "in situ"
        transition = "if(x == 'in situ', gone, x)"
        [model]
        feedback = [1]
        reward = "x == gone"
    "#;
    assert_eq!(checked(text), Ok(2));
    assert_eq!(toml(text).unwrap().spec().next(1, 0, 0, 0).unwrap(), 1);
}

#[test]
fn reserved_names_must_be_quoted() {
    let text = r#"
        horizon = 2
        states = ["x", "t"]
        actions = ["b", "a"]
        feedbacks = 1
        transition = "if(a == 'a', 't', 'x')"
        [model]
        feedback = [1]
        reward = "x"
    "#;
    let file = toml(text).unwrap();
    let next = [0, 1].map(|a| file.spec().next(1, 0, a, 0).unwrap());
    assert_eq!(next, [0, 1]);
}

#[test]
fn checks_reachable_pairs_only() {
    // 1 / (x - 2) has no value in state 2, which three steps reach and two do not.
    let text = with("reward = \"x\"", "reward = \"1 / (x - 2)\"");
    assert_eq!(checked(&text.replace("horizon = 3", "horizon = 2")), Ok(3));
    assert!(checked(&text).unwrap_err().contains("division by zero"));
    // A feedback that never comes may lead anywhere.
    let text = with("x + f", "x + 100 * f").replace("p = 0.5", "p = 0");
    assert_eq!(checked(&text), Ok(3));
}

#[test]
fn errors_have_place_and_rule() {
    assert_errors(
        r#"
horizon = 3 -> horizon = 3\nstart = [] | 3:9 | at least one state
horizon = 3 -> horizon = 3\nstart = [0, 5] | 3:13 | from 0 to 2, got 5
horizon = 3 -> horizon = 3\nstart = [0, 1, 0] | 3:16 | each state once, got `none` twice & remove one
horizon = 3 -> horizon = 3\nstart = ["none", "twoo"] | 3:18 | no state is called `twoo` & did you mean `two`?
horizon = 3 -> horizon = 3\nstart = [0, 0.5] | 3:13 | whole number & 0.5
states = ["none", "one", "two"] -> states = [1, 2] | 3:11 | `states` must be a count or a list of names & got 1
horizon = 3 -> horizon = 3\nstart = [[0], 1] | 3:10 | a state, or a list of states
horizon = 3 -> horizon = 3\nstart = [0, 1] | 3:9 | [model] has no `start` & 2 states & such as start = [0.7, 0.3]
[model] -> [model]\nstart = [1] | 10:9 | there is no such list & remove this one
horizon = 3 -> horizn = 3 | 2:1 | unknown field `horizn` & did you mean `horizon`?
cost = 0.1 -> costs = 0.1 | 11:1 | `costs` in [model] & `cost`
horizon = 3 -> horizon = 1000000000000 | 2:11 | from 1 to 1000000, got 1000000000000
horizon = 3 -> horizon = 0 | 2:11 | from 1 to 1000000, got 0
horizon = 3 -> horizon = 2.5 | 2:11 | whole number & 2.5
horizon = 3 -> horizon = -3 | 2:11 | a whole number from 1 to 1000000, got -3
horizon = 3 -> horizon = 99999999999999999999 | 2:11 | a whole number from 1 to 1000000, got 1e20
horizon = 3 -> horizon = "3" | 2:11 | a whole number from 1 to 1000000 & got the text `3` & write it without quotes
horizon = 3 ->  |  | a problem file needs `horizon`
"toss" -> "stop" | 4:12 | `stop` always exists
"toss" -> "p" | 4:11 | also a parameter
["toss"] -> ["b", "b"] | 4:17 | listed twice
["toss"] -> [] | 4:11 | `actions` must be from 1
"x + f" -> "x + g" | 6:19 | `transition` & unknown name `g`; declare it in `parameters`
"x + f" -> "x + " | 6:19 | ends too early
"x" -> "x + a" | 12:15 | `a` is not available here & `t`, `x`
p = 0.5 -> t = 0.5 | 8:1 | cannot be called `t`
p = 0.5 -> p = inf | 8:5 | must be finite
p = 0.5 -> p = "half" | 8:5 | `p` must be a number & got the text `half`
"p"] -> "p", "0"] | 10:12 | 3 probabilities & expected 2
["1 - p", "p"] -> ["1"] | 10:12 | lists 1 probability & expected 2
reward = "x" -> reward = [[1, 2]] | 12:11 | 2 entries & expected 3 or 1 & states
reward = "x" -> reward = [[1], 2, [3]] | 12:16 | nested array & got 2
reward = "x" -> reward = true | 12:10 | number or an expression
cost = 0.1 -> cost_noise = { kind = "gauss" } | 11:23 | unknown noise `gauss` & normal
cost = 0.1 -> cost_noise = { kind = "normal" } | 11:14 | needs a `variance`
cost = 0.1 -> cost_noise = { kind = "normal", variance = -1 } | 11:44 | from 0 to 1e100, got -1
cost = 0.1 -> cost_noise = { kind = "none", variance = 1 } | 11:31 | unknown field `variance`
reward = "x" -> reward = "x"\n[learning]\ndelta = 1.5 | 14:9 | `delta` must lie in (0, 1), got 1.5
reward = "x" -> reward = "x"\n[learning]\nsigma2 = -1 | 14:10 | `sigma2` & got -1
reward = "x" -> reward = "x"\n[learning]\nreward_range = [2, 1] | 14:16 | must rise, got [2, 1]
reward = "x" -> reward = "x"\n[learning]\nreward_range = 2 | 14:16 | list of two numbers
reward = "x" -> reward = "x"\n[learning]\noutcome_range = { reward = [1, 0] } | 14:28 | `reward` must rise, got [1, 0]
reward = "x" -> reward = "x"\n[learning]\noutcome_range = { rewards = [0, 1] } | 14:19 | unknown field `rewards` & `reward`
reward = "x" -> reward = "x"\n[learning]\noutcome_range = {} | 14:17 | must have `reward` or `cost`
horizon = 3 -> horizon = 3\nhorizon = 4 | 3:1 | not TOML & this name is given twice; remove one
horizon = 3 -> horizon =  | 2:11 | not TOML
feedbacks -> start = 3\nfeedbacks | 5:9 | `start` must be a state from 0 to 2, got 3
feedbacks -> start = "three"\nfeedbacks | 5:9 | no state is called `three`
"#,
        |text| toml(text).map(drop),
    );
}

/// Errors found on evaluation: the line, the point, the value and the rule.
#[test]
fn evaluation_errors_name_the_point() {
    assert_errors(
        r#"
"1 - p" -> "1 - p/t" | 10:12 | `feedback` is wrong at t = 2, x = 0 (none), a = 0 (toss) & sum to 1.25, expected 1
p = 0.5 -> p = 1.5 | 10:13 | t = 1 & f = 0 (tails) & got -0.5, expected a probability
x + f -> x + 2 * f | 6:14 | t = 2, x = 2 (two), a = 0 (toss), f = 1 (heads) & got 4 & from 0 to 2
x + f -> x + f / 2 | 6:14 | got 0.5 & floor(...)
x + f -> x - f | 6:14 | got -1
reward = "x" -> reward = "1 + 2 / (x - 1)" | 12:15 | t = 2, x = 1 (one) & division by zero: 2 / 0
reward = "x" -> reward = "x"\nreward_noise = { kind = "bernoulli" } | 12:10 | x = 2 & got 2 & probability from 0 to 1
cost = 0.1 -> cost = "ln(1 - x)" | 11:9 | ln(0) has no finite value
"#,
        |text| checked(text).map(drop),
    );
}

/// For an array, the error shows the row.
#[test]
fn evaluation_errors_show_the_row() {
    let text = with(
        "feedback = [\"1 - p\", \"p\"]",
        "feedback = [\n  [[[0.5, 0.5]]],\n  [[[0.5, 0.5]], [[0.4, 0.5]], [[0.5, 0.5]]],\n]",
    );
    let error = checked(&text).unwrap_err();
    let place = "t = 2, x = 1 (one), a = 0 (toss)";
    assert!(error.contains(place), "{error}");
    assert!(error.contains("mine.toml:12:19"), "{error}");
}

#[test]
fn json_errors_have_a_place() {
    for (text, place, part) in [
        ("{'horizon': 3,\n 'horizon': 4}", "2:2", "is given twice"),
        ("{'horizon': 3,\n 'stat': 4}", "2:2", "unknown field `stat`"),
        ("{'horizon':\n 3", "2:", "not JSON"),
        ("{'horizon': 1e999}", "1:", "must be finite"),
        ("[1]", "1:1", "must be an object"),
        (
            "{'horizon': 3,}",
            "1:15",
            "remove the comma before the closing",
        ),
        (
            "{'states': ['a',\n ]}",
            "2:2",
            "remove the comma before the closing",
        ),
        ("", "1:1", "not JSON"),
        ("{'horizon': null}", "1:13", "got null"),
    ] {
        let error = json(&text.replace('\'', "\"")).expect_err(text);
        assert!(error.contains(part), "{part} in\n{error}");
        assert!(error.contains(&format!("mine.json:{place}")), "{error}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(json(&deep).unwrap_err().contains("16 deep"));
    let deep_objects = "{\"a\":".repeat(100_000);
    assert!(json(&deep_objects).unwrap_err().contains("not JSON"));
    assert!(toml(&format!("horizon = {deep}")).is_err());
}

#[test]
fn file_without_model_cannot_be_simulated() {
    let text = COIN.split("[model]").next().unwrap();
    let file = toml(text).unwrap();
    assert!(!file.has_model());
    let error = file.problem().unwrap_err().to_string();
    assert!(error.contains("no [model]"), "{error}");
    let reached = file.check(1000).unwrap();
    assert_eq!((reached.pairs, reached.complete), (6, true));
}

/// The schema lists exactly the fields that the reader accepts.
#[test]
fn schema_lists_the_same_fields() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let fields = |value: &Value| -> Vec<String> {
        let properties = value["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    };
    // What the reader knows, it says when asked for something else.
    let known = |text: &str| -> Vec<String> {
        let error = toml(text).unwrap_err();
        let (_, list) = error.split_once("there are ").expect(&error);
        let names = list.split('`').skip(1).step_by(2);
        let mut names: Vec<String> = names
            .map(|name| name.split_whitespace().collect())
            .collect();
        names.sort();
        names
    };
    assert_eq!(fields(&schema), known("zzzzzzzz = 1"));
    assert_eq!(
        fields(&schema["properties"]["model"]),
        known(&format!("{COIN}zzzzzzzz = 1"))
    );
    assert_eq!(
        fields(&schema["properties"]["learning"]),
        known(&format!("{COIN}[learning]\nzzzzzzzz = 1"))
    );
}

proptest! {
    #[test]
    fn never_panics_on_any_text(text in "(horizon|states|actions|model|=|\\[|\\]|\\{|\\}|\"|'|[0-9a-z.\\-]|\n| ){0,60}") {
        let _ = toml(&text);
        let _ = json(&text);
    }

    #[test]
    fn never_panics_on_a_changed_byte(at in 0_usize..1000, byte in 32_u8..127) {
        let mut bytes = COIN.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) && let Ok(file) = toml(&text) {
            let _ = file.check(1000);
        }
    }
}
