//! The key of the installation: Ed25519, in a file that only its owner may read.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use emab_problem::hex;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use thiserror::Error;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::platform;

/// No key is longer.
const MAX_BYTES: u64 = 4_096;

/// Why a key cannot be used.
#[derive(Debug, Error)]
pub enum KeyError {
    #[error("the checkpoint key {path} cannot be read or written: {1}", path = .0.display())]
    Io(PathBuf, io::Error),
    #[error(
        "the checkpoint key {path} has the mode {1:o}, so that others may read or change it; make it 600, or replace the key",
        path = .0.display()
    )]
    Mode(PathBuf, u32),
    #[error("{path} is not an Ed25519 key in PKCS#8 (DER or PEM)", path = .0.display())]
    Format(PathBuf),
    #[error("no random numbers are available for the checkpoint key")]
    Random,
}

/// A key pair.
pub struct CheckpointKey(Ed25519KeyPair);

impl CheckpointKey {
    /// Reads the key, or creates it if there is no file.
    pub fn open(path: &Path) -> Result<CheckpointKey, KeyError> {
        let failed = |error| KeyError::Io(path.into(), error);
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                create(path)?;
                File::open(path)
            }
            opened => opened,
        }
        .map_err(failed)?;
        let mode = platform::mode(&file.metadata().map_err(failed)?);
        if mode & 0o077 != 0 {
            return Err(KeyError::Mode(path.into(), mode));
        }
        let mut bytes = Vec::new();
        let read = file.take(MAX_BYTES).read_to_end(&mut bytes);
        read.map_err(failed)?;
        if let Ok(pem) = PrivatePkcs8KeyDer::from_pem_slice(&bytes) {
            bytes = pem.secret_pkcs8_der().to_vec();
        }
        // Other programs leave the public key out.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes);
        pair.map(CheckpointKey)
            .map_err(|_| KeyError::Format(path.into()))
    }

    /// The public key, in hexadecimal.
    pub fn public(&self) -> String {
        hex(self.0.public_key().as_ref())
    }

    pub(super) fn pair(&self) -> &Ed25519KeyPair {
        &self.0
    }
}

/// Creates the file, complete or not at all; another process may create it at the same time.
fn create(path: &Path) -> Result<(), KeyError> {
    let failed = |error| KeyError::Io(path.into(), error);
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    let document = document.map_err(|_| KeyError::Random)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let made = platform::private_folder().recursive(true).create(folder);
    made.map_err(failed)?;
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.new", std::process::id()));
    let draft = PathBuf::from(draft);
    let write = || {
        let mut options = platform::private_file();
        let mut file = options.create(true).truncate(true).open(&draft)?;
        file.write_all(document.as_ref())?;
        file.sync_all()?;
        match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
        platform::sync_folder(folder)
    };
    let written = write();
    // Best effort: the key exists under its own name.
    let _ = fs::remove_file(&draft);
    written.map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn a_key_is_created_once_and_kept_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/checkpoint.key");
        let key = CheckpointKey::open(&path).unwrap().public();
        assert_eq!(CheckpointKey::open(&path).unwrap().public(), key);
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1);
        for wrong in [0o640, 0o604, 0o620] {
            mode(wrong);
            let error = CheckpointKey::open(&path).err().unwrap().to_string();
            assert!(error.contains(&format!("{wrong:o}")), "{error}");
        }
        mode(0o600);
        fs::write(&path, "rubbish").unwrap();
        let error = CheckpointKey::open(&path).err().unwrap().to_string();
        assert!(error.contains("PKCS#8"), "{error}");
    }

    #[test]
    fn reads_the_key_of_another_program() {
        // By `openssl genpkey -algorithm ed25519`.
        let pem = "-----BEGIN PRIVATE KEY-----\n\
            MC4CAQAwBQYDK2VwBCIEIMsDg3awKNFyxacWqM9JWiQfDmkcUY/SLnwB8WJiNj3Z\n\
            -----END PRIVATE KEY-----\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        let mut file = platform::private_file().create(true).open(&path).unwrap();
        file.write_all(pem.as_bytes()).unwrap();
        assert_eq!(CheckpointKey::open(&path).unwrap().public().len(), 64);
    }
}
