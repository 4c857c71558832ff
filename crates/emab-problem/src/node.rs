//! TOML and JSON as one tree whose every part knows where it stands in the text.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use toml::de::{DeTable, DeValue};

use crate::error::Mistake;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Node>),
    Table(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) span: Range<usize>,
}

impl Node {
    /// What it is, with its article.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::Array(_) => "a list",
            Kind::Table(_) => "a table",
        }
    }

    /// Where the content of a text stands, if it stands there as it is, without escapes.
    pub(crate) fn text_start(&self, source: &str) -> Option<usize> {
        let Kind::Text(text) = &self.kind else {
            return None;
        };
        let written = source.get(self.span.clone())?;
        let quotes = if written.len() >= 6
            && (written.starts_with("\"\"\"") || written.starts_with("'''"))
        {
            3
        } else {
            1
        };
        (written.get(quotes..written.len().checked_sub(quotes)?)? == text)
            .then_some(self.span.start + quotes)
    }

    /// The same content for the same problem, whichever way it was written.
    pub(crate) fn canonical(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n)
                if n.fract() == 0.0 && n.abs() < 9e15 && !(*n == 0.0 && n.is_sign_negative()) =>
            {
                Value::from(*n as i64)
            }
            Kind::Number(n) => Value::from(*n),
            Kind::Text(text) => Value::from(text.as_str()),
            Kind::Array(nodes) => nodes.iter().map(Node::canonical).collect(),
            Kind::Table(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.canonical()))
                    .collect(),
            ),
        }
    }
}

pub(crate) fn parse_toml(text: &str) -> Result<Node, Mistake> {
    let table = DeTable::parse(text).map_err(|error| Mistake {
        span: Some(error.span().unwrap_or(0..0)),
        message: format!("this is not TOML: {}", error.message().replace('\n', ", ")),
        label: "here".into(),
        help: None,
    })?;
    let span = 0..text.len();
    let kind = toml_table(table.get_ref())?;
    Ok(Node { span, kind })
}

fn toml_table(table: &DeTable<'_>) -> Result<Kind, Mistake> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let key = Key {
            name: key.get_ref().to_string(),
            span: key.span(),
        };
        entries.push((key, toml_value(value.span(), value.get_ref())?));
    }
    Ok(Kind::Table(entries))
}

fn toml_value(span: Range<usize>, value: &DeValue<'_>) -> Result<Node, Mistake> {
    let kind = match value {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Boolean(b) => Kind::Bool(*b),
        DeValue::Integer(integer) => {
            let digits = integer.as_str().replace('_', "");
            let value = i128::from_str_radix(&digits, integer.radix());
            // An integer with more digits than that is a number all the same, if not an exact one.
            Kind::Number(
                value.map_or_else(|_| digits.parse().unwrap_or(f64::INFINITY), |v| v as f64),
            )
        }
        DeValue::Float(float) => {
            Kind::Number(float.as_str().replace('_', "").parse().unwrap_or(f64::NAN))
        }
        DeValue::Array(values) => Kind::Array(
            values
                .iter()
                .map(|v| toml_value(v.span(), v.get_ref()))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => toml_table(table)?,
        DeValue::Datetime(_) => {
            return Err(Mistake::at(&span, "a problem file has no dates", "a date"));
        }
    };
    finite(&span, &kind)?;
    Ok(Node { span, kind })
}

fn finite(span: &Range<usize>, kind: &Kind) -> Result<(), Mistake> {
    match kind {
        Kind::Number(n) if !n.is_finite() => Err(Mistake::at(
            span,
            format!("every number must be finite, got {n}"),
            "not finite",
        )),
        _ => Ok(()),
    }
}

pub(crate) fn parse_json(text: &str) -> Result<Node, Mistake> {
    // A byte order mark is no part of the text.
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = text.len() - body.len();
    let raw: &RawValue =
        serde_json::from_str(body).map_err(|error| not_json(body, skipped, &error))?;
    json_value(raw, text, 0)
}

fn not_json(text: &str, skipped: usize, error: &serde_json::Error) -> Mistake {
    let line_start: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let at = skipped + (line_start + error.column().saturating_sub(1)).min(text.len());
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    Mistake::at(
        &(at..at + 1),
        format!("this is not JSON: {message}"),
        "here",
    )
}

/// Deeper than any quantity; every level is read once more for each level above it.
const DEEPEST: usize = 16;

/// Each level is read with its parts left raw: slices of the text, which tell where they stand.
fn json_value(raw: &RawValue, text: &str, depth: usize) -> Result<Node, Mistake> {
    let written = raw.get();
    let start = written.as_ptr() as usize - text.as_ptr() as usize;
    let span = start..start + written.len();
    if depth > DEEPEST {
        let message = format!("lists and objects may be nested {DEEPEST} deep, not deeper");
        return Err(Mistake::at(&(start..start + 1), message, "too deep"));
    }
    let wrong = |error: serde_json::Error| {
        let message = error.to_string();
        let message = message
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        Mistake::at(&span, message, "here")
    };
    let kind = match written.as_bytes().first() {
        Some(b'{') => {
            let Entries(entries) = serde_json::from_str(written).map_err(wrong)?;
            let mut table: Vec<(Key, Node)> = Vec::new();
            let mut names = HashSet::new();
            for (name, value) in entries {
                let node = json_value(value, text, depth + 1)?;
                let key_end = text[..node.span.start]
                    .rfind('"')
                    .map_or(node.span.start, |i| i + 1);
                let key_start = opening_quote(text, key_end.saturating_sub(1));
                let key = Key {
                    name,
                    span: key_start..key_end,
                };
                if !names.insert(key.name.clone()) {
                    let message = format!("`{}` is given twice", key.name);
                    return Err(Mistake::at(&key.span, message, "the second time"));
                }
                table.push((key, node));
            }
            Kind::Table(table)
        }
        Some(b'[') => {
            let Items(items) = serde_json::from_str(written).map_err(wrong)?;
            Kind::Array(
                items
                    .into_iter()
                    .map(|item| json_value(item, text, depth + 1))
                    .collect::<Result<_, _>>()?,
            )
        }
        Some(b'"') => Kind::Text(serde_json::from_str(written).map_err(wrong)?),
        Some(b't') => Kind::Bool(true),
        Some(b'f') => Kind::Bool(false),
        Some(b'n') => Kind::Null,
        _ => Kind::Number(written.parse().unwrap_or(f64::NAN)),
    };
    finite(&span, &kind)?;
    Ok(Node { span, kind })
}

/// Where the string that is closed at `close` was opened: at the last quote before it that no backslash escapes.
fn opening_quote(text: &str, close: usize) -> usize {
    let mut before = close;
    while let Some(quote) = text[..before].rfind('"') {
        let slashes = text[..quote]
            .bytes()
            .rev()
            .take_while(|&b| b == b'\\')
            .count();
        if slashes % 2 == 0 {
            return quote;
        }
        before = quote;
    }
    close
}

struct Entries<'a>(Vec<(String, &'a RawValue)>);
struct Items<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Entries<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Items<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}
