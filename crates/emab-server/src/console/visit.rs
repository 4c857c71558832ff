//! The extractor of the pages: authenticates the session, and reads path, query and form.

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use super::form::{Fields, FormLimit, MAX_KEPT, read_form};
use super::session::{self, SessionKey};
use super::sign_in;
use crate::domain::{Command, Reply};
use crate::http::App;
use crate::http::auth::{Caller, authenticated};
use crate::http::body::MAX_BODY;
use crate::http::call::check_names;
use crate::http::error::ApiError;
use crate::tokens::Permission;

/// The result of every page. [`super::error_page`] makes a page of an error.
pub type PageResult = Result<Response, ApiError>;

/// A request of a person who is signed in. The path is that of the route: a study, or a study and an episode.
///
/// A person who is not signed in gets the page to sign in instead, which keeps a form that was sent.
pub struct Visit<P = ()> {
    pub app: App,
    pub caller: Caller,
    /// None if a trusted proxy authenticates people.
    pub session: Option<SessionKey>,
    pub path: P,
    pub query: Fields,
    /// The fields of the form; empty for a page that is read.
    pub form: Fields,
    /// The relative URL of the start page.
    pub root: String,
}

/// The answer to a request that is no visit.
pub enum NoVisit {
    Error(ApiError),
    /// The page to sign in.
    SignIn(Box<Response>),
}

impl From<ApiError> for NoVisit {
    fn from(error: ApiError) -> NoVisit {
        NoVisit::Error(error)
    }
}

impl IntoResponse for NoVisit {
    fn into_response(self) -> Response {
        match self {
            NoVisit::Error(error) => error.into_response(),
            NoVisit::SignIn(page) => *page,
        }
    }
}

impl<P: DeserializeOwned + Send> FromRequest<App> for Visit<P> {
    type Rejection = NoVisit;

    async fn from_request(request: Request, app: &App) -> Result<Self, NoVisit> {
        let (mut parts, body) = request.into_parts();
        let root = root(parts.uri.path());
        let is_form = parts.method == Method::POST;
        if is_form {
            check_origin(&parts.headers, app.tls)?;
        }
        let Some((session, caller)) = signed_in(&parts, app).await? else {
            let form = match is_form {
                true => read_form(MAX_KEPT.0, &parts.headers, body).await.ok(),
                false => Some(Fields::default()),
            };
            // A larger one is not kept: this page needs no token.
            let form = form.filter(|form| form.len() <= MAX_KEPT.1);
            let page = sign_in::instead(&parts, &root, form, app).await?;
            return Err(NoVisit::SignIn(Box::new(page)));
        };
        // Large forms are read for a person who may send them only.
        let max = match parts.extensions.get() {
            Some(FormLimit(max)) if caller.has(Permission::CreateStudy) => *max,
            _ => MAX_BODY,
        };
        let form = match is_form {
            true => read_form(max, &parts.headers, body).await?,
            false => Fields::default(),
        };
        check_names(&mut parts, app, false).await?;
        let path = Path::from_request_parts(&mut parts, app).await;
        let Path(path) = path.map_err(|_| ApiError::not_found("there is no such page"))?;
        Ok(Visit {
            app: app.clone(),
            caller,
            session,
            path,
            query: Fields::parse(parts.uri.query().unwrap_or_default().as_bytes()),
            form,
            root,
        })
    }
}

impl<P> Visit<P> {
    /// The same request with another path.
    pub fn at<T>(self, path: T) -> Visit<T> {
        Visit {
            path,
            app: self.app,
            caller: self.caller,
            session: self.session,
            query: self.query,
            form: self.form,
            root: self.root,
        }
    }

    /// Submits a command of the person.
    pub async fn submit(&self, study: &str, command: Command) -> Result<Reply, ApiError> {
        let by = self.caller.author();
        Ok(self.app.service.submit(study, command, by).await?)
    }

    /// Whether the caller has a permission in a study.
    pub fn has_in(&self, permission: Permission, study: &str) -> bool {
        self.caller.token.may(permission, Some(study))
    }
}

/// The session of a request and its caller; none if there is no session, or its token is no longer valid.
async fn signed_in(
    parts: &Parts,
    app: &App,
) -> Result<Option<(Option<SessionKey>, Caller)>, ApiError> {
    if let Some(caller) = Caller::by_proxy(parts, app).await? {
        return Ok(Some((None, caller)));
    }
    let Some((session, token)) = session::current(&parts.headers, app).await? else {
        return Ok(None);
    };
    match authenticated(app.tokens.check_session(&token).await, parts, app) {
        Ok(token) => Ok(Some((Some(session), Caller::admit(token, parts, app)?))),
        Err(error) if error.status == 401 => Ok(None),
        Err(error) => Err(error),
    }
}

/// The relative URL of the start page, from the page with this path.
pub fn root(path: &str) -> String {
    let folders = path.matches('/').count().saturating_sub(1);
    match folders {
        0 => "./".into(),
        folders => "../".repeat(folders),
    }
}

/// Fails if a form was not sent by a page of this service: other sites must not act for a person who is signed in.
pub fn check_origin(headers: &HeaderMap, tls: bool) -> Result<(), ApiError> {
    let text = |name| {
        let mut all = headers.get_all(name).iter();
        let only = all.next().filter(|_| all.next().is_none());
        only.and_then(|value| value.to_str().ok())
    };
    let (origin, host) = (text(ORIGIN), text(HOST).unwrap_or_default());
    let scheme = if tls { "https" } else { "http" };
    let own = format!("{scheme}://{host}");
    let same = origin.is_some_and(|origin| origin.eq_ignore_ascii_case(&own));
    let site = headers.get("sec-fetch-site");
    if same && site.is_none_or(|site| site == "same-origin" || site == "none") {
        return Ok(());
    }
    let what = match origin {
        None => "the form was sent without the header `Origin`, which browsers send".into(),
        Some(_) => format!(
            "the form was sent from a page of another address than `{}`; behind a proxy, let it pass on the header `Host` \
             (`proxy_set_header Host $http_host;`) and serve HTTPS",
            crate::domain::json::short(&own)
        ),
    };
    Err(ApiError::forbidden(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_page_is_relative_to_the_path() {
        assert_eq!(root("/"), "./");
        assert_eq!(root("/worklist"), "./");
        assert_eq!(root("/studies/a"), "../");
        assert_eq!(root("/studies/a/"), "../../");
        assert_eq!(root("/studies/a/cases/b"), "../../../");
    }

    #[test]
    fn forms_of_other_sites_are_rejected() {
        let check = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            check_origin(&headers, false).is_ok()
        };
        let host = ("host", "emab.example:8420");
        assert!(check(&[host, ("origin", "http://emab.example:8420")]));
        assert!(check(&[host, ("origin", "http://EMAB.example:8420")]));
        let own = ("origin", "http://emab.example:8420");
        assert!(check(&[host, own, ("sec-fetch-site", "same-origin")]));
        assert!(!check(&[host, own, ("sec-fetch-site", "cross-site")]));
        assert!(!check(&[host, own, own]));
        for origin in [
            "null",
            "",
            "https://emab.example:8420",
            "http://emab.example",
            "http://emab.example:8421",
            "http://evil.example",
            "http://emab.example:8420.evil.example",
            "http://x@emab.example:8420",
        ] {
            assert!(!check(&[host, ("origin", origin)]), "{origin}");
        }
        assert!(!check(&[host]));
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "emab.example".parse().unwrap());
        headers.insert(ORIGIN, "http://emab.example".parse().unwrap());
        assert!(check_origin(&headers, true).is_err());
    }
}
