//! Calls about episodes.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::answer::{self, Answer, json};
use super::auth::Caller;
use super::body::{self, MOST};
use super::path::Path;
use super::query::{self, NoQuery};
use super::view::{EpisodeList, EpisodeView, ReplayView};
use super::{App, studies::Part};
use crate::app::replay::Replay;
use crate::app::service::{head, key};
use crate::domain::command::{Abandon, Amend, Body as Said, Command, Reveal, Stop, Tell};
use crate::domain::decision::Decision;
use crate::domain::error::ApiError;
use crate::store::StoreError;
use crate::tokens::Permission;

/// An episode to open.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Its name. Give one: then asking again is harmless. Left out, one is made up.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    id: Option<String>,
}

/// Open an episode
///
/// Answers with its first decision. With a name that is there, the same again: 200 and the decision that was given then.
#[utoipa::path(post, operation_id = "openEpisode", path = "/v1/studies/{study}/episodes", tag = "episodes",
    params(("study" = String, Path, description = "The study's name")),
    request_body(content = Option<Open>, example = json!({"id": "patient-1"})),
    responses((status = 201, description = "Opened", body = Decision),
        (status = 200, description = "It was there", body = Decision)))]
pub async fn open(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    _: NoQuery,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    caller.may_in(Permission::Act, &study)?;
    let bytes = body::bytes(&headers, body, MOST).await?;
    let Open { id } = if bytes.is_empty() {
        Open::default()
    } else {
        crate::domain::json::object_or_null::<Open>(&bytes)?.unwrap_or_default()
    };
    let command = Command::Open(id);
    let reply = app.service.submit(&study, command, caller.id()).await?;
    let Said::Decision(text) = reply.body else {
        return Err(ApiError::internal("another answer was expected"));
    };
    let status = if reply.new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let episode = answer::read_decision(&text)?.advice.episode;
    let mut response = answer::decision(status, text, caller.is_blinded())?;
    let place = format!("/v1/studies/{study}/episodes/{episode}");
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// Which episodes.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Only those that are open.
    #[serde(default)]
    open: bool,
    /// Begin after this name.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$")]
    after: String,
    /// At most so many, up to 1000.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 1000)]
    limit: Option<query::Number>,
}

/// The episodes of a study
///
/// In the order of their names, without their steps.
#[utoipa::path(get, operation_id = "listEpisodes", path = "/v1/studies/{study}/episodes", tag = "episodes",
    params(("study" = String, Path, description = "The study's name"), Which),
    responses((status = 200, description = "The episodes", body = EpisodeList)))]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    which: query::Query<Which>,
) -> Answer {
    caller.may_in(Permission::ReadEpisode, &study)?;
    let Which { open, after, limit } = which.0;
    let part = Part { after, limit };
    let (limit, after) = (part.limit()?, part.after()?.to_owned());
    let blinded = caller.is_blinded();
    let service = app.service.clone();
    let list = app.service.read(move |store| {
        let head = head(store, &study)?;
        let study = service.study(&head)?;
        let cases = store.cases_after(head.key, &after, open, limit)?;
        let next = (cases.len() == limit).then(|| cases.last().map(|case| case.id.clone()));
        let episodes = cases
            .iter()
            .map(|case| EpisodeView::brief(&study, case, blinded));
        Ok(EpisodeList {
            episodes: episodes.collect(),
            next: next.flatten(),
        })
    });
    json(StatusCode::OK, &list.await?)
}

fn no_episode(study: &str, episode: &str) -> ApiError {
    ApiError::not_found(format!(
        "study `{study}` has no episode `{}`",
        crate::domain::json::short(episode)
    ))
}

/// Read an episode
///
/// All of it: states, decisions, feedbacks, outcome, status.
#[utoipa::path(get, operation_id = "readEpisode", path = "/v1/studies/{study}/episodes/{episode}", tag = "episodes",
    params(("study" = String, Path, description = "The study's name"), ("episode" = String, Path, description = "The episode's name")),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn read(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
) -> Answer {
    caller.may_in(Permission::ReadEpisode, &study)?;
    let (blinded, service) = (caller.is_blinded(), app.service.clone());
    let view = app.service.read_still(move |store| {
        let head = head(store, &study)?;
        let cases = store.cases(head.key, &[&episode])?;
        let case = cases.first().ok_or_else(|| no_episode(&study, &episode))?;
        let answers = store.answers(head.key, &episode)?;
        let study = service.study(&head)?;
        Ok(EpisodeView::whole(&study, case, answers, blinded)?)
    });
    json(StatusCode::OK, &view.await?)
}

/// Ask for the decision of the current step
///
/// The same bytes however often it is asked: the decision was made when the step began.
#[utoipa::path(post, operation_id = "askEpisode", path = "/v1/studies/{study}/episodes/{episode}:ask", tag = "episodes",
    params(("study" = String, Path, description = "The study's name"), ("episode" = String, Path, description = "The episode's name")),
    responses((status = 200, description = "The decision", body = Decision)))]
pub async fn ask(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    caller.may_in(Permission::Act, &study)?;
    body::none(&headers, body).await?;
    let asked = app.service.read(move |store| {
        let key = key(store, &study)?;
        match store.answer(key, &episode, None)? {
            Some(answer) => Ok(answer.text),
            None => match store.cases(key, &[&episode])?.first() {
                None => Err(no_episode(&study, &episode).into()),
                Some(_) => Err(ApiError::conflict(format!(
                    "episode `{episode}` was imported: nothing was recommended in it"
                ))
                .into()),
            },
        }
    });
    answer::decision(StatusCode::OK, asked.await?, caller.is_blinded())
}

/// Lets a caller act on an episode: who may, then what was sent, then the command.
async fn act<T: DeserializeOwned>(
    app: &App,
    caller: &Caller,
    permission: Permission,
    study: &str,
    request: Request,
    command: impl FnOnce(T) -> Command,
) -> Answer {
    caller.may_in(permission, study)?;
    let (parts, body) = request.into_parts();
    let given = body::json(&parts.headers, body, MOST).await?;
    let command = command(given);
    let reply = app.service.submit(study, command, caller.id()).await?;
    match reply.body {
        Said::Decision(text) => answer::decision(StatusCode::OK, text, caller.is_blinded()),
        Said::EpisodeRecord(case, study) => json(
            StatusCode::OK,
            &EpisodeView::brief(&study, &case, caller.is_blinded()),
        ),
        Said::Study(_) | Said::Taken { .. } => {
            Err(ApiError::internal("another answer was expected"))
        }
    }
}

/// Tell what was done and seen
///
/// Answers with the next decision. `action` may differ from the recommendation: an override, which needs a `reason`. The
/// same again is answered as it was; another payload for a step that was told is refused, and so is any other step than the
/// current one.
#[utoipa::path(post, operation_id = "tellEpisode", path = "/v1/studies/{study}/episodes/{episode}:tell", tag = "episodes",
    params(("study" = String, Path, description = "The study's name"), ("episode" = String, Path, description = "The episode's name")),
    request_body(content = Tell, example = json!({"step": 1, "action": "test", "feedback": "negative", "reason": "family history"})),
    responses((status = 200, description = "The next decision", body = Decision)))]
pub async fn tell(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> Answer {
    let command = |given: Tell| Command::Tell(episode, given);
    act(&app, &caller, Permission::Act, &study, request, command).await
}

/// Stop an episode
///
/// A stop against the recommendation is an override and needs a `reason`.
#[utoipa::path(post, operation_id = "stopEpisode", path = "/v1/studies/{study}/episodes/{episode}:stop", tag = "episodes",
    params(("study" = String, Path, description = "The study's name"), ("episode" = String, Path, description = "The episode's name")),
    request_body(content = Stop, example = json!({"step": 2})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn stop(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> Answer {
    let command = |given: Stop| Command::Stop(episode, given);
    act(&app, &caller, Permission::Act, &study, request, command).await
}

/// Give an episode up
///
/// It ends where it is. Its outcome may still come; until then it counts as missing.
#[utoipa::path(post, operation_id = "abandonEpisode", path = "/v1/studies/{study}/episodes/{episode}:abandon", tag = "episodes",
    params(("study" = String, Path, description = "The study's name"), ("episode" = String, Path, description = "The episode's name")),
    request_body(content = Abandon, example = json!({"reason": "moved away"})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn abandon(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> Answer {
    let command = |given: Abandon| Command::Abandon(episode, given);
    act(&app, &caller, Permission::Act, &study, request, command).await
}

/// Give the outcome, or a part of it
///
/// `null` is what is not known yet. An outcome is learned from once it is whole, or `final`. The same again changes
/// nothing; a value that was given and is now another is a correction and goes to `:amend`.
#[utoipa::path(put, operation_id = "giveOutcome", path = "/v1/studies/{study}/episodes/{episode}/outcome", tag = "episodes",
    params(("study" = String, Path, description = "The study's name"), ("episode" = String, Path, description = "The episode's name")),
    request_body(content = Reveal, example = json!({"costs": [0.1], "rewards": [0.0, 1.0], "final": true})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn reveal(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> Answer {
    let command = |given: Reveal| Command::Reveal(episode, given);
    act(&app, &caller, Permission::Act, &study, request, command).await
}

/// Correct an outcome
///
/// `null` is what stays as it was. What had been learned is taken back and the corrected outcome put in its place; both
/// stay in the log.
#[utoipa::path(post, operation_id = "amendOutcome", path = "/v1/studies/{study}/episodes/{episode}/outcome:amend", tag = "episodes",
    params(("study" = String, Path, description = "The study's name"), ("episode" = String, Path, description = "The episode's name")),
    request_body(content = Amend, example = json!({"rewards": [null, 0.5], "reason": "mistyped"})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn amend(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode)): Path<(String, String)>,
    _: NoQuery,
    request: Request,
) -> Answer {
    let command = |given: Amend| Command::Amend(episode, given);
    act(&app, &caller, Permission::Amend, &study, request, command).await
}

/// Recompute a decision from the log
///
/// Goes through the log up to the decision, makes it again and compares, byte for byte.
#[utoipa::path(get, operation_id = "replayDecision", path = "/v1/studies/{study}/episodes/{episode}/decisions/{step}:replay", tag = "audit",
    params(("study" = String, Path, description = "The study's name"), ("episode" = String, Path, description = "The episode's name"),
        ("step" = u64, Path, description = "The step, from 1", minimum = 1)),
    responses((status = 200, description = "Both decisions", body = ReplayView)))]
pub async fn replay(
    State(app): State<App>,
    caller: Caller,
    Path((study, episode, step)): Path<(String, String, String)>,
    _: NoQuery,
) -> Answer {
    caller.may_in(Permission::Log, &study)?;
    let missing = ApiError::not_found(format!(
        "episode `{}` of study `{}` has no decision `{}`",
        crate::domain::json::short(&episode),
        crate::domain::json::short(&study),
        crate::domain::json::short(&step)
    ));
    let Ok(step) = step.parse::<u32>() else {
        return Err(missing);
    };
    let (name, id) = (study.clone(), episode.clone());
    let recorded = app.service.read(move |store| {
        let head = head(store, &name)?;
        Ok(store.answer(head.key, &id, Some(step))?)
    });
    let recorded = recorded.await?.ok_or(missing)?.text;
    let as_of = answer::read_decision(&recorded)?.advice.as_of;
    let view = app.service.then(&study, as_of, move |replay, store, head| {
        let damaged = |what: String| StoreError::Damaged(format!("event {}: {what}", as_of + 1));
        let next = store.events(head.key, as_of, 1)?;
        let record = next
            .first()
            .ok_or_else(|| damaged("it is missing".into()))?;
        let event = record.read().map_err(|error| damaged(error.to_string()))?;
        let logged = Replay::decision_of(&event);
        if logged.is_none_or(|(id, at, _)| id != episode || at != step) {
            return Err(damaged("it does not record this decision".into()).into());
        }
        let made = replay.recompute(&event).map_err(damaged)?;
        let (decision, _) = made.ok_or_else(|| damaged("it records no decision".into()))?;
        let broken = |error: serde_json::Error| ApiError::internal(error.to_string());
        let recomputed = serde_json::value::to_raw_value(&decision).map_err(broken)?;
        let recorded = serde_json::value::RawValue::from_string(recorded).map_err(broken)?;
        Ok(ReplayView {
            equal: recorded.get() == recomputed.get(),
            differs: differing(recorded.get(), recomputed.get()),
            recorded,
            recomputed,
        })
    });
    json(StatusCode::OK, &view.await?)
}

/// The fields in which two decisions differ.
fn differing(one: &str, other: &str) -> Vec<String> {
    let read = |text| serde_json::from_str::<Value>(text).unwrap_or_default();
    let mut pointers = Vec::new();
    walk(&read(one), &read(other), String::new(), &mut pointers);
    pointers
}

fn walk(one: &Value, other: &Value, at: String, pointers: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (a, b) = (a.get(key), b.get(key));
                let at = format!("{at}/{key}");
                walk(
                    a.unwrap_or(&Value::Null),
                    b.unwrap_or(&Value::Null),
                    at,
                    pointers,
                );
            }
        }
        (a, b) if a != b => pointers.push(at),
        _ => {}
    }
}
