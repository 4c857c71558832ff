//! Python tools in a folder of their own, beside what cargo builds: made once, and again when the list of them changes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/schemathesis/requirements.txt"
);

/// The folder of the tools, or why there are none.
pub fn tools() -> Result<PathBuf, String> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let venv = built.unwrap().join("venv-schemathesis");
    let (bin, done) = (venv.join("bin"), venv.join("installed.txt"));
    let wanted = fs::read_to_string(REQUIREMENTS).unwrap();
    // Of two that run at once one installs, and the other waits for it.
    let lock = File::create(venv.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    if fs::read_to_string(&done).is_ok_and(|there| there == wanted) {
        return Ok(bin);
    }
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&venv))?;
    run(Command::new(bin.join("pip")).args(["install", "--quiet", "--requirement", REQUIREMENTS]))?;
    fs::write(&done, wanted).unwrap();
    Ok(bin)
}

fn run(command: &mut Command) -> Result<(), String> {
    let failed = |what: String| format!("{}: {what}", command.get_program().to_string_lossy());
    let name = failed(String::new());
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{name}{}", said.trim()))
        }
        Err(error) => Err(format!("{name}{error}")),
    }
}
