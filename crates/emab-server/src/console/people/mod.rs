//! People and tokens: the list of tokens, and the forms that create, replace and revoke one. A new secret is shown once, on the page
//! that answers the form.

mod list;
mod token;

use std::sync::Arc;

use axum::response::Response;
use emab_problem::is_name;
use maud::{Markup, html};

pub use list::{create, page};
pub use token::{change, token_page};

use super::layout::{Page, Section, time};
use super::visit::Visit;
use crate::http::App;
use crate::http::error::ApiError;
use crate::tokens::{Role, Secret, Token, TokenError, TokenStore};

const TITLE: &str = "People and tokens";

/// Uses the place of the tokens on a thread that may block.
async fn with_tokens<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&dyn TokenStore) -> Result<T, TokenError> + Send + 'static,
) -> Result<T, ApiError> {
    let tokens = app.tokens.clone();
    let done = tokio::task::spawn_blocking(move || {
        // So that the list shows the last uses up to now.
        tokens.write_uses();
        let store: Arc<dyn TokenStore + Send + Sync> = tokens.store();
        work(&*store)
    });
    let done = done
        .await
        .map_err(|_| ApiError::internal("the tokens could not be changed"))?;
    done.map_err(rejection)
}

/// Another input may satisfy a rule; otherwise the tokens cannot be used now.
fn rejection(error: TokenError) -> ApiError {
    match error {
        TokenError::Rule(_)
        | TokenError::Role(_)
        | TokenError::Taken(..)
        | TokenError::Unknown(..)
        | TokenError::Ambiguous(..) => not_possible(error.to_string()),
        _ => ApiError::unavailable(error.to_string()).retry(5),
    }
}

/// A form that violates a rule of tokens.
fn not_possible(what: impl Into<String>) -> ApiError {
    ApiError {
        title: "Not possible",
        ..ApiError::not_possible(what)
    }
}

/// What a role may do.
fn role_in_words(role: Role) -> &'static str {
    match role {
        Role::Admin => {
            "does everything: creates and closes studies, imports data, and without a list of studies also changes tokens"
        }
        Role::Operator => {
            "treats cases: opens them, sees recommendations with their reasons, enters and corrects outcomes"
        }
        Role::Viewer => "reads everything, with estimates, log and exports, and changes nothing",
        Role::Blinded => {
            "treats cases without seeing estimates, reasons or the outcomes that others have entered"
        }
    }
}

/// Whether a token is valid, and if not why.
fn status(token: &Token) -> &'static str {
    match token {
        token if token.revoked.is_some() && token.successor.is_some() => "replaced",
        token if token.revoked.is_some() => "revoked",
        token if token.has_expired() && token.successor.is_some() => "replaced",
        token if token.has_expired() => "expired",
        token if token.successor.is_some() => "active, replaced",
        _ => "active",
    }
}

/// Whether a token may change tokens.
fn changes_tokens(token: &Token) -> bool {
    token.is_active() && token.role == Role::Admin && token.studies.is_none()
}

fn studies(token: &Token) -> Markup {
    html! {
        @match &token.studies {
            None => { "all studies" }
            Some(names) => { @for (i, name) in names.iter().enumerate() { @if i > 0 { ", " } bdi { (name) } } }
        }
    }
}

fn when(at: Option<&String>, otherwise: &str) -> Markup {
    html! { @if let Some(at) = at { (time(at)) } @else { (otherwise) } }
}

/// The page with a new secret. `more` says what else is to be known.
async fn with_secret<P>(
    visit: &Visit<P>,
    (token, secret): (Token, Secret),
    more: Markup,
) -> Result<Response, ApiError> {
    let unknown = unknown_studies(visit, &token).await?;
    let content = html! {
        section.card aria-labelledby="secret-title" {
            h2 id="secret-title" tabindex="-1" autofocus { "The secret of " bdi { (token.name) } }
            p { b { "It is shown once." } " Copy it now and give it to the person in a safe way. The service stores only its hash." }
            p.secret id="secret" translate="no" { (secret.reveal()) }
            p { button type="button" data-copy=(secret.reveal()) hidden { "Copy the secret" } }
            @if !unknown.is_empty() {
                p.notice {
                    "There is no study "
                    @for (i, name) in unknown.iter().enumerate() { @if i > 0 { " or " } b { bdi { (name) } } }
                    " yet. Check the name; the token is valid for it when it is created."
                }
            }
            (more)
            dl {
                div { dt { "Id" } dd { code { (token.id) } } }
                div { dt { "Person" } dd { bdi { (token.person()) } } }
                div { dt { "Role" } dd { (token.role) ": " (role_in_words(token.role)) } }
                div { dt { "Studies" } dd { (studies(&token)) } }
                div { dt { "Expires" } dd { (when(token.expires.as_ref(), "never")) } }
            }
            p { "The person signs in with it on the start page of this console. Programs send it in the header " code { "Authorization: Bearer" } "." }
        }
        p { a href={ (visit.root) "people" } { "Back to people and tokens" } }
    };
    Ok(Page::new(TITLE, Section::People).show(visit, &content))
}

/// The studies of a token that do not exist.
async fn unknown_studies<P>(visit: &Visit<P>, token: &Token) -> Result<Vec<String>, ApiError> {
    let mut unknown = Vec::new();
    for name in token.studies.iter().flatten().filter(|name| is_name(name)) {
        match visit.app.service.head(name).await.map_err(ApiError::from) {
            Ok(_) => {}
            Err(error) if error.status == 404 => unknown.push(name.clone()),
            Err(error) => return Err(error),
        }
    }
    Ok(unknown)
}

/// A choice of a duration.
fn durations(
    (id, name): (&str, &str),
    label: &str,
    hint: &str,
    options: &[(&str, &str)],
    chosen: &str,
) -> Markup {
    let hint_id = format!("{id}-hint");
    html! {
        div.field {
            label for=(id) { (label) }
            p.hint id=(hint_id) { (hint) }
            select id=(id) name=(name) aria-describedby=(hint_id) {
                @for (value, text) in options { option value=(value) selected[*value == chosen] { (text) } }
            }
        }
    }
}

/// Reads a duration such as `90d`.
fn duration(text: &str, field: &str) -> Result<std::time::Duration, ApiError> {
    humantime::parse_duration(text).map_err(|_| {
        let text = crate::domain::json::short(text);
        let what = format!("`{field}` is a time such as `90d` or `12h`, got `{text}`");
        not_possible(what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_rejection_and_a_fault_is_not() {
        assert_eq!(rejection(TokenError::Rule("a".into())).status, 422);
        assert_eq!(rejection(TokenError::Role("a".into())).status, 422);
        assert_eq!(rejection(TokenError::Busy("a".into())).status, 503);
        assert_eq!(rejection(TokenError::Random("a".into())).status, 503);
    }
}
