//! A checkpoint: a signed statement that the log of a study had a hash at an event.

use emab_problem::{hex, json_error};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{Head, Restore};

/// The latest checkpoint of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// The number of the event that it covers.
    pub seq: u64,
    /// The signed statement, one line of JSON.
    pub text: String,
}

/// The version of statements.
const VERSION: u32 = 1;

/// The begin of a restoration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    /// The time (RFC 3339).
    pub at: String,
    /// The id of the token, and the person.
    pub by: String,
}

impl From<Restore> for Restored {
    fn from(restore: Restore) -> Restored {
        Restored {
            at: restore.begun,
            by: restore.begun_by,
        }
    }
}

/// What a checkpoint states. The signature is of the bytes of the other fields, as JSON without spaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Checkpoint)]
pub struct Statement {
    /// The version of the format.
    pub emab_checkpoint: u32,
    pub study: String,
    /// The number of the event that it covers, with all events before it.
    pub seq: u64,
    /// The hash of that event.
    pub hash: String,
    /// The time by the clock of the machine that signed it (RFC 3339).
    pub at: String,
    /// When the restoration of the study began, and by which token, if it was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
    /// The public key of the installation (Ed25519), in hexadecimal.
    pub key: String,
    /// The signature (Ed25519), in hexadecimal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
}

impl Statement {
    /// Signs the number and hash of the last event of a study, and its restoration.
    ///
    /// ```
    /// use emab_server::domain::checkpoint::Statement;
    /// let key = ring::signature::Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    /// let head = emab_server::store::Head { name: "clinic".into(), seq: 3, ..Default::default() };
    /// let signed = Statement::sign(&key, &head, None, "2026-11-16T12:00:00Z").text();
    /// assert_eq!(Statement::verify(&signed).unwrap().seq, 3);
    /// assert!(Statement::verify(&signed.replace("\"seq\":3", "\"seq\":4")).is_err());
    /// ```
    pub fn sign(
        key: &Ed25519KeyPair,
        head: &Head,
        restored: Option<Restored>,
        at: &str,
    ) -> Statement {
        let mut statement = Statement {
            emab_checkpoint: VERSION,
            study: head.name.clone(),
            seq: head.seq,
            hash: head.hash.clone(),
            at: at.into(),
            restored,
            key: hex(key.public_key().as_ref()),
            signature: String::new(),
        };
        let signature = key.sign(statement.text().as_bytes());
        statement.signature = hex(signature.as_ref());
        statement
    }

    /// One line of JSON.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a statement; fails unless it is signed with the key that it names.
    pub fn verify(line: &str) -> Result<Statement, String> {
        let read = serde_json::from_str::<Statement>(line);
        let mut statement = read
            .map_err(|error| format!("it is no checkpoint: {}", json_error(&error, "the line")))?;
        if statement.emab_checkpoint != VERSION {
            let version = statement.emab_checkpoint;
            return Err(format!("it has version {version}; {VERSION} is supported"));
        }
        if statement.text() != line {
            return Err("it is not written as this service writes".into());
        }
        let signature = std::mem::take(&mut statement.signature);
        let bytes = (unhex(&statement.key), unhex(&signature));
        let (Some(key), Some(signed)) = bytes else {
            return Err("`key` and `signature` are hexadecimal".into());
        };
        let key = UnparsedPublicKey::new(&ED25519, key);
        if key.verify(statement.text().as_bytes(), &signed).is_err() {
            return Err("its signature does not match".into());
        }
        statement.signature = signature;
        Ok(statement)
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}
