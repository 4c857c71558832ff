//! The health of a study.

use axum::http::StatusCode;

use super::call::Call;
use super::response::{ApiResult, json};
use crate::domain::Health;
use crate::tokens::Permission;

/// Read the health of a study
///
/// Checks of what people who run a study have to know: overdue outcomes, overrides, corrections, missing outcomes, drift and the size
/// of certificates, each green, yellow or red. `thresholds` of the study set the limits. The metrics contain the same.
#[utoipa::path(get, operation_id = "readHealth", path = "/v1/studies/{study}/health", tag = "studies",
    params(("study" = String, Path)),
    responses((status = 200, description = "The health", body = Health)))]
pub async fn health(call: Call) -> ApiResult {
    call.may(Permission::Health)?;
    let cache = &call.app.health;
    let health = cache.health(&call.app.service, &call.path).await?;
    json(StatusCode::OK, &health)
}
