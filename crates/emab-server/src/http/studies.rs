//! Calls on studies.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::App;
use super::auth::Caller;
use super::body::MAX_STUDY;
use super::call::{Call, NoQuery, Number, within};
use super::error::ApiError;
use super::response::{ApiResult, json, typed};
use super::tables::{Form, table_response};
use super::view::{Discarded, Estimates, StudyList, StudyView};
use super::{docs_page, policy_page};
use crate::app::Service;
use crate::app::tables::{self as app_tables, Table};
use crate::domain::json::LenientU64;
use crate::domain::{
    CloseStudy, Command, Head, NAME_RULE, PolicyTable, Reason, Rejection, Reply, ReplyBody, is_name,
};
use crate::store::StoreError;
use crate::tokens::Permission;

/// The largest number of studies or episodes in one response.
const MAX_LIMIT: usize = 1_000;

/// A page of a list.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Start after this name.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$")]
    pub after: String,
    /// The largest number of studies, up to 1000.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 1000)]
    pub limit: Option<Number>,
}

impl Page {
    /// The name to start after; fails if it is not a name.
    pub fn after(&self) -> Result<&str, ApiError> {
        if self.after.is_empty() || is_name(&self.after) {
            return Ok(&self.after);
        }
        let what = format!("`after` must be a name: {NAME_RULE}");
        Err(ApiError::malformed(what))
    }

    /// The limit; fails if it is out of range.
    pub fn limit(&self) -> Result<usize, ApiError> {
        let limit = within("limit", self.limit.as_ref(), 1..=MAX_LIMIT as u64, 100)?;
        Ok(limit as usize)
    }
}

/// List the studies
///
/// In the order of their names, without their specifications; only those that the token is valid for.
#[utoipa::path(get, operation_id = "listStudies", path = "/v1/studies", tag = "studies", params(Page),
    responses((status = 200, description = "The studies", body = StudyList)))]
pub async fn list(call: Call<(), Page>) -> ApiResult {
    call.caller.may(Permission::ReadStudy)?;
    let page = &call.query;
    let (limit, after) = (page.limit()?, page.after()?.to_owned());
    // A bound token must not learn of other studies, nor their number.
    let only = call.caller.token.studies.clone();
    let heads = call.app.service.heads(only, &after, limit).await?;
    let last = heads.last().filter(|_| heads.len() == limit);
    let next = last.map(|head| head.name.clone());
    let mut studies = Vec::new();
    for head in heads {
        let summary = call.app.service.summary(&head).await?;
        studies.push(StudyView::brief(&summary, &head, call.caller.is_blinded()));
    }
    json(StatusCode::OK, &StudyList { studies, next })
}

/// Create a study
///
/// The body is a problem file as JSON without `model`, with `learner` (as on the command line, such as `feedbal:width=sound`)
/// and optionally `shadow` (learners whose choices are recorded and not shown), `missing_at_random` (whether missing outcomes are
/// missing at random), `outcome_range` (the ranges of observed values, such as `{"reward": [0, 1], "cost": [0, 10]}`), `protocol` (what to
/// recommend to the first episodes, such as `{"first": 20, "sequence": ["test"]}`), `expected_delay` (when outcomes are expected, such as
/// `30d`) and `thresholds` (of the health checks, such as `{"overrides": {"yellow": 0.2, "red": 0.5}}`). A repeated request is answered with 200, another body with 409: a study is immutable.
#[utoipa::path(put, operation_id = "createStudy", path = "/v1/studies/{study}", tag = "studies",
    params(("study" = String, Path)),
    request_body(content = ref("#/components/schemas/NewStudy"), example = json!({
        "horizon": 3, "states": ["unknown", "clear", "suspect"], "actions": ["test"], "feedbacks": ["negative", "positive"],
        "transition": "1 + f", "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
        "learner": "feedbal:width=sound"})),
    responses((status = 201, description = "Created", body = StudyView),
        (status = 200, description = "The same study exists", body = StudyView)))]
pub async fn create(mut call: Call<String, NoQuery, true>) -> ApiResult {
    call.may(Permission::CreateStudy)?;
    let bytes = call.bytes(MAX_STUDY).await?;
    if bytes.is_empty() {
        return Err(ApiError::malformed("the body is empty; a study is a JSON object").at(""));
    }
    let study = call.app.service.read_study(&call.path, bytes).await?;
    let spec = Some(study.canonical.clone());
    let command = Command::Create(Arc::new(study));
    let reply = call.submit(command).await?;
    study_reply(&call.app, reply, StatusCode::CREATED, &call.caller, spec).await
}

async fn study_reply(
    app: &App,
    reply: Reply,
    new: StatusCode,
    caller: &Caller,
    spec: Option<String>,
) -> ApiResult {
    let ReplyBody::Study(head) = reply.body else {
        return Err(ApiError::internal("unexpected reply"));
    };
    let status = if reply.new { new } else { StatusCode::OK };
    json(status, &view(app, &head, caller, spec).await?)
}

/// The study with its specification, which is read if it is not given.
async fn view(
    app: &App,
    head: &Head,
    caller: &Caller,
    spec: Option<String>,
) -> Result<StudyView, ApiError> {
    let summary = app.service.summary(head).await?;
    let brief = StudyView::brief(&summary, head, caller.is_blinded());
    let (key, shadows) = (head.key, caller.has(Permission::Log));
    let full = app.service.read(move |store| {
        let missing = || StoreError::Damaged("a study has no specification".into());
        let spec = match spec {
            Some(spec) => spec,
            None => store.spec(key)?.ok_or_else(missing)?,
        };
        Ok(brief.full(spec, shadows)?)
    });
    Ok(full.await?)
}

/// Read a study
#[utoipa::path(get, operation_id = "readStudy", path = "/v1/studies/{study}", tag = "studies",
    params(("study" = String, Path)),
    responses((status = 200, description = "The study", body = StudyView)))]
pub async fn read(call: Call) -> ApiResult {
    call.may(Permission::ReadStudy)?;
    let head = call.app.service.head(&call.path).await?;
    json(
        StatusCode::OK,
        &view(&call.app, &head, &call.caller, None).await?,
    )
}

/// Close a study
///
/// A closed study accepts no new episodes. Open episodes continue, and outcomes are accepted.
#[utoipa::path(post, operation_id = "closeStudy", path = "/v1/studies/{study}:close", tag = "studies",
    params(("study" = String, Path)),
    request_body(content = Option<CloseStudy>, example = json!({"reason": "the last patient was seen"})),
    responses((status = 200, description = "The study", body = StudyView)))]
pub async fn close(mut call: Call) -> ApiResult {
    call.may(Permission::CloseStudy)?;
    let given = call.optional::<CloseStudy>().await?.unwrap_or_default();
    let reply = call.submit(Command::Close(given)).await?;
    study_reply(&call.app, reply, StatusCode::OK, &call.caller, None).await
}

/// Reopen a study
///
/// A closed study accepts new episodes again.
#[utoipa::path(post, operation_id = "reopenStudy", path = "/v1/studies/{study}:reopen", tag = "studies",
    params(("study" = String, Path)),
    request_body(content = Reason, example = json!({"reason": "the second year is funded"})),
    responses((status = 200, description = "The study", body = StudyView)))]
pub async fn reopen(call: Call) -> ApiResult {
    change(call, Command::Reopen).await
}

/// Pause a study
///
/// A paused study opens no new episodes. Open episodes continue, and outcomes are accepted.
#[utoipa::path(post, operation_id = "pauseStudy", path = "/v1/studies/{study}:pause", tag = "studies",
    params(("study" = String, Path)),
    request_body(content = Reason, example = json!({"reason": "the device is being repaired"})),
    responses((status = 200, description = "The study", body = StudyView)))]
pub async fn pause(call: Call) -> ApiResult {
    change(call, Command::Pause).await
}

/// Resume a study
///
/// A paused study opens new episodes again.
#[utoipa::path(post, operation_id = "resumeStudy", path = "/v1/studies/{study}:resume", tag = "studies",
    params(("study" = String, Path)),
    request_body(content = Reason, example = json!({"reason": "the device is repaired"})),
    responses((status = 200, description = "The study", body = StudyView)))]
pub async fn resume(call: Call) -> ApiResult {
    change(call, Command::Resume).await
}

async fn change(mut call: Call, command: fn(Reason) -> Command) -> ApiResult {
    call.may(Permission::CloseStudy)?;
    let reason = call.json().await?;
    let reply = call.submit(command(reason)).await?;
    study_reply(&call.app, reply, StatusCode::OK, &call.caller, None).await
}

/// Discard a study that is being restored
///
/// Removes a study whose restoration from an export was begun and not finished (`restoring`: true), with everything that was imported,
/// and frees its name: for an import that was begun with a wrong file. Any other study is rejected with 409: a study is never
/// deleted, only closed. The service logs which token discarded it.
#[utoipa::path(delete, operation_id = "discardStudy", path = "/v1/studies/{study}", tag = "studies",
    params(("study" = String, Path)),
    responses((status = 200, description = "What was discarded", body = Discarded)))]
pub async fn discard(mut call: Call) -> ApiResult {
    call.may(Permission::Import)?;
    call.optional::<NoQuery>().await?;
    let reply = call.submit(Command::DiscardRestore).await?;
    let ReplyBody::Study(head) = reply.body else {
        return Err(ApiError::internal("unexpected reply"));
    };
    let (study, events) = (head.name, head.seq);
    json(StatusCode::OK, &Discarded { study, events })
}

/// The event to read at.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AsOf {
    /// The sequence number of an event; the current state if left out.
    #[param(value_type = Option<u64>, minimum = 1)]
    pub as_of: Option<Number>,
    /// The form, instead of `Accept`.
    #[param(inline)]
    pub format: Option<Form>,
}

/// Read the estimates
///
/// Counts, means, widths and indices of every observed step, state and action, now or at a past event. For a past event the log
/// is replayed from its start. With `Accept: text/csv` or `application/vnd.apache.parquet` a table, whose last event the headers
/// `emab-seq` and `emab-hash` state. `GET /v1/codebook` describes its columns.
#[utoipa::path(get, operation_id = "readEstimates", path = "/v1/studies/{study}/estimates", tag = "studies",
    params(("study" = String, Path), AsOf),
    responses((status = 200, description = "The estimates", content(
        (Estimates = "application/json"), (String = "text/csv"), (Vec<u8> = "application/vnd.apache.parquet")))))]
pub async fn estimates(call: Call<String, AsOf>) -> ApiResult {
    call.may(Permission::Estimates)?;
    let form = Form::asked(call.query.format, &call.headers)?;
    let (service, study, as_of) = (&call.app.service, &call.path, call.query.as_of.as_ref());
    let head = service.head(study).await?;
    let seq = within("as_of", as_of, 1..=LenientU64::LARGEST, head.seq)?;
    if seq > head.seq {
        let last = head.seq;
        let what = format!("`as_of` is {seq}, and the last event of this study is {last}");
        return Err(ApiError::not_possible(what));
    }
    if seq == head.seq {
        let (at, answer) = current_estimates(service, study, form).await?;
        // Events may have been added since; a request for this event must not see them.
        if as_of.is_none() || at == seq {
            return answer;
        }
    }
    let past = service.past_state(study, seq, move |replay, _, _| {
        let state = replay.state.as_mut();
        let state = state.ok_or_else(|| Rejection::not_found("the log is empty"))?;
        Ok(estimates_response(&Estimates::of(state), form))
    });
    past.await?
}

/// The estimates of the current state, and its event.
pub async fn current_estimates(
    service: &Arc<Service>,
    study: &str,
    form: Form,
) -> Result<(u64, ApiResult), ApiError> {
    // The answer is written there: it may be long.
    let answer = service.current_state(study, move |state| {
        let estimates = Estimates::of(state);
        (estimates.as_of, estimates_response(&estimates, form))
    });
    Ok(answer.await?)
}

fn estimates_response(estimates: &Estimates, form: Form) -> ApiResult {
    let Some(format) = form.table() else {
        return json(StatusCode::OK, estimates);
    };
    let bytes = app_tables::estimates(estimates, format);
    let bytes = bytes.map_err(|error| ApiError::internal(error.to_string()))?;
    let as_of = Some((estimates.as_of, estimates.hash.as_str()));
    let names = (estimates.study.as_str(), Table::Estimates);
    Ok(table_response(names, format, as_of, bytes))
}

/// Read the policy
///
/// What is recommended to the next episode in every step and state that it can reach, as of the last event: for clients that keep it
/// for times when the service cannot be reached, and, with `Accept: text/html`, as a page to print. Steps that are decided from it
/// are reported with `decided_by` and `policy`.
#[utoipa::path(get, operation_id = "readPolicy", path = "/v1/studies/{study}/policy", tag = "studies",
    params(("study" = String, Path)),
    responses((status = 200, description = "The policy", content(
        (PolicyTable = "application/json"), (String = "text/html")))))]
pub async fn policy(call: Call) -> ApiResult {
    call.may(Permission::Policy)?;
    let table = call.app.service.current_state(&call.path, PolicyTable::of);
    let table = table.await??;
    let accept = call.headers.get(header::ACCEPT);
    let wants_page = accept.is_some_and(|it| it.to_str().is_ok_and(|it| it.contains("text/html")));
    match wants_page {
        true => Ok(printable_policy(&table)),
        false => json(StatusCode::OK, &table),
    }
}

/// The policy as a page to print.
pub fn printable_policy(table: &PolicyTable) -> Response {
    let page = policy_page::page(table);
    let mut answer = typed(StatusCode::OK, "text/html; charset=utf-8", page);
    let policy = docs_page::policy();
    answer
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, policy);
    answer
}
