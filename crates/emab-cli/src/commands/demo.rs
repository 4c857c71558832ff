//! `emab demo`: the decision service with simulated studies, in a temporary folder.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use emab_server::demo::{Demo, DemoToken, People, STUDIES, TemporaryFolder, until_hangup};
use emab_server::serve::{Metrics, Options, Ready, SESSION, ServeError, serve_beside};
use emab_server::store::Address;
use emab_server::tokens::TokenFile;
use serde_json::json;
use tracing::Level;

use super::serve::with_log;
use crate::args;
use crate::error::CommandError;
use crate::terminal;

/// The address, if none is given.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8420);
/// Requests per second for each token, as in `emab serve`.
const RATE: u32 = 50_000;
/// Past cases that take more than a few seconds to record.
const MANY: u64 = 2_000;

pub fn demo(args: &args::Demo, as_json: bool) -> Result<(), CommandError> {
    with_log(Level::WARN, |metrics| {
        let folder = TemporaryFolder::create().map_err(|error| {
            let place = std::env::temp_dir();
            let place = place.display();
            CommandError::Work(format!("cannot create a folder in {place}: {error}"))
        })?;
        serve_folder(args, folder.path(), metrics, as_json)
    })
}

fn serve_folder(
    args: &args::Demo,
    folder: &Path,
    metrics: Metrics,
    as_json: bool,
) -> Result<(), CommandError> {
    let options = Options {
        listen: address(args)?,
        tokens: folder.join("tokens.json"),
        tokens_named: true,
        first_admin: true,
        tls: None,
        behind_proxy: args.behind_proxy,
        person_header: None,
        checkpoint_key: folder.join("checkpoint.key"),
        checkpoint_file: None,
        rate: RATE,
        session: SESSION,
    };
    let (people, demo_tokens) = People::create(&TokenFile::at(&options.tokens))?;
    let store = folder.join("studies.db");
    let backend = Address::Sqlite(store).open().map_err(ServeError::from)?;
    serve_beside(backend, &options, metrics, |ready| async move {
        let simulation = async {
            if args.cases > MANY {
                terminal::note(&format!("recording {} past cases", args.cases));
            }
            let mut demo = Demo::start(&ready.service, people, args.seed).await?;
            demo.record_past(args.cases).await?;
            greet(&ready, folder, &demo_tokens, args, as_json);
            Ok(demo.run(args.pace).await?)
        };
        // A closed terminal ends the demo.
        until_hangup(simulation).await
    })?;
    Ok(())
}

/// The given address, or the default one, or a free port if that is in use.
fn address(args: &args::Demo) -> Result<SocketAddr, CommandError> {
    if let Some(address) = args.listen {
        if !args.behind_proxy && !address.ip().to_canonical().is_loopback() {
            return Err(CommandError::input(format!(
                "{address} can be reached from other machines, and the demo has no TLS; listen on 127.0.0.1, or use \
                 `--behind-proxy` if a proxy provides TLS"
            )));
        }
        return Ok(address);
    }
    match TcpListener::bind(LISTEN) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            terminal::note(&format!("note: {LISTEN} is in use; another port is taken"));
            Ok(SocketAddr::new(LISTEN.ip(), 0))
        }
        _ => Ok(LISTEN),
    }
}

/// Prints the address and the tokens on standard output once the past is recorded.
fn greet(
    ready: &Ready,
    folder: &Path,
    demo_tokens: &[DemoToken],
    args: &args::Demo,
    as_json: bool,
) {
    let address = format!("http://{}", ready.address);
    let store = folder.join("studies.db");
    // A closed standard output does not stop the service.
    let _ = if as_json {
        let tokens = demo_tokens
            .iter()
            .map(|it| json!({ "role": it.role, "person": it.person, "token": it.secret.reveal() }));
        terminal::print_json(&json!({
            "address": address,
            "folder": folder,
            "store": store,
            "studies": STUDIES,
            "tokens": tokens.collect::<Vec<_>>(),
        }))
    } else {
        let [first, second] = STUDIES;
        let mut text = format!("listening on {address}  (docs: {address}/docs)\n\n");
        for DemoToken {
            role,
            person,
            secret,
        } in demo_tokens
        {
            text += &format!("    {role:<8}  {person:<11}  {}\n", secret.reveal());
        }
        let pace = args.pace.as_secs_f64();
        text += &format!(
            "\nOpen {address}/ in a browser and sign in with one of these tokens, the first of which allows everything. Every {pace} s \
             something is reported in one of the studies `{first}` and `{second}`, and you may act on any of their cases.\n\n\
             The studies and tokens are in {}. They are deleted when this command ends (Ctrl-C).\n",
            folder.display()
        );
        terminal::print(&text)
    };
}
