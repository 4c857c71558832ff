//! Authentication and authorization. Every request is authenticated here, by the extractor [`Caller`]; handlers then call
//! [`Caller::may`] or [`Caller::may_in`]. Rate limits apply to each token, and to failed attempts from each network.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};

use super::App;
use super::error::ApiError;
use crate::app::set_caller;
use crate::domain::json::short;
use crate::domain::{Author, check_person};
use crate::tokens::{Check, Permission, Role, Token};

/// The address of the client, set by the transport as a request extension. Behind a proxy it is the address of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// The header in which a proxy names the person whom it has authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonHeader {
    /// Its name.
    pub name: HeaderName,
    /// The addresses of the proxies. From any other address the header is ignored.
    pub proxies: Vec<IpAddr>,
}

impl PersonHeader {
    /// Fails if it is not the name of a header.
    pub fn new(name: &str, proxies: Vec<IpAddr>) -> Result<PersonHeader, String> {
        let wrong = |_| format!("`{}` is not the name of a header", short(name));
        let name: HeaderName = name.parse().map_err(wrong)?;
        // Events would contain what they contain.
        let secret = ["authorization", "proxy-authorization", "cookie"];
        if secret.contains(&name.as_str()) {
            return Err(format!(
                "the header `{name}` carries secrets; it cannot name a person"
            ));
        }
        Ok(PersonHeader { name, proxies })
    }

    /// The person that a trusted proxy names; none if it names none, or if the request comes from elsewhere.
    fn person(&self, peer: Option<&Peer>, headers: &HeaderMap) -> Result<Option<String>, ApiError> {
        let trusted = peer.is_some_and(|Peer(peer)| {
            let address = peer.ip().to_canonical();
            self.proxies.iter().any(|it| it.to_canonical() == address)
        });
        let mut values = headers.get_all(&self.name).iter();
        let (true, Some(value)) = (trusted, values.next()) else {
            return Ok(None);
        };
        let name = &self.name;
        let wrong = |what: &str| ApiError::malformed(format!("the header `{name}` {what}"));
        if values.next().is_some() {
            return Err(wrong(
                "is repeated; the proxy must replace what its clients send",
            ));
        }
        let person = std::str::from_utf8(value.as_bytes());
        let person = person.map_err(|_| wrong("is not UTF-8"))?;
        let checked = check_person(person);
        checked.map_err(|rejection| wrong(&format!("is invalid: {}", rejection.detail)))?;
        Ok(Some(person.into()))
    }
}

/// The token of a request, once it is authenticated; a request extension.
#[derive(Clone, Default)]
pub struct Known(pub Arc<OnceLock<Arc<Token>>>);

/// A caller with a valid token.
pub struct Caller {
    pub token: Arc<Token>,
    author: Author,
}

impl Caller {
    pub fn id(&self) -> &str {
        &self.token.id
    }

    /// The person, and the id of the token.
    pub fn author(&self) -> &Author {
        &self.author
    }

    /// Whether the caller must not see estimates.
    pub fn is_blinded(&self) -> bool {
        !self.has(Permission::Compare)
    }

    pub fn has(&self, permission: Permission) -> bool {
        self.token.role.may(permission)
    }

    /// Fails if the token lacks a permission.
    pub fn may(&self, permission: Permission) -> Result<(), ApiError> {
        // A token bound to some studies must not see data about all of them.
        if self.token.may(permission, None) {
            return Ok(());
        }
        let role = self.token.role;
        if role.may(permission) {
            let what = "this is about all studies, and the token is bound to some; use one without `--study`";
            return Err(ApiError::forbidden(what));
        }
        let roles = Role::ALL.iter().filter(|role| role.may(permission));
        let roles: Vec<String> = roles.map(|role| format!("`{role}`")).collect();
        let roles = match &roles[..] {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            all => all.concat(),
        };
        Err(ApiError::forbidden(format!(
            "a token of role `{role}` does not permit this, one of role {roles} does; `emab token new` creates a token"
        )))
    }

    /// Fails if the token lacks a permission in a study.
    pub fn may_in(&self, permission: Permission, study: &str) -> Result<(), ApiError> {
        self.may(permission)?;
        if self.token.may_see(study) {
            return Ok(());
        }
        let what = format!("this token is not valid for study `{}`", short(study));
        Err(ApiError::forbidden(what))
    }
}

/// The error for too many requests.
fn limited(app: &App, seconds: u64) -> ApiError {
    app.metrics.rate_limited.inc();
    ApiError::too_many("too many requests").retry(seconds)
}

/// The token of a check; a failed one counts for the network of the peer, which slows guessing down.
pub(crate) fn authenticated(
    check: Check,
    parts: &Parts,
    app: &App,
) -> Result<Arc<Token>, ApiError> {
    match check {
        Check::Valid(token) => Ok(token),
        Check::Invalid => Err(denied(
            "this token is unknown, was revoked or has expired",
            parts,
            app,
        )),
        Check::NoFile => {
            app.metrics.tokens_unreadable.inc();
            let what = "the token file of the service cannot be used, and no token is valid; its log says why";
            Err(ApiError::unauthorized(what))
        }
        Check::Unavailable(_) => {
            app.metrics.tokens_unreadable.inc();
            Err(ApiError::unavailable("the tokens cannot be read").retry(1))
        }
    }
}

fn denied(detail: &str, parts: &Parts, app: &App) -> ApiError {
    app.metrics.refused_tokens.inc();
    let Some(Peer(peer)) = parts.extensions.get() else {
        return ApiError::unauthorized(detail);
    };
    match app.rates.failures.check(network(*peer)) {
        Ok(()) => ApiError::unauthorized(detail),
        Err(seconds) => limited(app, seconds),
    }
}

impl Caller {
    /// The caller with a valid token, within its rate limit.
    pub fn admit(token: Arc<Token>, parts: &Parts, app: &App) -> Result<Caller, ApiError> {
        let checked = app.rates.calls.check(token.id.clone());
        checked.map_err(|seconds| limited(app, seconds))?;
        set_caller(&token.id);
        if let Some(Known(caller)) = parts.extensions.get() {
            let _ = caller.set(token.clone());
        }
        let header = app.person_header.as_ref();
        let named = header.map(|it| it.person(parts.extensions.get(), &parts.headers));
        let person = named.transpose()?.flatten();
        let author = Author {
            token: token.id.clone(),
            person: person.unwrap_or_else(|| token.person().into()),
        };
        Ok(Caller { token, author })
    }
}

impl Caller {
    /// The caller whom a trusted proxy names, with the token that it adds; none if it does not name one.
    pub async fn by_proxy(parts: &Parts, app: &App) -> Result<Option<Caller>, ApiError> {
        let header = app.person_header.as_ref();
        let named = header.map(|it| it.person(parts.extensions.get(), &parts.headers));
        let (Some(_), Some(secret)) = (named.transpose()?.flatten(), bearer(&parts.headers)) else {
            return Ok(None);
        };
        let token = authenticated(app.tokens.check(secret).await, parts, app)?;
        Caller::admit(token, parts, app).map(Some)
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Caller, ApiError> {
        let Some(secret) = bearer(&parts.headers) else {
            let what = "send `Authorization: Bearer TOKEN`; `emab token new` creates a token";
            return Err(denied(what, parts, app));
        };
        let token = authenticated(app.tokens.check(secret).await, parts, app)?;
        Caller::admit(token, parts, app)
    }
}

/// The secret in `Authorization: Bearer …`; none if the header is missing or repeated.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (Some(only), None) = (all.next(), all.next()) else {
        return None;
    };
    let (scheme, secret) = only.to_str().ok()?.split_once(' ')?;
    let secret = secret.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !secret.is_empty()).then_some(secret)
}

/// The address of a peer for rate limits: an IPv4 address, or the /64 network of an IPv6 address, since one client has 2^64.
fn network(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(address) => {
            let prefix = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_bearer_token() {
        // Headers that are no token: tests/service/hostile_input/credentials.rs.
        let read = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value[..].try_into().unwrap());
            }
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(read(&[b"Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(read(&[b"bearer  abc "]).as_deref(), Some("abc"));
    }

    #[test]
    fn only_a_trusted_proxy_names_the_person() {
        let header = PersonHeader {
            name: HeaderName::from_static("x-person"),
            proxies: vec!["10.0.0.1".parse().unwrap(), "::1".parse().unwrap()],
        };
        let person = |peer: &str, values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("x-person", value[..].try_into().unwrap());
            }
            header.person(Some(&Peer(peer.parse().unwrap())), &headers)
        };
        let name = "Zoë".as_bytes();
        for peer in ["10.0.0.1:9", "[::ffff:10.0.0.1]:9", "[::1]:9"] {
            assert_eq!(person(peer, &[name]).unwrap().as_deref(), Some("Zoë"));
        }
        assert!(PersonHeader::new("Authorization", Vec::new()).is_err());
        assert!(PersonHeader::new("a b", Vec::new()).is_err());
        assert_eq!(person("10.0.0.2:9", &[name]).unwrap(), None);
        assert_eq!(person("10.0.0.1:9", &[]).unwrap(), None);
        for wrong in [&[name, name][..], &[b"\xff"], &[b""]] {
            assert!(person("10.0.0.1:9", wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn limits_ipv6_peers_by_their_network() {
        let of = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(of("10.1.2.3:4"), "10.1.2.3");
        assert_eq!(of("[::ffff:10.1.2.3]:4"), "10.1.2.3");
        assert_eq!(of("[2001:db8:1:2:3:4:5:6]:7"), "2001:db8:1:2::");
    }
}
