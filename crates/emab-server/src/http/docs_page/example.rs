//! Example values: those of the document, or generated from the types.

use serde_json::{Map, Value, json};

use super::Document;

/// Limits of a generated example: schemas may refer to each other in circles.
const DEPTH: usize = 8;
const VALUES: usize = 300;

/// An example as text; a string without quotes.
pub fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}

/// An example of a schema; none if it would be `null`.
pub fn of(document: Document<'_>, schema: &Value) -> Option<Value> {
    let mut left = VALUES;
    let value = make(document, schema, DEPTH, &mut left);
    (!value.is_null()).then_some(value)
}

/// The example of a content type, or of its schema.
pub fn of_media(document: Document<'_>, media: &Value) -> Option<Value> {
    let given = media.get("example").cloned();
    given.or_else(|| of(document, &media["schema"]))
}

fn make(document: Document<'_>, schema: &Value, depth: usize, left: &mut usize) -> Value {
    if depth == 0 || *left == 0 {
        return Value::Null;
    }
    *left -= 1;
    let schema = document.follow(schema);
    let given = [&schema["const"], &schema["default"], &schema["enum"][0]];
    if let Some(given) = given.into_iter().find(|value| !value.is_null()) {
        return given.clone();
    }
    for key in ["oneOf", "anyOf"] {
        let mut choices = schema[key].as_array().into_iter().flatten();
        if let Some(choice) = choices.find(|choice| choice["type"] != "null") {
            return make(document, choice, depth - 1, left);
        }
    }
    let mut all = Map::new();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        if let Value::Object(part) = make(document, part, depth - 1, left) {
            all.extend(part);
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        all.insert(name.clone(), make(document, property, depth - 1, left));
    }
    if !all.is_empty() {
        return Value::Object(all);
    }
    let kinds = schema["type"].as_array();
    let mut kinds = kinds.into_iter().flatten().chain([&schema["type"]]);
    let minimum = schema.get("minimum").filter(|value| value.is_number());
    match kinds.find_map(|kind| kind.as_str().filter(|kind| *kind != "null")) {
        Some("string") => json!("text"),
        Some("integer") => minimum.cloned().unwrap_or(json!(1)),
        Some("number") => minimum.cloned().unwrap_or(json!(0.5)),
        Some("boolean") => json!(true),
        Some("array") => {
            let items = schema.get("items").into_iter();
            items
                .map(|item| make(document, item, depth - 1, left))
                .collect()
        }
        Some("object") => json!({}),
        _ => Value::Null,
    }
}
