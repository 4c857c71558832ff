//! A certificate authority for a test, and a certificate that it signed, made by the `openssl` command.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of an authority and of a server's certificate that it signed.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The authority's certificate: what a client has to trust.
    pub authority: PathBuf,
    /// The server's certificate.
    pub certificate: PathBuf,
    /// The server's private key.
    pub key: PathBuf,
}

/// Makes them in a folder, valid for two days and for these names, as `openssl` writes them: `DNS:localhost`,
/// `IP:127.0.0.1`.
pub fn make(folder: &Path, names: &[&str]) -> Result<Certificate, String> {
    let at = |name: &str| folder.join(name);
    let extensions = at("extensions");
    let text = format!(
        "basicConstraints=CA:FALSE\nsubjectAltName={}\n",
        names.join(",")
    );
    std::fs::write(&extensions, text)
        .map_err(|error| format!("{}: {error}", extensions.display()))?;
    let key: [&str; 6] = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-subj",
    ];
    let run = |arguments: &[&str]| openssl(folder, arguments);
    run(&[
        &["req", "-x509"][..],
        &key[..],
        &["/CN=emab test authority", "-days", "2"],
        &["-keyout", "authority.key", "-out", "authority.crt"],
    ]
    .concat())?;
    run(&[
        &["req", "-new"][..],
        &key[..],
        &["/CN=emab test server"],
        &["-keyout", "server.key", "-out", "server.csr"],
    ]
    .concat())?;
    run(&[
        &["x509", "-req", "-in", "server.csr", "-out", "server.crt"][..],
        &["-CA", "authority.crt", "-CAkey", "authority.key"],
        &["-CAcreateserial", "-days", "2", "-extfile", "extensions"],
    ]
    .concat())?;
    Ok(Certificate {
        authority: at("authority.crt"),
        certificate: at("server.crt"),
        key: at("server.key"),
    })
}

fn openssl(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("`openssl`, which makes test certificates: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("openssl {}: {said}", arguments.join(" ")))
}
