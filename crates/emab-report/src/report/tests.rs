use std::sync::atomic::AtomicBool;

use emab_problem::ProblemFile;
use emab_sim::background::run_command;
use emab_sim::{Control, Device, Experiment};

use super::*;

/// A run of two learners on a built-in problem.
fn entry(folder: &str, problem: &str, learners: [&str; 2]) -> Entry {
    let file = ProblemFile::builtin(problem).unwrap().unwrap();
    let experiment = Experiment::builder(&file)
        .learners(learners)
        .episodes(50)
        .runs(4)
        .count_choices(true)
        .build()
        .unwrap();
    let mut state = experiment.state();
    let stop = AtomicBool::new(false);
    let mut control = Control {
        threads: 1,
        device: Device::processor(),
        stop: &stop,
        watch: &mut |_, _| {},
    };
    experiment.run(&mut state, &mut control).unwrap();
    let result = experiment.document(&state, file.hash()).unwrap();
    let labels = result.learners.iter().map(|learner| learner.label.clone());
    let places = experiment.regret_by_state(&state).unwrap().unwrap();
    let places = labels.zip(places).collect();
    Entry {
        folder: folder.into(),
        command: run_command(&result, "problem.json", &[]),
        content: Content::Run(Box::new(RunContent {
            background: Some(RunBackground::of(&result, file).unwrap()),
            result,
            places,
        })),
    }
}

fn run_of(entry: &mut Entry) -> &mut RunContent {
    match &mut entry.content {
        Content::Run(run) => run,
        _ => panic!("not a run"),
    }
}

#[test]
fn a_run_has_its_problem_soundness_bounds_and_command() {
    let html = report(&[entry("out", "feedback-gap", ["feedbal", "benchmark"])]).html();
    for part in [
        "<h1>Learners on feedback gap</h1>",
        "The confidence widths of <code>feedbal</code> are not sound here",
        "Theorem 1, delta = ",
        "best fixed sequence",
        "<code>width=paper</code>",
        "Without regret: <code>benchmark</code>",
        "emab run feedback-gap \\\n    --learner feedbal \\\n    --learner benchmark \\\n    --episodes 50",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("There is no figure"));
    // Means and quantiles over episodes, and where feedbal pays regret.
    assert_eq!(html.matches("<img").count(), 3);
    assert_eq!(html.matches("<summary>Numbers of this figure").count(), 3);
}

#[test]
fn results_of_earlier_versions_have_no_quantiles() {
    let mut entry = entry("out", "parity", ["feedbal", "ucb1"]);
    let run = run_of(&mut entry);
    for learner in &mut run.result.learners {
        learner.stuck = None;
        learner
            .curve
            .iter_mut()
            .for_each(|point| point.quantiles = None);
    }
    run.background = None;
    run.places.clear();
    let html = report(&[entry]).html();
    assert!(html.contains("Quantiles and stuck runs are not recorded"));
    assert!(html.contains("Regret by step and state is not recorded"));
}

#[test]
fn several_runs_are_compared_first() {
    let gap = entry("a", "feedback-gap", ["feedbal", "ucb1"]);
    let again = entry("b", "feedback-gap", ["feedbal", "random"]);
    let html = report(&[gap, again]).html();
    assert!(html.contains("All results are of the same problem"));
    assert!(html.contains("<h2 id=\"part-1\">Comparison</h2>"));
    // All curves; means, quantiles and two maps of each folder.
    assert_eq!(html.matches("<img").count(), 1 + 2 * 4);

    let gap = entry("a", "feedback-gap", ["feedbal", "ucb1"]);
    let other = entry("b", "parity", ["feedbal", "ucb1"]);
    let html = report(&[gap, other]).html();
    assert!(html.contains("The problems differ"));
}

#[test]
fn texts_of_a_problem_are_escaped() {
    let mut entry = entry("<b>", "parity", ["feedbal", "ucb1"]);
    run_of(&mut entry).result.problem = "<script>alert(1)</script>".into();
    let html = report(&[entry]).html();
    assert!(!html.contains("<script"));
    assert!(html.contains("&lt;script&gt;"));
}
