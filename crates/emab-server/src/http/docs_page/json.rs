//! JSON as one reads it, in colours.

use serde_json::Value;

use super::html::escape;

/// A list of plain values stays on one line up to this many characters.
const LINE: usize = 64;
/// Deeper is cut off: it would not be read anyway.
const DEPTH: usize = 32;

/// To stand in a `<pre>`.
pub fn render(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out
}

fn write(value: &Value, depth: usize, out: &mut String) {
    let (list, open, close): (Vec<(Option<&String>, &Value)>, _, _) = match value {
        Value::Array(items) => (items.iter().map(|item| (None, item)).collect(), '[', ']'),
        Value::Object(map) => (
            map.iter().map(|(key, item)| (Some(key), item)).collect(),
            '{',
            '}',
        ),
        Value::String(_) => return span("s", &value.to_string(), out),
        Value::Number(_) => return span("n", &value.to_string(), out),
        Value::Bool(_) | Value::Null => return span("w", &value.to_string(), out),
    };
    out.push(open);
    if depth >= DEPTH {
        out.push('…');
    } else if !list.is_empty() {
        let short = value.is_array() && flat(value) && value.to_string().len() <= LINE;
        let last = list.len() - 1;
        for (i, (key, item)) in list.into_iter().enumerate() {
            if !short {
                indent(depth + 1, out);
            }
            if let Some(key) = key {
                span("k", &Value::from(key.as_str()).to_string(), out);
                *out += ": ";
            }
            write(item, depth + 1, out);
            if i < last {
                *out += if short { ", " } else { "," };
            }
        }
        if !short {
            indent(depth, out);
        }
    }
    out.push(close);
}

fn flat(list: &Value) -> bool {
    let mut items = list.as_array().into_iter().flatten();
    items.all(|item| !item.is_array() && !item.is_object())
}

fn span(class: &str, text: &str, out: &mut String) {
    *out += &format!("<span class=\"{class}\">{}</span>", escape(text));
}

fn indent(depth: usize, out: &mut String) {
    out.push('\n');
    *out += &"  ".repeat(depth);
}
