//! Nothing is overwritten unasked: the same call confirms or continues, another one is rejected and `--force` replaces
//! files of emab only; one process at a time writes into a folder.

use std::collections::BTreeMap;
use std::fs;
use std::process::Child;
use std::time::Duration;

use crate::common::{said, start, timeless};
use crate::test_dir::{OWN, SWEEP, TestDir};

/// The content of every file of a folder and of the folders in it.
fn files(dir: &TestDir, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for name in dir.names(folder) {
        let path = format!("{folder}/{name}");
        match fs::metadata(dir.at(&path)).unwrap().is_dir() {
            true => all.extend(files(dir, &path)),
            false => drop(all.insert(path.clone(), dir.read(&path))),
        }
    }
    all
}

/// A folder with the files of [`CALLS`].
fn inputs() -> TestDir {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    dir.write("own.toml", OWN);
    dir
}

/// One command of each kind, with a variant of it that gives another result, and words on the first result.
const CALLS: [[&str; 3]; 4] = [
    [
        "run parity --episodes 20 --runs 3",
        "--seed 2",
        "contains a run of `parity` with feedbal, 3 runs of 20 episodes, seed 1; this call has seed 2; choose another folder, \
         or --force replaces it",
    ],
    [
        "run parity --episodes 20 --runs 3 --shard 1/2",
        "--learner random",
        "contains shard 1/2 of a run of `parity` with feedbal, 3 runs of 20 episodes, seed 1; this call has the learner random",
    ],
    [
        "arena @/own.toml --learner random --episodes 20 --runs 3",
        "--seed 2",
        "contains an arena, 2 finished cells of 3 runs of 20 episodes, seed 1; 2 of them are not in this call, which has 3 runs of 20 episodes, seed 2",
    ],
    [
        "sweep @/sweep.toml",
        "--shard 1/2",
        "10 finished cells; this call is shard 1/2",
    ],
];

#[test]
fn the_same_call_confirms_and_another_one_needs_force() {
    let dir = inputs();
    for (i, [call, other, words]) in CALLS.into_iter().enumerate() {
        let out = format!("out-{i}");
        let call = format!("{call} --out @/{out}");
        let (first, _) = said(&dir.call(&call));
        let written = files(&dir, &out);
        let (again, note) = said(&dir.call(&call));
        assert_eq!(first, again, "{call}");
        assert!(note.contains(" already; nothing is computed"), "{note}");
        assert_eq!(written, files(&dir, &out), "{call}");

        dir.rejects(&format!("{call} {other}"), 2, words);
        assert_eq!(written, files(&dir, &out), "{call}");
        dir.write(&format!("{out}/notes.txt"), "mine");
        dir.emab(&format!("{call} {other} --force"));
        assert_ne!(written, files(&dir, &out), "{call}");
        // Its own result is recognised, and files of other programs stay.
        let (_, note) = said(&dir.call(&format!("{call} {other}")));
        assert!(note.contains(" already; nothing is computed"), "{note}");
        assert_eq!(dir.text(&format!("{out}/notes.txt")), "mine");
    }
}

#[test]
fn every_difference_of_a_run_is_named() {
    let dir = TestDir::new();
    dir.emab("run parity --episodes 20 --runs 3 --out @/out");
    let text = said("problems parity").0;
    dir.write("parity.toml", &text.replace("sigma2", "# sigma2"));
    dir.rejects_each(
        2,
        "
        run parity --episodes 20 --runs 4 --out @/out                    => this call has 4 runs; choose
        run parity --episodes 30 --runs 3 --out @/out                    => this call has 30 episodes; choose
        run parity --episodes 20 --runs 3 --checkpoints 5 --out @/out    => this call has other checkpoints; choose
        run parity --episodes 20 --runs 3 --shard 1/1 --seed 3 --out @/out => this call has seed 3; choose
        run resource --episodes 20 --runs 3 --out @/out                  => this call has the problem `resource collection`; choose
        run parity --episodes 20 --runs 3 --condition delay=3 --out @/out => another file of the problem `parity`; choose
        run @/parity.toml --episodes 20 --runs 3 --out @/out             => another file of the problem `parity`; choose
        run parity --episodes 20 --runs 3 --learner feedbal --learner random --out @/out => the learners feedbal, random; choose
        run parity --force                                               => --out
        ",
    );
    // The default, written out, is the same call.
    let same =
        "run parity --episodes 20 --runs 3 --seed 1 --learner feedbal --threads 2 --out @/out";
    assert!(dir.emab(same).contains("contains this run already"));
    // A result of another version is another result.
    let result = dir.text("out/run.json");
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    dir.write(
        "out/run.json",
        &result.replace(&version, "\"version\": \"0.0.1\""),
    );
    dir.rejects(same, 2, "this call has another version of emab");
}

#[test]
fn each_kind_of_result_replaces_the_others_without_a_trace() {
    let dir = inputs();
    let calls = CALLS.map(|[call, _, _]| call);
    let fresh = calls.map(|call| {
        dir.emab(&format!("{call} --out @/fresh-{}", call.len()));
        dir.names(&format!("fresh-{}", call.len()))
    });
    for before in calls {
        for (call, names) in calls.iter().zip(&fresh) {
            if before == *call {
                continue;
            }
            let _ = fs::remove_dir_all(dir.at("out"));
            dir.emab(&format!("{before} --out @/out"));
            dir.emab(&format!("{call} --out @/out --force"));
            assert_eq!(&dir.names("out"), names, "{before}, then {call}");
        }
    }
}

#[test]
fn files_of_other_programs_are_kept() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    for (i, (call, name)) in [
        ("run parity --episodes 20 --runs 3", "curve.csv"),
        ("run parity --episodes 20 --runs 3", "problem.json"),
        (
            "arena parity --learner ucb1 --episodes 20 --runs 3",
            "arena.csv",
        ),
        ("sweep @/sweep.toml", "sweep.csv"),
        ("reproduce --runs 2 --episodes 3", "report.md"),
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("out-{i}");
        fs::create_dir(dir.at(&out)).unwrap();
        dir.write(&format!("{out}/{name}"), "mine");
        for force in ["", "--force"] {
            let words =
                format!("{out} contains {name}, not written by emab | choose another folder");
            dir.rejects(&format!("{call} --out @/{out} {force}"), 2, &words);
        }
        assert_eq!(dir.names(&out), [name]);
        assert_eq!(dir.text(&format!("{out}/{name}")), "mine");
    }
    // Other names are no obstacle.
    fs::create_dir(dir.at("project")).unwrap();
    dir.write("project/README.md", "mine");
    dir.emab("run parity --episodes 20 --runs 3 --out @/project");
    dir.emab("run parity --episodes 20 --runs 3 --seed 2 --out @/project --force");
    assert_eq!(dir.text("project/README.md"), "mine");
    // A file of another program with the name of a result is not taken for one.
    fs::create_dir(dir.at("strange")).unwrap();
    dir.write("strange/checkpoint.json", "{\"epoch\": 3}");
    for force in ["", "--force"] {
        let call = format!("run parity --episodes 20 --runs 3 --out @/strange {force}");
        dir.rejects(
            &call,
            1,
            "checkpoint.json is damaged | if emab did not write it",
        );
    }
    assert_eq!(dir.text("strange/checkpoint.json"), "{\"epoch\": 3}");
}

#[test]
fn problem_files_of_an_arena_come_and_go_with_it() {
    let dir = inputs();
    dir.write("second.toml", &OWN.replace("0.1", "0.2"));
    let call = |problems: &str| {
        format!("arena {problems} --learner random --episodes 20 --runs 3 --out @/out")
    };
    let stored = || match dir.exists("out/arena-problems") {
        true => dir.names("out/arena-problems"),
        false => Vec::new(),
    };
    dir.emab(&call("@/own.toml"));
    assert_eq!(stored(), ["0001-own.json"]);
    let own = dir.text("out/arena-problems/0001-own.json");
    // More problems continue it, in the order of the call.
    dir.emab(&call("parity @/second.toml @/own.toml"));
    assert_eq!(stored(), ["0002-own.json", "0003-own.json"]);
    assert_eq!(dir.text("out/arena-problems/0003-own.json"), own);
    // Fewer need --force; what emab did not write, and is not in the way, stays.
    dir.write("out/arena-problems/notes.txt", "mine");
    dir.write("out/arena-problems/.0002-own.json.7.tmp", "half");
    dir.rejects(&call("@/own.toml"), 2, "are not in this call");
    dir.emab(&format!("{} --force", call("@/own.toml")));
    assert_eq!(stored(), ["0001-own.json", "notes.txt"]);
    // They are arguments that continue the arena.
    let more = format!("{} --learner benchmark", call("@/out/arena-problems"));
    dir.emab(&more);
    assert_eq!(stored(), ["0001-own.json", "notes.txt"]);
    assert_eq!(dir.text("out/arena-problems/0001-own.json"), own);
    dir.emab("run parity --episodes 20 --runs 3 --out @/out --force");
    assert_eq!(stored(), ["notes.txt"]);
    // A folder of this name that no arena belongs to.
    fs::create_dir_all(dir.at("mine/arena-problems")).unwrap();
    let words = "contains arena-problems, not written by emab | choose another folder";
    let other = call("@/own.toml").replace("@/out", "@/mine --force");
    dir.rejects(&other, 2, words);
}

#[test]
fn a_report_is_replaced_with_its_result() {
    let dir = TestDir::new();
    let run = "run parity --episodes 20 --runs 3 --out @/out";
    dir.emab(run);
    dir.emab("report @/out");
    dir.emab("report @/out");
    assert!(dir.emab(run).contains("already; nothing is computed"));
    assert!(dir.exists("out/report.html"));
    dir.emab(&format!("{run} --seed 2 --force"));
    assert!(!dir.exists("out/report.html"));
    // A page of another program stays.
    dir.write("out/report.html", "<title>mine</title>");
    dir.rejects(
        "report @/out",
        2,
        "report.html exists and has other content | --force",
    );
    dir.emab(&format!("{run} --force"));
    assert_eq!(dir.text("out/report.html"), "<title>mine</title>");
}

#[test]
fn a_file_is_replaced_only_on_request() {
    let dir = TestDir::new();
    dir.emab("run parity --episodes 20 --runs 3 --out @/run");
    for (call, other, file) in [
        (
            "mdp parity --out @/mdp.json",
            "mdp coverage --out @/mdp.json",
            "mdp.json",
        ),
        (
            "mdp parity --out @/mdp.npz",
            "mdp coverage --out @/mdp.npz",
            "mdp.npz",
        ),
        (
            "plot @/run --output @/p.svg",
            "plot @/run --log-x --output @/p.svg",
            "p.svg",
        ),
        (
            "plot @/run --output @/p.png",
            "plot @/run --log-x --output @/p.png",
            "p.png",
        ),
    ] {
        let (out, note) = said(&dir.call(call));
        assert!((out + &note).contains("wrote "), "{call}");
        let written = dir.read(file);
        let (out, note) = said(&dir.call(call));
        let words = format!("{file} has this content already; nothing is written");
        assert!((out + &note).contains(&words), "{call}");
        let words = format!("{file} exists and has other content | --force replaces it");
        dir.rejects(other, 2, &words);
        assert_eq!(dir.read(file), written);
        let (out, note) = said(&dir.call(&format!("{other} --force")));
        assert!((out + &note).contains("wrote "), "{call}");
        assert_ne!(dir.read(file), written);
    }
    fs::create_dir(dir.at("folder.svg")).unwrap();
    dir.rejects(
        "plot @/run --output @/folder.svg --force",
        1,
        "it is a folder",
    );
    dir.rejects("plot @/run --force", 2, "--output");
}

/// Starts a long run in `out` and waits until it has begun.
fn long_run(dir: &TestDir) -> Child {
    let child = start(&dir.call(LONG));
    let begun = || dir.exists("out/checkpoint.json");
    for _ in (0..1000).take_while(|_| !begun()) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(begun(), "the run did not begin");
    child
}

const LONG: &str = "run resource --episodes 20000 --runs 100000 --threads 1 --out @/out";

#[test]
fn a_second_process_is_rejected_and_a_killed_one_leaves_no_lock() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    let mut child = long_run(&dir);
    let process = match cfg!(unix) {
        true => format!("process {}", child.id()),
        false => "another process".into(),
    };
    let words = format!(
        "cannot write to the folder | out: {process} has been writing into it for | wait until it ends"
    );
    for call in [
        LONG,
        "run --resume @/out",
        "run parity --out @/out --force",
        "arena parity --out @/out --force",
        "sweep @/sweep.toml --out @/out --force",
        "reproduce --quick --out @/out",
        "problems --random small --out @/out",
    ] {
        dir.rejects(call, 1, &words);
    }
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    // The file is there and not locked.
    assert!(dir.exists("out/.emab.lock"));
    let words = "contains an unfinished run | this call has the problem `parity`";
    dir.rejects(
        "run parity --episodes 20000 --runs 100000 --out @/out",
        2,
        words,
    );
    dir.emab("run parity --episodes 5 --runs 2 --out @/out --force");
    assert!(!dir.exists("out/.emab.lock"));
    assert!(!dir.exists("out/checkpoint.json"));
}

#[test]
fn a_second_sweep_is_rejected() {
    let dir = TestDir::new();
    let sweep = SWEEP.replace("episodes    = 60", "episodes = 20000");
    dir.write(
        "sweep.toml",
        &sweep.replace("runs        = 5", "runs = 2000"),
    );
    let mut child = start(&dir.call("sweep @/sweep.toml --out @/out --threads 1"));
    for _ in 0..1000 {
        if dir.exists("out/cells.jsonl") {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    dir.rejects(
        "sweep @/sweep.toml --out @/out",
        1,
        "has been writing into it",
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_reproduction_is_confirmed() {
    let dir = TestDir::new();
    let call = "reproduce --runs 2 --episodes 3 --out @/out";
    let first = dir.json(&format!("{call} --json"));
    let written = files(&dir, "out");
    let again = dir.json(&format!("{call} --json"));
    assert_eq!(first, again);
    let (text, note) = said(&dir.call(call));
    assert!(
        note.contains("out contains this reproduction already"),
        "{note}"
    );
    assert!(text.contains("report.html"), "{text}");
    assert_eq!(written, files(&dir, "out"));
    let words = "contains a reproduction of the paper, 2 runs of 3 episodes, seed 1 | --force";
    dir.rejects("reproduce --runs 2 --episodes 4 --out @/out", 2, words);
    // One of an earlier version has no document, and is recognised by its report.
    fs::remove_file(dir.at("out/reproduction.json")).unwrap();
    dir.rejects(
        call,
        2,
        "a reproduction of the paper by an earlier version of emab",
    );
    let forced = dir.json(&format!("{call} --json --force"));
    assert_eq!(timeless(first), timeless(forced));
    // All its files are known as such.
    dir.emab("run parity --episodes 5 --runs 2 --out @/out --force");
    dir.emab("run parity --episodes 5 --runs 2 --out @/fresh");
    assert_eq!(dir.names("out"), dir.names("fresh"));
}

#[test]
fn shards_are_merged_once() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    for (name, call) in [
        ("run", "run parity --episodes 20 --runs 3"),
        ("sweep", "sweep @/sweep.toml"),
    ] {
        for shard in [1, 2] {
            dir.emab(&format!("{call} --shard {shard}/2 --out @/{name}-{shard}"));
        }
        let merge = format!("merge @/{name}-1 @/{name}-2 --out @/{name}");
        let (first, _) = said(&dir.call(&merge));
        let written = files(&dir, name);
        let (again, note) = said(&dir.call(&merge));
        assert_eq!(first, again);
        assert!(
            note.contains(&format!("contains this {name} already")),
            "{note}"
        );
        assert_eq!(written, files(&dir, name));
        // The merged result is that of the undivided call.
        let (_, note) = said(&dir.call(&format!("{call} --out @/{name}")));
        assert!(note.contains("already; nothing is computed"), "{note}");
        let words = format!("{name}-1 is one of the folders to merge");
        let into = format!("merge @/{name}-1 @/{name}-2 --out @/{name}-1 --force");
        dir.rejects(&into, 2, &words);
    }
}
