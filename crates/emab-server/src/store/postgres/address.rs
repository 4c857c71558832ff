//! Parses the address: options, defaults and encryption. Errors contain no part of the address that may be a password.

use std::fmt;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls;

/// The default of the library.
const LIBRARY_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// A parsed address.
pub(super) struct Target {
    pub(super) config: Config,
    /// None without encryption.
    pub(super) tls: Option<MakeRustlsConnect>,
    /// Hosts and database, for messages.
    pub(super) location: String,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.location)
    }
}

impl Target {
    /// Parses a URL; the password is used if the URL has none.
    pub(super) fn read(url: &str, password: Option<&str>) -> Result<Target, String> {
        let (rest, mode, roots) = split(url)?;
        let mut config: Config = rest.parse().map_err(|_| UNREADABLE.to_string())?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(
                "the address names no host: `postgres://USER@HOST/DATABASE`, or \
                `postgres://USER@/DATABASE?host=/var/run/postgresql` for a server on this machine"
                    .into(),
            );
        }
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        set_defaults(&mut config);
        let encrypted = is_encrypted(mode.as_deref(), is_local(&config))?;
        let tls = match (encrypted, roots) {
            (false, None) => None,
            (false, Some(_)) => {
                return Err(
                    "`sslrootcert` needs `sslmode=require`; without it no certificate is checked"
                        .into(),
                );
            }
            (true, roots) => Some(tls::connector(roots.as_deref())?),
        };
        config.ssl_mode(match encrypted {
            true => SslMode::Require,
            false => SslMode::Disable,
        });
        Ok(Target {
            location: location(&config),
            config,
            tls,
        })
    }
}

const UNREADABLE: &str = "the address is invalid; expected `postgres://USER@HOST:PORT/DATABASE?OPTION=VALUE&…`, where special \
    characters are written as `%` and two digits (`@` is `%40`), and options are `sslmode`, `sslrootcert`, \
    `connect_timeout`, `application_name`, `options`, `hostaddr`, `keepalives`, `keepalives_idle`, \
    `keepalives_interval`, `keepalives_retries`, `tcp_user_timeout`, `channel_binding`, `load_balance_hosts`";

/// Splits a URL into the part for the library, `sslmode` and `sslrootcert`.
fn split(url: &str) -> Result<(String, Option<String>, Option<String>), String> {
    // Like the library: the credentials end at the first `@`.
    let scheme = url.find("://").map_or(0, |at| at + 3);
    let credentials = url[scheme..].find('@').map_or(0, |at| at + 1);
    let user = url[scheme..][..credentials].split(':').next();
    let place = &url[scheme + credentials..];
    let (base, query) = place.split_once('?').unwrap_or((place, ""));
    // A second `@` would split a password, and one half would be shown as a host.
    if base.contains('@') || user.is_some_and(|user| user.contains(['/', '?'])) {
        return Err(UNREADABLE.into());
    }
    let (mut mode, mut roots, mut others) = (None, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or(UNREADABLE)?;
        match key {
            "sslmode" => mode = Some(decoded(value)?),
            "sslrootcert" => roots = Some(decoded(value)?),
            _ => others.push(pair),
        }
    }
    let mut rest = format!("{}{base}", &url[..scheme + credentials]);
    if !others.is_empty() {
        rest = format!("{rest}?{}", others.join("&"));
    }
    Ok((rest, mode, roots))
}

fn decoded(text: &str) -> Result<String, String> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(Into::into).map_err(|_| UNREADABLE.into())
}

/// Sets defaults that a service needs.
fn set_defaults(config: &mut Config) {
    // A standby lags behind. With several hosts this also selects the primary.
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    if config.get_application_name().is_none() {
        config.application_name("emab");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    // A lost host is detected within half a minute.
    if config.get_keepalives_idle() == LIBRARY_IDLE {
        config.keepalives_idle(Duration::from_secs(15));
        config.keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(3);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(30));
    }
}

fn is_local(config: &Config) -> bool {
    let hosts = config.get_hosts().iter().all(|host| match host {
        #[cfg(unix)]
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let address = name.parse::<std::net::IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
    });
    let addresses = config.get_hostaddrs();
    match addresses.is_empty() {
        true => hosts,
        // The client connects to these; the host is only the name in the certificate.
        false => addresses.iter().all(|address| address.is_loopback()),
    }
}

fn is_encrypted(mode: Option<&str>, local: bool) -> Result<bool, String> {
    match mode {
        Some("disable") => Ok(false),
        Some("require" | "verify-full") => Ok(true),
        None => Ok(!local),
        Some(_) => Err("`sslmode` is `disable` or `require`, which checks the certificate and the name in it; \
            `allow` and `prefer` are not secure"
            .into()),
    }
}

fn location(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
        Host::Tcp(name) => name.clone(),
    });
    let addresses = config.get_hostaddrs().iter().map(ToString::to_string);
    let mut names: Vec<String> = hosts.collect();
    if names.is_empty() {
        names = addresses.collect();
    }
    let ports = config.get_ports();
    for (i, name) in names.iter_mut().enumerate() {
        let port = ports.get(i).or(ports.first()).unwrap_or(&5432);
        name.push_str(&format!(":{port}"));
    }
    let database = config.get_dbname().or(config.get_user()).unwrap_or("");
    format!("{}/{database}", names.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<Target, String> {
        Target::read(url, None)
    }

    fn wrong(url: &str) -> String {
        read(url).unwrap_err()
    }

    #[test]
    fn remote_servers_need_tls() {
        for (url, secret) in [
            ("postgres://u@127.0.0.1/d", false),
            ("postgres://u@[::1]:77/d", false),
            ("postgres://u@localhost/d", false),
            ("postgres://u@%2Fvar%2Frun/d", false),
            ("postgres://u@/d?host=/var/run", false),
            ("postgres://u@localhost/d?sslmode=require", true),
            ("postgres://u@db.example.org/d", true),
            ("postgresql://u@db.example.org/d?sslmode=verify-full", true),
            ("postgres://u@localhost,10.0.0.1/d", true),
            ("postgres://u@localhost/d?hostaddr=10.0.0.1", true),
            ("postgres://u@db.example.org/d?sslmode=disable", false),
            ("postgres://u@db.example.org/d?hostaddr=127.0.0.1", false),
        ] {
            // A system without authorities is one where this cannot be had.
            match read(url) {
                Ok(target) => {
                    assert_eq!(target.tls.is_some(), secret, "{url}");
                    let mode = target.config.get_ssl_mode();
                    assert_eq!(mode == SslMode::Require, secret, "{url}");
                }
                Err(why) => assert!(secret && why.contains("sslrootcert"), "{url}: {why}"),
            }
        }
        for mode in ["prefer", "allow", "verify-ca", ""] {
            let why = wrong(&format!("postgres://u@h/d?sslmode={mode}"));
            assert!(why.contains("`disable` or `require`"), "{why}");
        }
        let why = wrong("postgres://u@localhost/d?sslrootcert=a.pem");
        assert!(why.contains("sslmode=require"), "{why}");
        let why = wrong("postgres://u@h/d?sslrootcert=/no%20where");
        assert!(why.contains("/no where"), "{why}");
    }

    #[test]
    fn errors_contain_no_password() {
        let target = read("postgres://u:se%40cret@localhost:7,[::1]:8/d").unwrap();
        assert_eq!(target.location, "localhost:7,::1:8/d");
        assert_eq!(target.config.get_password(), Some(&b"se@cret"[..]));
        assert!(!format!("{target:?}{:?}", target.config).contains("cret"));
        for url in [
            "postgres://u:se@cret@localhost/d",
            "postgres://u:secret@localhost:port/d",
            "postgres://localhost/d?password=se@cret",
            "postgres://localhost/d?password=se&cret=1",
            "postgres://localhost/d?password=se&cret",
            "postgres://u:secret@localhost/d?nonsense=secret",
            "postgres://u:secret@localhost/d?sslmode=secret",
            "postgres://u:secret@/d",
            "postgres://:secret@",
            "postgres://",
            "",
        ] {
            let why = wrong(url);
            assert!(!why.contains("cret"), "{url}: {why}");
        }
    }

    #[test]
    fn uses_the_password_of_the_environment_if_the_url_has_none() {
        let target = Target::read("postgres://u@localhost/d", Some("other")).unwrap();
        assert_eq!(target.config.get_password(), Some(&b"other"[..]));
        let target = Target::read("postgres://u:one@localhost/d", Some("other")).unwrap();
        assert_eq!(target.config.get_password(), Some(&b"one"[..]));
    }

    #[test]
    fn options_of_the_address_override_the_defaults() {
        let target = read("postgres://u@localhost/d?connect_timeout=9&application_name=a&keepalives_idle=7&tcp_user_timeout=8")
            .unwrap();
        let second = Duration::from_secs(1);
        assert_eq!(target.config.get_connect_timeout(), Some(&(9 * second)));
        assert_eq!(target.config.get_application_name(), Some("a"));
        assert_eq!(target.config.get_keepalives_idle(), 7 * second);
        assert_eq!(target.config.get_tcp_user_timeout(), Some(&(8 * second)));
    }
}
