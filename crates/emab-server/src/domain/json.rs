//! Strict parsing of JSON input: no duplicate keys, no deep nesting, errors with a JSON pointer.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

pub use emab_episodes::json::{LenientU64, Name, from_one, truncate as short};

use crate::domain::Rejection;
use emab_problem::json_error;

/// Reads a whole number of a field from 0; `2.0` is accepted.
pub fn lenient_u64<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let LenientU64(number) = serde::Deserialize::deserialize(from)?;
    Ok(number)
}

/// Reads a whole number of a field that counts from 1; `2.0` is accepted.
pub fn lenient_from_one<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let LenientU64(number) = from_one(from)?;
    Ok(number)
}

/// Parses a JSON text; an error has the JSON pointer of the fault.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Rejection> {
    read_at(bytes, "")
}

/// Parses a JSON text that is a part of another, at a JSON pointer.
pub fn read_at<T: DeserializeOwned>(bytes: &[u8], within: &str) -> Result<T, Rejection> {
    let malformed = |error: &serde_json::Error, pointer: String| {
        let subject = match pointer.as_str() {
            "" => "the JSON object".to_owned(),
            pointer => format!("`{}`", short(pointer)),
        };
        Rejection::malformed(json_error(error, &subject)).at(pointer)
    };
    // The types reject duplicate fields, `Strict` rejects duplicate keys inside values.
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut text).map_err(|error| {
        let pointer = format!("{within}{}", pointer_of(error.path()));
        malformed(&error.into_inner(), pointer)
    })?;
    text.end()
        .map_err(|error| malformed(&error, within.into()))?;
    Ok(value)
}

/// Parses a JSON object, which is the body.
pub fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Rejection> {
    object_of(bytes, "the body")
}

/// Parses a JSON object; `what` names it in errors. Serde would also accept an array of the field values.
pub fn object_of<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Rejection> {
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        return read(bytes);
    }
    // Text that is not JSON gets its own error.
    let Strict(value) = read(bytes)?;
    let what = format!(
        "{what} must be a JSON object, got {}; write it in braces, such as {{\"field\": 1}}",
        short(&value.to_string())
    );
    Err(Rejection::malformed(what).at(""))
}

/// Parses a JSON object or `null`.
pub fn object_or_null<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<T>, Rejection> {
    if bytes.trim_ascii() == b"null" {
        return Ok(None);
    }
    object(bytes).map(Some)
}

fn pointer_of(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter().fold(String::new(), |mut pointer, segment| {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => push(&mut pointer, key),
            Segment::Enum { variant } => push(&mut pointer, variant),
            Segment::Unknown => {}
        }
        pointer
    })
}

/// The JSON pointer of a field.
pub fn pointer_to(field: &str) -> String {
    let mut pointer = String::new();
    push(&mut pointer, field);
    pointer
}

fn push(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

/// Any JSON value in which no key is given twice: [`Value`] would silently keep the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Strict, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a JSON value")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Number(value.into()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Number(value.into()))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                let number = Number::from_f64(value);
                number
                    .map(Value::Number)
                    .ok_or_else(|| E::custom("must be a finite number"))
            }
            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::String(value.into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
                let mut list = Vec::new();
                while let Some(Strict(value)) = from.next_element()? {
                    list.push(value);
                }
                Ok(Value::Array(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
                let mut map = Map::new();
                while let Some(key) = from.next_key::<String>()? {
                    if map.contains_key(&key) {
                        return Err(A::Error::custom(format!(
                            "`{key}` is given twice; remove one"
                        )));
                    }
                    let Strict(value) = from.next_value()?;
                    map.insert(key, value);
                }
                Ok(Value::Object(map))
            }
        }
        from.deserialize_any(Any).map(Strict)
    }
}

/// The JSON pointer of the value at a byte of a valid JSON text.
///
/// ```
/// use emab_server::domain::json::pointer_at;
/// let text = r#"{"a": [1, {"b/c": "here"}]}"#;
/// assert_eq!(pointer_at(text, text.find("here").unwrap()), "/a/1/b~1c");
/// assert_eq!(pointer_at(text, text.find("[1").unwrap()), "/a");
/// assert_eq!(pointer_at(text, text.find("\"b/c").unwrap()), "/a/1/b~1c");
/// ```
pub fn pointer_at(text: &str, byte: usize) -> String {
    enum Level {
        List(usize),
        Map(Option<String>),
    }
    let bytes = text.as_bytes();
    let (mut levels, mut at) = (Vec::new(), 0);
    // A key at this byte selects its value; a list or an object at this byte selects itself.
    while at < bytes.len() && (at < byte || (at == byte && bytes[at] == b'"')) {
        match bytes[at] {
            b'[' => levels.push(Level::List(0)),
            b'{' => levels.push(Level::Map(None)),
            b']' | b'}' => {
                levels.pop();
            }
            b',' => match levels.last_mut() {
                Some(Level::List(index)) => *index += 1,
                Some(Level::Map(key)) => *key = None,
                None => {}
            },
            b'"' => {
                let start = at;
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let end = (at + 1).min(bytes.len());
                if let Some(Level::Map(key @ None)) = levels.last_mut() {
                    *key = text
                        .get(start..end)
                        .and_then(|word| serde_json::from_str(word).ok());
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut pointer = String::new();
    for level in levels {
        match level {
            Level::List(index) => pointer.push_str(&format!("/{index}")),
            Level::Map(Some(key)) => push(&mut pointer, &key),
            Level::Map(None) => {}
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::rejection::RejectionKind;

    #[test]
    fn accepts_only_whole_numbers_and_names() {
        assert_eq!(read::<LenientU64>(b"2.0").unwrap(), LenientU64(2));
        for wrong in ["2.5", "-1", "1e300", "\"2\"", "null", "NaN", "1e999", "2 3"] {
            let error = read::<LenientU64>(wrong.as_bytes()).unwrap_err();
            assert_eq!(error.kind, RejectionKind::Malformed, "{wrong}");
        }
        assert_eq!(read::<Name>(b"1.0").unwrap(), Name::Index(1));
        assert_eq!(read::<Name>(b"\"1\"").unwrap(), Name::Text("1".into()));
        assert!(read::<Name>(br#""\ud800""#).is_err());
    }
}
