//! The server's process: it ends when it is told, and with us.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Recovery after a crash of a small database takes a second; machines under load get more.
const STARTING: Duration = Duration::from_secs(60);
/// PostgreSQL itself gives its children five seconds.
const STOPPING: Duration = Duration::from_secs(15);

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
    ended: mpsc::Receiver<Option<ExitStatus>>,
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
        let (tell_start, started) = mpsc::channel();
        let (tell_end, ended) = mpsc::channel();
        let keeper = std::thread::spawn(move || match command.spawn() {
            Ok(mut child) => {
                let _ = tell_start.send(Ok(child.id()));
                let _ = tell_end.send(child.wait().ok());
            }
            Err(error) => {
                let _ = tell_start.send(Err(format!("{command:?}: {error}")));
            }
        });
        let id = started
            .recv()
            .map_err(|_| "the thread that starts the server is gone".to_string())??;
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        Ok(Process {
            id: id.ok_or("a process without a number")?,
            keeper: Some(keeper),
            ended,
            log,
        })
    }

    /// Waits until it is ready, or says how it ended instead.
    pub fn wait_until(&self, ready: impl Fn() -> bool) -> Result<(), String> {
        let end = Instant::now() + STARTING;
        while !ready() {
            let why = match self.ended.recv_timeout(Duration::from_millis(20)) {
                Ok(status) => match status {
                    Some(status) => format!("the server ended: {status}"),
                    None => "the server ended".into(),
                },
                Err(_) if Instant::now() < end => continue,
                Err(_) => format!("the server is not ready after {STARTING:?}"),
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

    fn end(&mut self) -> Result<(), String> {
        let Some(keeper) = self.keeper.take() else {
            return Ok(());
        };
        for signal in [Signal::QUIT, Signal::KILL] {
            // It may have ended by itself; its number is not given away while the keeper has not waited for it.
            if !keeper.is_finished() {
                let _ = kill_process(self.id, signal);
            }
            if let Ok(_) | Err(mpsc::RecvTimeoutError::Disconnected) =
                self.ended.recv_timeout(STOPPING)
            {
                return keeper
                    .join()
                    .map_err(|_| "the thread that keeps the server is gone".into());
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
