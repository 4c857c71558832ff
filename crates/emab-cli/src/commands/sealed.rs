//! JSON under a checksum: a state that was changed by hand would give results that no seed gives.

use emab_problem::sha256_hex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::CommandError;

#[derive(Serialize, Deserialize)]
struct Sealed {
    sha256: String,
    body: Box<RawValue>,
}

/// One line of JSON, with its checksum.
pub fn seal(document: &impl Serialize) -> Result<String, CommandError> {
    let failed = |error| CommandError::Work(format!("cannot write JSON: {error}"));
    let body = serde_json::value::to_raw_value(document).map_err(failed)?;
    let sealed = Sealed {
        sha256: sha256_hex(body.get().as_bytes()),
        body,
    };
    Ok(serde_json::to_string(&sealed).map_err(failed)? + "\n")
}

/// What was sealed; `place` is what errors call it.
pub fn open<T: DeserializeOwned>(place: &str, text: &str) -> Result<T, CommandError> {
    let damaged =
        |why: &dyn std::fmt::Display| CommandError::Work(format!("{place} is damaged: {why}"));
    let sealed: Sealed = serde_json::from_str(text).map_err(|error| damaged(&error))?;
    if sha256_hex(sealed.body.get().as_bytes()) != sealed.sha256 {
        return Err(damaged(&"its checksum is not that of its content"));
    }
    serde_json::from_str(sealed.body.get()).map_err(|error| damaged(&error))
}
