//! Typed access to the fields of a section, with errors for unknown fields and wrong types.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use emab::spec::format_number;
use emab::{Names, Spec};

use crate::error::Diagnostic;
use crate::spanned::{SpannedKey, SpannedValue, ValueKind};

/// Fields of a section, by name.
pub struct Fields<'a> {
    entries: &'a [(SpannedKey, SpannedValue)],
    place: &'static str,
}

impl<'a> Fields<'a> {
    /// Fails if the value is no table or has a field that is not in `known`.
    pub fn of(
        node: &'a SpannedValue,
        place: &'static str,
        known: &[&str],
    ) -> Result<Fields<'a>, Diagnostic> {
        let ValueKind::Table(entries) = &node.kind else {
            return Err(node.wrong_type(format!("{place} must be a table")));
        };
        for (key, _) in entries {
            if !known.contains(&key.name.as_str()) {
                let message = format!("unknown field `{}` in {place}", key.name);
                let unknown = Diagnostic::at(&key.span, message, "unknown field")
                    .suggest(&key.name, known.iter().copied());
                return Err(match unknown.help {
                    Some(_) => unknown,
                    None => unknown.help(format!("there are `{}`", known.join("`, `"))),
                });
            }
        }
        Ok(Fields { entries, place })
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&'a SpannedValue> {
        let (_, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        Some(node)
    }

    /// The value of a field that must be given.
    pub fn need(&self, name: &str) -> Result<&'a SpannedValue, Diagnostic> {
        self.get(name).ok_or_else(|| {
            let message = format!("{} needs `{name}`, which is not given", self.place);
            Diagnostic::without_span(message)
        })
    }
}

/// A text without control characters.
pub fn text(node: &SpannedValue, field: &str) -> Result<String, Diagnostic> {
    match &node.kind {
        ValueKind::Text(text) if text.chars().any(char::is_control) => {
            let message =
                format!("`{field}` must not hold line breaks or other control characters");
            Err(Diagnostic::at(&node.span, message, "this text"))
        }
        ValueKind::Text(text) => Ok(text.clone()),
        _ => Err(node.wrong_type(format!("`{field}` must be a text"))),
    }
}

/// A number.
pub fn number(node: &SpannedValue, field: &str) -> Result<f64, Diagnostic> {
    match node.kind {
        ValueKind::Number(value) => Ok(value),
        _ => Err(no_number(node, format!("`{field}` must be a number"))),
    }
}

/// The error that a value is not a number.
fn no_number(node: &SpannedValue, rule: String) -> Diagnostic {
    let wrong = node.wrong_type(rule);
    match &node.kind {
        ValueKind::Text(text) if text.parse::<f64>().is_ok() => {
            wrong.help("write it without quotes")
        }
        _ => wrong,
    }
}

/// A whole number. The limits are for the error: those that a double represents are checked by the specification.
pub(crate) fn count(
    node: &SpannedValue,
    field: &str,
    limits: RangeInclusive<usize>,
) -> Result<usize, Diagnostic> {
    let (least, most) = limits.into_inner();
    let rule = format!("`{field}` must be a whole number from {least} to {most}");
    match node.kind {
        // A double represents every integer below 2^53; the limits are far below that.
        ValueKind::Number(value) if value.fract() == 0.0 && (0.0..9e15).contains(&value) => {
            Ok(value as usize)
        }
        ValueKind::Number(value) => {
            Err(node.out_of_range(format!("{rule}, got {}", format_number(value))))
        }
        _ => Err(no_number(node, rule)),
    }
}

pub(crate) fn names(
    node: &SpannedValue,
    field: &str,
    prefix: &'static str,
) -> Result<Names, Diagnostic> {
    let ValueKind::Array(items) = &node.kind else {
        if let ValueKind::Number(_) = node.kind {
            let most = match field {
                "states" => Spec::MAX_STATES,
                _ => Spec::MAX_BRANCH,
            };
            return Ok(Names::Count(count(node, field, 1..=most)?, prefix));
        }
        let message = format!("`{field}` must be a count or a list of names");
        return Err(node.wrong_type(message));
    };
    let mut list: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for item in items {
        let ValueKind::Text(_) = item.kind else {
            let message = format!("`{field}` must be a count or a list of names");
            return Err(item.wrong_type(message));
        };
        let name = text(item, field)?;
        let wrong = |message: &str| {
            let message = format!("`{field}`: {message}");
            Err(Diagnostic::at(&item.span, message, "this name"))
        };
        if name == "stop" && field == "actions" {
            return wrong("`stop` always exists and is never listed");
        }
        if name.is_empty() || name.contains('\'') || name.chars().any(char::is_control) {
            return wrong("a name must not be empty nor hold quotes or control characters");
        }
        if !seen.insert(name.clone()) {
            return wrong(&format!("`{name}` is listed twice; remove one"));
        }
        list.push(name);
    }
    Ok(Names::List(list))
}
