//! Errors as pages: a person who opens a wrong address gets a page, a program gets problem details.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use maud::html;
use serde::Deserialize;

use super::layout::document;
use super::visit::root;
use super::words;
use crate::http::response::accepts;

fn is_api(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// The largest problem details that become a page.
const MAX: usize = 64 << 10;

#[derive(Deserialize)]
struct Problem {
    title: String,
    detail: String,
}

/// Makes a page of problem details, for requests that accept HTML. The API answers with problem details always.
pub async fn in_html(request: Request, next: Next) -> Response {
    let is_person = accepts(request.headers(), "text/html") && !is_api(request.uri().path());
    let root = root(request.uri().path());
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    if !is_person || kind != Some(&HeaderValue::from_static("application/problem+json")) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX).await.unwrap_or_default();
    let Ok(problem) = serde_json::from_slice::<Problem>(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    let status = parts.status.as_u16();
    let page = html! {
        main.narrow id="main" {
            h1 { (problem.title) }
            p { (words::for_people(&problem.detail)) }
            @if status == 503 || status == 429 {
                p { "If you have sent a form, send it again by reloading this page. Sending it twice is harmless." }
            }
            p { a href=(root) { "Go to the studies" } }
            p.hint { "Status " (status) }
        }
    };
    let mut page = document(status, &root, &problem.title, &page);
    for name in [header::RETRY_AFTER, header::ALLOW, header::CONNECTION] {
        if let Some(value) = parts.headers.get(&name) {
            page.headers_mut().insert(name, value.clone());
        }
    }
    page
}
