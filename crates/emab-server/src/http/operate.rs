//! Calls for operators and tools.

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use serde_json::json as object;
use utoipa::openapi::OpenApi;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::Ref;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::{PartialSchema, ToSchema};

use super::App;
use super::answer::{Answer, json, typed};
use super::caller::Caller;
use crate::docs_page;
use crate::metrics::CONTENT_TYPE;
use crate::refusal::Refusal;
use crate::tokens::Permission;

/// Whether the process is up
#[utoipa::path(get, path = "/livez", tag = "operate", security(()),
    responses((status = 200, description = "It is", body = serde_json::Value)))]
pub async fn livez() -> Answer {
    json(StatusCode::OK, &object!({"status": "alive"}))
}

/// Whether the store can be read
#[utoipa::path(get, path = "/readyz", tag = "operate", security(()),
    responses((status = 200, description = "It can", body = serde_json::Value)))]
pub async fn readyz(State(app): State<App>) -> Answer {
    let asked = app.service.read(|store| Ok(store.head("")?));
    let patience = std::time::Duration::from_secs(5);
    let answered = tokio::time::timeout(patience, asked).await;
    let late = |_| Refusal::unavailable("the store does not answer").retry(1);
    answered.map_err(late)??;
    json(StatusCode::OK, &object!({"status": "ready"}))
}

/// What is counted, for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "operate",
    responses((status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text")))]
pub async fn metrics(State(app): State<App>, caller: Caller) -> Answer {
    caller.may(Permission::Metrics)?;
    Ok(typed(StatusCode::OK, CONTENT_TYPE, app.metrics.encode()))
}

/// This document
#[utoipa::path(get, path = "/openapi.json", tag = "operate", security(()),
    responses((status = 200, description = "OpenAPI 3.1", body = serde_json::Value)))]
pub async fn openapi() -> Answer {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| super::document().to_json().unwrap_or_default());
    Ok(typed(StatusCode::OK, "application/json", TEXT.as_str()))
}

/// This document, for people
#[utoipa::path(get, path = "/docs", tag = "operate", security(()),
    responses((status = 200, description = "A page that needs nothing from outside", body = String, content_type = "text/html")))]
pub async fn docs() -> Answer {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let document = serde_json::to_value(super::document()).unwrap_or_default();
        docs_page::page(&document)
    });
    let mut page = typed(StatusCode::OK, "text/html; charset=utf-8", PAGE.as_str());
    let policy = HeaderValue::from_static(docs_page::POLICY);
    let headers = page.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(page)
}

/// What holds for every call: the token, and how it is refused.
pub fn finish(document: &mut OpenApi) {
    let Some(components) = &mut document.components else {
        return;
    };
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A token made by `emab token new`"))
        .build();
    components.add_security_scheme("token", SecurityScheme::Http(token));
    components
        .schemas
        .insert(Refusal::name().into(), Refusal::schema());
    document.security = Some(vec![SecurityRequirement::new(
        "token",
        Vec::<String>::new(),
    )]);
    let refusals = [
        (400, "The request cannot be read"),
        (401, "No valid token"),
        (403, "The token may not do this"),
        (404, "There is no such thing"),
        (408, "The body came too slowly"),
        (409, "It contradicts what is recorded"),
        (413, "The request is too large"),
        (415, "The body is not JSON"),
        (422, "Not possible in this study"),
        (429, "Too many requests; see `Retry-After`"),
        (503, "The store is gone or full; see `Retry-After`"),
    ];
    for item in document.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
        ];
        for operation in operations.into_iter().flatten() {
            let open = operation.security.is_some();
            for (status, description) in refusals {
                // Those that need no token do no more than read.
                if open && status != 503 {
                    continue;
                }
                let content = ContentBuilder::new()
                    .schema(Some(Ref::from_schema_name(Refusal::name())))
                    .build();
                let response = ResponseBuilder::new()
                    .description(description)
                    .content("application/problem+json", content)
                    .build();
                let responses = &mut operation.responses.responses;
                responses
                    .entry(status.to_string())
                    .or_insert_with(|| response.into());
            }
        }
    }
}
