//! Calls for operators and tools.

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use serde_json::json as object;

use super::App;
use super::answer::{Answer, json, typed};
use super::auth::Caller;
use crate::app::metrics::CONTENT_TYPE;
use crate::domain::error::ApiError;
use crate::http::docs_page;
use crate::tokens::Permission;

/// Whether the process is up
#[utoipa::path(get, operation_id = "live", path = "/livez", tag = "operate", security(()),
    responses((status = 200, description = "It is", body = serde_json::Value)))]
pub async fn livez() -> Answer {
    json(StatusCode::OK, &object!({"status": "alive"}))
}

/// Whether the store can be read
#[utoipa::path(get, operation_id = "ready", path = "/readyz", tag = "operate", security(()),
    responses((status = 200, description = "It can", body = serde_json::Value)))]
pub async fn readyz(State(app): State<App>) -> Answer {
    let asked = app.service.read(|store| Ok(store.head("")?));
    let patience = std::time::Duration::from_secs(5);
    let answered = tokio::time::timeout(patience, asked).await;
    let late = |_| ApiError::unavailable("the store does not answer").retry(1);
    answered.map_err(late)??;
    json(StatusCode::OK, &object!({"status": "ready"}))
}

/// What is counted, for Prometheus
#[utoipa::path(get, operation_id = "metrics", path = "/metrics", tag = "operate",
    responses((status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text")))]
pub async fn metrics(State(app): State<App>, caller: Caller) -> Answer {
    caller.may(Permission::Metrics)?;
    Ok(typed(StatusCode::OK, CONTENT_TYPE, app.metrics.encode()))
}

/// This document
#[utoipa::path(get, operation_id = "openapi", path = "/openapi.json", tag = "operate", security(()),
    responses((status = 200, description = "OpenAPI 3.1", body = serde_json::Value)))]
pub async fn openapi() -> Answer {
    static TEXT: LazyLock<String> = LazyLock::new(|| super::document().to_string());
    Ok(typed(StatusCode::OK, "application/json", TEXT.as_str()))
}

/// This document, for people
#[utoipa::path(get, operation_id = "docs", path = "/docs", tag = "operate", security(()),
    responses((status = 200, description = "A page that needs nothing from outside", body = String, content_type = "text/html")))]
pub async fn docs() -> Answer {
    static PAGE: LazyLock<String> = LazyLock::new(|| docs_page::page(&super::document()));
    let mut page = typed(StatusCode::OK, "text/html; charset=utf-8", PAGE.as_str());
    let policy = HeaderValue::from_static(docs_page::POLICY);
    let headers = page.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(page)
}
