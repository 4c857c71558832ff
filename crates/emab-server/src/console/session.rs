//! Sessions: a token is entered once, and a cookie with a secret of its own stands for it until the session ends.
//!
//! The store keeps the hash of the secret, so that any copy of the service knows a session. It counts as long as its token is
//! valid, which is checked for every page.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use emab_problem::{hex, sha256_hex};

use crate::app::set_caller;
use crate::clock;
use crate::http::App;
use crate::http::error::ApiError;
use crate::store::Session;

/// The name of the cookie. The port of the service is added to it: browsers share cookies between the ports of a host.
const COOKIE: &str = "emab_session";
const BYTES: usize = 32;

/// The hash of the secret of a session, by which the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionKey(String);

/// Begins a session of a token and returns its cookie.
pub async fn begin(token: &str, headers: &HeaderMap, app: &App) -> Result<HeaderValue, ApiError> {
    let mut bytes = [0; BYTES];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| ApiError::internal(format!("no random numbers: {error}")))?;
    let secret = hex(&bytes);
    let time = |at| humantime::format_rfc3339_seconds(at).to_string();
    let session = Session {
        hash: sha256_hex(secret.as_bytes()),
        token: token.into(),
        begun: time(clock::now()),
        expires: time(clock::after(app.session)),
    };
    app.service.begin_session(session).await?;
    Ok(cookie(headers, &secret, app.session, app.tls))
}

/// Ends a session and returns the cookie that removes its own.
pub async fn end(
    session: &SessionKey,
    headers: &HeaderMap,
    app: &App,
) -> Result<HeaderValue, ApiError> {
    app.service.end_session(&session.0).await?;
    Ok(no_cookie(headers, app))
}

/// The cookie that removes that of a session.
pub fn no_cookie(headers: &HeaderMap, app: &App) -> HeaderValue {
    cookie(headers, "", Duration::ZERO, app.tls)
}

/// The session of a request and the id of its token; none without a session that has not ended, or with two: another port of the
/// host may have set one of them.
pub async fn current(
    headers: &HeaderMap,
    app: &App,
) -> Result<Option<(SessionKey, String)>, ApiError> {
    let mut found = None;
    for key in keys(headers) {
        // The read counts for the session, until its token is known.
        set_caller(&key.0);
        if let Some(token) = token_of(&key, app).await? {
            if found.is_some() {
                return Ok(None);
            }
            found = Some((key, token));
        }
    }
    Ok(found)
}

/// The id of the token of a session; none if the session has ended.
pub async fn token_of(key: &SessionKey, app: &App) -> Result<Option<String>, ApiError> {
    let session = app.service.session(&key.0).await?;
    let now = clock::now();
    let lasts =
        |it: &Session| humantime::parse_rfc3339(&it.expires).is_ok_and(|expires| now < expires);
    Ok(session.filter(lasts).map(|session| session.token))
}

/// The name of the cookie for the host of a request.
fn name(headers: &HeaderMap) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
    port.map_or(COOKIE.into(), |port| format!("{COOKIE}_{port}"))
}

/// The largest number of cookies of the name that are read.
const MAX_COOKIES: usize = 4;

/// The sessions that the cookies of a request name.
fn keys(headers: &HeaderMap) -> Vec<SessionKey> {
    let wanted = name(headers);
    let lines = headers.get_all(header::COOKIE).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';'));
    let values = pairs.filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == wanted).then_some(value)
    });
    let proper =
        |value: &&str| value.len() == 2 * BYTES && value.bytes().all(|it| it.is_ascii_hexdigit());
    let mut keys = Vec::new();
    for value in values.filter(proper).take(MAX_COOKIES) {
        let key = SessionKey(sha256_hex(value.as_bytes()));
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The cookie has no `Path`: browsers then send it to the folder of the page to sign in and below, wherever a proxy puts it.
fn cookie(headers: &HeaderMap, secret: &str, lifetime: Duration, tls: bool) -> HeaderValue {
    let secure = if tls { "; Secure" } else { "" };
    let (name, seconds) = (name(headers), lifetime.as_secs());
    let text = format!("{name}={secret}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    // Digits and names only.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(COOKIE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_secret_among_other_cookies() {
        let found = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, line.parse().unwrap());
            }
            keys(&headers).len()
        };
        let own = format!("{COOKIE}={}", "0123456789abcdef".repeat(4));
        assert_eq!(found(&[&own]), 1);
        assert_eq!(found(&["a=b", &format!("x=y; {own}; z"), &own]), 1);
        let other = format!("{COOKIE}={}", "0".repeat(64));
        assert_eq!(found(&[&format!("{COOKIE}=junk; {own}"), &other]), 2);
        for none in [
            "",
            "emab_session",
            "emab_session=",
            "emab_session=..",
            "a=b;;",
        ] {
            assert_eq!(found(&[none]), 0, "{none}");
        }
    }

    #[test]
    fn the_cookie_is_for_this_site_and_not_for_scripts() {
        let headers = HeaderMap::new();
        let text = cookie(&headers, "ab", Duration::from_secs(9), false);
        assert_eq!(
            text,
            "emab_session=ab; Max-Age=9; HttpOnly; SameSite=Strict"
        );
        let text = cookie(&headers, "ab", Duration::from_secs(9), true);
        assert!(text.to_str().unwrap().ends_with("; Secure"));
    }

    #[test]
    fn services_on_two_ports_have_two_cookies() {
        let of = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            name(&headers)
        };
        let hosts = ["emab.test", "127.0.0.1:8420", "[::1]:8421", "[::1]", "x:y"];
        let names = hosts.map(of);
        let expected = ["", "_8420", "_8421", "", ""].map(|port| format!("{COOKIE}{port}"));
        assert_eq!(names, expected);
    }
}
