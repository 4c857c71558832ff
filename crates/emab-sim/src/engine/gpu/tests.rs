//! The kernels, compiled for the processor, compared with the fast loop: the same bits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emab::learners::LearnerConfig;
use emab::{Conditions, Names, Noise, Problem, Scenario, Spec};
use emab_problem::{BUILTIN, FAMILIES, Family, ProblemFile, sha256_hex};

use super::card::{GpuError, Kernel};
use super::device::{Device, DeviceChoice};
use super::host::HostCard;
use super::memory::MOST_THREADS;
use crate::engine::Loop;
use crate::engine::equivalence_tests::{builder, every_shape, learning, run};
use crate::engine::simd::Level;
use crate::{Control, Experiment, ExperimentBuilder, Finish, Progress, State};

/// Every learner that has a kernel.
const LEARNERS: [&str; 11] = [
    "feedbal",
    "feedbal:stop_bias=0.01",
    "feedbal:ties=random",
    "feedbal:width=sound",
    "feedbal:width=bernstein",
    "random",
    "benchmark",
    "best-fixed",
    "ucb1",
    "ucb1v",
    "thompson",
];

/// Shared memory for no run, for few, and for many.
const SHARED: [u32; 3] = [0, 6_000, 230_000];

fn run_on(experiment: &Experiment, device: &Device) -> State {
    run_from(experiment.state(), experiment, device.clone())
}

fn run_from(mut state: State, experiment: &Experiment, device: Device) -> State {
    let finish = play_until(experiment, &mut state, device, u64::MAX / 30);
    assert_eq!(finish, Finish::Complete);
    state
}

/// Plays an experiment on a card and returns its state with the kernels that were launched; a notice is an error.
fn play(experiment: &Experiment, card: HostCard) -> (State, Vec<Kernel>) {
    let launched = card.launched.clone();
    let device = Device::of_card(card);
    let state = run_on(experiment, &device);
    assert_eq!(device.take_notices(), [""; 0]);
    let launched = launched.lock().unwrap();
    (state, launched.iter().map(|(kernel, _)| *kernel).collect())
}

/// Compares cards of several sizes with the processor, with and without counts of choices; returns the kernels.
fn compare(experiment: &ExperimentBuilder) -> Vec<Kernel> {
    let mut launched = Vec::new();
    for count_choices in [false, true] {
        let experiment = experiment.clone().count_choices(count_choices);
        let experiment = experiment.build().unwrap();
        let expected = run(&experiment, Loop::PairedRuns(Level::best()));
        for shared in SHARED {
            let (state, kernels) = play(&experiment, HostCard::new(shared));
            for (state, expected) in state.learners.iter().zip(&expected.learners) {
                assert_eq!(state, expected, "{shared} {count_choices}");
            }
            launched.extend(kernels);
        }
    }
    launched
}

fn of_file(file: &ProblemFile) -> ExperimentBuilder {
    let problem = file.problem().unwrap();
    let fits = |text: &&str| {
        let config = LearnerConfig::parse(text, file.learning());
        config.is_ok_and(|config| config.build(problem.spec(), Some(&problem)).is_ok())
    };
    let fit: Vec<&str> = LEARNERS.into_iter().filter(fits).collect();
    assert!(fit.len() >= 5, "{fit:?}");
    builder(problem, file.learning(), &fit).record_runs(vec![20, 100])
}

#[test]
fn every_built_in_problem() {
    let mut launched = Vec::new();
    for builtin in BUILTIN {
        let file = ProblemFile::builtin(builtin.name).unwrap().unwrap();
        launched.extend(compare(&of_file(&file)));
    }
    for kernel in Kernel::ALL {
        assert!(launched.contains(&kernel), "{kernel:?}");
    }
}

#[test]
fn random_problems() {
    for i in 0..50 {
        let family = Family::parse(FAMILIES[i % FAMILIES.len()].name).unwrap();
        let file = family.problem(7, i as u64).unwrap();
        compare(&of_file(&file).episodes(150).runs(3));
    }
}

#[test]
fn problems_of_every_shape() {
    let learners = [
        "feedbal",
        "feedbal:ties=random",
        "feedbal:width=bernstein,feedback_spread=1",
        "random",
        "ucb1v",
        "thompson",
    ];
    for problem in every_shape() {
        compare(&builder(problem, &learning(), &learners).episodes(200));
    }
}

/// Learners with a kernel for problems with many pairs.
const ON_MANY_PAIRS: [&str; 5] = [
    "feedbal",
    "feedbal:width=bernstein,feedback_spread=1",
    "thompson",
    "random",
    "optimal",
];

/// A problem with 2,000 pairs.
fn many_pairs() -> Arc<Problem> {
    large(20, 100, 4)
}

fn large(horizon: usize, states: usize, actions: usize) -> Arc<Problem> {
    let names = |n| Names::Count(n, "");
    let spec = Spec::new(horizon, names(states), names(actions), names(2)).unwrap();
    let spec = spec.transition(move |t, x, a, f| ((3 * x + 7 * a + 11 * f + t) % states) as f64);
    let mut model = emab::Model::new(
        |_t, x, a, f| [0.3, 0.5, 0.7][if f == 0 { (x + a) % 3 } else { 2 - (x + a) % 3 }],
        |t, x, _a, _f| ((x * 31 + t) % 10) as f64 / 10.0,
    )
    .cost(|_t, x, a, _f| ((x + a) % 3) as f64 / 50.0);
    model.reward_noise = Noise::normal(0.1).unwrap();
    let problem = Problem::new("large", spec, model);
    Arc::new(problem)
}

#[test]
fn lists_of_visited_rows() {
    let launched = compare(&builder(many_pairs(), &learning(), &ON_MANY_PAIRS));
    assert!(launched.contains(&Kernel::FeedBal));
}

/// Counts are kept at two checkpoints, and at one, before they are added up.
#[test]
fn many_actions() {
    for actions in [600, 2000] {
        let problem = large(5, 12, actions);
        compare(&builder(problem, &learning(), &["feedbal", "random"]).runs(3));
    }
}

#[test]
fn threads_play_several_runs() {
    let file = ProblemFile::builtin("treatment").unwrap().unwrap();
    let of_file = of_file(&file).record_runs(vec![20]);
    for builder in [of_file, builder(many_pairs(), &learning(), &ON_MANY_PAIRS)] {
        let experiment = builder.runs(300).episodes(50).count_choices(false);
        let experiment = experiment.build().unwrap();
        let expected = run(&experiment, Loop::PairedRuns(Level::best()));
        for shared in SHARED {
            let mut card = HostCard::new(shared);
            (card.limits.multiprocessors, card.most_threads) = (1, 64);
            assert_eq!(play(&experiment, card).0, expected, "{shared}");
        }
    }
}

#[test]
fn the_largest_counts_of_sixteen_bits() {
    for name in ["resource", "treatment"] {
        let file = ProblemFile::builtin(name).unwrap().unwrap();
        let problem = file.problem().unwrap();
        let long = builder(problem, file.learning(), &["feedbal"]).episodes(65_000);
        let launched = compare(&long.runs(2));
        let short = |kernel: &Kernel| *kernel != Kernel::FeedBal;
        assert!(launched.iter().any(short), "{name}: {launched:?}");
    }
}

#[test]
fn counts_beyond_sixteen_bits() {
    let file = ProblemFile::builtin("resource").unwrap().unwrap();
    let problem = file.problem().unwrap();
    let long = builder(problem, file.learning(), &["feedbal"]).episodes(70_000);
    let launched = compare(&long.runs(2));
    assert!(launched.iter().all(|kernel| *kernel == Kernel::FeedBal));
}

/// Two learners; each has two launches if choices are counted.
fn small(count_choices: bool) -> Experiment {
    let file = ProblemFile::builtin("resource").unwrap().unwrap();
    let problem = file.problem().unwrap();
    let builder = builder(problem, file.learning(), &["feedbal", "ucb1"]);
    let builder = builder
        .runs(2_000)
        .episodes(30)
        .count_choices(count_choices);
    builder.build().unwrap()
}

/// Plays what is not done until `stop_after` runs of 30 episodes are done.
fn play_until(
    experiment: &Experiment,
    state: &mut State,
    device: Device,
    stop_after: u64,
) -> Finish {
    let stop = AtomicBool::new(false);
    let mut watch = |progress: Progress, _: Option<&State>| {
        if progress.done >= stop_after * 30 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let mut control = Control {
        threads: 2,
        device,
        stop: &stop,
        watch: &mut watch,
    };
    let finish = experiment.run(state, &mut control).unwrap();
    state.learners.iter_mut().for_each(|l| l.seconds = 0.0);
    finish
}

#[test]
fn a_stopped_experiment_continues_on_any_device() {
    let experiment = small(false);
    let expected = run(&experiment, Loop::PairedRuns(Level::best()));
    for (first, second) in [(true, false), (false, true), (true, true)] {
        let device = |on_card| match on_card {
            true => Device::of_card(HostCard::new(100_000)),
            false => Device::processor(),
        };
        let mut state = experiment.state();
        // The first learner is done, the second is not.
        let finish = play_until(&experiment, &mut state, device(first), 2_000);
        assert_eq!(finish, Finish::Stopped);
        assert_eq!(run_from(state, &experiment, device(second)), expected);
    }
}

#[test]
fn a_launch_is_stopped_in_the_middle() {
    let file = ProblemFile::builtin("resource").unwrap().unwrap();
    let problem = file.problem().unwrap();
    let builder = builder(problem, file.learning(), &["feedbal"]).count_choices(false);
    let experiment = builder.runs(300).episodes(30_000).build().unwrap();
    let mut state = experiment.state();
    let device = || Device::of_card(HostCard::new(50_000));
    let finish = play_until(&experiment, &mut state, device(), 1);
    assert_eq!(finish, Finish::Stopped);
    assert!(state.learners[0].done.len() < 300);
    assert_eq!(
        run_from(state, &experiment, device()),
        run_on(&experiment, &Device::processor())
    );
}

#[test]
fn a_launch_of_short_runs_is_stopped_too() {
    let file = ProblemFile::builtin("resource").unwrap().unwrap();
    let problem = file.problem().unwrap();
    let builder = builder(problem, file.learning(), &["feedbal"]).count_choices(false);
    let runs = 100_000;
    let experiment = builder.runs(runs).episodes(30).build().unwrap();
    let mut state = experiment.state();
    let device = Device::of_card(HostCard::new(50_000));
    assert_eq!(
        play_until(&experiment, &mut state, device, 1),
        Finish::Stopped
    );
    assert!(state.learners[0].done.len() < runs);
}

#[test]
fn the_processor_plays_what_a_failed_card_leaves() {
    let experiment = small(true);
    let expected = run(&experiment, Loop::PairedRuns(Level::best()));
    for fails_after in 0..4 {
        let card = HostCard::new(100_000);
        card.fails_after.store(fails_after, Ordering::Relaxed);
        let device = Device::of_card(card);
        let state = run_on(&experiment, &device);
        assert_eq!(state, expected);
        let notices = device.take_notices();
        assert_eq!(
            notices,
            ["the GPU failed, and the processor plays what is left: a launch failed: as asked"]
        );
        assert!(device.card().is_none());
    }
}

#[test]
fn a_notice_says_what_the_processor_plays() {
    let file = ProblemFile::builtin("treatment").unwrap().unwrap();
    let problem = file.problem().unwrap();
    let notices = |builder: ExperimentBuilder, card: HostCard| {
        let experiment = builder.build().unwrap();
        let device = Device::of_card(card);
        play_until(
            &experiment,
            &mut experiment.state(),
            device.clone(),
            u64::MAX / 30,
        );
        // Not said again.
        play_until(
            &experiment,
            &mut experiment.state(),
            device.clone(),
            u64::MAX / 30,
        );
        device.take_notices()
    };
    let of = |learners: &[&str]| builder(problem.clone(), file.learning(), learners).episodes(20);
    assert_eq!(
        notices(of(&["feedbal", "q-learning"]), HostCard::new(100_000)),
        ["q-learning is played on the processor: there is no kernel for it"]
    );
    let conditions = Scenario {
        conditions: Conditions::default().with(["delay=5"]).unwrap(),
        ..Scenario::default()
    };
    assert_eq!(
        notices(
            of(&["feedbal"]).scenario(conditions),
            HostCard::new(100_000)
        ),
        ["conditions and drift are played on the processor"]
    );
    let mut tiny = HostCard::new(0);
    tiny.limits.free = 1000;
    let [notice] = &notices(of(&["feedbal"]), tiny)[..] else {
        panic!("one notice");
    };
    assert!(
        notice.starts_with("feedbal is played on the processor: "),
        "{notice}"
    );
}

#[test]
fn a_learner_waits_for_the_memory_of_another() {
    let device = Device::of_card(HostCard::new(0));
    let stop = AtomicBool::new(false);
    let too_small = || GpuError::Memory("none is left".into());
    let mut other = Some(device.wait_for_memory(&stop, || Ok(())).unwrap());
    let mut tries = 0;
    let waited = device.wait_for_memory(&stop, || {
        tries += 1;
        match tries {
            1 | 2 => Err(too_small()),
            3 => {
                other = None;
                Err(too_small())
            }
            _ => Ok(tries),
        }
    });
    let (playing, tries) = waited.unwrap();
    assert_eq!(tries, 4);

    let nothing = || Err::<(), _>(too_small());
    stop.store(true, Ordering::Relaxed);
    assert!(device.wait_for_memory(&stop, nothing).is_err());
    stop.store(false, Ordering::Relaxed);
    drop(playing);
    assert!(device.wait_for_memory(&stop, nothing).is_err());
}

#[test]
fn a_missing_card_is_named() {
    // Machines of tests have no card; on others there is nothing to check.
    if let Err(error) = Device::open(DeviceChoice::Gpu) {
        let error = error.to_string();
        assert!(error.starts_with("no GPU was found: "), "{error}");
        let device = Device::open(DeviceChoice::Auto).unwrap();
        assert_eq!(
            device.take_notices(),
            [format!("the processor is used: {error}")]
        );
        assert_eq!(device.gpu_name(), None);
    }
}

#[test]
fn the_compiled_kernels_are_those_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine/gpu");
    let entries = std::fs::read_dir(folder.join("kernel")).unwrap();
    let mut sources: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| !path.ends_with("host.cpp"));
    sources.sort();
    let text: Vec<u8> = sources
        .iter()
        .flat_map(|path| std::fs::read(path).unwrap())
        .collect();
    let most_threads = format!(".maxntid {MOST_THREADS}, 1, 1");
    for entry in std::fs::read_dir(folder.join("ptx")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "ptx") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(&most_threads), "{}", path.display());
        }
    }
    let compiled = std::fs::read_to_string(folder.join("ptx/sources.sha256")).unwrap();
    assert_eq!(sha256_hex(&text), compiled.trim(), "run tools/kernels");
}
