//! A PostgreSQL server for a test: a folder, a port and a password of its own, durable like a real one, gone with the
//! test.
//!
//! Nothing is left behind. The folder and the server go when the [`Server`] is dropped, also by a panic. Where the
//! process is killed, the kernel stops the server (Linux), and the next [`Server::start`] on the machine clears the
//! folder away.

mod find;
mod process;
mod stale;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

use crate::certificate::{self, Certificate};
pub use find::package as install;
use find::{Account, Programs};
use process::Process;

/// The user that the server knows, its superuser.
const USER: &str = "emab";

/// A running server, or one that was stopped and may be started again.
#[derive(Debug)]
pub struct Server {
    // The fields are dropped in this order: the process before its folder.
    process: Option<Process>,
    folder: TempDir,
    _owner: File,
    programs: Programs,
    account: Option<Account>,
    port: u16,
    password: String,
    certificate: Option<Certificate>,
}

impl Server {
    /// Makes a server and waits until it accepts connections, which takes a second or two.
    ///
    /// Its programs are looked for on `PATH` and where packages put them; on Debian they are installed if they are
    /// missing and we may.
    pub fn start() -> Result<Server, String> {
        Server::make(false)
    }

    /// A server for all tests of this process that run at the same time: it is made for the first, and goes with the last.
    pub fn shared() -> Result<Arc<Server>, String> {
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        // A test that failed to start it leaves nothing half done.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Ok(server);
        }
        let server = Arc::new(Server::start()?);
        *shared = Arc::downgrade(&server);
        Ok(server)
    }

    /// A server of one's own with TLS offered, for the names `localhost` and `127.0.0.1`; [`Server::authority`] is whom to trust.
    pub fn start_tls() -> Result<Server, String> {
        Server::make(true)
    }

    fn make(tls: bool) -> Result<Server, String> {
        stale::sweep();
        let programs = Programs::find()?;
        let account = Account::unprivileged()?;
        let (folder, owner) = stale::folder()?;
        let mut server = Server {
            process: None,
            folder,
            _owner: owner,
            programs,
            account,
            port: 0,
            password: password()?,
            certificate: None,
        };
        server.initialise()?;
        if tls {
            server.certify()?;
        }
        // Between the moment when a port was found free and the server's start, somebody else may take it.
        let mut tries = 3;
        loop {
            server.port = free_port()?;
            match server.start_again() {
                Err(why) if tries > 1 && why.contains("could not bind") => tries -= 1,
                other => return other.map(|()| server),
            }
        }
    }

    /// The address of its first database.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The address of a database, whether it is there or not.
    pub fn url_of(&self, database: &str) -> String {
        format!(
            "postgres://{USER}:{}@127.0.0.1:{}/{database}",
            self.password, self.port
        )
    }

    /// Makes a new, empty database and returns its address. A name is made of letters, digits and `_`.
    pub fn database(&self, name: &str) -> Result<String, String> {
        self.execute(&format!("CREATE DATABASE \"{name}\""))?;
        Ok(self.url_of(name))
    }

    /// Runs SQL as the superuser in the first database.
    pub fn execute(&self, sql: &str) -> Result<(), String> {
        let mut client = postgres::Client::connect(&self.url(), postgres::NoTls).map_err(said)?;
        client.batch_execute(sql).map_err(said)
    }

    /// The password of its user.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its Unix socket.
    pub fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// The certificate to trust, if it has been started with TLS.
    pub fn authority(&self) -> Option<&Path> {
        self.certificate.as_ref().map(|it| it.authority.as_path())
    }

    /// Stops it as a crash would (`pg_ctl stop -m immediate`): nothing is finished, nothing is flushed.
    pub fn stop_immediate(&mut self) -> Result<(), String> {
        match self.process.take() {
            Some(process) => process.stop(),
            None => Ok(()),
        }
    }

    /// Starts it after [`Server::stop_immediate`], on the same port, and waits until it has recovered.
    pub fn start_again(&mut self) -> Result<(), String> {
        self.stop_immediate()?;
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data());
        for (name, value) in self.settings() {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let process = Process::start(command, self.folder.path().join("log"))?;
        let url = self.url();
        process.wait_until(|| postgres::Client::connect(&url, postgres::NoTls).is_ok())?;
        self.process = Some(process);
        Ok(())
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("listen_addresses", "127.0.0.1".into()),
            ("port", self.port.to_string()),
            (
                "unix_socket_directories",
                self.socket().display().to_string(),
            ),
            ("fsync", "on".into()),
            ("max_connections", "60".into()),
            ("shared_buffers", "32MB".into()),
        ];
        if let Some(certificate) = &self.certificate {
            settings.extend([
                ("ssl", "on".into()),
                (
                    "ssl_cert_file",
                    certificate.certificate.display().to_string(),
                ),
                ("ssl_key_file", certificate.key.display().to_string()),
            ]);
        }
        settings
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = process::dying_with_us(&self.programs.path(program));
        // Wherever the tests are run, that folder need not be one which the other user may enter.
        command.current_dir(self.folder.path());
        if let Some(account) = &self.account {
            account.take(&mut command);
        }
        command
    }

    fn initialise(&self) -> Result<(), String> {
        let secret = self.folder.path().join("password");
        write(&secret, &self.password)?;
        self.give(&secret)?;
        // The socket is in the folder itself, so the server must be able to write there.
        self.give(self.folder.path())?;
        let output = self
            .command("initdb")
            .arg("-D")
            .arg(self.data())
            .args(["-U", USER, "--auth=scram-sha-256", "--encoding=UTF8"])
            // The order of names must not depend on the locale; tests of that make a database with another one.
            .args(["--no-locale", "--no-sync", "--wal-segsize=1"])
            .arg("--pwfile")
            .arg(&secret)
            .output()
            .map_err(|error| format!("initdb: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "initdb: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    fn certify(&mut self) -> Result<(), String> {
        let names = ["DNS:localhost", "IP:127.0.0.1"];
        let certificate = certificate::make(self.folder.path(), &names)?;
        self.give(&certificate.certificate)?;
        self.give(&certificate.key)?;
        self.certificate = Some(certificate);
        Ok(())
    }

    fn give(&self, path: &Path) -> Result<(), String> {
        match &self.account {
            Some(account) => account.give(path),
            None => Ok(()),
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn password() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn free_port() -> Result<u16, String> {
    std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no free port on 127.0.0.1: {error}"))
}

fn said(error: postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.to_string(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
