//! Optuna's ask and tell, for comparison: the same machine, the same store, the same run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

/// What it reached.
#[derive(Clone, Debug, Deserialize)]
pub struct Reached {
    /// Its version.
    pub version: String,
    /// How many processes asked and told.
    pub workers: u32,
    /// Pairs of ask and tell.
    pub pairs_per_second: f64,
    /// Half of the pairs took no longer, in milliseconds.
    pub p50_ms: Option<f64>,
    /// All but one of a hundred took no longer.
    pub p99_ms: Option<f64>,
    /// Pairs that failed.
    pub failures: u64,
}

/// An environment of Python with Optuna in it.
#[derive(Clone, Debug)]
pub struct Optuna {
    python: PathBuf,
    script: PathBuf,
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    Err(format!("{command:?}: {}: {last}", output.status))
}

impl Optuna {
    /// Makes the environment beside this program, unless it is there.
    pub fn prepare() -> Result<Optuna, String> {
        let benches = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches"));
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let folder = program.with_file_name("optuna-venv");
        let (python, done) = (folder.join("bin/python"), folder.join("done"));
        let wanted = benches.join("optuna_requirements.txt");
        let text = std::fs::read_to_string(&wanted)
            .map_err(|error| format!("{}: {error}", wanted.display()))?;
        if std::fs::read_to_string(&done).ok().as_ref() != Some(&text) {
            run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
            run(Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "-r"])
                .arg(&wanted))?;
            std::fs::write(&done, &text).map_err(|error| error.to_string())?;
        }
        Ok(Optuna {
            python,
            script: benches.join("optuna_asktell.py"),
        })
    }

    /// Lets it ask and tell.
    pub fn ask_and_tell(&self, url: &str, time: Duration, workers: u32) -> Result<Reached, String> {
        let said = run(Command::new(&self.python)
            .arg(&self.script)
            .arg(url)
            .arg(time.as_secs_f64().to_string())
            .arg(workers.to_string()))?;
        serde_json::from_str(&said).map_err(|error| format!("what Optuna reached: {error}: {said}"))
    }
}
