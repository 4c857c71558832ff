//! What every learner does first, for one seed: a change here changes everybody's results, and must be meant.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab::learners::{CATALOGUE, LearnerConfig};
use emab::{Action, Environment, Episode, Learner, Role, Stream};
use emab_problem::ProblemFile;

/// Writes down what a learner chose: the first letter of each action, `.` for `stop`, episodes side by side.
struct Noted<L> {
    learner: L,
    names: Vec<char>,
    text: String,
}

impl<L: Learner> Learner for Noted<L> {
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

fn first_choices(problem: &str, learner: &str, episodes: usize) -> String {
    let file = ProblemFile::builtin(problem).unwrap().unwrap();
    let problem = file.problem().unwrap();
    let config = LearnerConfig::parse(learner, file.learning()).unwrap();
    let actions = problem.spec().actions();
    let mut noted = Noted {
        learner: config.build(problem.spec(), Some(&problem)).unwrap(),
        names: (0..actions.len())
            .map(|a| actions.name(a).chars().next().unwrap())
            .collect(),
        text: String::new(),
    };
    noted.reset(Stream::new(1, 0, Role::Learner));
    let mut environment = Environment::new(problem).unwrap();
    environment.restart(1, 0);
    for _ in 0..episodes {
        environment.play(&mut noted).unwrap();
    }
    noted.text
}

/// On `tutoring`: (l)esson, (e)xercise, (q)uiz.
const PINNED: [(&str, &str); 34] = [
    ("feedbal", ".l.e.ql.le.eql.qll.eqel.ll.eqel.le.lqqel."),
    (
        "feedbal:ties=random",
        ".l.e.ql.le.eqe.qlq.eqlq.le.eqqeq.l.lqlql.",
    ),
    (
        "feedbal:width=sound",
        ".l.e.ql.le.eql.qll.eqel.ll.qeel.eqqel.le.",
    ),
    (
        "feedbal:window=4",
        ".l.e.ql.le.eql.qll.eqel.qlql.leee.eqlql.qlqll.",
    ),
    (
        "feedbal:gamma=0.5",
        ".l.e.ql.le.eql.qll.ll.eeel.qqqe.lel.ell.",
    ),
    ("ucb1", ".l.e.q.ll.le.lq.el.ee.eq.ql.qe."),
    ("ucb1v", ".l.e.q.ll.le.lq.el.ee.eq.ql.qe."),
    (
        "benchmark",
        "lleeq.leqq.lelle.leeq.lleeq.lelle.leee.le.le.leeee.lee.lle.",
    ),
    (
        "optimal",
        "lleeq.leqq.lelle.leeq.lleeq.lelle.leee.le.le.leeee.lee.lle.",
    ),
    (
        "best-fixed",
        "lle.lle.lle.lle.lle.lle.lle.lle.lle.lle.lle.lle.",
    ),
    (
        "random",
        "leele.ql.eqqqq..lql.elq.eqeqe..qel.leq.qeq.eleel.",
    ),
    (
        "feedbal:width=bernstein",
        ".l.e.ql.le.eql.ll.eee.llll.eeql.le.eleel.",
    ),
    (
        "feedbal-model",
        ".l.e.ql.le.qql.ell.ll.llel.lel.lqee.llqll.",
    ),
    (
        "feedbal-model:width=bernstein",
        ".l.e.ql.le.qql.ell.ll.llel.lel.lqee.llqll.",
    ),
    (
        "feedbal-lookahead",
        ".l.e.ql.qe.eql.qll.ql.elel.qlql.qlle.qle.",
    ),
    (
        "feedbal-lookahead:depth=2",
        ".l.e.ql.qe.eql.qll.ll.llel.lel.lqee.lqqll.",
    ),
    ("ucbvi", ".l.ll.ll.lll.l.lll.ll.lll.llll.lll.lll."),
    (
        "ucbvi:bonus=hoeffding,scale=0.01,reveal=true",
        ".l.ll.ll.lll.l.llll.l.lll.llll.lll.lll.",
    ),
    ("ucrl2", ".l.ll.ll.ll.l.l.ll.ll.ll.lll.ll."),
    (
        "ucrl2:scale=0.05,reveal=true",
        ".l.e.ql.qe.qql.qqel.e.qqqe.qqqql.el.eqqqe.",
    ),
    ("olp", ".l.ll.e.lll.ll.eel.ll.elll.lel.elel.lelll."),
    (
        "olp:reveal=true",
        ".l.ll.e.lll.ll.eel.ll.elll.lel.elel.lelll.",
    ),
    (
        "psrl",
        "eq.eeqll.lqlqe.qleq.leele.qeeql.qqq.leqq.eell.lqqee.lq.leell.",
    ),
    (
        "psrl:reveal=true",
        "eq.eeqll.lqlqe.qleq.leele.qeeql.qqqlq.lelel.eelqq.lleel.lelqq.llee.",
    ),
    (
        "opsrl",
        "qqqlq.eelel.lleqq.eeeeq.qeeqe.lqqee.lqqll.leqqe.qlleq.qeell.elqq.elql.",
    ),
    (
        "opsrl:reveal=true",
        "qqqlq.eelel.lleqq.eeeeq.qeeqe.lqqee.lqqll.leqqe.qlleq.qeell.elqqq.eeqqe.",
    ),
    (
        "o-reps",
        "lllle.leeee.eqlql.lleqe.leeqe.lqllq.elqqe.lelle.lelle.llqlq.eqeql.leelq.",
    ),
    (
        "o-reps:eta=0.05,reveal=true",
        "lllle.leeee.eqlel.lleqe.leeqe.lqllq.llqqe.lelle.leele.llqlq.lqeql.leele.",
    ),
    ("q-learning", ".l.ll.ll.lll.l.llll.l.lll.llll.lll.lll."),
    ("q-learning:explore=epsilon", "l.eqeeq.eq.e.e.e.e...l..."),
    ("td-lambda", "l.eqeeq.eq.....eq...lqlq.."),
    (
        "thompson",
        "l.qeeee.ellqe.qqlqe.lqeql.lllll.qeqeq.eeqlq.el.leqeq.ql.ee.",
    ),
    ("epsilon-greedy", "l.eqeeq.eq.qeeql.qlqlq..llee....qqeqe.."),
    (
        "explore-then-commit",
        "lllll.eelll.qqele.lllll.eleel.qeqqq.lqlel.eelle.qlqll.lleel.eeeee.qqqqq.",
    ),
];

#[test]
fn first_choices_stay_what_they_are() {
    let now: Vec<(&str, String)> = PINNED
        .iter()
        .map(|(learner, _)| (*learner, first_choices("tutoring", learner, 12)))
        .collect();
    let pinned: Vec<(&str, String)> = PINNED
        .iter()
        .map(|(l, text)| (*l, (*text).to_owned()))
        .collect();
    assert_eq!(now, pinned);
}

#[test]
fn every_learner_is_pinned() {
    for entry in CATALOGUE {
        // Made for problems of another form, and pinned there.
        if entry.name == "oasm" {
            continue;
        }
        assert!(
            PINNED.iter().any(|(learner, _)| *learner == entry.name),
            "{}",
            entry.name
        );
    }
}

#[test]
fn algorithm_2_by_hand() {
    // Section 5's problem: the first visit to a pair stops there, the second goes on.
    assert!(first_choices("resource", "feedbal", 3).starts_with(".c."));
}

#[test]
fn items_of_coverage() {
    // (n)orth, (h)ill, (l)ake, (s)outh, (r)idge: each once, until three are switched on.
    assert_eq!(
        first_choices("coverage", "oasm", 12),
        "nhl.srn.shr.shn.shn.nhs.hsn.hsn.hrs.rhs.hsn.hsn."
    );
}
