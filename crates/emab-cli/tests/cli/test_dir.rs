//! A temporary folder for tests of sweeps and shards, and comparisons of result folders.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{emab, rejects};

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

/// The lines of a table of cases: an input, `=>`, and the words of the error between bars. `⏎` is a line break.
pub fn cases(table: &str) -> Vec<(String, Vec<&str>)> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let (input, words) = line.split_once("=>").unwrap();
            let words = words.split(" | ").map(str::trim).collect();
            (input.trim().replace('⏎', "\n"), words)
        })
        .collect()
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

    /// Runs the command, which must succeed; `@` stands for this folder.
    pub fn emab(&self, call: &str) {
        let output = self.with(call, emab);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{call}: {error}");
    }

    pub fn rejects(&self, call: &str, code: i32, words: &[&str]) {
        self.with(call, |args| rejects(args, code, words));
    }

    /// The command must reject each call of a table; see [`cases`].
    pub fn rejects_each(&self, code: i32, table: &str) {
        for (call, words) in cases(table) {
            self.rejects(&call, code, &words);
        }
    }

    pub fn with<T>(&self, call: &str, run: impl FnOnce(&[&str]) -> T) -> T {
        let call = call.replace('@', self.folder.path().to_str().unwrap());
        run(&call.split_whitespace().collect::<Vec<_>>())
    }

    /// The finished cells of a folder, each with the seconds it took.
    pub fn cells(&self, folder: &str) -> Vec<(Value, f64)> {
        let text = String::from_utf8(self.read(&format!("{folder}/cells.jsonl"))).unwrap();
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

    /// Asserts that two folders of a run are equal except for times.
    pub fn assert_same_run(&self, one: &str, other: &str) {
        let names = |folder: &str| {
            let files = fs::read_dir(self.at(folder)).unwrap();
            let mut names: Vec<String> = files
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(one), names(other));
        assert_eq!(names(one).len(), 10);
        for name in names(one) {
            let [one, other] = [one, other].map(|folder| {
                let bytes = self.read(&format!("{folder}/{name}"));
                if name != "run.json" {
                    return bytes;
                }
                let text = String::from_utf8(bytes).unwrap();
                let lines = text
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("\"seconds\": "));
                lines.collect::<Vec<_>>().join("\n").into_bytes()
            });
            assert!(one == other, "{name} differs");
        }
    }
}
