//! The hash chain of a log.
//!
//! An event is one line of JSON. Its hash is the SHA-256 of that line, and the line contains the hash of the line before it,
//! so that any change of an earlier byte is detected. In exports and responses the line ends with its own hash.

use emab_problem::json_error;
pub use emab_problem::sha256_hex as sha256;
use serde::Deserialize;
use thiserror::Error;

/// The `previous` hash of the first event.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The longest line of an event, in bytes. The first event contains the specification in canonical form, which is at most 3.8 times
/// as long as the request that creates the study (16 MiB of numbers such as `9e15`, each with a comma); a longer event is not
/// recorded. So every study can be exported and imported.
pub const MAX_LINE: usize = 64 << 20;

/// The length of the hash at the end of a line: `,"hash":"` and 64 digits and `"}`.
pub const HASH_FIELD: usize = 9 + 64 + 2;

/// An event as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The sequence number in the study, from 1, without gaps.
    pub seq: u64,
    /// The line, without its own hash.
    pub text: String,
    /// SHA-256 of the line, in hexadecimal.
    pub hash: String,
}

/// A line that is not an event.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not an event: {0}")]
pub struct NotAnEvent(pub String);

impl Record {
    /// The event with this line.
    pub fn new(seq: u64, text: String) -> Record {
        let hash = sha256(text.as_bytes());
        Record { seq, text, hash }
    }

    /// The line with its hash at the end, as in an export.
    pub fn line(&self) -> String {
        let open = self.text.strip_suffix('}').unwrap_or(&self.text);
        format!("{open},\"hash\":\"{}\"}}", self.hash)
    }

    /// Reads an exported line without checking its hash; [`Record::is_intact`] does.
    ///
    /// ```
    /// use emab_server::domain::hash_chain::Record;
    /// let record = Record::new(1, r#"{"seq":1,"kind":"closed"}"#.into());
    /// let back = Record::from_line(&record.line()).unwrap();
    /// assert!(back == record && back.is_intact());
    /// let planted = Record::from_line(&record.line().replace("closed", "cloned")).unwrap();
    /// assert!(!planted.is_intact());
    /// ```
    pub fn from_line(line: &str) -> Result<Record, NotAnEvent> {
        let cut = line.len().saturating_sub(HASH_FIELD);
        let split = || {
            let (open, end) = line.split_at_checked(cut)?;
            let hash = end.strip_prefix(",\"hash\":\"")?.strip_suffix("\"}")?;
            Some((format!("{open}}}"), hash))
        };
        let (text, hash) = split().ok_or_else(|| NotAnEvent("it has no hash at its end".into()))?;
        Ok(Record {
            seq: first_seq(&text).map_or_else(|| read_seq(&text), Ok)?,
            text,
            hash: hash.into(),
        })
    }

    /// Whether the hash matches the line.
    pub fn is_intact(&self) -> bool {
        sha256(self.text.as_bytes()) == self.hash
    }
}

/// The number of an event whose line begins with it, as the service writes lines. The rest is not parsed.
fn first_seq(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("{\"seq\":")?.split(',').next()?;
    let plain = !digits.starts_with(['0', '+']) && digits.len() < 20;
    digits.parse().ok().filter(|_| plain)
}

/// The number of any event.
fn read_seq(text: &str) -> Result<u64, NotAnEvent> {
    #[derive(Deserialize)]
    struct Seq {
        seq: u64,
    }
    let read = serde_json::from_str::<Seq>(text);
    let wrong = |error| NotAnEvent(json_error(&error, "the event"));
    read.map(|it| it.seq).map_err(wrong)
}
