//! What a scenario runs in: a temporary folder with a store, tokens and a command that starts the service.

pub(crate) mod limited_disk;
pub(crate) mod program;
pub(crate) mod service_process;

use std::path::Path;

use clap::ValueEnum;
use emab_server::store::{Address, Store};
use emab_server::tokens::{NewToken, Role, TokenFile, TokenStore};
use emab_testkit::postgres::Server;
use tempfile::TempDir;

use crate::Result;
use crate::faults::Fault;
use crate::http::{BlockingClient, Request};
use crate::load::studies::{STUDIES, Study};
use service_process::{ServiceCommand, ServiceProcess};

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StoreKind {
    /// A SQLite file.
    Sqlite,
    /// A database on a temporary PostgreSQL server.
    Postgres,
}

/// Dropping it removes the folder and stops the server.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The PostgreSQL server of the store.
    pub server: Option<Server>,
    folder: TempDir,
    address: Address,
    pub command: ServiceCommand,
    /// A token with all rights.
    pub token: String,
}

impl Environment {
    /// Creates an environment in a temporary folder. The service is this program, unless `program` is set.
    pub(crate) fn new(
        program: Option<&Path>,
        store: StoreKind,
        fault: Option<Fault>,
    ) -> Result<Environment> {
        let folder = tempfile::Builder::new().prefix("emab-harness-").tempdir()?;
        let program = match program {
            Some(program) => program.into(),
            None => std::env::current_exe()?,
        };
        let at = |name: &str| folder.path().join(name);
        let server = match store {
            StoreKind::Sqlite => None,
            StoreKind::Postgres => Some(Server::start()?),
        };
        let store = match &server {
            None => format!("sqlite:{}", at("studies.db").display()),
            Some(server) => server.database("studies")?,
        };
        let tokens = at("tokens.json");
        let (_, secret) =
            TokenFile::at(&tokens).new_token(&NewToken::new("harness", Role::Admin))?;
        let fault = fault.and_then(|fault| fault.to_possible_value());
        let after = fault.map_or_else(Vec::new, |it| vec!["--plant".into(), it.get_name().into()]);
        Ok(Environment {
            address: store.parse()?,
            command: ServiceCommand {
                program,
                before: Vec::new(),
                store,
                tokens,
                log: at("service.log"),
                after,
                variables: Vec::new(),
            },
            token: secret.reveal().into(),
            server,
            folder,
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the store, which must not exist yet, to a SQLite file in another folder.
    pub(crate) fn move_store(&mut self, folder: &Path) -> Result<()> {
        self.command.store = format!("sqlite:{}", folder.join("studies.db").display());
        self.address = self.command.store.parse()?;
        Ok(())
    }

    /// Opens the store for reading beside the service.
    pub(crate) fn open_store(&self) -> Result<Box<dyn Store>> {
        Ok(self.address.inspect()?)
    }

    pub(crate) fn connect(&self, service: &ServiceProcess) -> Result<BlockingClient> {
        BlockingClient::connect(service.address, &self.token)
    }

    /// Starts the service and creates the studies of the load.
    pub(crate) fn start_with_studies(&self) -> Result<ServiceProcess> {
        self.start_with(&STUDIES)
    }

    /// Starts the service and creates the study of the benchmarks only, which earlier builds know as well.
    pub(crate) fn start_with_study(&self) -> Result<ServiceProcess> {
        self.start_with(&STUDIES[..1])
    }

    fn start_with(&self, studies: &[Study]) -> Result<ServiceProcess> {
        let service = self.command.start()?;
        let mut client = self.connect(&service)?;
        for study in studies {
            let target = format!("/v1/studies/{}", study.name);
            client.send(Request::json("PUT", target, study.body.into()))?;
        }
        Ok(service)
    }
}
