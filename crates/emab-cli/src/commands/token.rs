//! `emab token`: access tokens of the decision service.

use std::path::PathBuf;
use std::time::Duration;

use emab_server::serve::token_file;
use emab_server::store::Address;
use emab_server::tokens::{NewToken, Secret, Token, TokenError, TokenFile, TokenStore, TokenTable};
use serde_json::{Value, json};

use crate::args::{NewToken as NewArgs, Token as Args, TokenAction, store};
use crate::error::CommandError;
use crate::terminal;

pub fn token(args: Args, json: bool) -> Result<(), CommandError> {
    let tokens = tokens(args.tokens, args.store.as_ref())?;
    match args.action {
        TokenAction::New(args) => new(&*tokens, args, json),
        TokenAction::List => list(&*tokens, json),
        TokenAction::Rotate { token, grace } => rotate(&*tokens, &token, grace, json),
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

fn new(tokens: &dyn TokenStore, args: NewArgs, json: bool) -> Result<(), CommandError> {
    let made = tokens.new_token(&NewToken {
        name: args.name,
        role: args.role,
        studies: Some(args.studies).filter(|studies| !studies.is_empty()),
        owner: args.owner,
        lifetime: args.valid_for,
    });
    show_secret(made?, tokens, json)
}

fn rotate(
    tokens: &dyn TokenStore,
    id_or_name: &str,
    grace: Duration,
    json: bool,
) -> Result<(), CommandError> {
    show_secret(tokens.rotate(id_or_name, grace)?, tokens, json)?;
    let until = match grace.is_zero() {
        true => "was revoked".into(),
        false => format!("is valid for {}", humantime::format_duration(grace)),
    };
    terminal::note(&format!("the old secret {until}"));
    Ok(())
}

fn show_secret(
    (token, secret): (Token, Secret),
    tokens: &dyn TokenStore,
    json: bool,
) -> Result<(), CommandError> {
    // The secret alone goes to standard output, for scripts.
    let mut document = document(&token);
    document["secret"] = secret.reveal().into();
    terminal::show(json, &document, || secret.reveal().into())?;
    let until = token.expires.as_ref();
    terminal::note(&format!(
        "token {} of {}, {} on {}{}, is in {}; its secret is not stored and not shown again",
        token.id,
        token.person(),
        token.role,
        studies_of(&token),
        until.map_or(String::new(), |time| format!(" until {time}")),
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
            token.person().into(),
            token.role.to_string(),
            studies_of(token),
            token.created.clone(),
            token.used.as_deref().unwrap_or("never").into(),
            token.expires.as_deref().unwrap_or("no").into(),
            token.revoked.as_deref().unwrap_or("no").into(),
        ]
    };
    let rows: Vec<Vec<String>> = tokens.iter().map(row).collect();
    let header = [
        "id",
        "name",
        "owner",
        "role",
        "studies",
        "created",
        "last used",
        "expires",
        "revoked",
    ];
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
        "owner": token.person(),
        "role": token.role,
        "studies": token.studies,
        "created": token.created,
        "last_used": token.used,
        "expires": token.expires,
        "revoked": token.revoked,
    })
}

fn studies_of(token: &Token) -> String {
    let bound = token.studies.as_ref();
    bound.map_or_else(|| "all studies".into(), |studies| studies.join(", "))
}
