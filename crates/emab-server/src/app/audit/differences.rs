//! Describes the first difference of two JSON documents.

use serde::Serialize;
use serde_json::Value;

use crate::domain::json::short;

/// The first difference of a stored value from the expected one.
pub(super) fn between(there: &impl Serialize, should: &impl Serialize) -> Option<String> {
    let text = |value: Result<String, serde_json::Error>| value.unwrap_or_default();
    let there = text(serde_json::to_string(there));
    let should = text(serde_json::to_string(should));
    (there != should).then(|| of_texts(&there, &should))
}

/// The first difference of two texts that are not equal.
pub(super) fn of_texts(there: &str, should: &str) -> String {
    let read = |text: &str| serde_json::from_str::<Value>(text);
    let (Ok(one), Ok(other)) = (read(there), read(should)) else {
        return format!(
            "it is {}, and the log leads to {}",
            short(there),
            short(should)
        );
    };
    let mut pointer = String::new();
    match find(&one, &other, &mut pointer) {
        Some((one, other)) => format!(
            "`{pointer}` is {}, and the log leads to {}",
            short(&one),
            short(&other)
        ),
        None => "its values are right, and its bytes differ".into(),
    }
}

fn find(one: &Value, other: &Value, pointer: &mut String) -> Option<(String, String)> {
    let at = pointer.len();
    let mut inside = |key: &str, one: Option<&Value>, other: Option<&Value>| {
        pointer.push('/');
        pointer.push_str(key);
        let found = match (one, other) {
            (Some(one), Some(other)) => find(one, other, pointer),
            (one, other) => Some((or_missing(one), or_missing(other))),
        };
        if found.is_none() {
            pointer.truncate(at);
        }
        found
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let added = other.keys().filter(|key| !one.contains_key(*key));
            one.keys()
                .chain(added)
                .find_map(|key| inside(key, one.get(key), other.get(key)))
        }
        (Value::Array(one), Value::Array(other)) => (0..one.len().max(other.len()))
            .find_map(|i| inside(&i.to_string(), one.get(i), other.get(i))),
        // As texts: -0 differs from 0.
        _ => {
            let texts = (one.to_string(), other.to_string());
            (texts.0 != texts.1).then_some(texts)
        }
    }
}

fn or_missing(value: Option<&Value>) -> String {
    value.map_or("missing".into(), Value::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_first_difference() {
        for (there, should, words) in [
            (
                r#"{"a":[1,{"b":2}]}"#,
                r#"{"a":[1,{"b":3}]}"#,
                "`/a/1/b` is 2, and the log leads to 3",
            ),
            (
                r#"{"a":[1]}"#,
                r#"{"a":[1,2]}"#,
                "`/a/1` is missing, and the log leads to 2",
            ),
            (
                r#"{"a":0}"#,
                r#"{"b":0}"#,
                "`/a` is 0, and the log leads to missing",
            ),
            ("-0.0", "0.0", "`` is -0.0, and the log leads to 0.0"),
            (
                r#"{"a":1}"#,
                r#"{"a": 1}"#,
                "its values are right, and its bytes differ",
            ),
            ("{", "{}", "it is {, and the log leads to {}"),
        ] {
            assert_eq!(of_texts(there, should), words);
        }
    }
}
