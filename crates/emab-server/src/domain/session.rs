//! A session of a person with the console. It belongs to no study.

/// A session. Its times are RFC 3339, UTC, in whole seconds: their texts compare as times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The SHA-256 of its secret, as lowercase hexadecimal digits.
    pub hash: String,
    /// The id of the token that it was begun with.
    pub token: String,
    pub begun: String,
    pub expires: String,
}
