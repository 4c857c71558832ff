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
    assert!(
        !answer.is_null(),
        "{method} {path}: {status} is not documented"
    );
    let kind = kind.split(';').next().unwrap();
    let known = &answer["content"][kind];
    assert!(
        !known.is_null(),
        "{method} {path}: {status} {kind} is not documented"
    );
}

fn fits(template: &str, path: &str) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            (Some(template), Some(part)) => {
                let fits = match template.split_once('}') {
                    None => template == part,
                    Some((_, "")) => !part.is_empty() && !part.contains(':'),
                    Some((_, verb)) => part.len() > verb.len() && part.ends_with(verb),
                };
                if !fits {
                    return false;
                }
            }
            _ => return false,
        }
    }
}
