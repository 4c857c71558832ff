//! The page of a token: the forms that replace and revoke it, and what follows from that.

use maud::{Markup, html};

use super::{
    TITLE, changes_tokens, duration, durations, role_in_words, status, studies, when, with_secret,
    with_tokens,
};
use crate::console::form::{Rejected, Values, is_rejection, shown_to, tick_box};
use crate::console::layout::{Page, Section, go_to};
use crate::console::visit::{PageResult, Visit};
use crate::console::words::text;
use crate::domain::json::short;
use crate::http::error::ApiError;
use crate::tokens::{Permission, Token};

/// A token and what follows from revoking it.
struct Shown {
    token: Token,
    /// Whether the person is signed in with it.
    is_own: bool,
    /// Whether no other token may change tokens.
    is_last_admin: bool,
}

impl Shown {
    async fn read(visit: &Visit<String>) -> Result<Shown, ApiError> {
        let tokens = with_tokens(&visit.app, |store| store.list()).await?;
        let others = tokens
            .iter()
            .any(|it| it.id != visit.path && changes_tokens(it));
        let token = tokens.into_iter().find(|it| it.id == visit.path);
        let token = token.ok_or_else(|| {
            ApiError::not_found(format!(
                "there is no token with the id `{}`",
                short(&visit.path)
            ))
        })?;
        Ok(Shown {
            is_own: token.id == visit.caller.id(),
            is_last_admin: changes_tokens(&token) && !others,
            token,
        })
    }

    /// What a person must know before the token is revoked.
    fn warnings(&self) -> Vec<&'static str> {
        let own =
            "You are signed in with this token. You are signed out at once when it is revoked.";
        let last = "This is the last active administrator of all studies. Without it no page can create, replace or revoke tokens: an \
            operator must create one on the machine of the service, with `emab token new NAME --role admin`.";
        let all = [(self.is_own, own), (self.is_last_admin, last)];
        all.into_iter()
            .filter_map(|(applies, warning)| applies.then_some(warning))
            .collect()
    }
}

pub async fn token_page(visit: Visit<String>) -> PageResult {
    visit.caller.may(Permission::Tokens)?;
    let shown = Shown::read(&visit).await?;
    Ok(show(&visit, &shown, None))
}

fn show(
    visit: &Visit<String>,
    shown: &Shown,
    rejected: Option<Rejected<'_>>,
) -> axum::response::Response {
    let token = &shown.token;
    let content = html! {
        p { a href={ (visit.root) "people" } { "All tokens" } }
        dl {
            div { dt { "Name" } dd { bdi { (token.name) } } }
            div { dt { "Id" } dd { code { (token.id) } } }
            div { dt { "Person" } dd { bdi { (token.person()) } } }
            div { dt { "Role" } dd { (token.role) ": " (role_in_words(token.role)) } }
            div { dt { "Studies" } dd { (studies(token)) } }
            div { dt { "Status" } dd { (status(token)) } }
            div { dt { "Created" } dd { (when(Some(&token.created), "")) } }
            div { dt { "Last used" } dd { (when(token.used.as_ref(), "never")) } }
            div { dt { "Expires" } dd { (when(token.expires.as_ref(), "never")) } }
            @if token.revoked.is_some() { div { dt { "Revoked" } dd { (when(token.revoked.as_ref(), "")) } } }
            @if let Some(next) = &token.successor { div { dt { "Replaced by" } dd { a href=(next) { code { (next) } } } } }
        }
        @if token.is_active() {
            @if token.successor.is_none() { (replace_form(visit, shown, Values::of(rejected, "replace"))) }
            (revoke_form(visit, shown))
        } @else {
            p { "This token is not valid any more. A new one is created on the page " a href={ (visit.root) "people" } { (TITLE) } "." }
        }
    };
    Page::new(format!("Token {}", token.name), Section::People)
        .rejected(rejected)
        .show(visit, &content)
}

const GRACES: [(&str, &str); 5] = [
    ("0s", "not at all: it is revoked at once"),
    ("1h", "1 hour"),
    ("1d", "1 day"),
    ("7d", "7 days"),
    ("30d", "30 days"),
];

fn replace_form(visit: &Visit<String>, shown: &Shown, values: Values<'_>) -> Markup {
    html! {
        section.card aria-labelledby="replace-title" {
            h2 id="replace-title" { "Replace it" }
            p { "A new token with the same name, person, role and studies gets a new secret. For some time both are valid, so that programs can change over." }
            @if shown.is_own { p.notice { "You are signed in with this token. Sign in with the new secret before the old one ends." } }
            form method="post" action={ (visit.root) "people/" (shown.token.id) } {
                (shown_to(&visit.caller))
                input type="hidden" name="do" value="replace";
                (durations(("grace", "grace"), "The old secret stays valid for", "After this time it is rejected.", &GRACES, values.or("grace", "1d")))
                button type="submit" { "Replace it and show the new secret" }
            }
        }
    }
}

fn revoke_form(visit: &Visit<String>, shown: &Shown) -> Markup {
    let warnings = shown.warnings();
    html! {
        section.card aria-labelledby="revoke-title" {
            h2 id="revoke-title" { "Revoke it" }
            p { "The secret is rejected at once, and sessions that began with it end. This cannot be undone. What was recorded with it stays." }
            form method="post" action={ (visit.root) "people/" (shown.token.id) } {
                (shown_to(&visit.caller))
                input type="hidden" name="do" value="revoke";
                @if shown.is_last_admin { input type="hidden" name="warned" value="yes"; }
                @for warning in &warnings { p.error { (text(warning)) } }
                (tick_box(("sure", "sure"), "Yes, revoke this token", false))
                button.warn type="submit" { "Revoke " bdi { (shown.token.name) } }
            }
        }
    }
}

/// Replaces or revokes a token.
pub async fn change(visit: Visit<String>) -> PageResult {
    visit.caller.may(Permission::Tokens)?;
    let shown = Shown::read(&visit).await?;
    let form = visit.form.get("do").to_owned();
    let error = match form.as_str() {
        "replace" => match replace(&visit, &shown).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        },
        "revoke" => match revoke(&visit, &shown).await {
            Ok(()) => return Ok(go_to(&format!("{}people?note=revoked", visit.root))),
            Err(error) => error,
        },
        _ => ApiError::malformed("the form names no change; reload the page"),
    };
    if !is_rejection(&error) {
        return Err(error);
    }
    let rejected = Rejected {
        form: &form,
        typed: &visit.form,
        error: &error,
    };
    Ok(show(&visit, &shown, Some(rejected)))
}

async fn replace(visit: &Visit<String>, shown: &Shown) -> PageResult {
    let grace = duration(visit.form.get("grace"), "grace")?;
    let id = visit.path.clone();
    let made = with_tokens(&visit.app, move |store| store.rotate(&id, grace)).await?;
    let more = html! {
        p {
            "The old secret (id " code { (shown.token.id) } ") "
            @if grace.is_zero() { "is revoked." } @else { "stays valid for " (humantime::format_duration(grace)) "." }
            @if shown.is_own { " You are signed in with it: sign out and in again with the new secret." }
        }
    };
    with_secret(visit, made, more).await
}

/// A token is revoked only after a confirmation, since that cannot be undone.
async fn revoke(visit: &Visit<String>, shown: &Shown) -> Result<(), ApiError> {
    if !visit.form.ticked("sure") {
        let what = "tick the box to confirm that the token is to be revoked";
        return Err(super::not_possible(what));
    }
    // Another one may have been revoked since the page was shown.
    if shown.is_last_admin && !visit.form.ticked("warned") {
        let what =
            "this has become the last active administrator of all studies; read the warning below";
        return Err(super::not_possible(what));
    }
    let id = visit.path.clone();
    with_tokens(&visit.app, move |store| store.revoke(&id)).await?;
    Ok(())
}
