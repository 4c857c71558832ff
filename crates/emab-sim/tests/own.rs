//! A learner of one's own is played as one of the catalogue is, and called for what counts alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::{Arc, Mutex};

use common::{experiment, finish};
use emab::learners::{FeedBal, LearnerConfig};
use emab::{Action, Episode, Learner, Stream};
use emab_problem::ProblemFile;
use emab_sim::results::CurvePoint;

/// Of every run: how many episodes were begun, and how many learned from.
type Runs = Arc<Mutex<Vec<(u64, u64)>>>;

/// FeedBAL, and how often it was called.
struct Counted {
    learner: FeedBal,
    runs: Runs,
    run: Option<usize>,
    late: u64,
}

impl Counted {
    fn count(&self, begun: u64, learned: u64) {
        let mut runs = self.runs.lock().unwrap();
        // Nothing comes before the first reset.
        let run = &mut runs[self.run.unwrap()];
        *run = (run.0 + begun, run.1 + learned);
        // One episode after the other, but for those whose outcome is late.
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

/// The same to the bit in what was earned, and in regret but for the order in which the fast loop adds it up.
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
fn it_is_asked_and_taught_once_an_episode_and_loses_what_feedbal_loses() {
    for (problem, conditions) in [
        ("resource", &[][..]),
        ("screening", &[]),
        ("screening", &["delay=5", "override=0.2"]),
    ] {
        for threads in [1, 3] {
            let (count, episodes) = (13, 150);
            let mut experiment = experiment(problem, &["feedbal"], count, episodes, &[10, 70]);
            let file = ProblemFile::builtin(problem).unwrap().unwrap();
            let under = file.conditions().with(conditions.iter().copied()).unwrap();
            experiment.circumstances = file.with_conditions(&under).unwrap().scenario();
            let told = experiment.learners[0].feedbal_parameters().unwrap();
            // What is five episodes late is learned from when the sixth after it begins.
            let late = if conditions.is_empty() { 0 } else { 6 };
            let runs = Runs::default();
            let noted = runs.clone();
            let own = LearnerConfig::user_defined("mine", move |spec| {
                Ok(Box::new(Counted {
                    learner: FeedBal::new(spec.clone(), told),
                    runs: noted.clone(),
                    run: None,
                    late,
                }))
            });
            experiment.learners.push(own);
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
                // What is late at the end of a run is not learned any more.
                assert_eq!(*learned, episodes - late);
            }
        }
    }
}
