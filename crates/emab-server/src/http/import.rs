//! The import call. The logic is in [`crate::app::import`].

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::body::{MAX_STUDY, media_type};
use super::call::Call;
use super::error::{ApiError, no_permit};
use super::events::LINES;
use super::lines::Lines;
use super::response::{ApiResult, FILE, json};
use crate::app::ServiceError;
use crate::app::import::{Import, ImportReport};
use crate::domain::PastEpisode;
use crate::domain::json::{object, short};
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

/// Past episodes as one JSON document, for clients that do not send lines.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PastEpisodes {
    /// The episodes. Errors point at them; those of a dry run name them as lines, from 1.
    #[schema(value_type = Vec<PastEpisode>, min_items = 1)]
    episodes: Vec<Box<RawValue>>,
}

/// The type of [`PastEpisodes`].
pub const EPISODES: &str = "application/vnd.emab.episodes+json";

/// Import episodes or a study
///
/// A file (`application/octet-stream` or `application/x-ndjson`) with one JSON object per line. The lines are past episodes (`{"id", "actions", "feedbacks", "costs", "rewards"}`), which the learner
/// learns at once; or an export of this study, if the study does not exist yet; or the file
/// of a learner saved in Python (`Learner.save`), whose first line (`{"emab_learner": 1, …}`) must have the problem of the study,
/// and whose other lines are the episodes it learned. The learner of the study learns them, whichever learner was saved; recorded
/// queries (`{"ask": …}`) are skipped.
///
/// The body is streamed: lines before an error stay imported, and sending the whole body again is harmless. A study that is being
/// restored from an export has `restoring`: true and accepts no other writes; importing the same file again continues it, and the
/// study is live when the file has been read to its end.
///
/// As `application/vnd.emab.episodes+json` the body is one document of at most 16 MiB with past episodes.
#[utoipa::path(post, operation_id = "importStudy", path = "/v1/studies/{study}:import", tag = "audit",
    params(("study" = String, Path), ImportOptions),
    request_body(description = "Lines: each is a past episode or an event; the first may be the header of an export or of a saved learner",
        content((PastEpisodes = "application/vnd.emab.episodes+json", example = json!({"episodes": [
            {"id": "patient-0", "actions": ["test"], "feedbacks": ["positive"], "costs": [0.1], "rewards": [0.0, 0.9]}]})),
            (Vec<u8> = "application/octet-stream"))),
    responses((status = 200, description = "What was imported", body = ImportReport)))]
pub async fn import(mut call: Call<String, ImportOptions>) -> ApiResult {
    call.may(Permission::Import)?;
    let kind = media_type(&call.headers)?;
    let lines = [LINES, FILE, "application/jsonl", "application/json"];
    if !lines.contains(&&*kind) && kind != EPISODES {
        let kind = short(&kind);
        let what = format!(
            "the content type is `{kind}`; this call takes `{LINES}`, `{FILE}` or `{EPISODES}`"
        );
        return Err(ApiError::media_type(what));
    }
    let permit = call.app.imports.acquire(call.caller.id()).await;
    let _permit = permit.map_err(|error| no_permit(error, "imports are running", 5))?;
    let document = match kind == EPISODES {
        true => Some(call.bytes(MAX_STUDY).await?),
        false => None,
    };
    let (service, by) = (call.app.service.clone(), call.caller.author().clone());
    let mut import = Import::new(service, call.path, by, call.query.dry_run);
    if let Some(document) = document {
        let PastEpisodes { episodes } = object(&document)?;
        if episodes.is_empty() {
            return Err(ApiError::malformed("`episodes` is empty").at("/episodes"));
        }
        let in_list = |error| match error {
            ServiceError::Rejected(rejection) => rejection.in_list("/episodes").into(),
            other => ApiError::from(other),
        };
        for (number, episode) in (1..).zip(episodes) {
            let added = import.add(number, episode.get().into()).await;
            added.map_err(in_list)?;
        }
        let report = import.finish().await.map_err(in_list)?;
        return json(StatusCode::OK, &report);
    }
    let mut lines = Lines::new(call.body.into_data_stream());
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
