//! Calls for operation: health checks, metrics, documentation.

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::json as object;

use super::App;
use super::auth::Caller;
use super::docs_page;
use super::error::ApiError;
use super::response::{ApiResult, accepts, json, typed};
use crate::app::CONTENT_TYPE;
use crate::tokens::Permission;

/// Check that the process runs
#[utoipa::path(get, operation_id = "live", path = "/livez", tag = "operate", security(()),
    responses((status = 200, description = "The process runs", body = serde_json::Value)))]
pub async fn livez() -> ApiResult {
    json(StatusCode::OK, &object!({"status": "alive"}))
}

/// Check that the store and the tokens can be read
#[utoipa::path(get, operation_id = "ready", path = "/readyz", tag = "operate", security(()),
    responses((status = 200, description = "The store and the tokens can be read", body = serde_json::Value)))]
pub async fn readyz(State(app): State<App>) -> ApiResult {
    let read = app.service.read(|store| Ok(store.head("")?));
    let limit = std::time::Duration::from_secs(5);
    let answered = tokio::time::timeout(limit, read).await;
    let late = |_| ApiError::unavailable("the store does not answer").retry(1);
    answered.map_err(late)??;
    if !app.tokens.are_readable().await {
        let what = "the tokens cannot be read, and every request is rejected; the log says why";
        return Err(ApiError::unavailable(what).retry(1));
    }
    json(StatusCode::OK, &object!({"status": "ready"}))
}

/// Read the metrics
///
/// Of the service, and the health of its first 100 studies that are not closed. With `Accept: text/plain` the same text is plain text.
#[utoipa::path(get, operation_id = "metrics", path = "/metrics", tag = "operate",
    responses((status = 200, description = "OpenMetrics text", content(
        (String = "application/openmetrics-text"), (String = "text/plain")))))]
pub async fn metrics(State(app): State<App>, caller: Caller, headers: HeaderMap) -> ApiResult {
    caller.may(Permission::Metrics)?;
    // Prometheus names both.
    let plain = accepts(&headers, "text/plain") && !accepts(&headers, "openmetrics");
    let kind = match plain {
        true => "text/plain; charset=utf-8",
        false => CONTENT_TYPE,
    };
    let health = app.health.metrics(&app.service).await;
    // The last line ends the document.
    let text = app
        .metrics
        .encode()
        .replace("# EOF\n", &format!("{health}# EOF\n"));
    Ok(typed(StatusCode::OK, kind, text))
}

/// Read the OpenAPI document
#[utoipa::path(get, operation_id = "openapi", path = "/openapi.json", tag = "operate", security(()),
    responses((status = 200, description = "OpenAPI 3.1", body = serde_json::Value)))]
pub async fn openapi() -> ApiResult {
    static TEXT: LazyLock<String> = LazyLock::new(|| super::document().to_string());
    Ok(typed(StatusCode::OK, "application/json", TEXT.as_str()))
}

/// Read the documentation page
#[utoipa::path(get, operation_id = "docs", path = "/docs", tag = "operate", security(()),
    responses((status = 200, description = "A self-contained HTML page", body = String, content_type = "text/html")))]
pub async fn docs() -> ApiResult {
    static PAGE: LazyLock<String> = LazyLock::new(|| docs_page::page(&super::document()));
    let mut page = typed(StatusCode::OK, "text/html; charset=utf-8", PAGE.as_str());
    let policy = docs_page::policy();
    let headers = page.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(page)
}
