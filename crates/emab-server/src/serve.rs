//! Runs the service: opens the listener, the tokens and the writer, and stops them in order.

use std::ffi::OsString;
use std::future::pending;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpListener;

pub use crate::app::Metrics;
use crate::app::Service;
use crate::app::checkpoint::{CheckpointFile, CheckpointKey, Checkpoints, KeyError};
use crate::console;
use crate::demo::DemoError;
use crate::http::{App, Rates};
pub use crate::http::{PersonHeader, SESSION};
use crate::platform::Termination;
use crate::store::{Backend, StoreError, TokenRows};
use crate::tokens::{Secret, TokenError, TokenFile, TokenStore, TokenTable, Tokens};
use crate::transport::{Limits, ListenError, Tls, check_address, serve as listen};

/// Options of the service.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; port 0 is any free port.
    pub listen: SocketAddr,
    /// The token file.
    pub tokens: PathBuf,
    /// Whether the token file was named explicitly.
    pub tokens_named: bool,
    /// Whether an admin token is created if there is no token. Its secret is in [`Ready`].
    pub first_admin: bool,
    /// Certificate chain and key, in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether a proxy provides TLS.
    pub behind_proxy: bool,
    /// The header in which a proxy names the person.
    pub person_header: Option<PersonHeader>,
    /// The key that signs checkpoints; it is created if there is no file.
    pub checkpoint_key: PathBuf,
    /// The file of checkpoints, in another place than the store.
    pub checkpoint_file: Option<PathBuf>,
    /// Requests per second for each token; 0 is no limit.
    pub rate: u32,
    /// How long a person stays signed in to the console.
    pub session: Duration,
}

/// Why the service does not run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The token file failed.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The address is not allowed, or the certificate is invalid.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The key of checkpoints cannot be used.
    #[error(transparent)]
    CheckpointKey(#[from] KeyError),
    /// The address cannot be bound.
    #[error("cannot listen on {0}: {1}; `--listen` sets another address")]
    Bind(SocketAddr, std::io::Error),
    /// Threads or signals are not available.
    #[error("cannot start: {0}")]
    Start(std::io::Error),
    /// The demo failed.
    #[error(transparent)]
    Demo(#[from] DemoError),
}

/// The running service.
pub struct Ready {
    /// The address.
    pub address: SocketAddr,
    /// Whether it uses TLS.
    pub tls: bool,
    /// The secret of the first admin, at the first start only.
    pub first: Option<Secret>,
    /// Where the tokens are, in words.
    pub tokens: String,
    /// The service without HTTP.
    pub service: Arc<Service>,
}

/// Runs the service on a store until SIGINT or SIGTERM; calls `ready` once it listens.
pub fn serve(
    backend: Arc<dyn Backend>,
    options: &Options,
    metrics: Metrics,
    ready: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    serve_beside(backend, options, metrics, |it| {
        ready(&it);
        pending()
    })
}

/// Runs the service, and beside it what `ready` returns. The service ends when that ends, and that ends at a signal.
pub fn serve_beside<F: Future<Output = Result<(), ServeError>>>(
    backend: Arc<dyn Backend>,
    options: &Options,
    metrics: Metrics,
    ready: impl FnOnce(Ready) -> F,
) -> Result<(), ServeError> {
    let table = backend.tokens()?;
    let reading = backend.tokens()?;
    check_address(
        options.listen,
        options.tokens_named || table.is_some(),
        options.tls.is_some(),
        options.behind_proxy,
    )?;
    let tls = options.tls.as_ref();
    let tls = tls
        .map(|(cert, key)| Tls::from_files(cert, key))
        .transpose()?;
    let key = CheckpointKey::open(&options.checkpoint_key)?;
    let (public, file) = (key.public(), options.checkpoint_key.display());
    tracing::info!(key = public, %file, "checkpoints are signed with this key");
    let file = options.checkpoint_file.clone();
    let errors = metrics.checkpoint_file_errors.clone();
    let file = file.map(|file| CheckpointFile::start(file, errors));
    let file = file.transpose().map_err(ServeError::Start)?;
    let checkpoints = Checkpoints::new(key, file);
    let service = Service::start(backend, metrics.clone(), Some(checkpoints))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Start)?;
    let served = runtime.block_on(async {
        let bound = TcpListener::bind(options.listen).await;
        let taken = |error| ServeError::Bind(options.listen, error);
        let listener = bound.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let mut termination = Termination::new().map_err(ServeError::Start)?;
        // After everything that can fail, so that the secret is shown.
        let (tokens, first, place) = open_tokens(table.zip(reading), options).await?;
        let rates = Rates::new(options.rate);
        let mut parts = App::new(service.clone(), tokens, rates, metrics.clone());
        parts.person_header = options.person_header.clone().map(Arc::new);
        parts.tls = tls.is_some() || options.behind_proxy;
        parts.session = options.session;
        let app = console::app(parts.clone());
        let beside = ready(Ready {
            address,
            tls: tls.is_some(),
            first,
            tokens: place,
            service: service.clone(),
        });
        let mut ended = Ok(());
        let stop = async {
            tokio::select! {
                () = termination.recv() => {}
                end = beside => ended = end,
            }
            tracing::info!("stopping: running requests are finished");
            parts.end_streams();
        };
        listen(listener, tls, app, Limits::default(), metrics, stop).await;
        ended
    });
    // Queued commands are written before the end.
    service.finish();
    runtime.shutdown_timeout(Duration::from_secs(5));
    served
}

/// Opens the tokens: those of the database, or of the file. Creates them if there are none.
async fn open_tokens(
    table: Option<(Box<dyn TokenRows>, Box<dyn TokenRows>)>,
    options: &Options,
) -> Result<(Tokens, Option<Secret>, String), ServeError> {
    let file = TokenFile::at(&options.tokens);
    let Some((rows, reading)) = table else {
        let first = file.create(options.first_admin)?;
        return Ok((Tokens::watch(file.path())?, first, file.place()));
    };
    let (named, first_admin) = (options.tokens_named, options.first_admin);
    // The connection blocks.
    let opened = tokio::task::spawn_blocking(move || {
        let (table, path) = (TokenTable::new(rows), file.path().display().to_string());
        match table.import(&file)? {
            0 if named => tracing::warn!(
                path,
                "tokens are in the database; the token file is not used"
            ),
            0 => {}
            tokens => tracing::info!(
                path,
                tokens,
                "the tokens of the file were copied to the database; the file is not used any more"
            ),
        }
        let (first, place) = (table.create(first_admin)?, table.place());
        Ok((Tokens::look_up(reading, table)?, first, place))
    });
    let failed = |error| ServeError::Start(std::io::Error::other(error));
    opened.await.map_err(failed)?
}

/// No data directory is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("none of EMAB_DATA, XDG_DATA_HOME and HOME is set; set EMAB_DATA to a folder")]
pub struct NoFolder;

/// `$EMAB_DATA`, or `$XDG_DATA_HOME/emab`, or `~/.local/share/emab`. It need not exist.
pub fn data_folder() -> Result<PathBuf, NoFolder> {
    folder_of(|name| std::env::var_os(name))
}

/// The default token file.
pub fn token_file() -> Result<PathBuf, NoFolder> {
    data_folder().map(|folder| folder.join("tokens.json"))
}

fn folder_of(var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoFolder> {
    // Empty and relative values count as not set, as the XDG specification requires.
    let given = |name| {
        var(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(folder) = given("EMAB_DATA") {
        return Ok(folder);
    }
    let absolute = |name| given(name).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(Path::new(".local/share")));
    let base = absolute("XDG_DATA_HOME").or_else(home).ok_or(NoFolder)?;
    Ok(base.join("emab"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_the_first_variable_that_is_set() {
        let of = |set: &[(&str, &str)]| {
            folder_of(|name| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| value.into())
            })
        };
        let (own, xdg, home) = (
            ("EMAB_DATA", "here"),
            ("XDG_DATA_HOME", "/x"),
            ("HOME", "/h"),
        );
        assert_eq!(of(&[own, xdg, home]), Ok("here".into()));
        assert_eq!(of(&[xdg, home]), Ok("/x/emab".into()));
        assert_eq!(of(&[home]), Ok("/h/.local/share/emab".into()));
        let odd = [("EMAB_DATA", ""), ("XDG_DATA_HOME", "relative"), home];
        assert_eq!(of(&odd), Ok("/h/.local/share/emab".into()));
        assert_eq!(of(&[]), Err(NoFolder));
    }
}
