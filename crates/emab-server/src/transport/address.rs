//! Which addresses the service may listen on without tokens and TLS.

use std::net::SocketAddr;

use super::ListenError;

/// Checks that the service may listen on an address.
///
/// A loopback address is always allowed. Any other needs a token file, and TLS or `--behind-proxy`.
pub fn check_address(
    addr: SocketAddr,
    has_token_file: bool,
    has_tls: bool,
    behind_proxy: bool,
) -> Result<(), ListenError> {
    // Includes IPv4 addresses mapped to IPv6.
    if addr.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let mut missing = Vec::new();
    if !has_token_file {
        missing.push("a token file (`--tokens FILE`)");
    }
    if !has_tls && !behind_proxy {
        missing.push(
            "TLS (`--tls-cert FILE --tls-key FILE`, or `--behind-proxy` if a proxy provides it)",
        );
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(ListenError::Exposed(addr, missing.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(addr: &str, tokens: bool, tls: bool, proxy: bool) -> Option<String> {
        let result = check_address(addr.parse().unwrap(), tokens, tls, proxy);
        result.err().map(|error| error.to_string())
    }

    #[test]
    fn allows_loopback_addresses() {
        for addr in "127.0.0.1:1 127.9.9.9:1 [::1]:1 [::ffff:127.0.0.1]:1".split(' ') {
            assert_eq!(words(addr, false, false, false), None, "{addr}");
        }
    }

    #[test]
    fn other_addresses_need_tokens_and_encryption() {
        for addr in "0.0.0.0:8080 [::]:8080 10.1.2.3:8080 [::ffff:10.1.2.3]:80".split(' ') {
            for bits in 0..8 {
                let (tokens, tls, proxy) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
                let said = words(addr, tokens, tls, proxy);
                assert_eq!(said.is_none(), tokens && (tls || proxy), "{addr} {bits}");
                let Some(said) = said else { continue };
                assert!(said.contains(addr), "{said}");
                assert_eq!(said.contains("--tokens FILE"), !tokens, "{said}");
                for option in ["--tls-cert FILE --tls-key FILE", "--behind-proxy"] {
                    assert_eq!(said.contains(option), !tls && !proxy, "{said}");
                }
            }
        }
    }
}
