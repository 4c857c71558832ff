//! The checkpoint of a study.

use axum::http::StatusCode;

use super::call::Call;
use super::error::ApiError;
use super::response::{ApiResult, typed};
use crate::app::head;
use crate::domain::Statement;
use crate::tokens::Permission;

/// Read the checkpoint of a study
///
/// The latest signed statement that the log had a hash at an event. Keep it in another place: `emab audit --checkpoint` compares
/// a store or an export with it. An event is covered within a second.
#[utoipa::path(get, operation_id = "readCheckpoint", path = "/v1/studies/{study}/checkpoint", tag = "audit",
    params(("study" = String, Path)),
    responses((status = 200, description = "The statement, byte for byte as it is signed and stored", body = Statement)))]
pub async fn checkpoint(call: Call) -> ApiResult {
    call.may(Permission::Log)?;
    let name = call.path.clone();
    let found = call.app.service.read(move |store| {
        let head = head(store, &name)?;
        Ok(store.checkpoint(head.key)?)
    });
    match found.await? {
        Some(checkpoint) => Ok(typed(StatusCode::OK, "application/json", checkpoint.text)),
        None => Err(ApiError::not_found("the study has no checkpoint yet")),
    }
}
