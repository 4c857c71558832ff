//! Where the regret comes from adds up to the regret, for any threads and after any interruption.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/interrupted.rs"]
mod interrupted;

use std::sync::atomic::AtomicBool;

use common::{experiment, finish};
use emab_sim::{Control, Experiment};

fn recorded(problem: &str, learners: &[&str], runs: u64, episodes: u64) -> Experiment {
    Experiment {
        circumstances: Default::default(),
        places: true,
        ..experiment(problem, learners, runs, episodes, &[])
    }
}

#[test]
fn places_add_up_to_the_regret_and_the_visits_to_the_steps() {
    for problem in ["resource", "tutoring", "screening"] {
        let experiment = recorded(problem, &["feedbal", "random", "benchmark"], 20, 500);
        let mut state = experiment.state();
        finish(&experiment, &mut state, 0);
        let places = experiment.places(&state).unwrap().unwrap();
        for (result, places) in experiment.results(&state).iter().zip(&places) {
            let regret: f64 = places.iter().map(|place| place.regret).sum();
            let last = result.curve.last().unwrap().regret;
            assert!(
                (regret - last).abs() <= 1e-9 * last.abs().max(1.0),
                "{regret} {last}"
            );
            let visits: f64 = places.iter().map(|place| place.visits).sum();
            assert!((visits * 20.0 - result.steps as f64).abs() < 1e-6);
            assert_eq!(places[0].visits, 500.0);
        }
        // The benchmark agrees with itself wherever it goes.
        let own = places[2].iter().filter(|place| place.visits > 0.0);
        assert!(own.clone().count() > 1);
        for place in own {
            assert_eq!(place.learned.as_ref(), Some(&place.benchmark));
            assert_eq!((place.agree, place.regret), (1.0, 0.0));
        }
        if problem == "resource" {
            // FeedBAL stops at the start in its first episode, as Algorithm 2 does, and ends by going on.
            let start = &places[0][0];
            assert_eq!((start.learned.as_deref(), start.agree), (Some("cont"), 1.0));
        }
        // Random does not.
        assert!(
            places[1]
                .iter()
                .any(|place| place.visits > 1.0 && place.agree < 0.9)
        );
    }
}

#[test]
fn threads_and_interruptions_leave_no_trace() {
    let experiment = recorded("tutoring", &["feedbal"], 60, 4000);
    let mut whole = experiment.state();
    finish(&experiment, &mut whole, 2);
    let mut parts = interrupted::interrupted(&experiment);
    whole.learners[0].seconds = 0.0;
    parts.learners[0].seconds = 0.0;
    assert_eq!(whole, parts);
    assert_eq!(
        experiment.places(&whole).unwrap(),
        experiment.places(&parts).unwrap()
    );
}

#[test]
fn counts_of_another_problem_are_refused() {
    let other = recorded("parity", &["feedbal"], 4, 10);
    let mut state = other.state();
    finish(&other, &mut state, 1);
    let experiment = recorded("tutoring", &["feedbal"], 4, 10);
    let stop = AtomicBool::new(false);
    let mut control = Control {
        threads: 1,
        stop: &stop,
        watch: &mut |_, _| {},
    };
    let error = experiment.run(&mut state, &mut control).unwrap_err();
    assert!(error.to_string().contains("counts by place"), "{error}");
}
