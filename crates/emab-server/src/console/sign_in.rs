//! The pages to sign in and out. A form that was sent without a session is kept: it is shown again after signing in.

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use emab_report::inline;
use maud::{Markup, html};

use super::form::{Fields, MAX_KEPT, SHOWN_TO, is_hidden, read_form};
use super::layout::{document, go_to};
use super::session;
use super::visit::{PageResult, check_origin, root};
use crate::http::App;
use crate::http::auth::{Caller, authenticated};
use crate::http::error::ApiError;
use crate::http::response::accepts;

/// The prefix of the fields of a form that is kept.
const KEPT: &str = "kept.";

/// Where to go after signing in: a page, and a form that was sent to it.
struct Next {
    /// The address, relative to the start page.
    address: String,
    /// The form; none if it was too large to be kept.
    form: Option<Fields>,
}

impl Next {
    fn of(fields: &Fields) -> Next {
        let kept = fields
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(KEPT)?, value)));
        let mut form = Fields::default();
        kept.for_each(|(name, value)| form.push(name, value));
        Next {
            address: local(fields.get("next")).into(),
            form: Some(form),
        }
    }
}

/// An address below the start page; the start page for any other text.
fn local(address: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-~?&=%".contains(c);
    match address.chars().all(plain) && !address.starts_with('/') && !address.contains("..") {
        true => address,
        false => "",
    }
}

/// The page to sign in, at the address of a page that needs it.
pub async fn instead(
    parts: &Parts,
    root: &str,
    form: Option<Fields>,
    app: &App,
) -> Result<Response, ApiError> {
    if !accepts(&parts.headers, "text/html") {
        let what =
            "sign in with a browser; the calls of the API take `Authorization: Bearer TOKEN`";
        return Err(ApiError::unauthorized(what));
    }
    let address = parts.uri.path().trim_start_matches('/');
    let query = parts
        .uri
        .query()
        .map_or(String::new(), |it| format!("?{it}"));
    let next = Next {
        address: local(&format!("{address}{query}")).into(),
        form,
    };
    show(200, root, &next, None, app).await
}

/// The page to sign in.
pub async fn page(State(app): State<App>) -> PageResult {
    let next = Next::of(&Fields::default());
    show(200, "./", &next, None, &app).await
}

async fn show(
    status: u16,
    root: &str,
    next: &Next,
    error: Option<&ApiError>,
    app: &App,
) -> PageResult {
    let heads = app.service.read(|store| Ok(store.heads("", 1)?.len()));
    let first_start = heads.await? == 0;
    let body = html! {
        main.narrow id="main" {
            h1 { "emab" }
            @if let Some(error) = error {
                div.error role="alert" tabindex="-1" autofocus { h2 { (error.title) } p { (inline(&error.detail)) } }
            }
            @match &next.form {
                Some(form) if form.is_empty() => p { "Sign in to see the studies and cases of this service." },
                Some(_) => div.notice role="status" {
                    h2 { "Your session has ended" }
                    p { "What you entered was not recorded. It is kept: sign in, and send it again." }
                },
                None => div.notice role="status" {
                    h2 { "Your session has ended" }
                    p { "What you entered was not recorded, and is too large to be kept here. Go back in the browser, copy it, and sign in." }
                },
            }
            form method="post" action={ (root) "sign-in" } {
                input type="hidden" name="next" value=(next.address);
                @if let Some(form) = &next.form { (kept_fields(form)) }
                // Password managers keep a token by the name of its user.
                input type="text" name="username" value="emab" autocomplete="username" hidden;
                div.field {
                    label for="token" { "Token" }
                    p.hint id="token-hint" { "It begins with " code { "emab_" } ". Your administrator creates it for you." }
                    input type="password" id="token" name="token" autocomplete="current-password" required
                        aria-describedby="token-hint" autofocus[error.is_none()];
                }
                button type="submit" { "Sign in" }
            }
            @if next.form.as_ref().is_some_and(Fields::is_empty) && !next.address.is_empty() {
                p.hint { "Already signed in, and here by a link from another site? " a href={ (root) (next.address) } { "Open the page" } "." }
            }
            (how_to_get_in(first_start))
        }
    };
    Ok(document(status, root, "Sign in", &body))
}

fn kept_fields(form: &Fields) -> Markup {
    html! {
        @for (name, value) in form.iter() { input type="hidden" name={ (KEPT) (name) } value=(value); }
    }
}

fn how_to_get_in(first_start: bool) -> Markup {
    html! {
        details open[first_start] {
            summary { "How do I get a token?" }
            @if first_start {
                p {
                    "This service has no study yet. Its first start printed an administrator's token in the terminal: copy it from there, \
                     sign in, and create a study. Further tokens are created on the page " b { "People and tokens" } "."
                }
            } @else {
                p { "An administrator creates it on the page " b { "People and tokens" } " of this console." }
            }
            p { "If no token is left, create one on the machine of the service:" }
            pre { code { "emab token new NAME --role admin" } }
        }
    }
}

/// Signs in: checks the token, begins a session, and goes on to the page, or shows the form that was kept.
pub async fn sign_in(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let (parts, root) = (&parts, root(parts.uri.path()));
    let answer = async {
        check_origin(&parts.headers, app.tls)?;
        let fields = read_form(2 * MAX_KEPT.0, &parts.headers, body).await?;
        let next = Next::of(&fields);
        let checked = app.tokens.check(fields.get("token")).await;
        let caller =
            authenticated(checked, parts, &app).and_then(|token| Caller::admit(token, parts, &app));
        let caller = match caller {
            Ok(caller) => caller,
            Err(error) => return show(error.status, &root, &next, Some(&error), &app).await,
        };
        // The session that this one replaces ends.
        if let Some((replaced, _)) = session::current(&parts.headers, &app).await? {
            session::end(&replaced, &parts.headers, &app).await?;
        }
        let cookie = session::begin(caller.id(), &parts.headers, &app).await?;
        let mut answer = match next.form.as_ref().filter(|form| !form.is_empty()) {
            None => go_to(&format!("{root}{}", next.address)),
            Some(form) if was_shown_to(&caller, form, &app).await => {
                send_again(&root, &next.address, form, &caller)
            }
            Some(_) => not_shown(&root),
        };
        answer.headers_mut().insert(SET_COOKIE, cookie);
        Ok(answer)
    };
    answer
        .await
        .unwrap_or_else(|error: ApiError| error.into_response())
}

/// Whether the caller is the person to whom a form was shown before, perhaps with another token.
async fn was_shown_to(caller: &Caller, form: &Fields, app: &App) -> bool {
    let token = form.get(SHOWN_TO);
    if token == caller.id() {
        return true;
    }
    let store = app.tokens.store();
    let tokens = tokio::task::spawn_blocking(move || store.list()).await;
    let tokens = tokens.ok().and_then(Result::ok).unwrap_or_default();
    let mut former = tokens.iter().filter(|it| it.id == token);
    former.any(|former| former.person() == caller.token.person())
}

/// The page with a form that was kept.
fn send_again(root: &str, address: &str, form: &Fields, caller: &Caller) -> Response {
    let place: Vec<&str> = address.split('/').collect();
    let shown = form
        .iter()
        .filter(|(name, value)| !is_hidden(name) && !value.is_empty());
    let body = html! {
        main.narrow id="main" {
            h1 { "You are signed in" }
            p {
                "This was sent after a session had ended, and was not recorded. If you send it, it is recorded in the name of "
                b { bdi { (caller.author().person) } } "."
            }
            dl {
                @if let ["studies", study, rest @ ..] = &place[..] {
                    div { dt { "Study" } dd { (study) } }
                    @if let ["cases", case, ..] = rest { div { dt { "Case" } dd { (case) } } }
                }
                @for (name, value) in shown { div { dt { (name) } dd { bdi { (value) } } } } }
            form method="post" action={ (root) (address) } {
                @for (name, value) in form.iter() { input type="hidden" name=(name) value=(value); }
                button type="submit" autofocus { "Send it now" }
            }
            p { a href=(root) { "Discard it and go to the studies" } }
        }
    };
    document(200, root, "Send it again", &body)
}

/// The page for a person who may not have sent the form that was kept.
fn not_shown(root: &str) -> Response {
    let body = html! {
        main.narrow id="main" {
            h1 { "You are signed in" }
            p { "A form was sent here after the end of a session of another person. It was not recorded, and is not shown to you." }
            p { a.button href=(root) { "Go to the studies" } }
        }
    };
    document(200, root, "Signed in", &body)
}

/// Ends the session, if there is one.
pub async fn sign_out(State(app): State<App>, headers: HeaderMap) -> PageResult {
    check_origin(&headers, app.tls)?;
    let cookie = match session::current(&headers, &app).await? {
        Some((session, _)) => session::end(&session, &headers, &app).await?,
        None => session::no_cookie(&headers, &app),
    };
    let mut answer = go_to("sign-in");
    answer.headers_mut().insert(SET_COOKIE, cookie);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn goes_to_pages_of_this_service_only() {
        for good in ["", "worklist", "studies/a/cases/p-1.x?show=open&after=p_0"] {
            assert_eq!(local(good), good);
        }
        for bad in [
            "/x",
            "//evil.example",
            "https://evil.example",
            "..",
            "a/../../x",
            "a\\b",
            "javascript:x",
        ] {
            assert_eq!(local(bad), "", "{bad}");
        }
    }
}
