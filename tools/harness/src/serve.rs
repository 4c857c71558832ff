//! The child: the service as `emab serve` runs it, with a fault planted in it if so asked.

use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use emab_server::serve::{Options, serve as run};
use emab_server::store::{Address, Backend};

use crate::fault::{Fault, Planted};

/// How it is run.
#[derive(Clone, Debug)]
pub struct Serve {
    /// The store.
    pub store: Address,
    /// The token file.
    pub tokens: PathBuf,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Calls a second for each token; 0 is no limit.
    pub rate: u32,
    /// The fault.
    pub fault: Option<Fault>,
}

/// Runs until it is told to stop, or until whoever started it is gone.
pub fn serve(serve: &Serve) -> Result<(), String> {
    die_with_parent();
    let backend = serve.store.open().map_err(|error| error.to_string())?;
    let backend: Arc<dyn Backend> = match serve.fault {
        None => backend,
        Some(fault) => Arc::new(Planted::new(backend, fault)),
    };
    let options = Options {
        listen: serve.listen,
        tokens: serve.tokens.clone(),
        tokens_named: true,
        tls: None,
        behind_proxy: false,
        rate: serve.rate,
    };
    run(backend, &options, |ready| {
        println!("listening on http://{}", ready.address);
    })
    .map_err(|error| error.to_string())
}

/// Our input ends when the process that holds its other end does, however it ended.
fn die_with_parent() {
    std::thread::spawn(|| {
        let mut some = [0; 64];
        while matches!(std::io::stdin().read(&mut some), Ok(1..)) {}
        std::process::exit(1);
    });
}
