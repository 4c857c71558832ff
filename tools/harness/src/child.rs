//! The service as a process of its own, to be killed.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A service on a busy machine opens a small store in a tenth of a second; a large one may take longer.
const STARTING: Duration = Duration::from_secs(60);
/// It gives requests in course 20 s.
const STOPPING: Duration = Duration::from_secs(40);

/// How the process is started: each start is the same.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The program: this one, or `emab`.
    pub program: PathBuf,
    /// Arguments before those of the service, where the program is one that starts it.
    pub before: Vec<String>,
    /// The store's address.
    pub store: String,
    /// The token file.
    pub tokens: PathBuf,
    /// Where what it says goes.
    pub log: PathBuf,
    /// Further options.
    pub more: Vec<String>,
    /// Set in its environment.
    pub environment: Vec<(String, String)>,
}

/// A running service. It is killed when this is dropped.
#[derive(Debug)]
pub struct Service {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    /// From its start until it listened.
    pub ready: Duration,
}

impl Recipe {
    fn spawn(&self) -> Result<Child, String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", self.log.display());
        let log = File::options().create(true).append(true).open(&self.log);
        Command::new(&self.program)
            .args(&self.before)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate", "0"])
            .arg("--store")
            .arg(&self.store)
            .arg("--tokens")
            .arg(&self.tokens)
            .args(&self.more)
            .envs(self.environment.iter().cloned())
            // Its end tells the child that we are gone.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.map_err(wrong)?)
            .spawn()
            .map_err(|error| format!("{}: {error}", self.program.display()))
    }

    /// Starts it and waits until it listens.
    pub fn start(&self) -> Result<Service, String> {
        let begun = Instant::now();
        let mut child = self.spawn()?;
        let address = match listening(&mut child) {
            Some(address) => address,
            None => {
                let _ = child.kill();
                let status = child.wait().map_err(|error| error.to_string())?;
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(20).collect();
                let last: Vec<&str> = last.into_iter().rev().collect();
                return Err(format!(
                    "the service does not listen ({status}, after {:?}); it said:\n{}",
                    begun.elapsed(),
                    last.join("\n")
                ));
            }
        };
        Ok(Service {
            child,
            address,
            ready: begun.elapsed(),
        })
    }

    /// Starts it and kills it after a moment, ready or not.
    pub fn start_and_kill(&self, after: Duration) -> Result<(), String> {
        let mut child = self.spawn()?;
        std::thread::sleep(after);
        let ended = child.kill().and_then(|()| child.wait());
        ended.map(|_| ()).map_err(|error| error.to_string())
    }
}

/// Where it says that it listens; none if it ends before, or takes too long.
fn listening(child: &mut Child) -> Option<SocketAddr> {
    let stdout = child.stdout.take()?;
    let (tell, told) = mpsc::channel();
    // It goes on reading for as long as the child lives: a full pipe would stop it.
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let Some(rest) = line.strip_prefix("listening on http://") else {
                continue;
            };
            let address = rest.split_whitespace().next().unwrap_or_default();
            let _ = tell.send(address.parse().ok());
        }
    });
    told.recv_timeout(STARTING).ok().flatten()
}

impl Service {
    fn signal(&self, signal: Signal) -> Result<(), String> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or("a process without a number")?;
        // Not yet waited for, so the number is still its own.
        kill_process(id, signal).map_err(|error| error.to_string())
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it at once (SIGKILL), without waiting for its end.
    pub fn kill(&self) -> Result<(), String> {
        self.signal(Signal::KILL)
    }

    /// Waits for its end after [`Service::kill`].
    pub fn reap(mut self) -> Result<ExitStatus, String> {
        self.child.wait().map_err(|error| error.to_string())
    }

    /// Asks it to stop (SIGTERM), and waits until it has; an error if it does not, or fails.
    pub fn stop(mut self) -> Result<(), String> {
        self.signal(Signal::TERM)?;
        let end = Instant::now() + STOPPING;
        loop {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("told to stop, it ended with {status}")),
                None if Instant::now() > end => {
                    return Err(format!("told to stop, it goes on after {STOPPING:?}"));
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Its memory as the kernel counts it, in KiB; none where the system does not tell.
    pub fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
