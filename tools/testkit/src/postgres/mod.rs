//! A temporary PostgreSQL server with its own folder, port and password, and with `fsync` on.
//!
//! Dropping [`Server`] stops the server and removes its folder. When the process is killed instead, the kernel stops the
//! server (Linux), and the next [`Server::start`] on the machine removes the folder.

mod folder;
mod programs;

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::certificate::{self, Certificate};

/// The server's superuser.
const USER: &str = "emab";
/// The account and group `nobody`: PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;
/// Recovery of a small database takes a second; a loaded machine needs more.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// PostgreSQL itself waits five seconds for its child processes.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(10);

/// A running server, or a stopped one that can be started again.
#[derive(Debug)]
pub struct Server {
    child: Option<Child>,
    folder: TempDir,
    _owner: File,
    programs: PathBuf,
    port: u16,
    password: String,
    certificate: Option<Certificate>,
}

impl Server {
    /// Creates a server and waits until it accepts connections, which takes a second or two.
    ///
    /// Fails if PostgreSQL's programs are not found; the message names the command that installs them.
    pub fn start() -> Result<Server, String> {
        Server::create(false)
    }

    /// Like [`Server::start`], with TLS for the names `localhost` and `127.0.0.1`; [`Server::authority`] is the
    /// certificate to trust. `None` if PostgreSQL is built without TLS, as the package on PyPI is.
    pub fn start_tls() -> Result<Option<Server>, String> {
        match Server::create(true) {
            Err(error) if error.contains("not supported by this build") => Ok(None),
            result => result.map(Some),
        }
    }

    /// One server for all tests of this process that run at the same time. The last user stops it.
    pub fn shared() -> Result<Arc<Server>, String> {
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Ok(server);
        }
        let server = Arc::new(Server::start()?);
        *shared = Arc::downgrade(&server);
        Ok(server)
    }

    fn create(tls: bool) -> Result<Server, String> {
        folder::remove_abandoned();
        let programs = programs::find()?;
        let (folder, owner) =
            folder::create().map_err(|error| format!("temporary folder: {error}"))?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| format!("random password: {error}"))?;
        let names = ["DNS:localhost", "IP:127.0.0.1"];
        let certificate = match tls {
            true => Some(certificate::make(folder.path(), &names)?),
            false => None,
        };
        let mut server = Server {
            child: None,
            folder,
            _owner: owner,
            programs,
            port: 0,
            password: format!("{:032x}", u128::from_ne_bytes(random)),
            certificate,
        };
        server.initialise()?;
        // Another process can take the port before the server binds it.
        let mut attempts = 3;
        loop {
            server.port = free_port().map_err(|error| format!("free port: {error}"))?;
            match server.start_again() {
                Err(error) if attempts > 1 && error.contains("could not bind") => attempts -= 1,
                result => return result.map(|()| server),
            }
        }
    }

    /// The URL of the default database.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The URL of a database, which need not exist.
    pub fn url_of(&self, database: &str) -> String {
        let (password, port) = (&self.password, self.port);
        format!("postgres://{USER}:{password}@127.0.0.1:{port}/{database}")
    }

    /// Creates an empty database and returns its URL. The name consists of letters, digits and `_`.
    pub fn database(&self, name: &str) -> Result<String, String> {
        self.execute(&format!("CREATE DATABASE \"{name}\""))?;
        Ok(self.url_of(name))
    }

    /// Runs SQL as the superuser in the default database.
    pub fn execute(&self, sql: &str) -> Result<(), String> {
        let message = |error: postgres::Error| match error.as_db_error() {
            Some(error) => error.to_string(),
            None => error.to_string(),
        };
        let mut client =
            postgres::Client::connect(&self.url(), postgres::NoTls).map_err(message)?;
        client.batch_execute(sql).map_err(message)
    }

    /// The superuser's password.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the Unix socket.
    pub fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// The certificate of the authority to trust; `None` without TLS.
    pub fn authority(&self) -> Option<&Path> {
        self.certificate.as_ref().map(|it| it.authority.as_path())
    }

    /// Stops the server as `pg_ctl stop -m immediate` does: it finishes and flushes nothing.
    pub fn stop_immediate(&mut self) -> Result<(), String> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        for signal in [Signal::QUIT, Signal::KILL] {
            let end = Instant::now() + STOP_TIMEOUT;
            // Fails if the server has ended by itself.
            let _ = kill_process(Pid::from_child(&child), signal);
            while Instant::now() < end {
                if !matches!(child.try_wait(), Ok(None)) {
                    return Ok(());
                }
                std::thread::sleep(POLL);
            }
        }
        Err(format!("PostgreSQL ({}) does not stop", child.id()))
    }

    /// Starts the server after [`Server::stop_immediate`], on the same port, and waits until it has recovered.
    pub fn start_again(&mut self) -> Result<(), String> {
        self.stop_immediate()?;
        let log = self.folder.path().join("log");
        let opened = File::options().create(true).append(true).open(&log);
        let file = opened.map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = self.command("postgres");
        command.args(["-D", "data"]).stderr(file);
        for (name, value) in self.settings() {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let mut child = spawn(command).map_err(|error| format!("postgres: {error}"))?;
        let end = Instant::now() + START_TIMEOUT;
        let url = self.url();
        while postgres::Client::connect(&url, postgres::NoTls).is_err() {
            let ended = !matches!(child.try_wait(), Ok(None));
            if ended || Instant::now() > end {
                self.child = Some(child);
                self.stop_immediate()?;
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("PostgreSQL does not accept connections:\n{log}"));
            }
            std::thread::sleep(POLL);
        }
        self.child = Some(child);
        Ok(())
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Path| path.display().to_string();
        let mut settings = vec![
            ("listen_addresses", "127.0.0.1".into()),
            ("port", self.port.to_string()),
            ("unix_socket_directories", path(self.socket())),
            ("fsync", "on".into()),
            ("max_connections", "60".into()),
            ("shared_buffers", "32MB".into()),
        ];
        if let Some(certificate) = &self.certificate {
            settings.extend([
                ("ssl", "on".into()),
                ("ssl_cert_file", path(&certificate.certificate)),
                ("ssl_key_file", path(&certificate.key)),
            ]);
        }
        settings
    }

    /// A program of PostgreSQL in the server's folder. The kernel stops it when the thread that starts it ends.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match Path::new("/usr/bin/setpriv").is_file() {
            true => {
                let mut command = Command::new("/usr/bin/setpriv");
                // PostgreSQL takes SIGQUIT for an immediate stop.
                command.args(["--pdeathsig", "QUIT", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn initialise(&self) -> Result<(), String> {
        let folder = self.folder.path();
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::write(folder.join("password"), &self.password).map_err(failed)?;
        if rustix::process::geteuid().is_root() {
            let chown = |path: &Path| std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY));
            for entry in std::fs::read_dir(folder).map_err(failed)?.flatten() {
                chown(&entry.path()).map_err(failed)?;
            }
            chown(folder).map_err(failed)?;
        }
        let mut command = self.command("initdb");
        command.args(["-D", "data", "--pwfile", "password", "-U", USER]);
        command.args(["--auth=scram-sha-256", "--encoding=UTF8"]);
        // Sorting must not depend on the locale; tests of locales create their own databases.
        command.args(["--no-locale", "--no-sync", "--wal-segsize=1"]);
        let output = command
            .output()
            .map_err(|error| format!("initdb: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!(
                "initdb: {}",
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop_immediate();
    }
}

/// Starts a process on a thread that lives as long as this process: the kernel's death signal follows the thread, and
/// the thread of a test ends before other tests have finished with a shared server.
fn spawn(command: Command) -> std::io::Result<Child> {
    type Request = (Command, mpsc::Sender<std::io::Result<Child>>);
    static SPAWNER: LazyLock<mpsc::Sender<Request>> = LazyLock::new(|| {
        let (requests, received) = mpsc::channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, reply) in received {
                let _ = reply.send(command.spawn());
            }
        });
        requests
    });
    let (reply, replied) = mpsc::channel();
    let gone = |_| std::io::Error::other("the thread that starts processes has ended");
    let sent = SPAWNER.send((command, reply));
    sent.map_err(|_| gone(mpsc::RecvError))?;
    replied.recv().map_err(gone)?
}

fn free_port() -> std::io::Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests;
