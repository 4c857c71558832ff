//! Calls on episodes.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::{IntoParams, ToSchema};

use super::auth::Caller;
use super::body::{self, MAX_BODY};
use super::error::ApiError;
use super::path::Path;
use super::query::{self, NoQuery};
use super::response::{self, ApiResult, json};
use super::view::{EpisodeList, EpisodeView, ReplayView};
use super::{App, studies::Page};
use crate::app::load::{head, key};
use crate::domain::command::{Abandon, Amend, Command, GiveOutcome, ReplyBody, Stop, Tell};
use crate::domain::decision::Decision;
use crate::domain::json::{object_or_null, short};
use crate::domain::rejection::Rejection;
use crate::tokens::Permission;

/// An episode to open.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The name. With a name the request can be repeated safely; without one, a name is generated.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    id: Option<String>,
}

/// Open an episode
///
/// Answers with the first decision. If the episode exists, answers 200 with the decision that was given then.
#[utoipa::path(post, operation_id = "openEpisode", path = "/v1/studies/{study}/episodes", tag = "episodes",
    params(("study" = String, Path)),
    request_body(content = Option<Open>, example = json!({"id": "patient-1"})),
    responses((status = 201, description = "Opened", body = Decision),
        (status = 200, description = "The episode exists", body = Decision)))]
pub async fn open(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    _: NoQuery,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    caller.may_in(Permission::Act, &study)?;
    let bytes = body::bytes(&headers, body, MAX_BODY).await?;
    let Open { id } = if bytes.is_empty() {
        Open::default()
    } else {
        object_or_null::<Open>(&bytes)?.unwrap_or_default()
    };
    let command = Command::Open(id);
    let reply = app.service.submit(&study, command, caller.id()).await?;
    let ReplyBody::Decision(text) = reply.body else {
        return Err(ApiError::internal("unexpected reply"));
    };
    let status = match reply.new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    let episode = response::read_decision(&text)?.advice.episode;
    let mut response = response::decision(status, text, caller.is_blinded())?;
    let location = format!("/v1/studies/{study}/episodes/{episode}");
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// Which episodes to list.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct EpisodeFilter {
    /// Only open episodes.
    #[serde(default)]
    open: bool,
    /// Start after this name.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$")]
    after: String,
    /// The largest number of episodes, up to 1000.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 1000)]
    limit: Option<query::Number>,
}

/// List the episodes of a study
///
/// In the order of their names, without their steps.
#[utoipa::path(get, operation_id = "listEpisodes", path = "/v1/studies/{study}/episodes", tag = "episodes",
    params(("study" = String, Path), EpisodeFilter),
    responses((status = 200, description = "The episodes", body = EpisodeList)))]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    filter: query::Query<EpisodeFilter>,
) -> ApiResult {
    caller.may_in(Permission::ReadEpisode, &study)?;
    let EpisodeFilter { open, after, limit } = filter.0;
    let page = Page { after, limit };
    let (limit, after) = (page.limit()?, page.after()?.to_owned());
    let blinded = caller.is_blinded();
    let service = app.service.clone();
    let list = app.service.read(move |store| {
        let head = head(store, &study)?;
        let study = service.study(&head)?;
        let episodes = store.episodes_after(head.key, &after, open, limit)?;
        let last = episodes.last().filter(|_| episodes.len() == limit);
        let next = last.map(|episode| episode.id.clone());
        let views = episodes.iter();
        let views = views.map(|episode| EpisodeView::brief(&study, episode, blinded));
        Ok(EpisodeList {
            episodes: views.collect(),
            next,
        })
    });
    json(StatusCode::OK, &list.await?)
}

fn no_episode(study: &str, episode: &str) -> Rejection {
    Rejection::not_found(format!(
        "study `{study}` has no episode `{}`",
        short(episode)
    ))
}

/// Read an episode
///
/// With its states, decisions, feedbacks, outcome and status.
#[utoipa::path(get, operation_id = "readEpisode", path = "/v1/studies/{study}/episodes/{episode}", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn read(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
) -> ApiResult {
    caller.may_in(Permission::ReadEpisode, &study)?;
    let (blinded, service) = (caller.is_blinded(), app.service.clone());
    let view = app.service.read_snapshot(move |store| {
        let head = head(store, &study)?;
        let found = store.episodes(head.key, &[&episode])?;
        let record = found.first().ok_or_else(|| no_episode(&study, &episode))?;
        let decisions = store.decisions(head.key, &episode)?;
        let study = service.study(&head)?;
        Ok(EpisodeView::full(&study, record, decisions, blinded)?)
    });
    json(StatusCode::OK, &view.await?)
}

/// Read the decision for the current step
///
/// Repeated requests get the same bytes.
#[utoipa::path(post, operation_id = "askEpisode", path = "/v1/studies/{study}/episodes/{episode}:ask", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    responses((status = 200, description = "The decision", body = Decision)))]
pub async fn ask(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    caller.may_in(Permission::Act, &study)?;
    body::none(&headers, body).await?;
    let decision = app.service.read(move |store| {
        let key = key(store, &study)?;
        match store.decision(key, &episode, None)? {
            Some(decision) => Ok(decision.text),
            None => match store.episodes(key, &[&episode])?.first() {
                None => Err(no_episode(&study, &episode).into()),
                Some(_) => Err(Rejection::conflict(format!(
                    "episode `{episode}` was imported; it has no decisions"
                ))
                .into()),
            },
        }
    });
    response::decision(StatusCode::OK, decision.await?, caller.is_blinded())
}

/// Executes a command on an episode: checks the permission, parses the body, submits.
async fn act<T: DeserializeOwned>(
    app: &App,
    caller: &Caller,
    permission: Permission,
    study: &str,
    request: Request,
    command: impl FnOnce(T) -> Command,
) -> ApiResult {
    caller.may_in(permission, study)?;
    let (parts, body) = request.into_parts();
    let given = body::json(&parts.headers, body, MAX_BODY).await?;
    let command = command(given);
    let reply = app.service.submit(study, command, caller.id()).await?;
    match reply.body {
        ReplyBody::Decision(text) => response::decision(StatusCode::OK, text, caller.is_blinded()),
        ReplyBody::Episode(episode, study) => {
            let view = EpisodeView::brief(&study, &episode, caller.is_blinded());
            json(StatusCode::OK, &view)
        }
        ReplyBody::Study(_) | ReplyBody::Imported { .. } => {
            Err(ApiError::internal("unexpected reply"))
        }
    }
}

/// Report a step
///
/// The body has the action that was taken and the feedback that was observed. Answers with the next decision. An `action` other
/// than the recommended one is an override and needs a `reason`. A repeated request gets the same answer; another action or
/// feedback for a recorded step, or any step but the current one, is rejected with 409.
#[utoipa::path(post, operation_id = "tellEpisode", path = "/v1/studies/{study}/episodes/{episode}:tell", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = Tell, example = json!({"step": 1, "action": "test", "feedback": "negative", "reason": "family history"})),
    responses((status = 200, description = "The next decision", body = Decision)))]
pub async fn tell(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> ApiResult {
    let command = |given: Tell| Command::Tell(episode, given);
    act(&app, &caller, Permission::Act, &study, request, command).await
}

/// Stop an episode
///
/// If an action is recommended, stopping is an override and needs a `reason`.
#[utoipa::path(post, operation_id = "stopEpisode", path = "/v1/studies/{study}/episodes/{episode}:stop", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = Stop, example = json!({"step": 2})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn stop(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> ApiResult {
    let command = |given: Stop| Command::Stop(episode, given);
    act(&app, &caller, Permission::Act, &study, request, command).await
}

/// Abandon an episode
///
/// The episode ends at its current step. Its outcome can still be given; until then it counts as missing.
#[utoipa::path(post, operation_id = "abandonEpisode", path = "/v1/studies/{study}/episodes/{episode}:abandon", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = Abandon, example = json!({"reason": "moved away"})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn abandon(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> ApiResult {
    let command = |given: Abandon| Command::Abandon(episode, given);
    act(&app, &caller, Permission::Act, &study, request, command).await
}

/// Give the outcome, or a part of it
///
/// `null` is a value that is not known yet. The episode is learned once its outcome is complete or `final`. A repeated request
/// changes nothing; a changed value is rejected and must be sent to `:amend`.
#[utoipa::path(put, operation_id = "giveOutcome", path = "/v1/studies/{study}/episodes/{episode}/outcome", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = GiveOutcome, example = json!({"costs": [0.1], "rewards": [0.0, 1.0], "final": true})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn give_outcome(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> ApiResult {
    let command = |given: GiveOutcome| Command::GiveOutcome(episode, given);
    act(&app, &caller, Permission::Act, &study, request, command).await
}

/// Correct an outcome
///
/// `null` is an unchanged value. The learner is rebuilt as if the corrected outcome had been given first; both outcomes stay in
/// the log.
#[utoipa::path(post, operation_id = "amendOutcome", path = "/v1/studies/{study}/episodes/{episode}/outcome:amend", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = Amend, example = json!({"rewards": [null, 0.5], "reason": "mistyped"})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn amend(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> ApiResult {
    let command = |given: Amend| Command::Amend(episode, given);
    act(&app, &caller, Permission::Amend, &study, request, command).await
}

/// Recompute a decision from the log
///
/// Replays the log up to the decision, recomputes the decision and compares it byte for byte with the recorded one.
#[utoipa::path(get, operation_id = "replayDecision", path = "/v1/studies/{study}/episodes/{episode}/decisions/{step}:replay", tag = "audit",
    params(("study" = String, Path), ("episode" = String, Path), ("step" = u64, Path, minimum = 1)),
    responses((status = 200, description = "Both decisions", body = ReplayView)))]
pub async fn replay(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode, step)): Path<(String, String, String)>,
    _: NoQuery,
) -> ApiResult {
    caller.may_in(Permission::Log, &study)?;
    let missing = || {
        ApiError::not_found(format!(
            "episode `{}` of study `{}` has no decision `{}`",
            short(&episode),
            short(&study),
            short(&step)
        ))
    };
    let at: u32 = step.parse().map_err(|_| missing())?;
    let replayed = app.service.replay_decision(&study, &episode, at).await?;
    let (recorded, recomputed) = replayed.ok_or_else(missing)?;
    json(StatusCode::OK, &ReplayView::new(recorded, recomputed)?)
}
