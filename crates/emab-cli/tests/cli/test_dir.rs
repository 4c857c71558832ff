//! A temporary folder for tests of sweeps and shards, and comparisons of result folders.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{json, rejects, said};

/// A small sweep, of a grid and a cell beside it.
pub const SWEEP: &str = r#"
problem     = "resource"
learners    = ["feedbal", "ucb1v"]
episodes    = 60
runs        = 5
checkpoints = [20]

[grid]
problem.p      = [0.4, 0.8]
learner.sigma2 = { from = 0.05, to = 0.2, steps = 3, scale = "log" }

[[cell]]
problem.horizon = 5
"#;

/// A problem that is not built in.
pub const OWN: &str = r#"
name = "own"
horizon = 3
states = 3
actions = ["go"]
feedbacks = 2
transition = "min(x + f, 2)"
[model]
feedback = [0.4, 0.6]
reward = "x"
cost = 0.1
"#;

/// The lines of a table of cases: an input, `=>`, and the words of the error between bars. `⏎` is a line break.
pub fn cases(table: &str) -> impl Iterator<Item = (String, &str)> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| {
        let (input, words) = line.split_once("=>").unwrap();
        (input.trim().replace('⏎', "\n"), words.trim())
    })
}

/// A temporary folder.
pub struct TestDir {
    folder: TempDir,
}

impl TestDir {
    pub fn new() -> TestDir {
        let folder = tempfile::tempdir().unwrap();
        TestDir { folder }
    }

    pub fn at(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.at(name), text).unwrap();
        self.at(name)
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub fn exists(&self, name: &str) -> bool {
        Path::new(&self.at(name)).exists()
    }

    /// A call in which `@` at the beginning of a path stands for this folder.
    pub fn call(&self, call: &str) -> String {
        let path = self.folder.path().to_str().unwrap();
        let call = format!("{call} ").replace("@/", &format!("{path}/"));
        call.replace(" @ ", &format!(" {path} "))
    }

    /// Runs the command, which must succeed, and returns its messages.
    pub fn emab(&self, call: &str) -> String {
        said(&self.call(call)).1
    }

    pub fn json(&self, call: &str) -> Value {
        json(&self.call(call))
    }

    pub fn rejects(&self, call: &str, code: i32, words: &str) {
        rejects(&self.call(call), code, words);
    }

    /// The command must reject each call of a table; see [`cases`].
    pub fn rejects_each(&self, code: i32, table: &str) {
        for (call, words) in cases(table) {
            self.rejects(&call, code, words);
        }
    }

    /// The finished cells of a folder, each with the seconds it took.
    pub fn cells(&self, folder: &str) -> Vec<(Value, f64)> {
        let text = self.text(&format!("{folder}/cells.jsonl"));
        text.lines()
            .map(|line| {
                let mut cell = serde_json::from_str::<Value>(line).unwrap()["body"].take();
                let result = cell["result"].as_object_mut().unwrap();
                let seconds = result.remove("seconds").unwrap().as_f64().unwrap();
                (cell, seconds)
            })
            .collect()
    }

    /// Asserts that two folders of a sweep are equal except for times.
    pub fn assert_same_sweep(&self, one: &str, other: &str) {
        for name in ["sweep.csv", "sweep.parquet", "sweep.json"] {
            let [one, other] = [one, other].map(|folder| self.read(&format!("{folder}/{name}")));
            assert_eq!(one, other, "{name}");
        }
        let [one, other] = [one, other].map(|folder| {
            let cells = self.cells(folder).into_iter();
            cells.map(|(cell, _)| cell).collect::<Vec<_>>()
        });
        assert_eq!(one, other);
    }

    /// The sorted names of the files in a folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let files = fs::read_dir(self.at(folder)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Asserts that two folders of a run are equal except for times.
    pub fn assert_same_run(&self, one: &str, other: &str) {
        let names = |folder: &str| self.names(folder);
        assert_eq!(names(one), names(other));
        assert_eq!(names(one).len(), 12);
        for name in names(one) {
            let [one, other] = [one, other].map(|folder| {
                let bytes = self.read(&format!("{folder}/{name}"));
                let text = String::from_utf8_lossy(&bytes);
                let lines = text
                    .lines()
                    .filter(|line| name != "run.json" || !line.contains("\"seconds\": "));
                lines.map(str::to_owned).collect::<Vec<_>>()
            });
            assert!(one == other, "{name} differs");
        }
    }
}
