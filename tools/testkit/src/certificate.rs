//! A certificate authority for a test and a server certificate that it signs, created by the `openssl` command.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of an authority and of a server's certificate.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The authority's certificate, which clients trust.
    pub authority: PathBuf,
    /// The server's certificate.
    pub certificate: PathBuf,
    /// The server's private key.
    pub key: PathBuf,
}

/// Creates both in a folder, valid for two days and for names in the notation of `openssl`: `DNS:localhost`,
/// `IP:127.0.0.1`. Fails if `openssl` is missing or fails.
pub fn make(folder: &Path, names: &[&str]) -> Result<Certificate, String> {
    let at = |name: &str| folder.join(name);
    let extensions = format!(
        "basicConstraints=CA:FALSE\nsubjectAltName={}\n",
        names.join(",")
    );
    std::fs::write(at("extensions"), extensions)
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj";
    for arguments in [
        format!("req -x509 {key} /CN=authority -days 2 -keyout authority.key -out authority.crt"),
        format!("req -new {key} /CN=server -keyout server.key -out server.csr"),
        "x509 -req -in server.csr -out server.crt -CA authority.crt -CAkey authority.key -CAcreateserial -days 2 \
         -extfile extensions"
            .into(),
    ] {
        let output = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(folder)
            .output()
            .map_err(|error| format!("openssl: {error}"))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(format!("openssl {arguments}: {message}"));
        }
    }
    Ok(Certificate {
        authority: at("authority.crt"),
        certificate: at("server.crt"),
        key: at("server.key"),
    })
}
