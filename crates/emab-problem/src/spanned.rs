//! TOML and JSON documents as one tree of values with their positions in the text.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;

use emab::spec::format_number;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;
use toml::de::{DeTable, DeValue};

use crate::error::Diagnostic;
use crate::file::Format;
use crate::json_error::{shortened, syntax_error, toml_error};

/// A table of TOML; [`Diagnostic::in_json`] says it in the words of JSON.
pub(crate) const TABLE: &str = "a table";

/// A value with its position in the text.
#[derive(Clone, Debug)]
pub struct SpannedValue {
    /// Its bytes.
    pub span: Range<usize>,
    /// The value.
    pub kind: ValueKind,
}

/// A value without its position.
#[derive(Clone, Debug)]
pub enum ValueKind {
    /// `null` of JSON.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A finite number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    Array(Vec<SpannedValue>),
    /// A table, in the order of the document.
    Table(Vec<(SpannedKey, SpannedValue)>),
}

/// The name of a field with its position.
#[derive(Clone, Debug)]
pub struct SpannedKey {
    /// The name.
    pub name: String,
    /// Its bytes.
    pub span: Range<usize>,
}

impl SpannedValue {
    /// The value for messages: a list or a table by its type.
    fn described(&self) -> String {
        match &self.kind {
            ValueKind::Null => "null".into(),
            ValueKind::Bool(value) => value.to_string(),
            ValueKind::Number(value) => format_number(*value),
            ValueKind::Text(text) => format!("the text `{}`", shortened(text)),
            ValueKind::Array(_) => "a list".into(),
            ValueKind::Table(_) => TABLE.into(),
        }
    }

    /// The error that this value has the wrong type.
    pub fn wrong_type(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::explained(&self.span, message, format!("got {}", self.described()))
    }

    /// The error that this value is out of range.
    pub fn out_of_range(&self, message: impl ToString) -> Diagnostic {
        Diagnostic::at(&self.span, message.to_string(), "out of range")
    }

    /// A field of a table.
    pub fn field(&self, name: &str) -> Option<&SpannedValue> {
        let ValueKind::Table(entries) = &self.kind else {
            return None;
        };
        let (_, node) = entries.iter().find(|(key, _)| key.name == name)?;
        Some(node)
    }

    /// Where the content of a text begins, if it is written without escapes.
    pub(crate) fn text_start(&self, source: &str) -> Option<usize> {
        let ValueKind::Text(text) = &self.kind else {
            return None;
        };
        let written = source.get(self.span.clone())?;
        let long = written.starts_with("\"\"\"") || written.starts_with("'''");
        let quotes = if written.len() >= 6 && long { 3 } else { 1 };
        (written.get(quotes..written.len().checked_sub(quotes)?)? == text)
            .then_some(self.span.start + quotes)
    }

    /// Canonical JSON of each field of a table: the same for TOML and JSON files of the same content. Texts, since a tree of values
    /// needs many times the memory.
    pub(crate) fn canonical_fields(&self) -> CanonicalFields {
        let ValueKind::Table(entries) = &self.kind else {
            return CanonicalFields::new();
        };
        let fields = entries.iter().filter_map(|(key, node)| {
            let text = serde_json::value::to_raw_value(node).ok()?;
            Some((key.name.clone(), text))
        });
        fields.collect()
    }
}

/// Fields of a JSON object, in the order of their names.
pub(crate) type CanonicalFields = BTreeMap<String, Box<RawValue>>;

/// Canonical JSON.
impl Serialize for SpannedValue {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match &self.kind {
            ValueKind::Null => out.serialize_unit(),
            ValueKind::Bool(b) => out.serialize_bool(*b),
            ValueKind::Number(n)
                if n.fract() == 0.0 && n.abs() < 9e15 && !(*n == 0.0 && n.is_sign_negative()) =>
            {
                out.serialize_i64(*n as i64)
            }
            ValueKind::Number(n) => out.serialize_f64(*n),
            ValueKind::Text(text) => out.serialize_str(text),
            ValueKind::Array(nodes) => out.collect_seq(nodes),
            ValueKind::Table(entries) => {
                let entries = entries.iter().map(|(key, node)| (&key.name, node));
                out.collect_map(entries.collect::<BTreeMap<_, _>>())
            }
        }
    }
}

/// Parses a document.
pub fn parse(format: Format, text: &str) -> Result<SpannedValue, Diagnostic> {
    match format {
        Format::Toml => parse_toml(text),
        Format::Json => parse_json(text),
    }
}

fn parse_toml(text: &str) -> Result<SpannedValue, Diagnostic> {
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = format!("this is not TOML: {}", toml_error(error.message()));
        Diagnostic::at(&span, message, "here")
    })?;
    let span = 0..text.len();
    let kind = toml_table(table.get_ref())?;
    Ok(SpannedValue { span, kind })
}

fn toml_table(table: &DeTable<'_>) -> Result<ValueKind, Diagnostic> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let key = SpannedKey {
            name: key.get_ref().to_string(),
            span: key.span(),
        };
        entries.push((key, toml_value(value.span(), value.get_ref())?));
    }
    Ok(ValueKind::Table(entries))
}

fn toml_value(span: Range<usize>, value: &DeValue<'_>) -> Result<SpannedValue, Diagnostic> {
    let kind = match value {
        DeValue::String(text) => ValueKind::Text(text.to_string()),
        DeValue::Boolean(b) => ValueKind::Bool(*b),
        DeValue::Integer(integer) => {
            let digits = integer.as_str().replace('_', "");
            let value = i128::from_str_radix(&digits, integer.radix());
            // Longer integers are rounded.
            ValueKind::Number(
                value.map_or_else(|_| digits.parse().unwrap_or(f64::INFINITY), |v| v as f64),
            )
        }
        DeValue::Float(float) => {
            ValueKind::Number(float.as_str().replace('_', "").parse().unwrap_or(f64::NAN))
        }
        DeValue::Array(values) => {
            let values = values.iter().map(|v| toml_value(v.span(), v.get_ref()));
            ValueKind::Array(values.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => toml_table(table)?,
        DeValue::Datetime(_) => {
            let message = "a date has no meaning here";
            return Err(Diagnostic::at(&span, message, "a date"));
        }
    };
    finite(&span, &kind)?;
    Ok(SpannedValue { span, kind })
}

fn finite(span: &Range<usize>, kind: &ValueKind) -> Result<(), Diagnostic> {
    match kind {
        ValueKind::Number(n) if !n.is_finite() => {
            let message = format!("every number must be finite, got {n}");
            Err(Diagnostic::at(span, message, "not finite"))
        }
        _ => Ok(()),
    }
}

fn parse_json(text: &str) -> Result<SpannedValue, Diagnostic> {
    // Skips a byte order mark.
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = text.len() - body.len();
    let raw: &RawValue =
        serde_json::from_str(body).map_err(|error| not_json(body, skipped, &error))?;
    json_value(raw, text, 0)
}

fn not_json(text: &str, skipped: usize, error: &serde_json::Error) -> Diagnostic {
    let lines = text.split_inclusive('\n').map(str::len);
    let line_start: usize = lines.take(error.line().saturating_sub(1)).sum();
    let place = (line_start + error.column().saturating_sub(1)).min(text.len());
    let (at, before) = (skipped + place, text.get(..place).unwrap_or(text));
    let message = format!("this is not JSON: {}", syntax_error(error, before));
    Diagnostic::at(&(at..at + 1), message, "here")
}

/// Deeper than any quantity. A value is parsed once for each level above it.
const MAX_DEPTH: usize = 16;

/// Parses one level; inner values stay raw slices of the text, which give their positions.
fn json_value(raw: &RawValue, text: &str, depth: usize) -> Result<SpannedValue, Diagnostic> {
    let written = raw.get();
    let start = written.as_ptr() as usize - text.as_ptr() as usize;
    let span = start..start + written.len();
    if depth > MAX_DEPTH {
        let message = format!("lists and objects may be nested {MAX_DEPTH} deep, not deeper");
        return Err(Diagnostic::at(&(start..start + 1), message, "too deep"));
    }
    let invalid = |error| Diagnostic::at(&span, syntax_error(&error, ""), "here");
    let kind = match written.as_bytes().first() {
        Some(b'{') => {
            let Entries(entries) = serde_json::from_str(written).map_err(invalid)?;
            let mut table: Vec<(SpannedKey, SpannedValue)> = Vec::new();
            let mut names = HashSet::new();
            for (name, value) in entries {
                let node = json_value(value, text, depth + 1)?;
                let key_end = text[..node.span.start]
                    .rfind('"')
                    .map_or(node.span.start, |i| i + 1);
                let key_start = opening_quote(text, key_end.saturating_sub(1));
                let key = SpannedKey {
                    name,
                    span: key_start..key_end,
                };
                if !names.insert(key.name.clone()) {
                    let message = format!("`{}` is given twice", key.name);
                    return Err(Diagnostic::at(&key.span, message, "the second time"));
                }
                table.push((key, node));
            }
            ValueKind::Table(table)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(written).map_err(invalid)?;
            // With the exact capacity: most of the memory of a large document is here.
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                values.push(json_value(item, text, depth + 1)?);
            }
            ValueKind::Array(values)
        }
        Some(b'"') => ValueKind::Text(serde_json::from_str(written).map_err(invalid)?),
        Some(b't') => ValueKind::Bool(true),
        Some(b'f') => ValueKind::Bool(false),
        Some(b'n') => ValueKind::Null,
        _ => ValueKind::Number(written.parse().unwrap_or(f64::NAN)),
    };
    finite(&span, &kind)?;
    Ok(SpannedValue { span, kind })
}

/// The opening quote of the string that ends at `close`: the last unescaped quote before it.
fn opening_quote(text: &str, close: usize) -> usize {
    let mut before = close;
    while let Some(quote) = text[..before].rfind('"') {
        let before_quote = text[..quote].bytes().rev();
        if before_quote.take_while(|&b| b == b'\\').count() % 2 == 0 {
            return quote;
        }
        before = quote;
    }
    close
}

struct Entries<'a>(Vec<(String, &'a RawValue)>);

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
