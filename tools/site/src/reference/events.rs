//! The kinds of events in the log of a study.

use emab_server::domain::event::{FieldDescription, KINDS};

use super::{sentence, table};

pub fn page() -> (&'static str, &'static str, String) {
    let mut out = String::new();
    for kind in KINDS {
        out += &format!("## `{}`\n\n{}\n\n", kind.name, sentence(kind.description));
        let row = |it: &FieldDescription| {
            let name = it.serde.split("rename = \"").nth(1);
            let name = name.and_then(|rest| rest.split('"').next());
            vec![
                format!("`{}`", name.unwrap_or(it.name)),
                json_type(it.kind),
                if it.serde.contains("default") {
                    "no"
                } else {
                    "yes"
                }
                .into(),
                it.description.into(),
            ]
        };
        out += &table(
            &["field", "type", "always", "meaning"],
            kind.fields.iter().map(row),
        );
        out += "\n";
    }
    (
        "Event types",
        "The log of a study is a list of events, one line of JSON each, in the order of `seq`. Besides `kind` and `data`, which are listed here, \
         every event has `seq`, `at` (the time), `by` (the id of the token), `person`, `salt` and `previous` (the hash of the event before \
         it). Calls and exports add its own `hash`, the SHA-256 of the line without it. [Audit](../audit.md) says how the log is verified, [upgrading](../upgrading.md) which version of the rules added what. \
         Fields that are not always present are left out where they have no value.",
        out,
    )
}

/// A Rust type as a type of JSON.
fn json_type(kind: &str) -> String {
    let kind = kind.replace(' ', "");
    let inside = |prefix: &str| kind.strip_prefix(prefix)?.strip_suffix('>');
    if let Some(inner) = inside("Option<") {
        return json_type(inner);
    }
    match (kind.as_str(), inside("Vec<")) {
        ("Vec<Option<f64>>", _) => "array of numbers or `null`".into(),
        ("Vec<Shadow>", _) => "array of objects with `learner` and `action`".into(),
        (_, Some(inner)) => format!("array of {}s", json_type(inner)),
        ("String", _) => "string".into(),
        ("bool", _) => "boolean".into(),
        ("usize" | "u32" | "u64", _) => "integer".into(),
        _ => "object".into(),
    }
}
