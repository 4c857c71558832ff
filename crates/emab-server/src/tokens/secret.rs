//! The secret of a token, and its hash.

use std::fmt;

use emab_problem::{hex, sha256_hex};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::TokenError;

const PREFIX: &str = "emab_";
const BYTES: usize = 32;
const ALGORITHM: &str = "sha256:";

/// The secret that the owner of a token sends. It is shown once and stored nowhere.
pub struct Secret(String);

impl Secret {
    /// 256 bits from the generator of the operating system.
    pub(super) fn new() -> Result<Secret, TokenError> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| TokenError::Random(error.to_string()))?;
        Ok(Secret(format!("{PREFIX}{}", hex(&bytes))))
    }

    /// The text, to be shown to its owner only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

/// SHA-256 of a secret, in hexadecimal. One round is enough: 256 random bits cannot be guessed, unlike a password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Hash(String);

impl Hash {
    /// The hash of a text, if it has the form of a secret.
    pub(super) fn of(secret: &str) -> Option<Hash> {
        let digits = secret.strip_prefix(PREFIX)?;
        let proper = is_hexadecimal(digits) && digits.to_ascii_lowercase() == digits;
        proper.then(|| Hash(sha256_hex(secret.as_bytes())))
    }

    /// The id: the first 8 hexadecimal digits.
    pub(super) fn id(&self) -> String {
        self.0[..8].into()
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({}…)", self.id())
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{ALGORITHM}{}", self.0))
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix(ALGORITHM).unwrap_or_default();
        // Without the value, which may be a secret put there by mistake.
        let wrong = "`hash` must be `sha256:` and 64 hexadecimal digits";
        if !is_hexadecimal(digits) {
            return Err(D::Error::custom(wrong));
        }
        Ok(Hash(digits.to_ascii_lowercase()))
    }
}

fn is_hexadecimal(digits: &str) -> bool {
    digits.len() == 2 * BYTES && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_random_and_not_in_debug_output() {
        let (a, b) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_ne!(a.reveal(), b.reveal());
        assert_eq!(a.reveal().len(), 5 + 64);
        assert_eq!(format!("{a:?}"), "Secret(not shown)");
        let hash = Hash::of(a.reveal()).unwrap();
        assert_ne!(hash, Hash::of(b.reveal()).unwrap());
        assert!(!format!("{hash:?}").contains(&a.reveal()[5..13]));
    }

    #[test]
    fn hashes_only_well_formed_secrets() {
        let zeros = "0".repeat(64);
        assert!(Hash::of(&format!("emab_{zeros}")).is_some());
        for odd in [
            String::new(),
            zeros.clone(),
            format!("emab_{zeros}0"),
            format!("emab_{}", "A".repeat(64)),
            format!("emab_{}", "é".repeat(32)),
            format!("Emab_{zeros}"),
            format!("emab_{zeros} "),
        ] {
            assert!(Hash::of(&odd).is_none(), "{odd:?}");
        }
    }

    #[test]
    fn hashes_the_whole_text_with_sha_256() {
        // printf 'emab_%064d' 0 | sha256sum
        let hash = Hash::of(&format!("emab_{}", "0".repeat(64))).unwrap();
        let json = serde_json::to_string(&hash).unwrap();
        let sum = "a82566c415bfdd32be85d374a10b9c174d04cb50d0a9f07baa40b6a308b5eb92";
        assert_eq!(json, format!("\"sha256:{sum}\""));
        assert_eq!(serde_json::from_str::<Hash>(&json).unwrap(), hash);
        let wrong = r#""" "sha256:00" "sha512:00" 7 "emab_shown_by_mistake""#;
        for wrong in wrong.split(' ') {
            let error = serde_json::from_str::<Hash>(wrong).unwrap_err().to_string();
            assert!(!error.contains("mistake"), "{error}");
        }
    }
}
