//! The extractor of the pages: authenticates the session, and reads path, query and form.

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use super::form::{Fields, FormLimit, read_form, read_form_up_to};
use super::session::{self, SessionKey};
use super::sign_in;
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
            check_origin(&parts.headers)?;
        }
        let Some((session, caller)) = signed_in(&parts, app).await? else {
            let form = match is_form {
                true => read_form(&parts.headers, body).await?,
                false => Fields::default(),
            };
            let page = sign_in::instead(&parts, &root, form, app).await?;
            return Err(NoVisit::SignIn(Box::new(page)));
        };
        // Large forms are read for a person who is signed in only.
        let max = parts
            .extensions
            .get()
            .map_or(MAX_BODY, |FormLimit(max)| *max);
        let form = match is_form {
            true => read_form_up_to(max, &parts.headers, body).await?,
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
pub fn check_origin(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (origin, host) = (text(ORIGIN), text(HOST));
    let authority = origin.and_then(|origin| Some(origin.split_once("://")?.1));
    if authority.is_some() && authority == host {
        return Ok(());
    }
    let what = match origin {
        None => "the form was sent without the header `Origin`, which browsers send".into(),
        Some(_) => format!(
            "the form was sent from a page of another host than `{}`; behind a proxy, let it pass on the header `Host` \
             (`proxy_set_header Host $http_host;`)",
            crate::domain::json::short(host.unwrap_or_default())
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
            check_origin(&headers).is_ok()
        };
        let host = ("host", "emab.example:8420");
        assert!(check(&[host, ("origin", "http://emab.example:8420")]));
        assert!(check(&[host, ("origin", "https://emab.example:8420")]));
        for origin in [
            "null",
            "",
            "https://emab.example",
            "https://emab.example:8421",
            "https://evil.example",
            "https://emab.example:8420.evil.example",
            "https://x@emab.example:8420",
        ] {
            assert!(!check(&[host, ("origin", origin)]), "{origin}");
        }
        assert!(!check(&[host]));
        assert!(!check(&[("origin", "http://")]));
    }
}
