//! Calls about studies.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;

use super::answer::{Answer, json};
use super::auth::Caller;
use super::body::{self, MOST_STUDY};
use super::path::{NewName, Path};
use super::query::NoQuery;
use super::view::{Estimates, StudyList, StudyView};
use super::{App, query};
use crate::domain::command::{Body as Said, Command, Reply};
use crate::domain::error::ApiError;
use crate::domain::study::{NAME_RULE, Study, is_name};
use crate::tokens::Permission;

/// The most studies or episodes in one answer.
const LIST: usize = 1_000;

/// Which part of a list.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Begin after this name.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$")]
    pub after: String,
    /// At most so many, up to 1000.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 1000)]
    pub limit: Option<query::Number>,
}

impl Part {
    /// A name, or nothing.
    pub fn after(&self) -> Result<&str, ApiError> {
        if self.after.is_empty() || is_name(&self.after) {
            return Ok(&self.after);
        }
        Err(ApiError::malformed(format!(
            "`after` is a name: {NAME_RULE}"
        )))
    }

    pub fn limit(&self) -> Result<usize, ApiError> {
        query::within("limit", self.limit, 1, LIST as u64, 100).map(|limit| limit as usize)
    }
}

/// The studies
///
/// In the order of their names; those that the token is for.
#[utoipa::path(get, operation_id = "listStudies", path = "/v1/studies", tag = "studies", params(Part),
    responses((status = 200, description = "The studies", body = StudyList)))]
pub async fn list(State(app): State<App>, caller: Caller, part: query::Query<Part>) -> Answer {
    caller.may(Permission::ReadStudy)?;
    let (limit, after) = (part.limit()?, part.after()?.to_owned());
    let only = caller.studies().map(<[String]>::to_vec);
    let heads = app.service.read(move |store| match only {
        None => Ok(store.heads(&after, limit)?),
        // Of others neither the names nor the number is told.
        Some(mut names) => {
            names.retain(|name| *name > after);
            names.sort_unstable();
            names.dedup();
            let mut heads = Vec::new();
            for name in names {
                heads.extend(store.head(&name)?);
                if heads.len() == limit {
                    break;
                }
            }
            Ok(heads)
        }
    });
    let heads = heads.await?;
    let next = (heads.len() == limit).then(|| heads.last().map(|head| head.name.clone()));
    let shadows = caller.has(Permission::Log);
    let studies = heads
        .iter()
        .map(|head| StudyView::new(&*app.service.study(head)?, head, shadows))
        .collect::<Result<_, _>>()?;
    json(
        StatusCode::OK,
        &StudyList {
            studies,
            next: next.flatten(),
        },
    )
}

/// Create a study
///
/// The body is a problem file as JSON without `model`, and besides it `learner` (as on the command line, such as
/// `feedbal:width=sound`) and, if wanted, `shadow` (a list of learners that are asked and logged but never shown) and
/// `missing_at_random` (whether outcomes that stay missing may be taken to be missing at random). The same again is
/// answered with 200; another body with 409: a study never changes.
#[utoipa::path(put, operation_id = "createStudy", path = "/v1/studies/{study}", tag = "studies",
    params(("study" = String, Path, description = "The study's name")),
    request_body(content = ref("#/components/schemas/NewStudy"), example = json!({
        "horizon": 3, "states": ["unknown", "clear", "suspect"], "actions": ["test"], "feedbacks": ["negative", "positive"],
        "transition": "1 + f", "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
        "learner": "feedbal:width=sound"})),
    responses((status = 201, description = "Created", body = StudyView),
        (status = 200, description = "It was there, the same", body = StudyView)))]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    NewName(study): NewName,
    _: NoQuery,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    caller.may_in(Permission::CreateStudy, &study)?;
    let bytes = body::bytes(&headers, body, MOST_STUDY).await?;
    if bytes.is_empty() {
        return Err(ApiError::malformed("the body is empty; a study is a JSON object").at(""));
    }
    let name = study.clone();
    // Looking at every pair of a large study takes a while.
    let read = tokio::task::spawn_blocking(move || Study::read(&name, &bytes));
    let failed = |_| ApiError::internal("the study could not be read");
    let command = Command::Create(Arc::new(read.await.map_err(failed)??));
    let reply = app.service.submit(&study, command, caller.id()).await?;
    study_reply(&app, reply, StatusCode::CREATED, &caller)
}

fn study_reply(app: &App, reply: Reply, new: StatusCode, caller: &Caller) -> Answer {
    let Said::Study(head) = reply.body else {
        return Err(ApiError::internal("another answer was expected"));
    };
    let status = if reply.new { new } else { StatusCode::OK };
    let study = app.service.study(&head)?;
    let shadows = caller.has(Permission::Log);
    json(status, &StudyView::new(&study, &head, shadows)?)
}

/// Read a study
#[utoipa::path(get, operation_id = "readStudy", path = "/v1/studies/{study}", tag = "studies",
    params(("study" = String, Path, description = "The study's name")),
    responses((status = 200, description = "The study", body = StudyView)))]
pub async fn read(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    _: NoQuery,
) -> Answer {
    caller.may_in(Permission::ReadStudy, &study)?;
    let head = app.service.head(&study).await?;
    let study = app.service.study(&head)?;
    let shadows = caller.has(Permission::Log);
    json(StatusCode::OK, &StudyView::new(&study, &head, shadows)?)
}

/// Close a study
///
/// It takes no new episodes; those that are open go on, and outcomes are taken.
#[utoipa::path(post, operation_id = "closeStudy", path = "/v1/studies/{study}:close", tag = "studies",
    params(("study" = String, Path, description = "The study's name")),
    responses((status = 200, description = "The study", body = StudyView)))]
pub async fn close(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    _: NoQuery,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    caller.may_in(Permission::CloseStudy, &study)?;
    body::none(&headers, body).await?;
    let command = Command::Close;
    let reply = app.service.submit(&study, command, caller.id()).await?;
    study_reply(&app, reply, StatusCode::OK, &caller)
}

/// When.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// As of this event of the log; left out, now.
    #[param(value_type = Option<u64>, minimum = 1)]
    pub as_of: Option<query::Number>,
}

/// What a study knows
///
/// Counts, means, widths and indices of every step, state and action that was observed; now, or at any past event of the
/// log, which is then gone through from its beginning.
#[utoipa::path(get, operation_id = "readEstimates", path = "/v1/studies/{study}/estimates", tag = "studies",
    params(("study" = String, Path, description = "The study's name"), When),
    responses((status = 200, description = "The estimates", body = Estimates)))]
pub async fn estimates(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    when: query::Query<When>,
) -> Answer {
    caller.may_in(Permission::Estimates, &study)?;
    let head = app.service.head(&study).await?;
    let seq = query::within("as_of", when.as_of, 1, u64::MAX, head.seq)?;
    if seq > head.seq {
        return Err(ApiError::impossible(format!(
            "`as_of` is {seq}, and the last event of this study is {}",
            head.seq
        )));
    }
    if seq == head.seq {
        let estimates = app.service.now(&study, Estimates::of).await?;
        // Whoever named the event wants what was known then, though others have come meanwhile.
        if when.as_of.is_none() || estimates.as_of == seq {
            return json(StatusCode::OK, &estimates);
        }
    }
    let then = app.service.then(&study, seq, |replay, _, _| {
        let board = replay.board.as_mut();
        let board = board.ok_or_else(|| ApiError::not_found("the log is empty"))?;
        Ok(Estimates::of(board))
    });
    json(StatusCode::OK, &then.await?)
}
