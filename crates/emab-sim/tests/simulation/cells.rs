//! Cells that are played several at once, as on a card.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use emab::learners::LearnerConfig;
use emab_problem::ProblemFile;
use emab_sim::compare::{Cell, CellControl, run_cells};
use emab_sim::{Control, Device, Finish, Shard, State};

/// Cells that take different times, so that later ones end before earlier ones.
fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for name in ["resource", "parity", "treatment"] {
        let problem = ProblemFile::builtin(name).unwrap().unwrap();
        for learner in ["feedbal", "thompson", "q-learning"] {
            for episodes in [2_000, 20] {
                cells.push(Cell {
                    learner: LearnerConfig::parse(learner, problem.learning()).unwrap(),
                    problem: problem.clone(),
                    episodes,
                    runs: 4,
                    shard: Shard::WHOLE,
                    seed: 1,
                    checkpoints: vec![10],
                    recorded: Some(vec![10]),
                });
            }
        }
    }
    cells
}

fn play(cell: &Cell, control: &mut Control<'_>) -> Result<Option<State>, String> {
    let experiment = cell.experiment(None).map_err(|error| error.to_string())?;
    let mut state = experiment.state();
    let finish = experiment
        .run(&mut state, control)
        .map_err(|error| error.to_string())?;
    state.learners.iter_mut().for_each(|l| l.seconds = 0.0);
    Ok((finish == Finish::Complete).then_some(state))
}

fn control<'a>(
    at_once: usize,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(usize, u64),
) -> CellControl<'a> {
    CellControl {
        threads: 2,
        device: Device::processor(),
        at_once,
        stop,
        watch,
    }
}

/// The results in the order of the cells, by the number of cells at once.
fn results(at_once: usize) -> Vec<State> {
    let cells: Vec<_> = cells().into_iter().enumerate().collect();
    let stop = AtomicBool::new(false);
    let mut watched = Vec::new();
    let mut watch = |number, episodes| watched.push((number, episodes));
    let mut kept = Vec::new();
    let finish = run_cells(
        &cells,
        |(_, cell)| cell.share() * cell.episodes,
        &mut control(at_once, &stop, &mut watch),
        |(_, cell), control| play(cell, control),
        |(i, _), state| {
            kept.push((*i, state));
            Ok(())
        },
    );
    assert_eq!(finish, Ok(Finish::Complete));
    // Progress grows, and ends within the number of cells and of episodes.
    assert!(watched.is_sorted_by_key(|(_, episodes)| *episodes));
    let (numbers, total) = (1..=cells.len(), 9 * 4 * 2_020);
    assert!(watched.iter().all(|(number, _)| numbers.contains(number)));
    assert!(watched.iter().all(|(_, episodes)| *episodes <= total));
    kept.sort_by_key(|(i, _)| *i);
    let (order, states): (Vec<_>, Vec<_>) = kept.into_iter().unzip();
    assert!(order.into_iter().eq(0..cells.len()), "each cell once");
    states
}

#[test]
fn several_at_once_have_the_same_results() {
    let expected = results(1);
    for at_once in [2, 5, 100] {
        assert!(results(at_once) == expected, "{at_once} at once");
    }
}

#[test]
fn no_cells_are_complete() {
    let stop = AtomicBool::new(false);
    for at_once in [1, 8] {
        let finish = run_cells(
            &[] as &[Cell],
            |_| 0,
            &mut control(at_once, &stop, &mut |_, _| {}),
            play,
            |_, _| Ok(()),
        );
        assert_eq!(finish, Ok(Finish::Complete));
    }
}

/// Runs numbers as cells.
fn run_numbers(
    count: usize,
    at_once: usize,
    stop: &AtomicBool,
    play: impl Fn(usize) -> Result<Option<usize>, String> + Sync,
    mut keep: impl FnMut(usize) -> Result<(), String>,
) -> Result<Finish, String> {
    let numbers: Vec<usize> = (0..count).collect();
    run_cells(
        &numbers,
        |_| 1,
        &mut control(at_once, stop, &mut |_, _| {}),
        |i, control| {
            assert_eq!(control.threads, 2);
            play(*i)
        },
        |_, result| keep(result),
    )
}

#[test]
fn so_many_are_played_at_once() {
    const AT_ONCE: usize = 3;
    let (playing, changed) = (Mutex::new(0), Condvar::new());
    let (most, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let finish = run_numbers(
        20,
        AT_ONCE,
        &stop,
        |i| {
            let mut count = playing.lock().unwrap();
            *count += 1;
            most.fetch_max(*count, Ordering::Relaxed);
            changed.notify_all();
            // The first ones wait for each other.
            if i < AT_ONCE {
                let wait = Duration::from_secs(60);
                let all = |_: &mut usize| most.load(Ordering::Relaxed) < AT_ONCE;
                let (waited, ended) = changed.wait_timeout_while(count, wait, all).unwrap();
                assert!(!ended.timed_out());
                count = waited;
            }
            *count -= 1;
            Ok(Some(i))
        },
        |_| Ok(()),
    );
    assert_eq!(finish, Ok(Finish::Complete));
    assert_eq!(most.into_inner(), AT_ONCE);
}

#[test]
fn an_error_ends_it_and_is_returned() {
    for at_once in [1, 4] {
        let (played, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let mut kept = Vec::new();
        let finish = run_numbers(
            10_000,
            at_once,
            &stop,
            |i| {
                played.fetch_add(1, Ordering::Relaxed);
                match i {
                    7 => Err("cell 7".into()),
                    _ => Ok(Some(i)),
                }
            },
            |i| {
                kept.push(i);
                Ok(())
            },
        );
        assert_eq!(finish, Err("cell 7".into()));
        // What ended before it is kept, and so is what was being played.
        assert!((0..at_once.min(2)).all(|i| kept.contains(&i)));
        assert!(!kept.contains(&7));
        assert!(played.into_inner() < 10_000, "the others are not played");
    }
}

#[test]
fn an_error_while_a_result_is_kept_ends_it() {
    for at_once in [1, 4] {
        let stop = AtomicBool::new(false);
        let play = |i| Ok(Some(i));
        let keep = |i| match i {
            3 => Err("the disk is full".into()),
            _ => Ok(()),
        };
        let finish = run_numbers(10_000, at_once, &stop, play, keep);
        assert_eq!(finish, Err("the disk is full".into()));
    }
}

#[test]
fn stop_ends_it() {
    for at_once in [1, 4] {
        let stop = AtomicBool::new(false);
        let mut kept = 0;
        let finish = run_numbers(
            10_000,
            at_once,
            &stop,
            // As an experiment does, a stopped cell has no result.
            |i| Ok((!stop.load(Ordering::Relaxed)).then_some(i)),
            |i| {
                kept += 1;
                if i == 5 {
                    stop.store(true, Ordering::Relaxed);
                }
                Ok(())
            },
        );
        assert_eq!(finish, Ok(Finish::Stopped));
        assert!((1..10_000).contains(&kept), "{kept}");
    }
}

#[test]
fn experiments_that_are_stopped_have_no_result() {
    let mut cells = cells();
    cells.iter_mut().for_each(|cell| cell.episodes = 1_000_000);
    cells.iter_mut().for_each(|cell| cell.runs = 1_000);
    for at_once in [1, 4] {
        let stop = AtomicBool::new(false);
        let finish = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                stop.store(true, Ordering::Relaxed);
            });
            run_cells(
                &cells,
                |cell| cell.share() * cell.episodes,
                &mut control(at_once, &stop, &mut |_, _| {}),
                play,
                |_, _| panic!("no cell can end so soon"),
            )
        });
        assert_eq!(finish, Ok(Finish::Stopped));
    }
}

#[test]
fn progress_is_reported_while_cells_are_played() {
    let stop = AtomicBool::new(false);
    let reported = AtomicBool::new(false);
    let mut watch = |_, _| reported.store(true, Ordering::Relaxed);
    let finish = run_cells(
        &[1, 2],
        |_| 1,
        &mut control(2, &stop, &mut watch),
        |_, _| {
            // Ends when progress was reported while it was played.
            while !reported.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            Ok::<_, String>(Some(()))
        },
        |_, ()| Ok(()),
    );
    assert_eq!(finish, Ok(Finish::Complete));
}
