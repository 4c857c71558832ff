//! The list of tokens, and the form that creates one.

use maud::{Markup, html};

use super::{
    TITLE, duration, durations, role_in_words, status, studies, when, with_secret, with_tokens,
};
use crate::console::form::{Fields, Rejected, Values, is_rejection, shown_to, text_field};
use crate::console::layout::{Page, Section};
use crate::console::visit::{PageResult, Visit};
use crate::http::error::ApiError;
use crate::tokens::{NewToken, Permission, Role, Token};

/// The largest number of studies that a token is bound to on this page.
const MAX_STUDIES: usize = 100;

/// The number of tokens on a page.
const LIMIT: usize = 50;

pub async fn page(visit: Visit) -> PageResult {
    visit.caller.may(Permission::Tokens)?;
    show(&visit, None).await
}

async fn show(visit: &Visit, rejected: Option<Rejected<'_>>) -> PageResult {
    let mut tokens = with_tokens(&visit.app, |store| store.list()).await?;
    // The newest first.
    tokens.reverse();
    let only_active = visit.query.get("show") == "active";
    let (all, active) = (
        tokens.len(),
        tokens.iter().filter(|it| it.is_active()).count(),
    );
    tokens.retain(|token| !only_active || token.is_active());
    let pages = tokens.len().div_ceil(LIMIT).max(1);
    let number = visit
        .query
        .get("page")
        .parse::<usize>()
        .unwrap_or(1)
        .clamp(1, pages);
    let shown = tokens.chunks(LIMIT).nth(number - 1).unwrap_or_default();
    let filter = if only_active { "show=active&" } else { "" };
    let link = |here: bool, to: &str, text: String| html! { li { a href=(to) aria-current=[here.then_some("true")] { (text) } } };
    let content = html! {
        @if visit.query.get("note") == "revoked" { p.notice role="status" { "The token is revoked. Every session that began with it has ended." } }
        p { "A token lets a person or a program use this service. Each has a role, and may be bound to studies." }
        (create_form(visit, Values::of(rejected, "create")))
        h2 id="tokens" { "Tokens" }
        nav.tabs aria-label="Which tokens" {
            ul {
                (link(!only_active, "people", format!("All ({all})")))
                (link(only_active, "people?show=active", format!("Active ({active})")))
            }
        }
        (table(visit, shown))
        @if pages > 1 {
            nav.pages aria-label="Pages of tokens" {
                ul {
                    @if number > 1 { li { a rel="prev" href={ "people?" (filter) "page=" (number - 1) } { "Newer tokens" } } }
                    li { "Page " (number) " of " (pages) }
                    @if number < pages { li { a rel="next" href={ "people?" (filter) "page=" (number + 1) } { "Older tokens" } } }
                }
            }
        }
    };
    Ok(Page::new(TITLE, Section::People)
        .rejected(rejected)
        .show(visit, &content))
}

fn table(visit: &Visit, tokens: &[Token]) -> Markup {
    html! {
        div.wide tabindex="0" role="group" aria-label="Table: tokens" {
            table.data.tokens {
                thead { tr {
                    th scope="col" { "Token" } th scope="col" { "Person" } th scope="col" { "Role" } th scope="col" { "Studies" } th scope="col" { "Status" }
                    th scope="col" { "Created" } th scope="col" { "Last used" } th scope="col" { "Expires" }
                } }
                tbody {
                    @for token in tokens {
                        tr {
                            th scope="row" {
                                a href={ "people/" (token.id) } { bdi { (token.name) } } br;
                                code { (token.id) }
                                @if token.id == visit.caller.id() { br; "yours" }
                            }
                            td { bdi { (token.person()) } }
                            td { (token.role) }
                            td { (studies(token)) }
                            td { (status(token)) }
                            td { (when(Some(&token.created), "")) }
                            td { (when(token.used.as_ref(), "never")) }
                            td { (when(token.expires.as_ref(), "never")) }
                        }
                    }
                }
            }
        }
        p.hint { "Open a token to replace or revoke it. The last use is known to the minute." }
    }
}

const LIFETIMES: [(&str, &str); 6] = [
    ("1d", "1 day"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("365d", "1 year"),
    ("", "no expiry"),
];

fn create_form(visit: &Visit, values: Values<'_>) -> Markup {
    let scope = values.get("scope");
    html! {
        details open[values.rejected()] {
            summary { "Create a token" }
            form.card method="post" action={ (visit.root) "people" } {
                (shown_to(&visit.caller))
                (text_field(("token-name", "name"), "Name of the token", values.get("name"), Some("Such as ward-3. Lists and logs show it."), true))
                (text_field(("token-person", "person"), "Person", values.get("person"), Some(
                    "Who acts with it: the log of a study names this person. Empty: the name of the token."
                ), false))
                fieldset {
                    legend { "Role" }
                    @for role in Role::ALL {
                        @let id = format!("role-{role}");
                        div.choice {
                            input type="radio" id=(id) name="role" value=(role) checked[values.get("role") == role.as_str()] required;
                            label for=(id) { b { (role) } " " (role_in_words(role)) }
                        }
                    }
                }
                fieldset {
                    legend { "Studies" }
                    div.choice {
                        input type="radio" id="scope-some" name="scope" value="some" checked[scope == "some"] required;
                        label for="scope-some" { "only those that are named here" }
                    }
                    (text_field(("token-studies", "studies"), "Names of the studies", values.get("studies"), Some("With commas between them."), false))
                    div.choice {
                        input type="radio" id="scope-all" name="scope" value="all" checked[scope == "all"] required;
                        label for="scope-all" { "all studies, including future ones" }
                    }
                }
                (durations(("token-lifetime", "lifetime"), "Valid for", "Afterwards it is rejected. It can be revoked at any time.", &LIFETIMES, values.or("lifetime", "365d")))
                button type="submit" { "Create the token and show its secret" }
            }
        }
    }
}

/// Creates a token and shows its secret.
pub async fn create(visit: Visit) -> PageResult {
    visit.caller.may(Permission::Tokens)?;
    let made = match new_token(&visit.form) {
        Ok(new) => with_tokens(&visit.app, move |store| store.new_token(&new)).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => with_secret(&visit, made, html! {}).await,
        Err(error) if is_rejection(&error) => {
            let rejected = Rejected {
                form: "create",
                typed: &visit.form,
                error: &error,
            };
            show(&visit, Some(rejected)).await
        }
        Err(error) => Err(error),
    }
}

fn new_token(form: &Fields) -> Result<NewToken, ApiError> {
    let wrong = |what: &str| Err(super::not_possible(what));
    let role = match form.get("role") {
        "" => return wrong("choose a role: what the token may do"),
        role => role.parse::<Role>().map_err(super::rejection)?,
    };
    let names = form
        .get("studies")
        .split([',', ' ', '\n'])
        .filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(Into::into).collect();
    if names.len() > MAX_STUDIES {
        return wrong("a token is bound to 100 studies at most; leave it valid for all of them");
    }
    let studies = match (form.get("scope"), names.is_empty()) {
        ("all", true) => None,
        ("some", false) => Some(names),
        ("all", false) => {
            return wrong(
                "studies are named, and the token is to be valid for all of them; choose one",
            );
        }
        ("some", true) => return wrong("name the studies for which the token is valid"),
        _ => return wrong("choose the studies for which the token is valid"),
    };
    let lifetime = match form.get("lifetime") {
        "" => None,
        text => Some(duration(text, "lifetime")?),
    };
    Ok(NewToken {
        name: form.get("name").into(),
        owner: form.given("person"),
        role,
        studies,
        lifetime,
    })
}
