//! The service as `emab serve` runs it, with an optional fault in its store. The scenarios start it as a child process.

use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use emab_server::serve::{Metrics, Options, SESSION, serve};
use emab_server::store::{Address, Backend};

use crate::Result;
use crate::faults::{Fault, FaultyBackend};

/// Runs the service until it gets a signal or its standard input ends.
#[derive(Clone, Debug, clap::Args)]
pub struct Serve {
    /// `sqlite:FILE` or `postgres://…`.
    #[arg(long)]
    store: Address,
    /// The token file.
    #[arg(long)]
    tokens: PathBuf,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Calls per second of each token; 0 is no limit.
    #[arg(long, default_value_t = 0)]
    rate: u32,
    /// A fault to inject.
    #[arg(long = "plant", value_name = "FAULT")]
    fault: Option<Fault>,
}

impl Serve {
    /// Runs the service. Fails if the store cannot be opened or the address not be bound.
    pub fn run(self) -> Result<()> {
        exit_with_parent();
        let inner = self.store.open()?;
        let backend: Arc<dyn Backend> = match self.fault {
            None => inner,
            Some(fault) => Arc::new(FaultyBackend { inner, fault }),
        };
        let options = Options {
            person_header: None,
            listen: self.listen,
            tokens: self.tokens.clone(),
            tokens_named: true,
            first_admin: true,
            checkpoint_key: self.tokens.with_file_name("checkpoint.key"),
            checkpoint_file: None,
            tls: None,
            behind_proxy: false,
            rate: self.rate,
            session: SESSION,
        };
        Ok(serve(backend, &options, Metrics::default(), |ready| {
            println!("listening on http://{}", ready.address);
        })?)
    }
}

/// Exits when standard input ends: the parent process holds its other end.
fn exit_with_parent() {
    std::thread::spawn(|| {
        let mut buffer = [0; 64];
        while matches!(std::io::stdin().read(&mut buffer), Ok(1..)) {}
        std::process::exit(1);
    });
}

/// Runs the command `emab`; its service ends with the parent process. Returns the exit code.
pub fn emab(arguments: Vec<std::ffi::OsString>) -> u8 {
    if arguments.first().is_some_and(|first| first == "serve") {
        exit_with_parent();
    }
    emab_cli::main(std::iter::once("emab".into()).chain(arguments), None)
}
