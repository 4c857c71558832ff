//! Exports whose events are changed: every hash is computed again.

use emab_server::domain::event::{Record, sha256};
use serde_json::Value;

use crate::Result;

/// The events of an export.
pub(super) struct Export {
    /// The version in the first line, if that is a header.
    version: Option<u64>,
    pub texts: Vec<String>,
    hashes: Vec<String>,
    study: String,
}

impl Export {
    pub(super) fn read(text: &str) -> Result<Export> {
        let mut lines = text.lines().peekable();
        let header = lines.next_if(|line| line.starts_with("{\"emab_export\""));
        let records = lines.map(|line| Ok(Record::from_line(line)?));
        let records: Vec<Record> = records.collect::<Result<_>>()?;
        let first: Value = serde_json::from_str(&records.first().ok_or("an empty export")?.text)?;
        let header: Option<Value> = header.map(serde_json::from_str).transpose()?;
        Ok(Export {
            version: header.and_then(|header| header["emab_export"].as_u64()),
            study: first["data"]["study"].as_str().unwrap_or_default().into(),
            hashes: records.iter().map(|record| record.hash.clone()).collect(),
            texts: records.into_iter().map(|record| record.text).collect(),
        })
    }

    /// The export of these events under another name, with every hash computed again, also inside decisions.
    pub(super) fn write(&self, texts: &[String], study: &str) -> String {
        let named = |text: &str| {
            text.replace(
                &format!("\"study\":\"{}\"", self.study),
                &format!("\"study\":\"{study}\""),
            )
        };
        let (mut lines, mut last, mut spec) = (String::new(), String::new(), None);
        let mut previous: Option<(String, String)> = None;
        for (i, text) in texts.iter().enumerate() {
            let mut text = named(text);
            if i == 0 {
                spec = new_spec_hash(&text);
            }
            if let Some((old, new)) = &spec {
                text = text.replace(old, new);
            }
            // `previous` of the event, and of the decision in it.
            if let Some((old, new)) = &previous {
                text = text.replace(old, new);
            }
            let record = Record::new(i as u64 + 1, text);
            let old = self.hashes.get(i).unwrap_or(&last).clone();
            previous = Some((old, record.hash.clone()));
            last.clone_from(&record.hash);
            lines += &record.line();
            lines.push('\n');
        }
        match self.version {
            None => lines,
            Some(version) => format!(
                "{{\"emab_export\":{version},\"study\":\"{study}\",\"seq\":{},\"hash\":\"{last}\"}}\n{lines}",
                texts.len()
            ),
        }
    }

    /// A new event after the last one.
    pub(super) fn next(&self, by: &str, at: &str, kind: &str, data: Value) -> String {
        let last: Value = self.texts.last().map_or(Value::Null, |text| {
            serde_json::from_str(text).unwrap_or_default()
        });
        let seq = self.texts.len() + 1;
        let salt = match last.get("salt") {
            Some(_) => ",\"salt\":\"00112233445566778899aabbccddeeff\"",
            None => "",
        };
        let person = match last.get("person") {
            Some(person) => format!(",\"person\":{person}"),
            None => String::new(),
        };
        let previous = self.hashes.last().map_or("", String::as_str);
        let [by, at] = [by, at].map(Value::from);
        format!(
            "{{\"seq\":{seq},\"at\":{at},\"by\":{by}{person},\"previous\":\"{previous}\"{salt},\"kind\":\"{kind}\",\"data\":{data}}}"
        )
    }
}

/// The hash of the specification in a `created` event, and the one that fits.
fn new_spec_hash(text: &str) -> Option<(String, String)> {
    let (_, spec) = text.split_once("\"spec\":")?;
    let (spec, rest) = spec.split_once(",\"spec_hash\":\"")?;
    Some((rest.get(..64)?.into(), sha256(spec.as_bytes())))
}

/// Changes an event in its text: the order of fields stays.
pub(super) fn edit(texts: &mut [String], index: usize, change: impl FnOnce(&mut Value)) {
    let Some(text) = texts.get_mut(index) else {
        return;
    };
    let Ok(before) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let mut after = before.clone();
    change(&mut after);
    replace_values(text, &before, &after);
}

/// Replaces, in the text of an object, each value that differs.
fn replace_values(text: &mut String, before: &Value, after: &Value) {
    if let (Value::Object(before), Value::Object(after)) = (before, after) {
        for (key, value) in before {
            if let Some(new) = after.get(key).filter(|new| *new != value) {
                match value {
                    Value::Object(_) => replace_values(text, value, new),
                    _ => {
                        let (old, new) = (format!("\"{key}\":{value}"), format!("\"{key}\":{new}"));
                        *text = text.replacen(&old, &new, 1);
                    }
                }
            }
        }
    }
}
