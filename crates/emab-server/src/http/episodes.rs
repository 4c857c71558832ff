//! Calls on episodes.

use axum::http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use super::call::{Call, EpisodeCall, NoQuery, Number};
use super::error::ApiError;
use super::response::{self, ApiResult, json};
use super::studies::Page;
use super::tables::{Form, episode_table};
use super::view::{EpisodeList, EpisodeView, ReplayView, no_episode};
use crate::app::tables::{Rows, Table};
use crate::app::{head, key};
use crate::domain::{
    Abandon, Amend, AmendStep, Command, Decision, GiveOutcome, Open, Rejection, ReplyBody, Stop,
    Tell, VoidEpisode, json::short,
};
use crate::store::Which;
use crate::tokens::Permission;

/// Open an episode
///
/// Answers with the first decision. If the episode exists, answers 200 with the decision that was given then.
#[utoipa::path(post, operation_id = "openEpisode", path = "/v1/studies/{study}/episodes", tag = "episodes",
    params(("study" = String, Path)),
    request_body(content = Option<Open>, example = json!({"id": "patient-1"})),
    responses((status = 201, description = "Opened", body = Decision),
        (status = 200, description = "The episode exists", body = Decision)))]
pub async fn open(mut call: Call) -> ApiResult {
    call.may(Permission::Act)?;
    let open: Open = call.optional().await?.unwrap_or_default();
    let reply = call.submit(Command::Open(open)).await?;
    let ReplyBody::Decision(text) = reply.body else {
        return Err(ApiError::internal("unexpected reply"));
    };
    let status = match reply.new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    let episode = response::read_decision(&text)?.advice.episode;
    let mut response = response::decision(status, text, call.caller.is_blinded())?;
    let location = format!("/v1/studies/{}/episodes/{episode}", call.path);
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
    /// The largest number of episodes, up to 1000. As JSON 100 if left out; a table then has all.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 1000)]
    limit: Option<Number>,
    /// The form, instead of `Accept`.
    #[param(inline)]
    format: Option<Form>,
}

/// List the episodes of a study
///
/// In the order of their names, without their steps. As JSON a page; with `Accept: text/csv` or `application/vnd.apache.parquet` a
/// table of one moment, whose last event the headers `emab-seq` and `emab-hash` state. `GET /v1/codebook` describes its columns.
#[utoipa::path(get, operation_id = "listEpisodes", path = "/v1/studies/{study}/episodes", tag = "episodes",
    params(("study" = String, Path), EpisodeFilter),
    responses((status = 200, description = "The episodes", content(
        (EpisodeList = "application/json"), (String = "text/csv"), (Vec<u8> = "application/vnd.apache.parquet")))))]
pub async fn list(call: Call<String, EpisodeFilter>) -> ApiResult {
    call.may(Permission::ReadEpisode)?;
    let form = Form::asked(call.query.format, &call.headers)?;
    let (open, given) = (call.query.open, &call.query.limit);
    let page = Page {
        after: call.query.after.clone(),
        limit: given.clone(),
    };
    let (limit, after) = (page.limit()?, page.after()?.to_owned());
    let (blinded, service) = (call.caller.is_blinded(), call.app.service.clone());
    if let Some(format) = form.table() {
        let limit = given.is_some().then_some(limit);
        let rows = Rows {
            after,
            limit,
            open,
            blinded,
        };
        let names = (&*call.path, Table::Episodes);
        return episode_table(&call.app, names, format, rows).await;
    }
    let which = Which::open_or_all(open);
    let list = call.app.service.read(move |store| {
        let head = head(store, &call.path)?;
        let study = service.study(store, &head)?;
        let episodes = store.episodes_after(head.key, &after, which, limit)?;
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

/// Read an episode
///
/// With its states, decisions, feedbacks, outcome and status.
#[utoipa::path(get, operation_id = "readEpisode", path = "/v1/studies/{study}/episodes/{episode}", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn read(call: EpisodeCall) -> ApiResult {
    let (study, episode) = call.path;
    call.caller.may_in(Permission::ReadEpisode, &study)?;
    let (blinded, service) = (call.caller.is_blinded(), call.app.service.clone());
    let view = call.app.service.read_snapshot(move |store| {
        let head = head(store, &study)?;
        let found = store.episodes(head.key, &[&episode])?;
        let record = found.first().ok_or_else(|| no_episode(&study, &episode))?;
        let decisions = store.decisions(head.key, &episode)?;
        let study = service.study(store, &head)?;
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
pub async fn ask(mut call: EpisodeCall) -> ApiResult {
    call.caller.may_in(Permission::Act, &call.path.0)?;
    call.optional::<NoQuery>().await?;
    let (study, episode) = call.path;
    let decision = call.app.service.read(move |store| {
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
    response::decision(StatusCode::OK, decision.await?, call.caller.is_blinded())
}

impl EpisodeCall {
    /// Executes a command on the episode: checks the permission, parses the body, submits.
    async fn act<T: DeserializeOwned>(
        mut self,
        permission: Permission,
        command: impl FnOnce(String, T) -> Command,
    ) -> ApiResult {
        self.caller.may_in(permission, &self.path.0)?;
        let given = self.json().await?;
        let (study, episode) = self.path;
        let (mut command, by) = (command(episode, given), self.caller.author());
        let blinded = self.caller.is_blinded();
        if let Command::GiveOutcome(_, given) = &mut command {
            given.blinded = blinded;
        }
        let reply = self.app.service.submit(&study, command, by).await?;
        match reply.body {
            ReplyBody::Decision(text) => response::decision(StatusCode::OK, text, blinded),
            ReplyBody::Episode(episode, study) => json(
                StatusCode::OK,
                &EpisodeView::brief(&study, &episode, blinded),
            ),
            ReplyBody::Study(_) | ReplyBody::Imported { .. } => {
                Err(ApiError::internal("unexpected reply"))
            }
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
pub async fn tell(call: EpisodeCall) -> ApiResult {
    call.act(Permission::Act, Command::Tell).await
}

/// Stop an episode
///
/// If an action is recommended, stopping is an override and needs a `reason`.
#[utoipa::path(post, operation_id = "stopEpisode", path = "/v1/studies/{study}/episodes/{episode}:stop", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = Stop, example = json!({"step": 2})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn stop(call: EpisodeCall) -> ApiResult {
    call.act(Permission::Act, Command::Stop).await
}

/// Abandon an episode
///
/// The episode ends at its current step. Its outcome can still be given; until then it counts as missing.
#[utoipa::path(post, operation_id = "abandonEpisode", path = "/v1/studies/{study}/episodes/{episode}:abandon", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = Abandon, example = json!({"reason": "moved away"})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn abandon(call: EpisodeCall) -> ApiResult {
    call.act(Permission::Act, Command::Abandon).await
}

/// Give the outcome, or a part of it
///
/// `null` is a value that is not known yet. The episode is learned once its outcome is complete or `final`. A repeated request
/// changes nothing; a changed value is rejected and must be sent to `:amend`. A value outside the study's `outcome_range` is
/// rejected with 422 unless `outlier` is true, with a `reason`. A `blinded` token gets 409 for every value that another token gave,
/// equal or not.
#[utoipa::path(put, operation_id = "giveOutcome", path = "/v1/studies/{study}/episodes/{episode}/outcome", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = GiveOutcome, example = json!({"costs": [0.1], "rewards": [0.0, 1.0], "final": true})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn give_outcome(call: EpisodeCall) -> ApiResult {
    call.act(Permission::Act, Command::GiveOutcome).await
}

/// Correct an outcome
///
/// `null` is an unchanged value. A repeated request changes nothing, also after a later correction; to mean the same content anew,
/// give it another `request` id. The learner is rebuilt as if the corrected outcome had been given first; both outcomes stay in
/// the log.
#[utoipa::path(post, operation_id = "amendOutcome", path = "/v1/studies/{study}/episodes/{episode}/outcome:amend", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = Amend, example = json!({"rewards": [null, 0.5], "reason": "mistyped"})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn amend(call: EpisodeCall) -> ApiResult {
    call.act(Permission::Amend, Command::Amend).await
}

/// Correct a step
///
/// The action or the feedback of a recorded step was reported wrongly; what is left out is unchanged. Later steps are kept. A
/// correction after which a later step would not be possible is rejected with 422: void the episode then, and enter it again. The
/// decision for the current step of an open episode is made anew; ask for it. The learner is rebuilt as if the step had been
/// reported so first; both reports stay in the log. A repeated request changes nothing.
#[utoipa::path(post, operation_id = "amendStep", path = "/v1/studies/{study}/episodes/{episode}/steps/{step}:amend", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path), ("step" = u64, Path, minimum = 1)),
    request_body(content = AmendStep, example = json!({"feedback": "positive", "reason": "mistyped"})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn amend_step(call: Call<(String, String, String)>) -> ApiResult {
    let (study, episode, step) = &call.path;
    let missing = || {
        let (episode, step) = (short(episode), short(step));
        ApiError::not_found(format!(
            "episode `{episode}` has no step `{step}`; steps count from 1"
        ))
    };
    call.caller.may_in(Permission::Amend, study)?;
    let step: u64 = step.parse().map_err(|_| missing())?;
    let call = call.map_path(|(study, episode, _)| (study, episode));
    let command = move |episode, amend| Command::AmendStep(episode, step, amend);
    call.act::<AmendStep>(Permission::Amend, command).await
}

/// Void an episode
///
/// It was entered in error: it counts for nothing, is not learned, and withholds no certificate. It stays in the log.
#[utoipa::path(post, operation_id = "voidEpisode", path = "/v1/studies/{study}/episodes/{episode}:void", tag = "episodes",
    params(("study" = String, Path), ("episode" = String, Path)),
    request_body(content = VoidEpisode, example = json!({"reason": "entered twice"})),
    responses((status = 200, description = "The episode", body = EpisodeView)))]
pub async fn void(call: EpisodeCall) -> ApiResult {
    call.act::<VoidEpisode>(Permission::Amend, Command::Void)
        .await
}

/// Recompute a decision from the log
///
/// Replays the log up to the decision, recomputes the decision and compares it byte for byte with the recorded one.
#[utoipa::path(get, operation_id = "replayDecision", path = "/v1/studies/{study}/episodes/{episode}/decisions/{step}:replay", tag = "audit",
    params(("study" = String, Path), ("episode" = String, Path), ("step" = u64, Path, minimum = 1)),
    responses((status = 200, description = "Both decisions", body = ReplayView)))]
pub async fn replay(call: Call<(String, String, String)>) -> ApiResult {
    let (study, episode, step) = call.path;
    call.caller.may_in(Permission::Log, &study)?;
    let missing = || {
        let (episode, study, step) = (short(&episode), short(&study), short(&step));
        let what = format!("episode `{episode}` of study `{study}` has no decision `{step}`");
        ApiError::not_found(what)
    };
    let at: u32 = step.parse().map_err(|_| missing())?;
    let service = &call.app.service;
    let replayed = service.replay_decision(&study, &episode, at).await?;
    let (recorded, recomputed) = replayed.ok_or_else(missing)?;
    json(StatusCode::OK, &ReplayView::new(recorded, recomputed)?)
}
