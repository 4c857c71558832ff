//! The server's process: it ends when it is told, and with us.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Recovery after a crash of a small database takes a second; machines under load get more.
const STARTING: Duration = Duration::from_secs(60);
/// PostgreSQL itself gives its children five seconds.
const STOPPING: Duration = Duration::from_secs(15);
const MOMENT: Duration = Duration::from_millis(10);

/// A command that is stopped at once when the thread that started it ends. Linux can do that, if `setpriv` is there.
pub fn dying_with_us(program: &Path) -> Command {
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"];
    match setpriv.iter().find(|path| Path::new(path).is_file()) {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            // To PostgreSQL, SIGQUIT is an immediate stop.
            command.args(["--pdeathsig", "QUIT", "--"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// A process that is running.
#[derive(Debug)]
pub struct Process {
    id: Pid,
    /// The thread that started the process and waits for it. It is one of its own, since the kernel's "parent" is a
    /// thread: a test that started a server for others would take it along when it ends.
    keeper: Option<JoinHandle<()>>,
    log: PathBuf,
}

impl Process {
    /// Starts it, with what it says in a file.
    pub fn start(mut command: Command, log: PathBuf) -> Result<Process, String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", log.display());
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(wrong)?;
        let copy = file.try_clone().map_err(wrong)?;
        command.stdin(Stdio::null()).stdout(copy).stderr(file);
        let (tell, told) = mpsc::channel();
        let keeper = std::thread::spawn(move || match command.spawn() {
            Ok(mut child) => {
                let _ = tell.send(Ok(child.id()));
                let _ = child.wait();
            }
            Err(error) => {
                let _ = tell.send(Err(format!("{command:?}: {error}")));
            }
        });
        let id = told
            .recv()
            .map_err(|_| "the thread that starts the server is gone".to_string())??;
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        Ok(Process {
            id: id.ok_or("a process without a number")?,
            keeper: Some(keeper),
            log,
        })
    }

    /// Waits until it is ready, or says how it ended instead.
    pub fn wait_until(&self, ready: impl Fn() -> bool) -> Result<(), String> {
        let end = Instant::now() + STARTING;
        while !ready() {
            let why = match Instant::now() < end {
                _ if self.has_ended() => "the server ended".into(),
                true => {
                    std::thread::sleep(MOMENT);
                    continue;
                }
                false => format!("the server is not ready after {STARTING:?}"),
            };
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            return Err(format!("{why}; it said:\n{log}"));
        }
        Ok(())
    }

    /// Ends it at once, and waits until it is gone.
    pub fn stop(mut self) -> Result<(), String> {
        self.end()
    }

    fn has_ended(&self) -> bool {
        self.keeper.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn end(&mut self) -> Result<(), String> {
        for signal in [Signal::QUIT, Signal::KILL] {
            // Its number is not given to another process while the keeper has not waited for it.
            if !self.has_ended() {
                let _ = kill_process(self.id, signal);
            }
            let end = Instant::now() + STOPPING;
            while Instant::now() < end {
                if self.has_ended() {
                    self.keeper = None;
                    return Ok(());
                }
                std::thread::sleep(MOMENT);
            }
        }
        Err(format!("the server {:?} does not end", self.id))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
