//! An experiment that is stopped and taken up again.

use std::sync::atomic::{AtomicBool, Ordering};

use emab_sim::{Control, Experiment, Finish, State};

/// The state in the end, of an experiment that was interrupted at least once and taken up as from a file.
pub fn interrupted(experiment: &Experiment) -> State {
    // Whatever the machine: where all was over before the first stop, it comes sooner.
    for microseconds in [60_000, 20_000, 7_000, 2_000, 700, 200, 50] {
        let mut state = experiment.state();
        for stops in 0..10_000 {
            let stop = AtomicBool::new(false);
            let finish = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_micros(microseconds));
                    stop.store(true, Ordering::Relaxed);
                });
                let mut control = Control {
                    threads: 2,
                    stop: &stop,
                    watch: &mut |_, _| {},
                };
                experiment.run(&mut state, &mut control).unwrap()
            });
            if finish == Finish::Complete {
                if stops > 0 {
                    return state;
                }
                break;
            }
            state = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        }
    }
    panic!("it was never interrupted, or no run ever ended")
}
