//! `emab arena`: common random numbers, for any number of threads and interruptions; excluded learners.

use crate::common::{json, rejects, said, timeless};
use crate::test_dir::TestDir;
use serde_json::Value;

const SMALL: &str = "--episodes 60 --runs 4 --json";

/// The lines of the CSV without the column of times.
fn timeless_csv(text: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(text).unwrap();
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let time = names
        .iter()
        .position(|name| *name == "nanoseconds")
        .unwrap();
    // No label of these tests has a comma in it.
    let line = |line: &str| {
        let mut cells: Vec<&str> = line.split(',').collect();
        cells.remove(time);
        cells.join(",")
    };
    text.lines().map(line).collect()
}

fn learner<'a>(problem: &'a Value, label: &str) -> &'a Value {
    let all = problem["learners"].as_array().unwrap();
    all.iter().find(|one| one["label"] == label).unwrap()
}

#[test]
fn all_learners_play_the_same_runs_on_any_number_of_threads() {
    let call = format!("arena resource screening {SMALL}");
    let [one, two] = [1, 2].map(|threads| json(&format!("{call} --threads {threads}")));
    assert_eq!(timeless(one.clone()), timeless(two));
    assert_eq!((&one["runs"], &one["episodes"]), (&4.into(), &60.into()));
    let catalogue = json("learners --json");
    let catalogue = catalogue.as_array().unwrap();
    for problem in one["problems"].as_array().unwrap() {
        // Every learner is there, or a reason why not.
        for entry in catalogue {
            let has = |list: &Value| {
                let list = list.as_array().unwrap();
                list.iter().any(|one| one["label"] == entry["name"])
            };
            assert!(
                has(&problem["learners"]) || has(&problem["left_out"]),
                "{entry}"
            );
        }
        let feedbal = learner(problem, "feedbal");
        assert_eq!(feedbal["minus_feedbal"]["mean"], 0.0);
        assert_eq!(feedbal["over_feedbal"]["mean"], 1.0);
        assert!(feedbal["memory"].as_u64().unwrap() > 1000);
        assert!(feedbal["nanoseconds"].as_f64().unwrap() > 0.0);
        assert_eq!(learner(problem, "optimal")["standing"], "informed");
        let standing = |one: &Value| one["standing"].as_str().unwrap().to_owned();
        let all = problem["learners"].as_array().unwrap();
        assert!(all.iter().any(|one| standing(one) == "best"));
        // The optimum is never less than the benchmark.
        let [regret, optimal] = [&feedbal["regret"]["mean"], &feedbal["regret_optimal"]];
        assert!(regret.as_f64().unwrap() <= optimal.as_f64().unwrap() + 1e-9);
    }
    // The same runs as those of `emab run`.
    let run = json(&format!("run resource {SMALL}"));
    let curve = run["learners"][0]["curve"].as_array().unwrap();
    let regret = &curve.last().unwrap()["regret"];
    let mean = &learner(&one["problems"][0], "feedbal")["regret"]["mean"];
    assert!((regret.as_f64().unwrap() - mean.as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn learners_that_do_not_apply_are_excluded_with_a_reason() {
    let dir = TestDir::new();
    let call = "arena screening resource --learner ucb1 --learner random --episodes 20 --runs 2";
    let problem = dir.write(
        "wide.toml",
        "name = \"wide\"\nhorizon = 40\nstates = 1\nactions = 2\nfeedbacks = 1\ntransition = 0\n\
         [model]\nfeedback = 1\ncost = 0.1\nreward = 1\n",
    );
    let (text, _) = said(&format!("{call} {problem}"));
    let note = text
        .lines()
        .find(|line| line.starts_with("Left out: ucb1: "));
    assert!(note.unwrap().contains("arms"), "{text}");
    assert!(text.contains("Over all problems"));
    // The one it is compared with is there unasked.
    assert!(text.contains("\n feedbal "), "{text}");
}

#[test]
fn a_folder_contains_table_plot_and_finished_cells() {
    let dir = TestDir::new();
    let call =
        "arena parity --learner feedbal --learner ucb1 --learner best-fixed --episodes 50 --runs 3";
    dir.emab(&format!("{call} --out @/one"));
    let lines = dir.text("one/arena.csv");
    assert_eq!(
        lines.lines().next().unwrap(),
        "problem,problem_hash,episodes,runs,seed,learner,sees,regret,regret_stderr,regret_optimal,minus_feedbal,\
         minus_feedbal_stderr,minus_best,minus_best_stderr,over_feedbal,over_feedbal_stderr,gain,gain_stderr,\
         nanoseconds,memory,steps,standing,note,ranked_at,half,half_stderr,growth,growth_stderr,q05,q25,median,q75,q95,\
         stuck,not_learning,lower_bound,times_the_limit,times_the_limit_stderr"
    );
    assert_eq!(lines.lines().count(), 4);
    assert!(dir.read("one/arena.svg").starts_with(b"<svg"));
    assert!(dir.read("one/arena.png").starts_with(b"\x89PNG"));

    // Interrupted after the first cell, and in the middle of writing the second.
    let cells = dir.text("one/arena.jsonl");
    let (first, rest) = cells.split_once('\n').unwrap();
    std::fs::create_dir(dir.at("two")).unwrap();
    dir.write("two/arena.jsonl", &format!("{first}\n{}", &rest[..40]));
    dir.emab(&format!("{call} --out @/two"));
    let resumed = dir.text("two/arena.jsonl");
    assert!(resumed.starts_with(&format!("{first}\n")));
    assert_eq!(resumed.lines().count(), 3);
    let [one, two] = ["one", "two"].map(|folder| dir.read(&format!("{folder}/arena.csv")));
    assert_eq!(timeless_csv(&one), timeless_csv(&two));

    // Finished cells are not done again: not even their times change.
    let note = dir.emab(&format!("{call} --out @/two"));
    assert!(note.contains("two contains this arena already"), "{note}");
    assert_eq!(dir.read("two/arena.csv"), two);
    // Another learner is one more cell, and an arena without it would lose the cell.
    let more = format!("{call} --learner random --out @/two");
    dir.emab(&more);
    assert!(dir.text("two/arena.jsonl").starts_with(&resumed));
    let words = "two contains an arena, 4 finished cells of 3 runs of 50 episodes, seed 1; 1 of them is not in this call, which has 3 runs of 50 episodes, seed 1";
    dir.rejects(&format!("{call} --out @/two"), 2, words);
    dir.emab(&format!("{call} --out @/two --force"));
    assert_eq!(dir.text("two/arena.jsonl"), resumed);
    assert_eq!(dir.read("two/arena.csv"), two);

    // Another margin of the same runs changes the verdicts.
    let until = "arena parity --learner random --episodes 20 --runs 100 --until-decided --out @/three --margin";
    dir.emab(&format!("{until} 100"));
    let words = "its margin is 100, and that of this call is 5; choose another folder";
    dir.rejects(&format!("{until} 5"), 2, words);
    dir.emab(&format!("{until} 5 --force"));
    dir.emab(&format!("{until} 5"));

    // An edited cell is rejected.
    dir.write("two/arena.jsonl", &cells.replacen("0", "1", 1));
    dir.rejects(&format!("{call} --out @/two"), 1, "damaged");
}

#[test]
fn runs_are_added_until_every_pair_is_decided() {
    let dir = TestDir::new();
    // The two runs of `parity` without randomness: constants 28 and 37, and `random` far behind.
    let call = "arena parity feedback-gap --learner ucb1 --learner random --learner optimal --episodes 50 \
                --until-decided --margin 10 --runs 150";
    dir.emab(&format!("{call} --threads 1 --out @/one"));
    let result: Value = serde_json::from_str(&dir.text("one/arena.json")).unwrap();
    let [parity, gap] = [0, 1].map(|i| &result["problems"][i]);
    assert_eq!(parity["runs"], 100);
    let pairs = &parity["pairs"];
    assert_eq!((&pairs["margin"], &pairs["of"]), (&10.0.into(), &6.into()));
    let pair = |i: usize| {
        let pair = &pairs["pairs"][i];
        ["first", "second", "verdict"].map(|name| pair[name].as_str().unwrap())
    };
    assert_eq!(pair(0), ["feedbal", "ucb1", "better"]);
    assert_eq!(pair(1), ["feedbal", "random", "better"]);
    assert_eq!(
        pairs["pairs"][0]["difference"]["ends"],
        serde_json::json!([-9.0, -9.0])
    );
    assert_eq!(pairs["pairs"].as_array().unwrap().len(), 3);
    let learners = gap["learners"].as_array().unwrap();
    assert!(learners.iter().any(|one| one["label"] == "optimal"));
    let csv = dir.text("one/pairs.csv");
    assert_eq!(csv.lines().count(), 7);
    assert!(
        csv.lines()
            .nth(1)
            .unwrap()
            .contains(",feedbal,ucb1,-9,-9,-9,better"),
        "{csv}"
    );

    // The same after an interruption in the second round, and on other threads.
    let cells = dir.text("one/arena.jsonl");
    let some: Vec<&str> = cells.split_inclusive('\n').take(6).collect();
    std::fs::create_dir(dir.at("two")).unwrap();
    dir.write("two/arena.jsonl", &some.concat());
    dir.emab(&format!("{call} --threads 2 --out @/two"));
    assert_eq!(dir.read("two/pairs.csv"), dir.read("one/pairs.csv"));
    let [one, two] = ["one", "two"].map(|folder| dir.read(&format!("{folder}/arena.csv")));
    assert_eq!(timeless_csv(&one), timeless_csv(&two));
    assert!(dir.text("two/arena.jsonl").starts_with(&some.concat()));

    let (text, _) = said(call);
    assert!(
        text.contains("100 runs: 3 of 3 pairs decided, 0 equivalent within 10, 0 undecided"),
        "{text}"
    );

    // The runs are those of a fixed number of runs.
    let fixed =
        json("arena parity --learner ucb1 --learner random --episodes 50 --runs 100 --json");
    let regret = |problem: &Value| learner(problem, "random")["regret"].clone();
    assert_eq!(regret(&fixed["problems"][0]), regret(parity));
}

#[test]
fn learners_are_ranked_at_the_episode_asked_for() {
    let call = "arena resource --learner random --runs 3 --json";
    let short = json(&format!("{call} --episodes 40"));
    let long = json(&format!("{call} --episodes 100 --rank-at 40"));
    let [short, long] = [short, long].map(|result| result["problems"][0].clone());
    assert_eq!(
        (&long["ranked_at"], &short["ranked_at"]),
        (&40.into(), &40.into())
    );
    for name in [
        "regret",
        "half",
        "growth",
        "gain",
        "minus_feedbal",
        "quantiles",
    ] {
        let of = |problem: &Value| learner(problem, "random")[name].clone();
        assert_eq!(of(&short), of(&long), "{name}");
    }
    // Half of it is the regret of runs of half the length.
    let half = json(&format!("{call} --episodes 20"));
    let half = learner(&half["problems"][0], "random")["regret"].clone();
    assert_eq!(half, learner(&short, "random")["half"]);
}

#[test]
fn who_has_not_begun_to_learn_is_marked() {
    let call = "arena resource --learner random --learner benchmark --learner best-fixed --episodes 400 --runs 20";
    let result = json(&format!("{call} --json"));
    let flag = |label: &str| learner(&result["problems"][0], label)["not_learning"].clone();
    assert_eq!(
        ["random", "feedbal", "benchmark", "best-fixed"].map(flag),
        [true, false, false, false]
    );
    let (text, _) = said(call);
    let marked: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("not learning yet"))
        .collect();
    assert!(
        marked.len() == 1 && marked[0].starts_with(" random"),
        "{text}"
    );
}

#[test]
fn rejects_invalid_calls() {
    let dir = TestDir::new();
    dir.emab("run parity --episodes 5 --runs 2 --shard 1/2 --out @/run");
    dir.rejects_each(
        2,
        "
        arena --learner feedball               => unknown learner `feedball` | did you mean
        arena parity --learner feedbal:delta=2 => delta
        arena nonsense                         => unknown problem `nonsense`
        arena parity --runs 1                  => at least 2
        arena parity --episodes 5 --rank-at 6  => --rank-at: 6 lies beyond the 5 episodes | from 1 to 5
        arena parity --until-decided           => --margin
        arena parity --margin 3                => --until-decided
        arena parity --until-decided --margin -1           => at least 0
        arena parity --until-decided --margin 3 --runs 50  => a multiple of 50 | at least 100, got 50
        arena parity --until-decided --margin 3 --runs 120 => a multiple of 50 | got 120
        arena parity --out @/run               => choose another folder
        ",
    );
}

#[test]
fn a_problem_file_without_learning_is_played_under_its_conditions() {
    let dir = TestDir::new();
    let mine = dir.write(
        "mine.toml",
        r#"
        horizon = 3
        states = 3
        actions = ["on"]
        feedbacks = 2
        transition = "x + f"
        [model]
        feedback = [0.5, 0.5]
        cost = 0.1
        reward = "x / 2"
        [conditions]
        dropout = 0.1
        "#,
    );
    let result = json(&format!("arena {mine} --condition delay=3 {SMALL}"));
    let problem = &result["problems"][0];
    assert_eq!(problem["conditions"]["delay"], 3);
    assert_eq!(problem["conditions"]["dropout"], 0.1);
    // A default learner that needs a missing parameter is excluded.
    let left_out = problem["left_out"].as_array().unwrap();
    let sound = left_out
        .iter()
        .find(|one| one["label"] == "feedbal:width=sound");
    let why = sound.unwrap()["why"].as_str().unwrap();
    assert!(
        why.contains("`feedback_spread` must be known for width=sound"),
        "{why}"
    );
    assert!(problem["learners"].as_array().unwrap().len() > 20);
    // Asking for it is an error.
    let words = "`feedback_spread` must be known for width=sound";
    rejects(
        &format!("arena {mine} --learner feedbal:width=sound"),
        2,
        words,
    );
}

#[test]
fn an_arena_over_a_family() {
    let folder = TestDir::new();
    let problems = folder.at("problems");
    let write = format!("problems --random small --seed 2 --count 14 --out {problems} --json");
    let files = json(&write);
    assert_eq!(files.as_array().unwrap().len(), 14);
    assert_eq!(files[0], "small-2-0001.toml");
    // The same problems may be written again.
    json(&write);
    let call = format!("arena {problems} --learner feedbal-pooled --episodes 300 --runs 3");
    let result = json(&format!("{call} --json"));
    assert_eq!(result["problems"].as_array().unwrap().len(), 14);
    assert_eq!(result["problems"][0]["problem"], "small 2/1");
    let summary = result["summary"].as_array().unwrap();
    let pooled = summary.iter().find(|one| one["label"] == "feedbal-pooled");
    let ratio = &pooled.unwrap()["loss_ratio"]["geometric_mean"];
    assert!(ratio["value"].as_f64().unwrap() < 1.0, "{ratio}");
    // Too many for a table each.
    let (text, _) = said(&call);
    assert!(
        text.contains("14 problems; pass --out or --json for the results of each"),
        "{text}"
    );
    assert!(
        text.contains("vs optimum") && text.contains("geometric"),
        "{text}"
    );

    folder.write("problems/small-2-0001.toml", "another = 1");
    rejects(
        &write,
        2,
        "small-2-0001.toml exists and has other content | --force",
    );
    std::fs::create_dir(folder.at("empty")).unwrap();
    let call = format!("arena {}", folder.at("empty"));
    rejects(&call, 2, "has no problem files (.toml or .json)");
}
