//! The `Host` of a request: exactly one in HTTP/1.1 (RFC 9112, section 3.2).

use axum::http::{Request, Version, header};

use crate::http::error::ApiError;

/// Fails if `Host` is missing, repeated or invalid.
pub fn check_host<B>(request: &Request<B>) -> Result<(), ApiError> {
    let mut all = request.headers().get_all(header::HOST).iter();
    let what = match (all.next(), all.next()) {
        (None, _) if request.version() < Version::HTTP_11 => return Ok(()),
        (Some(host), None) if is_host(host.as_bytes()) => return Ok(()),
        (None, _) => "the header `Host` is missing",
        (Some(_), None) => "the header `Host` is not a host name with an optional port",
        (Some(_), Some(_)) => "the header `Host` is given more than once",
    };
    Err(ApiError::malformed(what))
}

/// `host [":" port]`; empty for a target without a host.
fn is_host(text: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(byte);
    let bracket = text.iter().position(|byte| *byte == b']');
    let (host, port) = match (text.first(), bracket) {
        (Some(b'['), Some(end)) => {
            let address = &text[1..end];
            let valid = |byte: &u8| is_name(byte) || *byte == b':';
            if address.is_empty() || !address.iter().all(valid) {
                return false;
            }
            (&text[..0], &text[end + 1..])
        }
        _ => {
            let colon = text.iter().position(|byte| *byte == b':');
            text.split_at(colon.unwrap_or(text.len()))
        }
    };
    let digits = port.strip_prefix(b":").unwrap_or(port);
    let has_colon = digits.len() < port.len();
    host.iter().all(is_name)
        && (has_colon || port.is_empty())
        && digits.iter().all(u8::is_ascii_digit)
        && (host.is_empty() <= (bracket.is_some() || text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn accepts_host_names_and_addresses() {
        for host in "x x:80 x: a-b.example.org:8420 127.0.0.1 [::1] [::1]:80 %41".split(' ') {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        assert!(is_host(b""));
        for host in "a/b|a b|u@x|x:y|x:80:80|:80|[::1|[]|::1]|[::1]x|[x/]|a,\"b|\u{e4}".split('|') {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }
}
