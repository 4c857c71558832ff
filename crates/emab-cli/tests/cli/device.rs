//! `--device`, on machines without a card; where there is one, `benches/gpu/run` compares both devices instead.

use emab_sim::{Device, DeviceChoice};

use crate::common::{json, said, timeless};
use crate::test_dir::{SWEEP, TestDir};

/// Calls of every command that has `--device`, with what it needs.
const CALLS: [&str; 4] = [
    "run parity --learner feedbal --learner q-learning --runs 5 --episodes 50",
    "run parity --runs 5 --episodes 50 --condition delay=5",
    "sweep @/sweep.toml",
    "arena parity --learner feedbal --learner ucb1 --runs 5 --episodes 50",
];

/// Whether there is nothing of NVIDIA, as the examples of docs/gpu.md say.
pub fn has_no_driver() -> bool {
    let error = Device::open(DeviceChoice::Gpu).err();
    error.is_some_and(|error| error.to_string().ends_with("is not installed"))
}

/// Why there is no card, as `--device gpu` says; none if there is one.
fn why_none() -> Option<String> {
    let error = Device::open(DeviceChoice::Gpu).err();
    if error.is_none() {
        println!("skipped: this machine has a card");
    }
    error.map(|error| error.to_string())
}

#[test]
fn without_a_card_gpu_is_an_error() {
    let Some(why) = why_none() else { return };
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    for call in CALLS {
        let remedy = "use --device cpu, or auto to use a GPU where there is one";
        let words = format!("error: --device gpu: no GPU was found: | {why} | {remedy}");
        dir.rejects(&format!("{call} --device gpu"), 1, &words);
    }
    // Nothing is written.
    dir.rejects("run parity --device gpu --out @/never", 1, "");
    dir.rejects("sweep @/sweep.toml --device gpu --out @/never", 1, "");
    dir.rejects("arena parity --quick --device gpu --out @/never", 1, "");
    assert!(!dir.exists("never"));
}

#[test]
fn without_a_card_auto_uses_the_processor_and_says_so_once() {
    let Some(why) = why_none() else { return };
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    let note = format!("note: the processor is used: {why}");
    for call in CALLS {
        let call = dir.call(call);
        let (_, quiet) = said(&call);
        let (_, noted) = said(&format!("{call} --device auto"));
        let [quiet, noted] = [&quiet, &noted].map(|text| text.lines().collect::<Vec<_>>());
        assert!(!quiet.contains(&&*note));
        let (notes, others): (Vec<_>, Vec<_>) = noted.into_iter().partition(|line| *line == note);
        assert_eq!((notes.len(), others), (1, quiet), "{call}");
        let call = format!("{call} --json --device");
        let [cpu, auto] = ["cpu", "auto"].map(|device| timeless(json(&format!("{call} {device}"))));
        assert_eq!(cpu, auto, "{call}");
    }
    // The text too, where it has no times.
    let call = "run parity --runs 5 --episodes 50 --device";
    assert_eq!(
        said(&format!("{call} cpu")).0,
        said(&format!("{call} auto")).0
    );
}

#[test]
fn the_device_is_no_part_of_a_result() {
    let dir = TestDir::new();
    let call = "run treatment --learner feedbal --learner ucb1 --runs 5 --episodes 50 --out";
    dir.emab(&format!("{call} @/one"));
    let said = dir.emab(&format!("{call} @/one --device auto"));
    assert!(said.contains("nothing is computed"), "{said}");
    dir.emab(&format!("{call} @/two --device auto"));
    dir.assert_same_run("one", "two");
}
