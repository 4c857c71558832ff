//! A schema in words: its type in a line, its properties in a table.

use serde_json::Value;

use super::html::{code, escape, slug};
use super::markdown;
use super::reference::{Document, schema_name};

/// How deep tables stand within tables, and types within types.
const DEPTH: usize = 6;
/// Values of an enumeration that are shown.
const VALUES: usize = 24;

/// All of it: description, type, properties.
pub fn block(document: Document<'_>, schema: &Value) -> String {
    let mut out = markdown::render(schema["description"].as_str().unwrap_or_default());
    let inner = inner(document, schema, DEPTH);
    if inner.is_empty() || schema["properties"].as_object().is_none() {
        out += &format!("<p class=\"type\">{}</p>\n", line(document, schema));
    }
    out + &inner
}

/// What a named type would be called: `array of Episode`, `integer ≥ 0`.
pub fn line(document: Document<'_>, schema: &Value) -> String {
    let mut parts = vec![kind(document, schema, DEPTH)];
    parts.extend(rules(schema));
    parts.join(" ")
}

fn kind(document: Document<'_>, schema: &Value, depth: usize) -> String {
    if depth == 0 {
        return "…".into();
    }
    if let Some(name) = schema_name(document, schema) {
        return format!("<a href=\"#schema-{}\">{}</a>", slug(&name), escape(&name));
    }
    let schema = document.follow(schema);
    if let Some(value) = schema.get("const") {
        return code(&value.to_string());
    }
    if let Some(values) = schema["enum"].as_array() {
        let more = if values.len() > VALUES { " …" } else { "" };
        let values: Vec<String> = values
            .iter()
            .take(VALUES)
            .map(|value| code(&value.to_string()))
            .collect();
        return values.join(" ") + more;
    }
    for (key, word) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        if let Some(choices) = schema[key].as_array() {
            let choices: Vec<String> = choices
                .iter()
                .map(|choice| kind(document, choice, depth - 1))
                .collect();
            return choices.join(word);
        }
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let kinds: Vec<String> = kinds
                .iter()
                .filter_map(Value::as_str)
                .map(|kind| one(document, schema, kind, depth))
                .collect();
            kinds.join(" or ")
        }
        Value::String(kind) => one(document, schema, kind, depth),
        _ if schema["properties"].is_object() => "object".into(),
        _ if *schema == Value::Bool(false) => "nothing".into(),
        _ => "anything".into(),
    }
}

fn one(document: Document<'_>, schema: &Value, kind_name: &str, depth: usize) -> String {
    let of = |schema: &Value| kind(document, schema, depth - 1);
    match kind_name {
        "array" => match (schema["prefixItems"].as_array(), schema.get("items")) {
            (Some(items), _) => {
                let items: Vec<String> = items.iter().map(of).collect();
                format!("[{}]", items.join(", "))
            }
            (None, Some(items)) => format!("array of {}", of(items)),
            (None, None) => "array".into(),
        },
        "object" => match &schema["additionalProperties"] {
            values @ Value::Object(_) if !schema["properties"].is_object() => {
                format!("map of {}", of(values))
            }
            _ => "object".into(),
        },
        name => match schema["format"].as_str() {
            Some(format) if name != "null" => {
                format!("{} <small>{}</small>", escape(name), escape(format))
            }
            _ => escape(name),
        },
    }
}

/// What a value must keep to, each in a few signs.
fn rules(schema: &Value) -> Vec<String> {
    let number = |key: &str| schema.get(key).filter(|value| value.is_number());
    let mut out = Vec::new();
    for (key, sign) in [
        ("minimum", "≥"),
        ("exclusiveMinimum", ">"),
        ("maximum", "≤"),
        ("exclusiveMaximum", "<"),
        ("multipleOf", "a multiple of"),
    ] {
        out.extend(number(key).map(|value| format!("{sign} {value}")));
    }
    for (what, words) in [
        ("Length", "characters"),
        ("Items", "items"),
        ("Properties", "names"),
    ] {
        let (least, most) = (number(&format!("min{what}")), number(&format!("max{what}")));
        out.extend(match (least, most) {
            (Some(least), Some(most)) if least == most => Some(format!("{least} {words}")),
            (Some(least), Some(most)) => Some(format!("{least} to {most} {words}")),
            (Some(least), None) => Some(format!("≥ {least} {words}")),
            (None, Some(most)) => Some(format!("≤ {most} {words}")),
            (None, None) => None,
        });
    }
    if schema["uniqueItems"] == true {
        out.push("no two alike".into());
    }
    let mut out: Vec<String> = out
        .iter()
        .map(|rule| format!("<small>{}</small>", escape(rule)))
        .collect();
    if let Some(pattern) = schema["pattern"].as_str() {
        out.push(format!("<small>like {}</small>", code(pattern)));
    }
    if let Some(default) = schema.get("default").filter(|value| !value.is_null()) {
        out.push(format!(
            "<small>default {}</small>",
            code(&default.to_string())
        ));
    }
    for (key, word) in [
        ("deprecated", "deprecated"),
        ("readOnly", "read only"),
        ("writeOnly", "write only"),
    ] {
        if schema[key] == true {
            out.push(format!("<small class=\"mark\">{word}</small>"));
        }
    }
    out
}

/// What there is to say below the line: the properties, of the choices too if they have no names.
pub fn inner(document: Document<'_>, schema: &Value, depth: usize) -> String {
    if depth == 0 || schema_name(document, schema).is_some() {
        return String::new();
    }
    let schema = document.follow(schema);
    let mut out = String::new();
    for (key, words) in [
        ("allOf", "All of"),
        ("oneOf", "One of"),
        ("anyOf", "Any of"),
    ] {
        let choices: Vec<&Value> = schema[key].as_array().into_iter().flatten().collect();
        let tables: Vec<String> = choices
            .iter()
            .map(|choice| inner(document, choice, depth - 1))
            .collect();
        if tables.iter().all(String::is_empty)
            && choices.iter().all(|choice| choice["description"].is_null())
        {
            continue;
        }
        out += &format!("<p class=\"choice\">{words}</p>\n<ul class=\"choices\">\n");
        for (choice, table) in choices.iter().zip(tables) {
            let about = markdown::render(choice["description"].as_str().unwrap_or_default());
            out += &format!(
                "<li><span class=\"type\">{}</span>\n{about}{table}</li>\n",
                line(document, choice)
            );
        }
        out += "</ul>\n";
    }
    out += &properties(document, schema, depth);
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            out += &inner(document, &schema[key], depth - 1);
        }
    }
    out
}

fn properties(document: Document<'_>, schema: &Value, depth: usize) -> String {
    let Some(all) = schema["properties"]
        .as_object()
        .filter(|all| !all.is_empty())
    else {
        return String::new();
    };
    // What is required comes first, in the order it is required in, which is the author's.
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let first = required.iter().filter_map(|name| all.get_key_value(*name));
    let others = all
        .iter()
        .filter(|(name, _)| !required.contains(&name.as_str()));
    let mut out = String::from("<table>\n");
    for (name, property) in first.chain(others) {
        out += &row(
            &code(name),
            &line(document, property),
            required.contains(&name.as_str()),
            property["description"].as_str().unwrap_or_default(),
            &inner(document, property, depth - 1),
        );
    }
    out + "</table>\n"
}

/// One line of a table: a name, a type, and what is to be said of it.
pub fn row(name: &str, kind: &str, required: bool, about: &str, more: &str) -> String {
    let must = match required {
        true => "<small class=\"must\">required</small>",
        false => "",
    };
    format!(
        "<tr><th scope=\"row\">{name}</th><td><span class=\"type\">{kind}{must}</span>\n{}{more}</td></tr>\n",
        markdown::render(about)
    )
}
