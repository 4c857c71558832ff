//! Saved learners: writing and reading them again, errors of damaged files, and rebuilding.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use emab::learners::{CATALOGUE, LearnerConfig};
use emab::{Action, ConditionedEnvironment, Episode, Learner, Role, Stream};
use emab_episodes::{SavedEntry, SavedLearner};
use emab_problem::ProblemFile;
use proptest::prelude::*;
use serde_json::Value;

/// Records the calls of a learner.
struct Recorder {
    learner: Box<dyn Learner + Send>,
    entries: Vec<SavedEntry>,
    queries: bool,
}

impl Learner for Recorder {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if self.queries {
            self.entries.push(SavedEntry::Query(t, x));
        }
        self.learner.choose(t, x)
    }
    fn learn(&mut self, episode: &Episode) {
        self.entries.push(SavedEntry::Episode(episode.clone()));
        self.learner.learn(episode);
    }
    fn reset(&mut self, stream: Stream) {
        self.learner.reset(stream);
    }
}

/// A learner after some episodes of a problem under its conditions, and its record.
fn train(file: &ProblemFile, text: &str, episodes: u64) -> Option<(Recorder, SavedLearner)> {
    let config = LearnerConfig::parse(text, file.learning()).unwrap();
    let problem = file.problem().unwrap();
    let mut recorder = Recorder {
        learner: config.build(file.spec(), Some(&problem)).ok()?,
        entries: Vec::new(),
        queries: SavedLearner::records_queries(&config),
    };
    let seed = 7;
    recorder.reset(Stream::new(seed, 0, Role::Learner));
    let mut environment = ConditionedEnvironment::new(problem, &file.scenario(), episodes).unwrap();
    environment.restart(seed, 0);
    for _ in 0..episodes {
        environment.play(&mut recorder).unwrap();
    }
    let saved = SavedLearner {
        file: file.clone(),
        learner: text.into(),
        seed,
        entries: recorder.entries.clone(),
    };
    Some((recorder, saved))
}

fn with_conditions(name: &str) -> ProblemFile {
    let file = ProblemFile::builtin(name).unwrap().unwrap();
    let texts = ["delay=geometric:3", "dropout=0.2", "lost=0.1"];
    let conditions = file.conditions().with(texts).unwrap();
    file.with_conditions(&conditions).unwrap()
}

fn written(saved: &SavedLearner) -> String {
    let mut bytes = Vec::new();
    saved.write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn error(text: impl AsRef<[u8]>) -> String {
    SavedLearner::read(text.as_ref()).unwrap_err().to_string()
}

#[test]
fn rebuilds_every_learner_exactly() {
    let file = with_conditions("parity");
    let mut seen = 0;
    let texts = CATALOGUE.iter().map(|entry| entry.name);
    for text in texts.chain(["feedbal:ties=random", "feedbal:window=9"]) {
        let Some((mut recorder, saved)) = train(&file, text, 40) else {
            continue;
        };
        seen += 1;
        let first = written(&saved);
        let again = SavedLearner::read(first.as_bytes()).unwrap();
        // Unknown values and queries included.
        assert_eq!(written(&again), first, "{text}");
        assert_eq!(again.episodes(), saved.episodes());
        let (_, mut rebuilt) = again.rebuild().unwrap();
        let spec = file.spec();
        for (t, x) in spec.reachable(1000).unwrap().pairs.repeat(3) {
            assert_eq!(
                rebuilt.choose(t, x),
                recorder.learner.choose(t, x),
                "{text} at {t}, {x}"
            );
            let actions = (0..spec.actions().len()).map(Action::Continue);
            for action in actions.chain([Action::Stop]) {
                let one = rebuilt.estimate(t, x, action);
                assert_eq!(one, recorder.learner.estimate(t, x, action), "{text}");
            }
        }
    }
    assert!(seen >= 15, "{seen}");
}

/// Where a problem lists several start states, every episode has its own.
#[test]
fn episodes_have_their_start_where_there_are_several() {
    let file = with_conditions("screening-risk");
    let (_, saved) = train(&file, "feedbal-pooled", 60).unwrap();
    let text = written(&saved);
    let again = SavedLearner::read(text.as_bytes()).unwrap();
    assert_eq!(written(&again), text);
    for name in ["low_3", "medium_3", "high_3"] {
        assert!(
            text.contains(&format!(r#","start":"{name}","actions""#)),
            "{name}"
        );
    }
    let header = text.lines().next().unwrap();
    let line = |start: &str| {
        format!(
            "{header}\n{{\"id\":\"one\",{start}\"actions\":[],\"feedbacks\":[],\"costs\":[],\"rewards\":[1]}}"
        )
    };
    let first = |text: String| {
        SavedLearner::read(text.as_bytes())
            .unwrap()
            .learned()
            .next()
            .unwrap()
            .states
            .clone()
    };
    assert_eq!(first(line(r#""start":"high_3","#)), [19]);
    assert_eq!(first(line(r#""start":19,"#)), [19]);
    let expected = "one of `low_3`, `medium_3`, `high_3`";
    for (start, what) in [
        ("", "is not given"),
        (r#""start":"high_4","#, "begins in state `high_4`"),
        (r#""start":20,"#, "begins in state 20"),
    ] {
        let error = error(line(start));
        assert!(error.contains(what) && error.contains(expected), "{error}");
        assert!(error.starts_with("line 2"), "{error}");
    }
    // With one start state the field may be left out, is never written, and must name it.
    let file = ProblemFile::builtin("screening").unwrap().unwrap();
    let (_, saved) = train(&file, "feedbal", 5).unwrap();
    let text = written(&saved);
    assert!(!text.lines().skip(1).any(|line| line.contains("start")));
    let one = text.replace(r#","actions":["#, r#","start":"low","actions":["#);
    assert_eq!(written(&SavedLearner::read(one.as_bytes()).unwrap()), text);
    let error = error(one.replace(r#""start":"low""#, r#""start":"even""#));
    assert!(
        error.contains("begins in state `even`: it must be `low`"),
        "{error}"
    );
}

/// The service requires complete lists, with null for unknown values.
#[test]
fn writes_unknown_values_as_null() {
    let file = ProblemFile::builtin("resource").unwrap().unwrap();
    let left = Episode {
        states: vec![0, 1],
        actions: vec![0],
        feedbacks: vec![1],
        ..Episode::default()
    };
    let saved = SavedLearner {
        file,
        learner: "feedbal".into(),
        seed: u64::MAX,
        entries: vec![SavedEntry::Episode(left)],
    };
    let text = written(&saved);
    let line: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let expected = serde_json::json!({"id": "learned-1", "actions": ["cont"], "feedbacks": ["1"], "costs": [null],
        "rewards": [null, null]});
    assert_eq!(line, expected);
    let again = SavedLearner::read(text.as_bytes()).unwrap();
    assert_eq!(again.seed, u64::MAX);
    let episode = again.learned().next().unwrap();
    assert_eq!(episode.states, [0, 1]);
    assert!(episode.known_cost(1).is_none() && episode.known_reward(2).is_none());
}

/// A valid header and episode.
fn small() -> (String, String) {
    let (_, saved) = train(&with_conditions("resource"), "feedbal", 0).unwrap();
    let past =
        r#"{"id":"a","actions":["cont"],"feedbacks":[1],"costs":[0.5],"rewards":[0,1]}"#.to_owned();
    (written(&saved).trim().to_owned(), past)
}

#[test]
fn reads_integers_written_as_floats() {
    let (head, past) = small();
    let head = head.replace("\"emab_learner\":1", "\"emab_learner\":1.0");
    let past = past.replace("[\"cont\"]", "[0.0]").replace("[1]", "[1.0]");
    let text = format!("\r\n{head}\r\n\n{past}\r\n{{\"ask\": [2.0, 1e0]}}");
    let saved = SavedLearner::read(text.as_bytes()).unwrap();
    let episode = saved.learned().next().unwrap();
    assert_eq!(
        (&*episode.actions, &*episode.states),
        (&[0][..], &[0, 1][..])
    );
    assert_eq!(saved.entries[1], SavedEntry::Query(2, 1));
}

#[test]
fn rejects_invalid_lines_with_their_number() {
    let (head, past) = small();
    // A change of the episode, or a line in its place, and the message.
    const CASES: &str = r#"
]} -> | it ends before a list is closed
cont -> run | there is no action `run`
"cont" -> 1 | there is no action 1: indices are 0 to 0
"cont" -> 0.5 | got 0.5
"cont" -> -1 | a name, or a whole number
"cont" -> null | a name, or a whole number
cont -> stop | an episode ends after its last action
[1] -> [1e300] | whole number
[1] -> [] | 1 actions and 0 feedbacks
[0.5] -> [] | `costs` has 0 values and the episode 1
[0,1] -> [0] | `rewards` has 1 values and the episode 2
0.5 -> 1e101 | `costs` has 1e101: at most 1e100
0.5 -> 1e999 | too large for a double
0.5 -> NaN | this is not JSON (character 55): there is no JSON value here
"a" -> "a/b" | `a/b` cannot be the name of an episode
"id":"a", -> | has no `id`; add it
{ -> {"id":"b", | `id` is given twice; remove one
costs -> cost | unknown field `cost` (did you mean `costs`?)
{"ask": [0, 0]} | `ask` is [0, 0]: steps are 1 to 10, and states 0 to 9
{"ask": [1, 10]} | `ask` is [1, 10]
{"ask": [1, 1e15]} | `ask` is [1, 1000000000000000]
{"ask": [1]} | must be a list of 2 values, got 1 value
{"ask": [1, 0], "by": "me"} | unknown field `by`
["a", ["cont"], [1], [0.5], [0, 1]] | must be a JSON object
"#;
    let change = |change: &str| match change.split_once(" ->") {
        Some((from, to)) => past.replace(from, to.trim_start()),
        None => change.into(),
    };
    let cases = CASES.trim().lines().map(|case| {
        let (wrong, message_part) = case.split_once(" | ").unwrap();
        (change(wrong), message_part)
    });
    for (wrong, message_part) in cases.chain([
        (past.clone(), "there is an episode `a` already"),
        (head.clone(), "unknown field `emab_learner`"),
        ("[".repeat(100_000), "must be a JSON object"),
        (format!("{{\"id\": {}", "[".repeat(100_000)), "line 4"),
    ]) {
        // After a blank line, to see that they count.
        let message = error(format!("{head}\n{past}\n\n{wrong}\n"));
        assert!(message.starts_with("line 4: "), "{wrong}: {message}");
        assert!(message.contains(message_part), "{wrong}: {message}");
        assert!(message.len() < 400, "{message}");
    }
    let zeros = |n: usize| format!("[{}]", vec!["0"; n].join(","));
    let lists = ["[\"cont\"]", "[1]", "[0.5]"].into_iter();
    let long = lists.fold(past, |line, list| line.replace(list, &zeros(10)));
    let message = error(format!("{head}\n{}", long.replace("[0,1]", &zeros(11))));
    let expected = "10 actions: at most 9 fit before the horizon";
    assert!(message.contains(expected), "{message}");
    let message = error([head.as_bytes(), b"\n{\"id\": \"\xff\"}"].concat());
    assert_eq!(message, "line 2: it is not UTF-8: byte 8 is invalid");
}

#[test]
fn rejects_an_invalid_header() {
    let (head, past) = small();
    // A change of the first line, and the message.
    const CASES: &str = r#"
"emab_learner":1 -> "emab_learner":2 | the format is 2, written by emab 0.1.0
"emab_learner":1 -> "emab_learner":"1" | a whole number from 0 to
"seed":7 -> "seed":-7 | a whole number from 0 to
"seed":7 -> "seed":7,"seed":8 | `seed` is given twice; remove one
"seed" -> "sead" | unknown field `sead`
"horizon":10 -> "horizon":0 | `horizon` must be from 1
"horizon":10 -> "horizon":10,"horizon":9 | `horizon` is given twice
"#;
    let cases = CASES.trim().lines().map(|case| {
        let (change, message_part) = case.split_once(" | ").unwrap();
        let (from, to) = change.split_once(" -> ").unwrap();
        (head.replace(from, to), message_part)
    });
    let empty = "line 1: the file is empty; a saved learner begins with";
    let other = r#"{"emab_learner": 2, "all": "else"}"#.to_owned();
    for (wrong, message_part) in cases.chain([
        (String::new(), empty),
        (past, "has no `emab_learner`; add it"),
        ("horizon = 3".into(), "line 1: this is no JSON object"),
        (other, "the format is 2"),
    ]) {
        let message = error(&wrong);
        assert!(message.contains(message_part), "{wrong}: {message}");
    }
    for (learner, message_part) in [
        ("feedball", "did you mean `feedbal`?"),
        ("feedbal:delta=2", "`delta` must lie in (0, 1)"),
        ("own", "unknown learner"),
    ] {
        let text = head.replace(
            "\"learner\":\"feedbal\"",
            &format!("\"learner\":\"{learner}\""),
        );
        let saved = SavedLearner::read(text.as_bytes()).unwrap();
        let message = saved.rebuild().err().unwrap().to_string();
        assert!(message.contains(message_part), "{message}");
    }
}

#[test]
fn does_not_write_what_cannot_be_read() {
    let file = ProblemFile::builtin("resource").unwrap().unwrap();
    let episode = Episode {
        states: vec![0],
        rewards: vec![f64::INFINITY],
        ..Episode::default()
    };
    let odd = Episode {
        states: vec![3],
        ..Episode::default()
    };
    for (entry, message_part) in [
        (
            SavedEntry::Episode(episode),
            "`rewards` has inf: at most 1e100",
        ),
        (
            SavedEntry::Episode(odd),
            "state 3 at step 1: its actions and feedbacks lead to 0",
        ),
        (SavedEntry::Query(11, 0), "`ask` is [11, 0]"),
    ] {
        let saved = SavedLearner {
            file: file.clone(),
            learner: "feedbal".into(),
            seed: 0,
            entries: vec![entry],
        };
        let message = saved.write(&mut Vec::new()).unwrap_err().to_string();
        assert!(
            message.starts_with("line 2: ") && message.contains(message_part),
            "{message}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A damaged file is read or rejected; a learner that was read can be rebuilt.
    #[test]
    fn never_panics_on_damaged_files(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..4),
        learner in prop::sample::select(CATALOGUE.to_vec()),
    ) {
        let file = Arc::new(with_conditions("parity"));
        let Some((_, saved)) = train(&file, learner.name, 5) else { return Ok(()) };
        let mut bytes = written(&saved).into_bytes();
        let from = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        for (at, other, byte) in cuts {
            let [at, other] = [at, other].map(|index| from + index.index(bytes.len() - from));
            match byte % 4 {
                0 => bytes[at] = byte,
                1 => bytes.swap(at, other),
                2 => bytes[at] = b'0' + byte % 10,
                _ => bytes.truncate(at.max(from + 1)),
            }
        }
        if let Ok(saved) = SavedLearner::read(&bytes[..]) {
            let (_, mut learner) = saved.rebuild().unwrap();
            learner.choose(1, saved.file.spec().starts()[0]);
        }
    }
}
