//! Checks answers against the OpenAPI document.

use std::sync::LazyLock;

use serde_json::Value;

/// The document.
pub static DOCUMENT: LazyLock<Value> = LazyLock::new(emab_server::http::document);

/// The operation of a request; `None` if there is none.
pub fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let path = path.split('?').next().unwrap();
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let (_, item) = paths.iter().find(|(template, _)| fits(template, path))?;
    item.get(method.to_lowercase())
}

/// Asserts that the document contains the status and content type of an answer.
#[track_caller]
pub fn check(method: &str, path: &str, status: u16, kind: &str) {
    let Some(operation) = operation(method, path) else {
        return;
    };
    let answer = &operation["responses"][status.to_string()];
    let kind = kind.split(';').next().unwrap();
    let call = format!("{method} {path}: {status} {kind}");
    assert!(!answer.is_null(), "{call}: the status is not documented");
    let known = &answer["content"][kind];
    assert!(!known.is_null(), "{call}: the type is not documented");
}

fn fits(template: &str, path: &str) -> bool {
    let part_fits = |(template, part): (&str, &str)| match template.split_once('}') {
        None => template == part,
        Some((_, "")) => !part.is_empty() && !part.contains(':'),
        Some((_, verb)) => part.len() > verb.len() && part.ends_with(verb),
    };
    let same_length = template.matches('/').count() == path.matches('/').count();
    same_length && template.split('/').zip(path.split('/')).all(part_fits)
}
