//! Optuna's ask and tell on the same machine and the same kind of store.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Result;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OptunaFigures {
    pub workers: u32,
    /// Pairs of ask and tell.
    pub pairs_per_second: f64,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// Pairs that failed.
    pub failures: u64,
    pub version: String,
}

/// A Python environment with Optuna.
#[derive(Clone, Debug)]
pub(super) struct Optuna {
    python: PathBuf,
    script: PathBuf,
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().last().unwrap_or_default();
    Err(format!("{command:?}: {}: {last}", output.status).into())
}

impl Optuna {
    /// Creates the environment beside this program, unless it exists.
    pub(super) fn install() -> Result<Optuna> {
        let benches = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches"));
        let program = std::env::current_exe()?;
        let folder = program.with_file_name("optuna-venv");
        let (python, installed) = (folder.join("bin/python"), folder.join("done"));
        let requirements = benches.join("optuna_requirements.txt");
        let text = std::fs::read_to_string(&requirements)?;
        if std::fs::read_to_string(&installed).ok().as_ref() != Some(&text) {
            run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
            let install = ["-m", "pip", "install", "--quiet", "-r"];
            run(Command::new(&python).args(install).arg(&requirements))?;
            std::fs::write(&installed, &text)?;
        }
        Ok(Optuna {
            python,
            script: benches.join("optuna_asktell.py"),
        })
    }

    pub(super) fn measure(&self, url: &str, time: Duration, workers: u32) -> Result<OptunaFigures> {
        let printed = run(Command::new(&self.python).arg(&self.script).args([
            url,
            &time.as_secs_f64().to_string(),
            &workers.to_string(),
        ]))?;
        Ok(serde_json::from_str(&printed)?)
    }
}
