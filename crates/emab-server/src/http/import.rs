//! The import call. The logic is in [`crate::app::import`].

use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::body::media_type;
use super::call::Call;
use super::error::{ApiError, no_permit};
use super::events::LINES;
use super::lines::Lines;
use super::response::{ApiResult, json};
use crate::app::import::{Import, ImportReport};
use crate::domain::{PastEpisode, json::short};
use crate::tokens::Permission;

/// Options of an import.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ImportOptions {
    /// Only check the lines; write nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Import episodes or a study
///
/// One JSON object per line. The lines are past episodes (`{"id", "actions", "feedbacks", "costs", "rewards"}`), which the learner
/// learns at once; or an export of this study, if the study does not exist yet; or the file
/// of a learner saved in Python (`Learner.save`), whose first line (`{"emab_learner": 1, …}`) must have the problem of the study,
/// and whose other lines are the episodes it learned. The learner of the study learns them, whichever learner was saved; recorded
/// queries (`{"ask": …}`) are skipped.
///
/// The body is streamed: lines before an error stay imported, and sending the whole body again is harmless. A study that is being
/// restored from an export has `restoring`: true and accepts no other writes; importing the same file again continues it, and the
/// study is live when the file has been read to its end.
#[utoipa::path(post, operation_id = "importStudy", path = "/v1/studies/{study}:import", tag = "audit",
    params(("study" = String, Path), ImportOptions),
    request_body(content = PastEpisode, content_type = "application/x-ndjson", description = "Each line is one of these, or an event; the first may be the header of a saved learner",
        example = json!({"id": "patient-0", "actions": ["test"], "feedbacks": ["positive"], "costs": [0.1], "rewards": [0.0, 0.9]})),
    responses((status = 200, description = "What was imported", body = ImportReport)))]
pub async fn import(call: Call<String, ImportOptions>) -> ApiResult {
    call.may(Permission::Import)?;
    let kind = media_type(&call.headers)?;
    if ![LINES, "application/jsonl", "application/json"].contains(&&*kind) {
        let kind = short(&kind);
        let what = format!("the content type is `{kind}`; this call takes `{LINES}`");
        return Err(ApiError::media_type(what));
    }
    let permit = call.app.imports.acquire(call.caller.id()).await;
    let _permit = permit.map_err(|error| no_permit(error, "imports are running", 5))?;
    let mut lines = Lines::new(call.body.into_data_stream());
    let (service, by) = (call.app.service.clone(), call.caller.author().clone());
    let mut import = Import::new(service, call.path, by, call.query.dry_run);
    loop {
        match lines.next().await {
            Ok(Some((number, line))) => import.add(number, line).await?,
            Ok(None) => break,
            Err(error) => {
                // Lines before an error are imported.
                import.flush().await?;
                return Err(error);
            }
        }
    }
    let report = import.finish().await?;
    if lines.number == 0 {
        let what = "the body is empty; it has one JSON object per line";
        return Err(ApiError::malformed(what).at(""));
    }
    json(StatusCode::OK, &report)
}
