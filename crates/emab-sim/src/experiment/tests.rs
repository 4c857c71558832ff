//! Records of single runs: the same in every loop and on any number of threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::AtomicBool;

use super::{Control, Experiment, State};
use crate::Device;
use crate::engine::Loop;
use crate::engine::simd::Level;
use crate::error::SimError;
use crate::results::Measured;

fn experiment() -> Experiment {
    let file = emab_problem::ProblemFile::builtin("coverage");
    Experiment::builder(file.unwrap().unwrap().problem().unwrap())
        .learners(["feedbal", "td-lambda"])
        .episodes(50)
        .runs(7)
        .seed(3)
        .checkpoints(vec![10])
        .record_runs(vec![10])
        .build()
        .unwrap()
}

fn run(experiment: &Experiment, threads: usize, by: Loop) -> State {
    let mut state = experiment.state();
    let stop = AtomicBool::new(false);
    let mut control = Control {
        threads,
        device: Device::processor(),
        stop: &stop,
        watch: &mut |_, _| {},
    };
    experiment
        .run_with(&mut state, &mut control, by, None)
        .unwrap();
    state
}

/// The records of a learner at one of the recorded episodes.
fn regrets(state: &State, learner: usize, episode: usize) -> Vec<f64> {
    let records = state.learners[learner].records.iter();
    records.map(|record| record.at[episode].0).collect()
}

#[test]
fn records_do_not_depend_on_loop_or_threads() {
    let experiment = experiment();
    let fast = Loop::PairedRuns(Level::best());
    let reference = run(&experiment, 1, Loop::Reference);
    for threads in [1, 3] {
        let state = run(&experiment, threads, fast);
        for (i, result) in experiment.results(&state).iter().enumerate() {
            let records = &state.learners[i].records;
            assert!(records.iter().map(|record| record.run).eq(0..7));
            assert_eq!(records, &run(&experiment, 2, fast).learners[i].records);
            for (position, episode) in [10, 50].into_iter().enumerate() {
                let (one, other) = (
                    regrets(&state, i, position),
                    regrets(&reference, i, position),
                );
                // The fast loop sums from counts.
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
                assert!(one.iter().zip(&other).all(near));
                let measured = Measured::of(one);
                let point = result.curve.iter().find(|point| point.episode == episode);
                let point = point.unwrap();
                assert_eq!(
                    (measured.mean, measured.stderr),
                    (point.regret, point.stderr)
                );
                let mut sorted = regrets(&state, i, position);
                sorted.sort_by(f64::total_cmp);
                assert_eq!(point.quantiles.unwrap().q50, sorted[3]);
            }
        }
    }
}

#[test]
fn merged_shards_have_the_records_of_the_whole() {
    let whole = experiment();
    let part = |shard: &str| Experiment {
        shard: shard.parse().unwrap(),
        ..whole.clone()
    };
    let by = Loop::PairedRuns(Level::best());
    let mut state = run(&part("2/2"), 1, by);
    let other = serde_json::to_string(&run(&part("1/2"), 1, by)).unwrap();
    whole
        .merge(&mut state, &serde_json::from_str(&other).unwrap())
        .unwrap();
    let mut expected = run(&whole, 1, by);
    for (mine, expected) in state.learners.iter_mut().zip(&mut expected.learners) {
        (mine.seconds, expected.seconds) = (0.0, 0.0);
    }
    assert_eq!(state, expected);
}

#[test]
fn records_go_to_a_sink_instead_of_the_state() {
    let experiment = experiment();
    let kept = run(&experiment, 1, Loop::Reference);
    let (mut state, stop) = (experiment.state(), AtomicBool::new(false));
    let mut control = Control {
        threads: 2,
        device: Device::processor(),
        stop: &stop,
        watch: &mut |_, _| {},
    };
    let mut sunk = vec![Vec::new(); 2];
    let sink = &mut |learner: usize, records| {
        sunk[learner].extend::<Vec<_>>(records);
        Ok(())
    };
    let by = Loop::Reference;
    experiment
        .run_with(&mut state, &mut control, by, Some(sink))
        .unwrap();
    assert!(
        state
            .learners
            .iter()
            .all(|learner| learner.records.is_empty())
    );
    for (mut sunk, kept) in sunk.into_iter().zip(kept.learners) {
        sunk.sort_by_key(|record: &crate::results::RunRecord| record.run);
        assert_eq!(sunk, kept.records);
    }
    let full = &mut |_, _| Err(SimError::Record("the disk is full".into()));
    let mut state = experiment.state();
    let error = experiment.run_with(&mut state, &mut control, by, Some(full));
    assert_eq!(error.unwrap_err().to_string(), "the disk is full");
}

/// In `feedback-gap` the paper's width stops exploring after an unlucky draw and then stops for ever, at a loss of 0.05 per episode.
#[test]
fn stuck_runs_are_those_that_never_choose_the_best_action_again() {
    let file = emab_problem::ProblemFile::builtin("feedback-gap");
    let experiment = Experiment::builder(&file.unwrap().unwrap())
        .learners(["feedbal", "feedbal:width=sound", "benchmark"])
        .episodes(2000)
        .runs(40)
        .record_runs(vec![1000])
        .build()
        .unwrap();
    for by in [Loop::Reference, Loop::PairedRuns(Level::best())] {
        let state = run(&experiment, 2, by);
        let results = experiment.results(&state);
        for record in &state.learners[0].records {
            let late = record.at[1].0 - record.at[0].0;
            assert_eq!(record.stuck, Some(late > 49.0), "{record:?}");
        }
        let stuck = state.learners[0]
            .records
            .iter()
            .filter(|record| record.stuck == Some(true));
        let share = stuck.count() as f64 / 40.0;
        assert_eq!(results[0].stuck, Some(share));
        assert!(share > 0.5 && share < 1.0, "{share}");
        let groups = results[0].groups.unwrap();
        assert!(
            (groups.upper_share - share).abs() < 0.1 && groups.upper > 90.0,
            "{groups:?}"
        );
        assert_eq!((results[1].stuck, results[2].stuck), (Some(0.0), Some(0.0)));
        assert_eq!((results[1].groups, results[2].groups), (None, None));
    }
}
