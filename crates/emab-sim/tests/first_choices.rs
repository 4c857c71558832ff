//! The first choices of every learner for one seed: a change in `first_choices.txt` changes all results and must be intended.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use emab::learners::{CATALOGUE, LearnerConfig};
use emab::{Action, Environment, Episode, Learner, Role, Stream};
use emab_problem::ProblemFile;

/// Records the choices of a learner: the first letter of each action, `.` for `stop`, one episode after another.
struct Recorder<L> {
    learner: L,
    names: Vec<char>,
    text: String,
}

impl<L: Learner> Learner for Recorder<L> {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let action = self.learner.choose(t, x);
        self.text.push(match action {
            Action::Continue(a) => self.names[a],
            Action::Stop => '.',
        });
        action
    }
    fn learn(&mut self, episode: &Episode) {
        self.learner.learn(episode);
    }
    fn reset(&mut self, stream: Stream) {
        self.learner.reset(stream);
    }
}

/// The choices of a learner in its first episodes; none where the learner does not apply to the problem.
fn first_choices(problem: &str, learner: &str, episodes: usize) -> Option<String> {
    let file = ProblemFile::builtin(problem).unwrap().unwrap();
    let problem = file.problem().unwrap();
    let config = LearnerConfig::parse(learner, file.learning()).unwrap();
    let actions = problem.spec().actions();
    let learner = match config.build(problem.spec(), Some(&problem)) {
        Err(error) if error.does_not_apply() => return None,
        built => built.unwrap(),
    };
    let mut recorder = Recorder {
        learner,
        names: (0..actions.len())
            .map(|a| actions.name(a).chars().next().unwrap())
            .collect(),
        text: String::new(),
    };
    recorder.reset(Stream::new(1, 0, Role::Learner));
    let mut environment = Environment::new(problem).unwrap();
    environment.restart(1, 0);
    for _ in 0..episodes {
        environment.play(&mut recorder).unwrap();
    }
    Some(recorder.text)
}

/// Each line of the file is a problem, a learner and its choices. On `tutoring` the actions are (l)esson, (e)xercise and
/// (q)uiz; on `coverage` (n)orth, (h)ill, (l)ake, (s)outh and (r)idge, each taken once.
#[test]
fn first_choices_are_unchanged_for_every_learner() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_choices.txt");
    let pinned = fs::read_to_string(&path).unwrap();
    let mut cases: Vec<(&str, &str)> = pinned
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            (words.next().unwrap(), words.next().unwrap())
        })
        .collect();
    for entry in CATALOGUE {
        if !cases.iter().any(|(_, learner)| *learner == entry.name) {
            let applies = |problem: &&str| first_choices(problem, entry.name, 1).is_some();
            let mut problems = ["tutoring", "coverage", "resource"].into_iter();
            cases.push((problems.find(applies).unwrap(), entry.name));
        }
    }
    let now = cases.iter().map(|(problem, learner)| {
        let choices = first_choices(problem, learner, 12).unwrap();
        format!("{problem} {learner} {choices}")
    });
    let now: Vec<String> = now.collect();
    if std::env::var_os("EMAB_REGENERATE").is_some() {
        fs::write(&path, now.join("\n") + "\n").unwrap();
        return;
    }
    let pinned: Vec<&str> = pinned.lines().collect();
    assert_eq!(now, pinned, "if intended, run `tools/regenerate`");
}

#[test]
fn algorithm_2_by_hand() {
    // Section 5's problem: the first visit to a pair stops there, the second continues.
    let choices = first_choices("resource", "feedbal", 3).unwrap();
    assert!(choices.starts_with(".c."), "{choices}");
}
