//! Regret by state: adds up to the regret, for any number of threads and after any interruption.

use emab_sim::Experiment;

use crate::common::{builder, finish, run};
use crate::interrupted::interrupted;

fn recorded(problem: &str, learners: &[&str], runs: u64, episodes: u64) -> Experiment {
    let builder = builder(problem, learners, (runs, episodes), &[]);
    builder.count_choices(true).build().unwrap()
}

#[test]
fn regret_by_state_sums_to_the_regret_and_visits_to_the_steps() {
    for problem in ["resource", "tutoring", "screening"] {
        let experiment = recorded(problem, &["feedbal", "random", "benchmark"], 20, 500);
        let mut state = experiment.state();
        finish(&experiment, &mut state, 0);
        let learners = experiment.regret_by_state(&state).unwrap().unwrap();
        for (result, states) in experiment.results(&state).iter().zip(&learners) {
            let regret: f64 = states.iter().map(|state| state.regret).sum();
            let last = result.curve.last().unwrap().regret;
            assert!(
                (regret - last).abs() <= 1e-9 * last.abs().max(1.0),
                "{regret} {last}"
            );
            let visits: f64 = states.iter().map(|state| state.visits).sum();
            assert!((visits * 20.0 - result.steps as f64).abs() < 1e-6);
            assert_eq!(states[0].visits, 500.0);
        }
        // The benchmark agrees with itself at every state it visits.
        let visited = learners[2].iter().filter(|state| state.visits > 0.0);
        assert!(visited.clone().count() > 1);
        for state in visited {
            assert_eq!(state.learned.as_ref(), Some(&state.benchmark));
            assert_eq!((state.agree, state.regret), (1.0, 0.0));
        }
        if problem == "resource" {
            // FeedBAL stops at the start in its first episode, as Algorithm 2 does, and continues in its last.
            let start = &learners[0][0];
            assert_eq!((start.learned.as_deref(), start.agree), (Some("cont"), 1.0));
        }
        // The random learner does not agree.
        assert!(
            learners[1]
                .iter()
                .any(|state| state.visits > 1.0 && state.agree < 0.9)
        );
    }
}

#[test]
fn choice_counts_do_not_depend_on_threads_or_interruptions() {
    let experiment = recorded("tutoring", &["feedbal"], 60, 4000);
    let mut whole = experiment.state();
    finish(&experiment, &mut whole, 2);
    let mut parts = interrupted(&experiment);
    whole.learners[0].seconds = 0.0;
    parts.learners[0].seconds = 0.0;
    assert_eq!(whole, parts);
    assert_eq!(
        experiment.regret_by_state(&whole).unwrap(),
        experiment.regret_by_state(&parts).unwrap()
    );
}

#[test]
fn rejects_choice_counts_of_another_problem() {
    let other = recorded("parity", &["feedbal"], 4, 10);
    let mut state = other.state();
    finish(&other, &mut state, 1);
    let experiment = recorded("tutoring", &["feedbal"], 4, 10);
    let error = run(&experiment, &mut state, 1).unwrap_err();
    assert!(error.to_string().contains("counts by state"), "{error}");
}
