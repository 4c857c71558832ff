//! An example of a schema: the one it gives, or one made up from its types.

use serde_json::{Map, Value, json};

use super::reference::Document;

/// Schemas refer to one another, in circles too; an example ends.
const DEPTH: usize = 8;
const VALUES: usize = 300;

/// None when it would say nothing.
pub fn of(document: Document<'_>, schema: &Value) -> Option<Value> {
    let mut left = VALUES;
    let value = make(document, schema, DEPTH, &mut left);
    (!value.is_null()).then_some(value)
}

/// The example of something that has content: its own, or that of its schema.
pub fn of_media(document: Document<'_>, media: &Value) -> Option<Value> {
    let named = media["examples"]
        .as_object()
        .and_then(|all| all.values().next());
    let named = named.map(|example| &document.follow(example)["value"]);
    let given = named
        .filter(|value| !value.is_null())
        .or(media.get("example"));
    given.cloned().or_else(|| of(document, &media["schema"]))
}

fn make(document: Document<'_>, schema: &Value, depth: usize, left: &mut usize) -> Value {
    if depth == 0 || *left == 0 {
        return Value::Null;
    }
    *left -= 1;
    let schema = document.follow(schema);
    let first = |key: &str| schema[key].as_array().and_then(|all| all.first());
    let given = [
        schema.get("example"),
        first("examples"),
        schema.get("const"),
        schema.get("default"),
        first("enum"),
    ];
    if let Some(given) = given.into_iter().flatten().find(|value| !value.is_null()) {
        return given.clone();
    }
    for key in ["oneOf", "anyOf"] {
        let mut choices = schema[key].as_array().into_iter().flatten();
        if let Some(choice) = choices.find(|choice| choice["type"] != "null") {
            return make(document, choice, depth - 1, left);
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut all = Map::new();
        for part in parts {
            if let Value::Object(part) = make(document, part, depth - 1, left) {
                all.extend(part);
            }
        }
        all.extend(properties(document, schema, depth, left));
        return Value::Object(all);
    }
    of_type(document, schema, depth, left)
}

fn of_type(document: Document<'_>, schema: &Value, depth: usize, left: &mut usize) -> Value {
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null"),
        kind => kind.as_str(),
    };
    let at_least = schema
        .get("minimum")
        .filter(|value| value.is_number())
        .cloned();
    match kind {
        Some("string") => text(schema["format"].as_str().unwrap_or_default()).into(),
        Some("integer") => at_least.unwrap_or(json!(1)),
        Some("number") => at_least.unwrap_or(json!(0.5)),
        Some("boolean") => true.into(),
        Some("array") => {
            let tuple = schema["prefixItems"].as_array();
            let items = tuple.map_or_else(
                || schema.get("items").into_iter().collect(),
                |all| all.iter().collect::<Vec<_>>(),
            );
            let items = items
                .into_iter()
                .map(|item| make(document, item, depth - 1, left));
            items.collect()
        }
        Some("object") => properties(document, schema, depth, left).into(),
        None if schema["properties"].is_object() => {
            properties(document, schema, depth, left).into()
        }
        _ => Value::Null,
    }
}

fn properties(
    document: Document<'_>,
    schema: &Value,
    depth: usize,
    left: &mut usize,
) -> Map<String, Value> {
    let mut all = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if property["writeOnly"] != true {
            all.insert(name.clone(), make(document, property, depth - 1, left));
        }
    }
    if all.is_empty() && schema["additionalProperties"].is_object() {
        let value = make(document, &schema["additionalProperties"], depth - 1, left);
        all.insert("name".into(), value);
    }
    all
}

fn text(format: &str) -> &'static str {
    match format {
        "date-time" => "2026-01-31T12:00:00Z",
        "date" => "2026-01-31",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "uri" => "https://example.org/",
        "email" => "somebody@example.org",
        _ => "text",
    }
}
