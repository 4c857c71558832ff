//! Attacks: each tries what a hostile client, operator or machine may do, and counts how often it succeeds.
//!
//! An attack runs the command `emab` of a build as a process, so that the same attack can be tried on an earlier build.

mod answers;
mod disturb;
mod export;
mod fail_closed;
mod fixture;
mod forge;
mod log_pipe;
mod noisy;
mod protocol;
mod tamper;
mod wal_tail;
mod worlds;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;
use crate::environment::StoreKind;
use crate::environment::program::Program;
use crate::environment::service_process::{ServiceCommand, ServiceProcess};
use crate::http::{BlockingClient, Request, Response};
use emab_testkit::postgres::Server;
use tempfile::TempDir;

pub use disturb::Disturb;
pub use fail_closed::FailClosed;
pub use forge::Forge;
pub use log_pipe::LogPipe;
pub use noisy::Noisy;
pub use protocol::Protocol;
pub use tamper::Tamper;
pub use wal_tail::WalTail;
pub use worlds::Worlds;

/// What is attacked.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// The program `emab` of another build [default: this build].
    #[arg(long)]
    pub program: Option<PathBuf>,
    /// Seed of everything that is random.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// A store, tokens and the program, in a temporary folder. Dropping it removes the folder and stops the database.
#[derive(Debug)]
pub(crate) struct Installation {
    /// The PostgreSQL server of the store.
    pub server: Option<Server>,
    folder: TempDir,
    pub program: Program,
    /// The address of the store.
    pub store: String,
    /// Arguments of `serve` besides store and tokens.
    pub arguments: Vec<String>,
}

impl Installation {
    pub(crate) fn new(target: &Target, store: StoreKind) -> Result<Installation> {
        let folder = tempfile::Builder::new().prefix("emab-attack-").tempdir()?;
        let server = match store {
            StoreKind::Sqlite => None,
            StoreKind::Postgres => Some(Server::start()?),
        };
        let store = match &server {
            None => format!("sqlite:{}", folder.path().join("studies.db").display()),
            Some(server) => server.database("studies")?,
        };
        Ok(Installation {
            server,
            folder,
            program: Program::emab(target.program.as_deref())?,
            store,
            arguments: Vec::new(),
        })
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn tokens(&self) -> PathBuf {
        self.path("tokens.json")
    }

    /// Creates a token and returns its secret.
    pub(crate) fn token(&self, name: &str, role: &str) -> Result<String> {
        let tokens = self.tokens();
        let arguments = ["token", "new", name, "--role", role, "--tokens"];
        let arguments = arguments.iter().map(Path::new).chain([&*tokens]);
        let output = self.program.run(arguments)?;
        if !output.status.success() {
            Err(String::from_utf8_lossy(&output.stderr))?;
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// How the service is started on a store.
    pub(crate) fn command(&self, store: &str) -> ServiceCommand {
        ServiceCommand {
            program: self.program.path.clone(),
            before: self.program.before.clone(),
            store: store.into(),
            tokens: self.tokens(),
            log: self.path("service.log"),
            after: self.arguments.clone(),
            // Where keys are created for stores without a folder.
            variables: vec![("EMAB_DATA", self.folder.path().display().to_string())],
        }
    }

    pub(crate) fn start(&self) -> Result<ServiceProcess> {
        self.command(&self.store).start()
    }

    /// Runs `emab audit` with more arguments.
    pub(crate) fn audit(&self, place: &str, more: &[&str]) -> Result<Audit> {
        let output = self.program.run(["audit", place].iter().chain(more))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Audit {
            is_clean: output.status.success(),
            text: text(&output.stdout) + &text(&output.stderr),
        })
    }
}

/// The result of `emab audit`.
#[derive(Debug)]
pub(crate) struct Audit {
    /// Whether it ended with code 0: it read everything and found nothing.
    pub is_clean: bool,
    pub text: String,
}

/// A client with a token. It connects again after the service has closed its connection.
#[derive(Debug)]
pub(crate) struct Api {
    address: SocketAddr,
    token: String,
    client: Option<BlockingClient>,
}

impl Api {
    pub(crate) fn new(address: SocketAddr, token: &str) -> Api {
        Api {
            address,
            token: token.into(),
            client: None,
        }
    }

    /// Sends a request; returns the response, whatever its status.
    pub(crate) fn exchange(&mut self, request: Request) -> Result<Response> {
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => BlockingClient::connect(self.address, &self.token)?,
        };
        self.client.insert(client).exchange(request)
    }

    pub(crate) fn call(
        &mut self,
        method: &'static str,
        path: &str,
        body: impl ToString,
    ) -> Result<Response> {
        let request = Request::json(method, path.into(), body.to_string());
        match method {
            "GET" => self.exchange_again(request),
            _ => self.exchange(request),
        }
    }

    /// Sends a request that is harmless twice: the service may have closed the connection after the last response.
    fn exchange_again(&mut self, request: Request) -> Result<Response> {
        self.exchange(request.clone()).or_else(|_| {
            self.client = None;
            self.exchange(request)
        })
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Response> {
        self.call("GET", path, "")
    }

    /// Sends a request that must succeed; waits while the service asks for it.
    pub(crate) fn succeed(
        &mut self,
        method: &'static str,
        path: &str,
        body: impl ToString,
    ) -> Result<Response> {
        let request = Request::json(method, path.into(), body.to_string());
        let response = self.wait(&request)?;
        match response.status {
            200..300 => Ok(response),
            status => Err(format!("{method} {path}: {status} {}", response.text()).into()),
        }
    }

    /// Sends a request that is harmless twice, again while the answer is 429: a token has one import and one creation at a time.
    fn wait(&mut self, request: &Request) -> Result<Response> {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let response = self.exchange_again(request.clone())?;
            if response.status != 429 || Instant::now() > end {
                return Ok(response);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn import(&mut self, study: &str, lines: &str) -> Result<Response> {
        let target = format!("/v1/studies/{study}:import");
        self.wait(&Request::ndjson(target, lines.into()))
    }
}

impl Response {
    pub(crate) fn json(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&self.body)?)
    }
}
