//! The service as a child process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;

/// A small store opens in a tenth of a second; a large one, or a loaded machine, takes longer.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The service gives requests in flight 20 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(40);

/// How the service is started.
#[derive(Clone, Debug)]
pub(crate) struct ServiceCommand {
    /// This program, `emab`, or a shell that starts either.
    pub program: PathBuf,
    /// Arguments before `serve`.
    pub before: Vec<String>,
    pub store: String,
    pub tokens: PathBuf,
    /// The file of standard error.
    pub log: PathBuf,
    /// Arguments after those of `serve`.
    pub after: Vec<String>,
    pub variables: Vec<(&'static str, String)>,
}

impl ServiceCommand {
    fn log_file(&self) -> Result<Stdio> {
        let mut options = File::options();
        Ok(options.create(true).append(true).open(&self.log)?.into())
    }

    fn spawn(&self, log: Stdio) -> Result<Child> {
        Command::new(&self.program)
            .args(&self.before)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate", "0"])
            .args(["--store", &self.store, "--tokens"])
            .arg(&self.tokens)
            .args(&self.after)
            .envs(self.variables.iter().cloned())
            // The harness's own `serve` exits when this pipe closes.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{}: {error}", self.program.display()).into())
    }

    /// Starts the service and waits until it listens.
    pub(crate) fn start(&self) -> Result<ServiceProcess> {
        self.start_with_log(self.log_file()?)
    }

    /// Like [`ServiceCommand::start`], with this standard error.
    pub(crate) fn start_with_log(&self, log: Stdio) -> Result<ServiceProcess> {
        let started = Instant::now();
        let mut child = self.spawn(log)?;
        let address = listen_address(&mut child);
        let startup = started.elapsed();
        if let Some(address) = address {
            return Ok(ServiceProcess {
                child,
                address,
                startup,
            });
        }
        let _ = child.kill().and_then(|()| child.wait());
        let log = self.log_tail();
        Err(format!("the service does not listen after {startup:?}:\n{log}").into())
    }

    /// Starts the service and kills it after a delay.
    pub(crate) fn start_and_kill(&self, after: Duration) -> Result<()> {
        let mut child = self.spawn(self.log_file()?)?;
        std::thread::sleep(after);
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// The last lines of the service's log.
    pub(crate) fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

/// The address that the service prints; `None` if it ends before, or takes too long.
fn listen_address(child: &mut Child) -> Option<SocketAddr> {
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    // Reads until the service ends: a full pipe would block it.
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(|line| line.ok()) {
            if let Some(rest) = line.strip_prefix("listening on http://") {
                let address = rest.split_whitespace().next().unwrap_or_default();
                let _ = sender.send(address.parse().ok());
            }
        }
    });
    receiver.recv_timeout(START_TIMEOUT).ok().flatten()
}

/// A running service. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub(crate) struct ServiceProcess {
    child: Child,
    pub address: SocketAddr,
    /// The time from the start until the service listened.
    pub startup: Duration,
}

impl ServiceProcess {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGKILL without waiting for the end.
    pub(crate) fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill()?)
    }

    /// Sends SIGTERM and waits for the end; fails if the service does not end, or ends with an error.
    pub(crate) fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let end = Instant::now() + STOP_TIMEOUT;
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => Err(format!("after SIGTERM the service ended with {status}"))?,
                None if Instant::now() > end => {
                    Err(format!("the service runs {STOP_TIMEOUT:?} after SIGTERM"))?;
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Resident memory in KiB; `None` without Linux's /proc.
    pub(crate) fn memory_kib(&self) -> Option<u64> {
        self.status_kib("VmRSS:")
    }

    /// The largest resident memory so far, in KiB; `None` without Linux's /proc.
    pub(crate) fn peak_memory_kib(&self) -> Option<u64> {
        self.status_kib("VmHWM:")
    }

    fn status_kib(&self, field: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}
