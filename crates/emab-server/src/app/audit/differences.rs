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
        let (there, should) = (short(there), short(should));
        return format!("it is {there}, and the log leads to {should}");
    };
    let mut found = Vec::new();
    find(&one, &other, "", &mut found);
    match found.first() {
        Some((pointer, one, other)) => {
            let (one, other) = (short(one), short(other));
            format!("`{pointer}` is {one}, and the log leads to {other}")
        }
        None => "its values are right, and its bytes differ".into(),
    }
}

/// The JSON pointers of all differences of two JSON texts.
pub fn pointers(one: &str, other: &str) -> Vec<String> {
    let read = |text| serde_json::from_str::<Value>(text).unwrap_or_default();
    let mut found = Vec::new();
    find(&read(one), &read(other), "", &mut found);
    found.into_iter().map(|(pointer, ..)| pointer).collect()
}

/// Collects the pointer and both values of each difference.
fn find(one: &Value, other: &Value, at: &str, found: &mut Vec<(String, String, String)>) {
    let mut inside = |key: &str, one: Option<&Value>, other: Option<&Value>| {
        let at = format!("{at}/{key}");
        match (one, other) {
            (Some(one), Some(other)) => find(one, other, &at, found),
            (one, other) => {
                let [one, other] =
                    [one, other].map(|it| it.map_or("missing".into(), Value::to_string));
                found.push((at, one, other));
            }
        }
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let added = other.keys().filter(|key| !one.contains_key(*key));
            one.keys()
                .chain(added)
                .for_each(|key| inside(key, one.get(key), other.get(key)));
        }
        (Value::Array(one), Value::Array(other)) => {
            (0..one.len().max(other.len()))
                .for_each(|i| inside(&i.to_string(), one.get(i), other.get(i)));
        }
        // As texts: -0 differs from 0.
        _ => {
            let (one, other) = (one.to_string(), other.to_string());
            if one != other {
                found.push((at.into(), one, other));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_first_difference() {
        let cases = r#"
            {"a":[1,{"b":2}]} | {"a":[1,{"b":3}]} | `/a/1/b` is 2, and the log leads to 3
            {"a":[1]} | {"a":[1,2]} | `/a/1` is missing, and the log leads to 2
            {"a":0} | {"b":0} | `/a` is 0, and the log leads to missing
            -0.0 | 0.0 | `` is -0.0, and the log leads to 0.0
            {"a":1} | {"a": 1} | its values are right, and its bytes differ
            { | {} | it is {, and the log leads to {}
        "#;
        for line in cases.trim().lines() {
            let [there, should, words] = *line.trim().split(" | ").collect::<Vec<_>>() else {
                panic!("{line}")
            };
            assert_eq!(of_texts(there, should), words);
        }
    }
}
