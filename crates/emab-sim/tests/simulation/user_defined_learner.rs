//! A user-defined learner is played like one of the catalogue, and only for episodes that count.

use std::sync::{Arc, Mutex};

use emab::learners::{FeedBal, LearnerConfig};
use emab::{Action, Episode, Learner, Stream};
use emab_problem::ProblemFile;
use emab_sim::results::CurvePoint;

use crate::common::{builder, finish};

/// Of every run: the number of episodes begun, and of episodes learned from.
type Runs = Arc<Mutex<Vec<(u64, u64)>>>;

/// FeedBAL with a count of its calls.
struct Counted {
    learner: FeedBal,
    runs: Runs,
    run: Option<usize>,
    late: u64,
}

impl Counted {
    fn count(&self, begun: u64, learned: u64) {
        let mut runs = self.runs.lock().unwrap();
        // The first call is a reset.
        let run = &mut runs[self.run.unwrap()];
        *run = (run.0 + begun, run.1 + learned);
        // Episodes follow one another, except for delayed outcomes.
        assert!(run.0 - run.1 <= 1 + self.late);
    }
}

impl Learner for Counted {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        self.count(u64::from(t == 1), 0);
        self.learner.choose(t, x)
    }
    fn learn(&mut self, episode: &Episode) {
        self.count(0, 1);
        self.learner.learn(episode);
    }
    fn reset(&mut self, stream: Stream) {
        let mut runs = self.runs.lock().unwrap();
        self.run = Some(runs.len());
        runs.push((0, 0));
        self.learner.reset(stream);
    }
}

/// Equal gains bit by bit, and equal regrets up to the order in which the fast loop sums them.
fn same(curve: &[CurvePoint], own: &[CurvePoint]) {
    assert_eq!(curve.len(), own.len());
    for (one, own) in curve.iter().zip(own) {
        assert_eq!((one.gain, one.gain_stderr), (own.gain, own.gain_stderr));
        for (one, own) in [(one.regret, own.regret), (one.stderr, own.stderr)] {
            assert!(
                (one - own).abs() <= 1e-10 * (1.0 + one.abs()),
                "{one} {own}"
            );
        }
    }
}

#[test]
fn each_episode_is_played_and_learned_once_with_the_regret_of_feedbal() {
    for (problem, conditions) in [
        ("resource", &[][..]),
        ("screening", &[]),
        ("screening", &["delay=5", "override=0.2"]),
    ] {
        for threads in [1, 3] {
            let (count, episodes) = (13, 150);
            let file = ProblemFile::builtin(problem).unwrap().unwrap();
            let under = file.conditions().with(conditions.iter().copied()).unwrap();
            let scenario = file.with_conditions(&under).unwrap().scenario();
            let feedbal = LearnerConfig::parse("feedbal", file.learning()).unwrap();
            let parameters = feedbal.feedbal_parameters().unwrap();
            // An outcome delayed by five episodes is learned when the sixth episode after it begins.
            let late = if conditions.is_empty() { 0 } else { 6 };
            let runs = Runs::default();
            let noted = runs.clone();
            let own = LearnerConfig::user_defined("mine", move |spec| {
                Ok(Box::new(Counted {
                    learner: FeedBal::new(spec.clone(), parameters),
                    runs: noted.clone(),
                    run: None,
                    late,
                }))
            });
            let experiment = builder(problem, &["feedbal"], (count, episodes), &[10, 70])
                .learners([own])
                .scenario(scenario)
                .build()
                .unwrap();
            let mut state = experiment.state();
            finish(&experiment, &mut state, threads);

            let results = experiment.results(&state);
            same(&results[0].curve, &results[1].curve);
            if !conditions.is_empty() {
                assert_eq!(results[0].curve, results[1].curve);
            }
            assert_eq!(results[0].steps, results[1].steps);
            assert_eq!((&*results[1].learner, &*results[1].label), ("mine", "mine"));
            let runs = runs.lock().unwrap();
            assert_eq!(runs.len() as u64, count);
            for (begun, learned) in runs.iter() {
                assert_eq!(*begun, episodes);
                // Outcomes still delayed at the end of a run are not learned.
                assert_eq!(*learned, episodes - late);
            }
        }
    }
}
