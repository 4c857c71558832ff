//! Style and script of the pages. Their addresses contain a hash, so that browsers keep them until they change.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use emab_problem::sha256_hex;

use crate::http::error::ApiError;
use crate::http::response::typed;

const SCRIPT_TEXT: &str = include_str!("console.js");

/// The address of the style, relative to the start page.
pub fn style() -> &'static str {
    static ADDRESS: LazyLock<String> = LazyLock::new(|| address("style.css", emab_report::STYLE));
    &ADDRESS
}

/// The address of the script, relative to the start page.
pub fn script() -> &'static str {
    static ADDRESS: LazyLock<String> = LazyLock::new(|| address("console.js", SCRIPT_TEXT));
    &ADDRESS
}

fn address(file: &str, text: &str) -> String {
    format!("assets/{file}?v={}", &sha256_hex(text.as_bytes())[..16])
}

pub async fn file(Path(file): Path<String>) -> Response {
    let (kind, text) = match file.as_str() {
        "style.css" => ("text/css; charset=utf-8", emab_report::STYLE),
        "console.js" => ("text/javascript; charset=utf-8", SCRIPT_TEXT),
        _ => return ApiError::not_found("there is no such file").into_response(),
    };
    let mut response = typed(StatusCode::OK, kind, text);
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, kept);
    response
}
