//! `emab token`: access tokens of the decision service.

use std::path::PathBuf;

use emab_server::serve::token_file;
use emab_server::store::Address;
use emab_server::tokens::{Token, TokenError, TokenFile, TokenStore, TokenTable};
use serde_json::{Value, json};

use crate::args::{NewToken, Token as Args, TokenAction, store};
use crate::error::CommandError;
use crate::terminal;

pub fn token(args: Args, json: bool) -> Result<(), CommandError> {
    let tokens = tokens(args.tokens, args.store.as_ref())?;
    match args.action {
        TokenAction::New(args) => new(&*tokens, args, json),
        TokenAction::List => list(&*tokens, json),
        TokenAction::Revoke { token } => revoke(&*tokens, &token, json),
    }
}

/// The tokens of a file, or of a PostgreSQL store.
fn tokens(
    file: Option<PathBuf>,
    given: Option<&Address>,
) -> Result<Box<dyn TokenStore>, CommandError> {
    if let Some(file) = file {
        return Ok(Box::new(TokenFile::at(file)));
    }
    let store = store(given)?;
    let rows = store.map(|store| store.tokens()).transpose();
    let rows = rows.map_err(TokenError::from)?.flatten();
    if let Some(rows) = rows {
        return Ok(Box::new(TokenTable::new(rows)));
    }
    if given.is_some() {
        return Err(CommandError::input(
            "the tokens of a SQLite store are in a file: use --tokens FILE instead of --store",
        ));
    }
    Ok(Box::new(TokenFile::at(token_file()?)))
}

fn new(tokens: &dyn TokenStore, args: NewToken, json: bool) -> Result<(), CommandError> {
    let (name, role) = (&args.name, args.role);
    let studies = Some(args.studies).filter(|studies| !studies.is_empty());
    let (token, secret) = tokens.new_token(name, role, studies)?;
    // The secret alone goes to standard output, for scripts.
    let mut document = document(&token);
    document["secret"] = secret.reveal().into();
    terminal::show(json, &document, || secret.reveal().into())?;
    terminal::note(&format!(
        "token {} of {name}, {role} on {}, is in {}; its secret is not stored and not shown again",
        token.id,
        studies_of(&token),
        tokens.place()
    ));
    Ok(())
}

fn list(tokens: &dyn TokenStore, json: bool) -> Result<(), CommandError> {
    let tokens = tokens.list()?;
    if json {
        return terminal::print_json(&tokens.iter().map(document).collect::<Vec<_>>());
    }
    let row = |token: &Token| {
        vec![
            token.id.clone(),
            token.name.clone(),
            token.role.to_string(),
            studies_of(token),
            token.created.clone(),
            token.revoked.as_deref().unwrap_or("no").into(),
        ]
    };
    let rows: Vec<Vec<String>> = tokens.iter().map(row).collect();
    let header = ["id", "name", "role", "studies", "created", "revoked"];
    terminal::print(&emab_report::table(&header, &rows, terminal::width()))
}

fn revoke(tokens: &dyn TokenStore, id_or_name: &str, json: bool) -> Result<(), CommandError> {
    let token = tokens.revoke(id_or_name)?;
    let (id, name) = (&token.id, &token.name);
    let at = token.revoked.as_deref().unwrap_or_default();
    terminal::show(json, &document(&token), || {
        format!("token {id} of {name} was revoked at {at}")
    })
}

/// Everything except the hash.
fn document(token: &Token) -> Value {
    json!({
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "studies": token.studies,
        "created": token.created,
        "revoked": token.revoked,
    })
}

fn studies_of(token: &Token) -> String {
    let bound = token.studies.as_ref();
    bound.map_or_else(|| "all studies".into(), |studies| studies.join(", "))
}
