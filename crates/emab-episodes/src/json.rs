//! JSON values that other programs write in more than one way: integers as `2.0`, and names as indices.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

/// A non-negative integer up to [`LenientU64::LARGEST`]; `2.0` is read as 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LenientU64(pub u64);

/// An action, a feedback or a state: by its name, or by its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Name {
    /// From 0.
    Index(u64),
    /// As the study names it.
    Text(String),
}

impl LenientU64 {
    /// The largest integer up to which a double represents every integer.
    pub const LARGEST: u64 = (1 << 53) - 1;

    /// The integer that a double represents, if it is one.
    pub fn from_f64(value: f64) -> Option<LenientU64> {
        let integer = value >= 0.0 && value.fract() == 0.0 && value <= LenientU64::LARGEST as f64;
        integer.then_some(LenientU64(value as u64))
    }

    /// As an index; one that no `usize` holds becomes the largest, which is out of range everywhere.
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    fn read<E: Error>(value: f64, least: u64) -> Result<LenientU64, E> {
        LenientU64::from_f64(value).ok_or_else(|| {
            let value = emab::spec::format_number(value);
            E::custom(format!("must be {}, got {value}", WholeNumber { least }))
        })
    }
}

/// The rule of a whole number, for errors.
#[derive(Clone, Copy)]
struct WholeNumber {
    least: u64,
}

impl fmt::Display for WholeNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a whole number from {} to 2^53 - 1", self.least)
    }
}

impl Visitor<'_> for WholeNumber {
    type Value = LenientU64;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<LenientU64, E> {
        LenientU64::read(value as f64, self.least)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<LenientU64, E> {
        LenientU64::read(value as f64, self.least)
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<LenientU64, E> {
        LenientU64::read(value, self.least)
    }
}

/// Reads a number that counts from 1, such as a step. Errors say so; 0 is read, and the request is rejected for it.
pub fn from_one<'de, D: Deserializer<'de>>(from: D) -> Result<LenientU64, D::Error> {
    from.deserialize_any(WholeNumber { least: 1 })
}

impl Serialize for LenientU64 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for LenientU64 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LenientU64, D::Error> {
        from.deserialize_any(WholeNumber { least: 0 })
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        struct NameOrIndex;
        impl Visitor<'_> for NameOrIndex {
            type Value = Name;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a name, or a whole number from 0 to 2^53 - 1")
            }
            fn visit_u64<E>(self, value: u64) -> Result<Name, E> {
                Ok(Name::Index(value))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Name, E> {
                LenientU64::read(value, 0).map(|LenientU64(value)| Name::Index(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Name, E> {
                Ok(Name::Text(value.into()))
            }
        }
        from.deserialize_any(NameOrIndex)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Index(index) => write!(out, "{index}"),
            Name::Text(text) => write!(out, "`{}`", truncate(text)),
        }
    }
}

/// Untrusted text, cut to 60 characters for an error message.
pub fn truncate(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Reads any `u64`, as an integer or as a double that is one: seeds use all 64 bits.
pub(crate) fn full_u64<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let number = serde_json::Number::deserialize(from)?;
    match (number.as_u64(), number.as_f64()) {
        (Some(value), _) => Ok(value),
        (None, Some(value)) => LenientU64::read(value, 0).map(|LenientU64(value)| value),
        (None, None) => Err(D::Error::custom(format!(
            "must be {}",
            WholeNumber { least: 0 }
        ))),
    }
}
