//! Where a run takes place: a folder, a store in it or a database, tokens, studies.

use std::path::PathBuf;

use emab_server::store::{Address, Store};
use emab_server::tokens::{Role, TokenFile};
use emab_testkit::postgres::Server;
use tempfile::TempDir;

use crate::child::{Recipe, Service};
use crate::fault::Fault;
use crate::load::studies::STUDIES;
use crate::wire::{Caller, Message};

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL server of our own.
    Postgres,
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        match text {
            "sqlite" => Ok(Kind::Sqlite),
            "postgres" => Ok(Kind::Postgres),
            _ => Err("a store is `sqlite` or `postgres`".into()),
        }
    }
}

/// A folder with everything that a service needs. It is removed when this is dropped.
#[derive(Debug)]
pub struct Scene {
    /// The server, if the store is one.
    pub server: Option<Server>,
    folder: TempDir,
    address: Address,
    /// How the service is started.
    pub recipe: Recipe,
    /// A token that may do everything.
    pub token: String,
}

impl Scene {
    /// Prepares a store for this program.
    pub fn new(program: PathBuf, store: Kind, fault: Option<Fault>) -> Result<Scene, String> {
        let folder = tempfile::Builder::new()
            .prefix("emab-harness-")
            .tempdir()
            .map_err(|error| format!("no folder: {error}"))?;
        Scene::within(folder, program, store, fault)
    }

    /// The same in a folder that is there.
    pub fn within(
        folder: TempDir,
        program: PathBuf,
        store: Kind,
        fault: Option<Fault>,
    ) -> Result<Scene, String> {
        let at = |name: &str| folder.path().join(name);
        let server = match store {
            Kind::Sqlite => None,
            Kind::Postgres => Some(Server::start()?),
        };
        let store = match &server {
            None => format!("sqlite:{}", at("studies.db").display()),
            Some(server) => server.database("studies")?,
        };
        let tokens = at("tokens.json");
        let made = TokenFile::at(&tokens).new_token("harness", Role::Admin, None);
        let (_, secret) = made.map_err(|error| error.to_string())?;
        let mut more = Vec::new();
        if let Some(fault) = fault {
            more.extend(["--plant".into(), fault.name().into()]);
        }
        Ok(Scene {
            address: store.parse()?,
            recipe: Recipe {
                program,
                before: Vec::new(),
                store,
                tokens,
                log: at("service.log"),
                more,
                environment: Vec::new(),
            },
            token: secret.reveal().into(),
            server,
            folder,
        })
    }

    /// The folder.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The store, to look into it beside the service.
    pub fn look(&self) -> Result<Box<dyn Store>, String> {
        let opened = self.address.inspect();
        opened.map_err(|error| error.to_string())
    }

    /// Creates the studies.
    pub fn create_studies(&self, service: &Service) -> Result<(), String> {
        let mut caller = Caller::new(service.address, &self.token)?;
        for study in &STUDIES {
            let target = format!("/v1/studies/{}", study.name);
            let answer = caller.call(&Message::json("PUT", target, study.body.into()))?;
            if answer.status != 201 && answer.status != 200 {
                return Err(format!("study {}: {}", study.name, answer.text()));
            }
        }
        Ok(())
    }

    /// The last of what the service said.
    pub fn said(&self) -> String {
        let log = std::fs::read_to_string(&self.recipe.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}
