//! `emab serve`: the decision service.

use std::fs::File;
use std::io;
use std::time::Duration;

use emab_server::log::LogWriter;
use emab_server::serve::{
    Metrics, Options, PersonHeader, Ready, ServeError, data_folder, serve as run, token_file,
};
use emab_server::store::Address;
use serde_json::json;
use tracing::Level;

use crate::args::Serve;
use crate::error::CommandError;
use crate::terminal;

pub fn serve(args: &Serve, as_json: bool) -> Result<(), CommandError> {
    with_log(args.log, |metrics| serve_store(args, metrics, as_json))
}

/// Runs the service with a log on standard error.
pub(super) fn with_log(
    level: Level,
    serve: impl FnOnce(Metrics) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let metrics = Metrics::default();
    let log = start_log(level, &metrics)?;
    let served = serve(metrics);
    // A log without a reader does not delay the end.
    log.flush_within(Duration::from_millis(500));
    served
}

/// Writes the log to standard error, on a thread of its own: a stalled reader does not block the service.
fn start_log(level: Level, metrics: &Metrics) -> Result<LogWriter, ServeError> {
    // A copy without the lock of `std::io::stderr`, which a blocked write would hold.
    let log = standard_error()
        .and_then(|stderr| LogWriter::start(stderr, metrics.dropped_log_lines.clone()))
        .map_err(ServeError::Start)?;
    let lines = log.clone();
    tracing_subscriber::fmt()
        .json()
        .with_max_level(level)
        .with_writer(move || lines.clone())
        .init();
    // The default hook writes to standard error itself.
    std::panic::set_hook(Box::new(
        |panic| tracing::error!(%panic, "a thread panicked"),
    ));
    Ok(log)
}

#[cfg(unix)]
fn standard_error() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stderr().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn standard_error() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stderr()
        .as_handle()
        .try_clone_to_owned()
        .map(File::from)
}

fn serve_store(args: &Serve, metrics: Metrics, as_json: bool) -> Result<(), CommandError> {
    let store = match crate::args::store(args.store.as_ref())? {
        Some(store) => store,
        None => Address::Sqlite(data_folder()?.join("studies.db")),
    };
    let checkpoint_key = match (&args.checkpoint_key, &store) {
        (Some(file), _) => file.clone(),
        (None, Address::Sqlite(file)) => file.with_file_name("checkpoint.key"),
        (None, Address::Postgres(_)) => data_folder()?.join("checkpoint.key"),
    };
    let header = args.person_header.as_deref();
    let header = header.map(|name| PersonHeader::new(name, args.trusted_proxy.clone()));
    let options = Options {
        person_header: header.transpose().map_err(CommandError::Input)?,
        checkpoint_key,
        checkpoint_file: args.checkpoint_file.clone(),
        listen: args.listen,
        tokens: match &args.tokens {
            Some(file) => file.clone(),
            None => token_file()?,
        },
        tokens_named: args.tokens.is_some(),
        first_admin: !args.no_admin_token,
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        behind_proxy: args.behind_proxy,
        rate: args.rate,
        session: args.session,
    };
    let backend = store.open().map_err(ServeError::from)?;
    run(backend, &options, metrics, |ready| greet(ready, as_json))?;
    Ok(())
}

/// Prints the address on standard output once the service listens, so that a script can wait for it.
fn greet(ready: &Ready, as_json: bool) {
    let scheme = if ready.tls { "https" } else { "http" };
    let address = format!("{scheme}://{}", ready.address);
    let first = ready.first.as_ref().map(|secret| secret.reveal());
    // A closed standard output does not stop the service.
    let _ = if as_json {
        terminal::print_json(&json!({ "address": address, "admin_token": first }))
    } else {
        let mut text =
            format!("listening on {address}  (open it in a browser; API: {address}/docs)\n");
        if let Some(first) = first {
            let place = &ready.tokens;
            text += &format!(
                "\nThe first start created an admin token. It is not shown again; {place} stores only its hash.\n\n    {first}\n\n"
            );
        }
        terminal::print(&text)
    };
}
