//! `emab serve`: the decision service.

use emab_server::serve::{Options, Ready, ServeError, data_folder, serve as run, token_file};
use emab_server::store::Address;
use serde_json::json;

use crate::args::Serve;
use crate::error::CommandError;
use crate::terminal;

pub fn serve(args: &Serve, as_json: bool) -> Result<(), CommandError> {
    tracing_subscriber::fmt()
        .json()
        .with_max_level(args.log)
        .with_writer(std::io::stderr)
        .init();
    let store = match &args.store {
        Some(store) => store.clone(),
        None => Address::Sqlite(data_folder()?.join("studies.db")),
    };
    let options = Options {
        listen: args.listen,
        tokens: match &args.tokens {
            Some(file) => file.clone(),
            None => token_file()?,
        },
        tokens_named: args.tokens.is_some(),
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        behind_proxy: args.behind_proxy,
        rate: args.rate,
    };
    let backend = store.open().map_err(ServeError::from)?;
    run(backend, &options, |ready| greet(ready, &options, as_json))?;
    Ok(())
}

/// Prints the address on standard output once the service listens, so that a script can wait for it.
fn greet(ready: &Ready, options: &Options, as_json: bool) {
    let scheme = if ready.tls { "https" } else { "http" };
    let address = format!("{scheme}://{}", ready.address);
    let first = ready.first.as_ref().map(|secret| secret.reveal());
    // A closed standard output does not stop the service.
    let _ = if as_json {
        terminal::print_json(&json!({ "address": address, "admin_token": first }))
    } else {
        let mut text = format!("listening on {address}  (docs: {address}/docs)\n");
        if let Some(first) = first {
            let file = options.tokens.display();
            text += &format!(
                "\nThe first start created an admin token. It is not shown again; {file} stores only its hash.\n\n    {first}\n\n"
            );
        }
        terminal::print(&text)
    };
}
