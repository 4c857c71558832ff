//! Schemas: the type in one line, the properties in a table.

use maud::{Markup, html};
use serde_json::Value;

use super::{Document, description, slug};

/// The largest depth of nested tables and types.
pub const DEPTH: usize = 6;

/// The description, type and properties of a schema.
pub fn block(document: Document<'_>, schema: &Value) -> Markup {
    html! {
        (description(schema))
        @if schema["properties"].as_object().is_none() { p.type { (line(document, schema)) } }
        (inner(document, schema, DEPTH))
    }
}

/// The type with its constraints, such as `array of Episode` or `integer ≥ 0`.
pub fn line(document: Document<'_>, schema: &Value) -> Markup {
    html! {
        (kind(document, schema, DEPTH))
        @for rule in constraints(schema) { " " small { (rule) } }
        @for (key, word) in [("pattern", "pattern"), ("default", "default")] {
            @match &schema[key] {
                Value::Null => {}
                Value::String(value) => { " " small { (word) " " code { (value) } } }
                value => { " " small { (word) " " code { (value.to_string()) } } }
            }
        }
    }
}

fn join(parts: impl Iterator<Item = Markup>, separator: &str) -> Markup {
    html! {
        @for (i, part) in parts.enumerate() {
            @if i > 0 { (separator) }
            (part)
        }
    }
}

fn kind(document: Document<'_>, schema: &Value, depth: usize) -> Markup {
    if depth == 0 {
        return html! { "…" };
    }
    if let Some(name) = document.schema_name(schema) {
        return html! { a href={ "#schema-" (slug(&name)) } { (name) } };
    }
    let schema = document.follow(schema);
    let code = |value: &Value| html! { code { (value.to_string()) } };
    if let Some(value) = schema.get("const") {
        return code(value);
    }
    if let Some(values) = schema["enum"].as_array() {
        return join(values.iter().map(code), " ");
    }
    for (key, word) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        if let Some(choices) = schema[key].as_array() {
            let choices = choices.iter();
            return join(
                choices.map(|choice| kind(document, choice, depth - 1)),
                word,
            );
        }
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            join(kinds.map(|kind| one(document, schema, kind, depth)), " or ")
        }
        Value::String(kind) => one(document, schema, kind, depth),
        _ if schema["properties"].is_object() => html! { "object" },
        _ => html! { "anything" },
    }
}

fn one(document: Document<'_>, schema: &Value, name: &str, depth: usize) -> Markup {
    let of = |schema: &Value| kind(document, schema, depth - 1);
    match (name, schema.get("items")) {
        ("array", Some(items)) => html! { "array of " (of(items)) },
        _ => match schema["format"].as_str() {
            Some(format) if name != "null" => html! { (name) " " small { (format) } },
            _ => html! { (name) },
        },
    }
}

fn constraints(schema: &Value) -> Vec<String> {
    let number = |key: &str| schema.get(key).filter(|value| value.is_number());
    let mut out = Vec::new();
    for (key, sign) in [
        ("minimum", "≥"),
        ("maximum", "≤"),
        ("exclusiveMinimum", ">"),
    ] {
        out.extend(number(key).map(|value| format!("{sign} {value}")));
    }
    for (what, unit) in [("Length", "characters"), ("Items", "items")] {
        let (min, max) = (number(&format!("min{what}")), number(&format!("max{what}")));
        out.extend(match (min, max) {
            (Some(min), Some(max)) if min == max => Some(format!("{min} {unit}")),
            (Some(min), Some(max)) => Some(format!("{min} to {max} {unit}")),
            (Some(min), None) => Some(format!("≥ {min} {unit}")),
            (None, Some(max)) => Some(format!("≤ {max} {unit}")),
            (None, None) => None,
        });
    }
    out
}

/// The properties of a schema, and of its choices, in tables.
pub fn inner(document: Document<'_>, schema: &Value, depth: usize) -> Markup {
    if depth == 0 || document.schema_name(schema).is_some() {
        return html! {};
    }
    let schema = document.follow(schema);
    html! {
        @for (key, words) in [("allOf", "All of"), ("oneOf", "One of"), ("anyOf", "Any of")] {
            @let choices: Vec<&Value> = schema[key].as_array().into_iter().flatten().collect();
            @if choices.iter().any(|it| it["properties"].is_object() || !it["description"].is_null()) {
                p.choice-of { (words) }
                ul {
                    @for choice in choices {
                        li {
                            span.type { (line(document, choice)) }
                            (description(choice))
                            (inner(document, choice, depth - 1))
                        }
                    }
                }
            }
        }
        (properties(document, schema, depth))
        @for key in ["items", "additionalProperties"] {
            @if schema[key].is_object() { (inner(document, &schema[key], depth - 1)) }
        }
    }
}

/// Required properties come first, in the order of `required`.
fn properties(document: Document<'_>, schema: &Value, depth: usize) -> Markup {
    let Some(all) = schema["properties"]
        .as_object()
        .filter(|all| !all.is_empty())
    else {
        return html! {};
    };
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let is_required = |name: &str| required.contains(&name);
    let first = required.iter().filter_map(|name| all.get_key_value(*name));
    let others = all.iter().filter(|(name, _)| !is_required(name));
    html! {
        table {
            @for (name, property) in first.chain(others) {
                @let more = inner(document, property, depth - 1);
                (row(html! { code { (name) } }, line(document, property), is_required(name), property, more))
            }
        }
    }
}

/// One row of a table: a name, a type and a description.
pub fn row(name: Markup, kind: Markup, required: bool, of: &Value, more: Markup) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            td {
                span.type { (kind) @if required { small.must { "required" } } }
                (description(of))
                (more)
            }
        }
    }
}
