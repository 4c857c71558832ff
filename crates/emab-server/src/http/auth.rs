//! Authentication and authorization. Every request is authenticated here, by the extractor [`Caller`]; handlers then call
//! [`Caller::may`] or [`Caller::may_in`]. Rate limits apply to each token, and to failed attempts from each network.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::App;
use super::error::ApiError;
use crate::app::set_caller;
use crate::domain::json::short;
use crate::tokens::{Check, Permission, Token};

/// The address of the client, set by the transport as a request extension. Behind a proxy it is the address of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// A caller with this valid token.
pub struct Caller(pub Arc<Token>);

impl Caller {
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Whether the caller must not see estimates.
    pub fn is_blinded(&self) -> bool {
        !self.has(Permission::Compare)
    }

    pub fn has(&self, permission: Permission) -> bool {
        self.0.role.may(permission)
    }

    /// Fails if the token lacks a permission.
    pub fn may(&self, permission: Permission) -> Result<(), ApiError> {
        // A token bound to some studies must not see data about all of them.
        if self.0.may(permission, None) {
            return Ok(());
        }
        let role = self.0.role;
        Err(ApiError::forbidden(format!(
            "a token of role `{role}` does not permit this; `emab token new` creates another one"
        )))
    }

    /// Fails if the token lacks a permission in a study.
    pub fn may_in(&self, permission: Permission, study: &str) -> Result<(), ApiError> {
        self.may(permission)?;
        if self.0.may_see(study) {
            return Ok(());
        }
        let what = format!("this token is not valid for study `{}`", short(study));
        Err(ApiError::forbidden(what))
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Caller, ApiError> {
        let limited = |seconds: u64| {
            app.metrics.rate_limited.inc();
            ApiError::too_many("too many requests").retry(seconds)
        };
        let denied = |detail: &str| {
            app.metrics.refused_tokens.inc();
            // Guessing is slowed down.
            if let Some(Peer(peer)) = parts.extensions.get() {
                app.rates.failures.check(network(*peer)).map_err(limited)?;
            }
            Err(ApiError::unauthorized(detail))
        };
        let Some(secret) = bearer(&parts.headers) else {
            return denied("send `Authorization: Bearer TOKEN`; `emab token new` creates a token");
        };
        let token = match app.tokens.check(secret).await {
            Check::Valid(token) => token,
            Check::Invalid => return denied("this token is unknown or was revoked"),
            Check::NoFile => {
                app.metrics.tokens_unreadable.inc();
                let what = "the token file of the service cannot be used, and no token is valid; its log says why";
                return Err(ApiError::unauthorized(what));
            }
            Check::Unavailable(_) => {
                app.metrics.tokens_unreadable.inc();
                return Err(ApiError::unavailable("the tokens cannot be read").retry(1));
            }
        };
        let checked = app.rates.calls.check(token.id.clone());
        checked.map_err(limited)?;
        set_caller(&token.id);
        Ok(Caller(token))
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
    fn limits_ipv6_peers_by_their_network() {
        let of = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(of("10.1.2.3:4"), "10.1.2.3");
        assert_eq!(of("[::ffff:10.1.2.3]:4"), "10.1.2.3");
        assert_eq!(of("[2001:db8:1:2:3:4:5:6]:7"), "2001:db8:1:2::");
    }
}
