//! Stops an experiment and resumes it.

use std::sync::atomic::{AtomicBool, Ordering};

use emab_sim::{Control, Device, Experiment, Finish, State};

/// The final state of an experiment that was interrupted at least once and resumed from a saved state.
pub fn interrupted(experiment: &Experiment) -> State {
    // On a fast machine, where all runs end before the first stop, the stop comes sooner.
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
                    device: Device::processor(),
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
