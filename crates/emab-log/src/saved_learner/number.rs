//! Whole numbers in JSON, where `2.0` is one, and what goes by a name or by its number.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

/// A whole number from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole(pub(super) u64);

/// An action or a feedback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Name {
    Index(u64),
    Text(String),
}

impl Whole {
    /// As an index; what is too large for one is no index of anything.
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Whole, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Whole;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a whole number from 0 on")
            }
            fn visit_u64<E>(self, value: u64) -> Result<Whole, E> {
                Ok(Whole(value))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Whole, E> {
                whole(value).map(Whole)
            }
        }
        from.deserialize_any(Number)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Name;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a name, or a whole number from 0 on")
            }
            fn visit_u64<E>(self, value: u64) -> Result<Name, E> {
                Ok(Name::Index(value))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Name, E> {
                whole(value).map(Name::Index)
            }
            fn visit_str<E>(self, value: &str) -> Result<Name, E> {
                Ok(Name::Text(value.into()))
            }
        }
        from.deserialize_any(Either)
    }
}

fn whole<E: Error>(value: f64) -> Result<u64, E> {
    // Up to there a double holds each of them.
    let most = (1_u64 << 53) as f64;
    if value >= 0.0 && value.fract() == 0.0 && value < most {
        return Ok(value as u64);
    }
    let value = emab::spec::format_number(value);
    Err(E::custom(format!(
        "expected a whole number from 0 on, got {value}"
    )))
}
