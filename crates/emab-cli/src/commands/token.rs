//! `emab token`: access tokens of the decision service.

use emab_server::serve::token_file;
use emab_server::tokens::{Token, TokenFile};
use emab_sim::quoted;
use serde_json::{Value, json};

use crate::args::{NewToken, Token as Args, TokenAction};
use crate::error::CommandError;
use crate::terminal;

pub fn token(args: Args, json: bool) -> Result<(), CommandError> {
    let path = match args.tokens {
        Some(path) => path,
        None => token_file()?,
    };
    let file = TokenFile::at(path);
    match args.action {
        TokenAction::New(args) => new(&file, args, json),
        TokenAction::List => list(&file, json),
        TokenAction::Revoke { token } => revoke(&file, &token, json),
    }
}

fn new(file: &TokenFile, args: NewToken, json: bool) -> Result<(), CommandError> {
    let (name, role) = (&args.name, args.role);
    let studies = Some(args.studies).filter(|studies| !studies.is_empty());
    let (token, secret) = file.new_token(name, role, studies)?;
    // The secret alone goes to standard output, for scripts.
    let mut document = document(&token);
    document["secret"] = secret.reveal().into();
    terminal::show(json, &document, || secret.reveal().into())?;
    terminal::note(&format!(
        "token {} of {name}, {role} on {}, is in {}; its secret is not stored and not shown again",
        token.id,
        studies_of(&token),
        quoted(file.path())
    ));
    Ok(())
}

fn list(file: &TokenFile, json: bool) -> Result<(), CommandError> {
    let tokens = file.list()?;
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

fn revoke(file: &TokenFile, id_or_name: &str, json: bool) -> Result<(), CommandError> {
    let token = file.revoke(id_or_name)?;
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
