//! `emab policy`: the choices of a saved learner.

use std::fs;

use crate::common::{emab_with_input, json, rejects, said};
use crate::test_dir::{TestDir, cases};
use emab::learners::LearnerConfig;
use emab::{Action, ConditionedEnvironment, Episode, Learner, Role, Stream};
use emab_episodes::{SavedEntry, SavedLearner};
use emab_problem::ProblemFile;
use serde_json::{Value, json};

/// A learner that notes all that happens to it.
struct Noted {
    learner: Box<dyn Learner + Send>,
    past: Vec<SavedEntry>,
    questions: bool,
}

impl Learner for Noted {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if self.questions {
            self.past.push(SavedEntry::Query(t, x));
        }
        self.learner.choose(t, x)
    }
    fn learn(&mut self, episode: &Episode) {
        self.past.push(SavedEntry::Episode(episode.clone()));
        self.learner.learn(episode);
    }
    fn reset(&mut self, stream: Stream) {
        self.learner.reset(stream);
    }
}

/// A folder with the file of a learner after so many episodes, and the learner.
struct Saved {
    learner: Box<dyn Learner + Send>,
    dir: TestDir,
}

fn saved(problem: &str, text: &str, episodes: u64) -> Saved {
    let file = ProblemFile::find(problem).unwrap();
    let config = LearnerConfig::parse(text, file.learning()).unwrap();
    let truth = file.problem().unwrap();
    let mut noted = Noted {
        learner: config.build(file.spec(), Some(&truth)).unwrap(),
        past: Vec::new(),
        questions: SavedLearner::records_queries(&config),
    };
    noted.reset(Stream::new(1, 0, Role::Learner));
    let mut world = ConditionedEnvironment::new(truth, &file.scenario(), episodes).unwrap();
    world.restart(1, 0);
    for _ in 0..episodes {
        world.play(&mut noted).unwrap();
    }
    let trained = SavedLearner {
        file: file.without_model().unwrap(),
        learner: text.into(),
        seed: 1,
        entries: noted.past,
    };
    let dir = TestDir::new();
    let mut out = fs::File::create(dir.at("learner.jsonl")).unwrap();
    trained.write(&mut out).unwrap();
    Saved {
        learner: noted.learner,
        dir,
    }
}

impl Saved {
    /// `emab policy` with these options.
    fn policy(&self, options: &str) -> String {
        self.dir.call(&format!("policy @/learner.jsonl {options}"))
    }

    fn json(&self, options: &str) -> Value {
        json(&self.policy(&format!("{options} --json")))
    }

    /// Puts a text in another's place.
    fn replace(&self, old: &str, new: &str) {
        let text = self.dir.text("learner.jsonl");
        let changed = text.replacen(old, new, 1);
        assert_ne!(text, changed, "{old}");
        self.dir.write("learner.jsonl", &changed);
    }

    #[track_caller]
    fn prints(&self, options: &str, expected: &str) {
        let (printed, _) = said(&self.policy(options));
        assert_eq!(printed.trim_end(), expected.trim(), "\n{printed}");
    }

    #[track_caller]
    fn notes(&self, options: &str, words: &str) {
        let (_, noted) = said(&self.policy(options));
        assert!(noted.contains(words), "{words:?} is not in {noted:?}");
    }
}

#[test]
fn prints_tables() {
    let saved = saved("parity", "feedbal", 300);
    saved.prints("", PARITY);
    saved.prints("--step 2 --state 0", PARITY_AT);
}

const PARITY: &str = "
feedbal on parity, after 300 episodes:
 step   state   seen   choice   its estimate
─────────────────────────────────────────────
    1       0    300   a0       3 ± 0.0381
    2       0      1   a0       not observed
    2       1    298   a1       8 ± 0.0382
    3       0      0   stop     not observed
    3       1    296   stop     9 ± 0.0382
    3       2      1   stop     0 ± 0.8123
";
const PARITY_AT: &str = "
feedbal on parity, after 300 episodes, at step 2 in state 0, seen 1 time: a0
 action   observed   estimate       index
───────────────────────────────────────────
 a0              0   not observed   ∞
 a1              0   not observed   ∞
 stop            1   0 ± 0.8123     0.8123
";

#[test]
fn json_agrees_with_the_learner() {
    let mut saved = saved("screening", "feedbal:width=sound", 200);
    let file = ProblemFile::find("screening").unwrap();
    let spec = file.spec();
    let document = saved.json("");
    assert_eq!(document["learner"], "feedbal:width=sound");
    assert_eq!(document["problem"], "screening");
    assert_eq!(
        (&document["episodes"], &document["chooses"]),
        (&json!(200), &json!("tables"))
    );
    assert_eq!(document["complete"], true);
    let policy = document["policy"].as_array().unwrap();
    let pairs = spec.reachable(1000).unwrap().pairs;
    assert_eq!(policy.len(), pairs.len());
    assert_eq!(policy[0]["seen"], 200);
    for (row, (t, x)) in policy.iter().zip(pairs) {
        assert_eq!(
            (&row["step"], &row["state"]),
            (&json!(t), &json!(spec.states().name(x)))
        );
        assert_eq!(row["action"], *spec.action_name(saved.learner.choose(t, x)));
        let estimates = row["estimates"].as_array().unwrap();
        let last = t == spec.horizon();
        assert_eq!(estimates.len(), if last { 1 } else { 4 });
        for estimate in estimates {
            let name = estimate["action"].as_str().unwrap();
            let action = (0..3)
                .find(|&a| spec.actions().name(a) == name)
                .map_or(Action::Stop, Action::Continue);
            let known = saved.learner.estimate(t, x, action).unwrap();
            let finite = |value: f64| {
                if value.is_finite() {
                    json!(value)
                } else {
                    Value::Null
                }
            };
            let expected = json!({"action": name, "count": known.count, "mean": known.mean,
                "width": finite(known.width), "index": finite(known.index)});
            assert_eq!(*estimate, expected);
        }
    }
    let mut estimates = policy
        .iter()
        .flat_map(|row| row["estimates"].as_array().unwrap());
    let never = estimates.find(|known| known["count"] == 0).unwrap();
    assert_eq!(
        (&never["width"], &never["index"]),
        (&Value::Null, &Value::Null)
    );
    // One pair, by name and by number.
    let is_one = |row: &&Value| row["step"] == 2 && row["state"] == "raised";
    let row = policy.iter().find(is_one).unwrap();
    for state in ["raised", "3"] {
        let one = saved.json(&format!("--step 2 --state {state}"));
        assert_eq!(one["policy"], json!([row]));
    }
    // And from standard input.
    let output = emab_with_input("policy - --json", &saved.dir.read("learner.jsonl"));
    let piped: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(piped, document);
}

/// What such a learner says is true of its next episode, or of one draw: that is said, and it is the same every time.
#[test]
fn notes_learners_whose_choices_depend_on_more_than_tables() {
    for (learner, chooses, words) in [
        (
            "thompson",
            "draws",
            "note: it draws random numbers: each choice shown is one random draw",
        ),
        ("feedbal:ties=random", "draws", "note: it draws"),
        ("ucb1", "plan", "this is the plan for its next episode"),
        (
            "explore-then-commit",
            "asked",
            "these are the choices when asked now",
        ),
    ] {
        let mut saved = saved("parity", learner, 60);
        saved.notes("", words);
        let document = saved.json("");
        assert_eq!(document["chooses"], chooses, "{learner}");
        let policy = document["policy"].as_array().unwrap();
        let spec = ProblemFile::find("parity").unwrap().spec().clone();
        for (row, (t, x)) in policy.iter().zip(spec.reachable(1000).unwrap().pairs) {
            assert_eq!(
                row["action"],
                *spec.action_name(saved.learner.choose(t, x)),
                "{learner}"
            );
        }
        // One of them alone is the same.
        let row = &policy[policy.len() - 2];
        let (step, state) = (&row["step"], row["state"].as_str().unwrap());
        let one = saved.json(&format!("--step {step} --state {state}"));
        assert_eq!(one["policy"], json!([row]), "{learner}");
    }
    let saved = saved("parity", "ucb1", 60);
    saved.prints("", PLAN);
}

const PLAN: &str = "
ucb1 on parity, after 60 episodes:
 step   state   seen   choice
──────────────────────────────
    1       0     60   a1
    2       0     29   a0
    2       1     30   a0
    3       0      1   stop
    3       1     55   stop
    3       2      1   stop
";

#[test]
fn long_tables_are_cut_with_a_note() {
    let saved = saved("resource", "feedbal", 0);
    saved.replace("\"horizon\":10,", "\"horizon\":10000,");
    saved.replace("\"states\":10,", "\"states\":1000000,");
    let (text, noted) = said(&saved.policy(""));
    let words = "note: only the first 100,000 reachable step-state pairs are listed";
    assert!(noted.contains(words), "{noted}");
    let words = "These are 60 of 100,000 pairs; --json prints all of them.\n";
    assert!(text.ends_with(words), "{text}");
    assert_eq!(saved.json("")["complete"], false);
    let (far, _) = said(&saved.policy("--step 9999 --state 999999"));
    assert!(far.contains("seen 0 times: stop"), "{far}");
}

#[test]
fn rejects_invalid_calls_and_files() {
    let file = saved("screening", "feedbal", 3);
    file.notes(
        "--step 1 --state even",
        "no episode can reach this step in this state",
    );
    for (options, words) in cases(
        "
        --step 1              => --state
        --state low           => --step
        --step 0 --state low  => at least 1
        --step 6 --state low  => --step: there are 5 steps, got 6
        --step 1 --state hihg => no state `hihg` (did you mean `high`?)
        --step 1 --state 7    => its number from 0 to 6
        ",
    ) {
        rejects(&file.policy(&options), 2, words);
    }
    rejects("policy nowhere.jsonl", 2, "cannot read nowhere.jsonl: ");
    rejects("policy /", 2, "cannot read /: ");
    rejects("policy -", 2, "-: line 1: the file is empty");
    let table = r#"
        "emab_learner":1 ⇒ "emab_learner":9     => learner.jsonl: line 1: the format is 9
        "horizon":5 ⇒ "horizon":-1              => learner.jsonl, `problem`:1: | `horizon`
        "learner":"feedbal" ⇒ "learner":"feedball" => learner.jsonl: unknown learner `feedball`
        "learner":"feedbal" ⇒ "learner":"optimal"  => this problem has no `model`
        {"id":"learned-2" ⇒ {"ID":"learned-2"   => learner.jsonl: line 3: unknown field `ID`
        max(x - 1, minimal) ⇒ x - 1             => learner.jsonl, `problem`:1: | t = 2, x = 0 (minimal) | got -1
    "#;
    let text = file.dir.text("learner.jsonl");
    for (change, words) in cases(table) {
        let (old, new) = change.split_once(" ⇒ ").unwrap();
        file.replace(old, new);
        rejects(&file.policy(""), 2, words);
        file.dir.write("learner.jsonl", &text);
    }
}
