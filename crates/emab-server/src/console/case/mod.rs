//! The page of a case: what is recommended, the forms for what was done and seen, and the history.

mod actions;
mod forms;
mod history;
mod outcome;
mod recommendation;

use std::sync::Arc;

use maud::html;

pub use actions::{abandon, amend, amend_step, give_outcome, stop, tell, void};

use super::form::Rejected;
use super::layout::{AsOf, Page, Tab};
use super::visit::{PageResult, Visit};
use super::words::{stamp, waits_for};
use crate::app::head;
use crate::domain::{Advice, Decision, EpisodeRecord, Head, Status, Study};
use crate::http::error::ApiError;
use crate::http::view::{EpisodeView, no_episode};
use crate::tokens::Permission;

/// A case as a person may see it.
struct Case {
    head: Head,
    study: Arc<Study>,
    record: EpisodeRecord,
    /// What the API shows of it.
    view: EpisodeView,
    /// The decision for the current step of an open case.
    current: Option<Current>,
}

/// A decision as a person may see it.
enum Current {
    Full(Box<Decision>),
    Blinded(Advice),
}

impl Current {
    fn advice(&self) -> &Advice {
        match self {
            Current::Full(decision) => &decision.advice,
            Current::Blinded(advice) => advice,
        }
    }
}

impl Case {
    async fn read<P>(visit: &Visit<P>, study: &str, episode: &str) -> Result<Case, ApiError> {
        visit.caller.may_in(Permission::ReadEpisode, study)?;
        let (blinded, service) = (visit.caller.is_blinded(), visit.app.service.clone());
        let (name, id) = (study.to_owned(), episode.to_owned());
        let case = visit.app.service.read_snapshot(move |store| {
            let head = head(store, &name)?;
            let record = store.episodes(head.key, &[&id])?.pop();
            let record = record.ok_or_else(|| no_episode(&name, &id))?;
            let decisions = store.decisions(head.key, &id)?;
            let study = service.study(store, &head)?;
            let view = EpisodeView::full(&study, &record, decisions, blinded)?;
            Ok((head, study, record, view))
        });
        let (head, study, record, view) = case.await?;
        let steps = view.steps.as_deref().unwrap_or_default();
        let text = steps.last().and_then(|step| step.decision.as_ref());
        let broken = |error: serde_json::Error| ApiError::internal(error.to_string());
        let current = match text.filter(|_| view.status == Status::Open) {
            None => None,
            Some(text) if blinded => Some(Current::Blinded(
                serde_json::from_str(text.get()).map_err(broken)?,
            )),
            Some(text) => Some(Current::Full(
                serde_json::from_str(text.get()).map_err(broken)?,
            )),
        };
        Ok(Case {
            head,
            study,
            record,
            view,
            current,
        })
    }

    /// The address of the case, relative to the start page.
    fn address(&self) -> String {
        format!("studies/{}/cases/{}", self.head.name, self.view.episode)
    }
}

pub async fn page(visit: Visit<(String, String)>) -> PageResult {
    let (study, episode) = &visit.path;
    show(&visit, study, episode, None).await
}

/// Shows a case, with a form that was rejected.
async fn show<P>(
    visit: &Visit<P>,
    study: &str,
    episode: &str,
    rejected: Option<Rejected<'_>>,
) -> PageResult {
    let case = Case::read(visit, study, episode).await?;
    // What was typed for another step must not be sent for this one.
    let step = rejected.map_or("", |it| it.typed.get("step"));
    let current = step.is_empty() || step.parse() == Ok(case.record.step());
    let refill = rejected.filter(|_| current);
    let content = html! {
        @if let (Some(note), None) = (note(visit.query.get("note")), rejected) { p.notice role="status" { (note) } }
        @if let Some(rejected) = rejected { (meanwhile(&case, rejected)) }
        p.lead { (lead(&case)) }
        @if let Some(why) = &case.view.voided {
            p.notice { "Voided: " bdi { (why) } " (" (stamp(case.view.voided_by.as_ref())) ")" }
        }
        @if let Some(current) = &case.current { (recommendation::card(&case, current)) }
        @if visit.has_in(Permission::Act, study) { (forms::of_open_case(visit, &case, refill)) }
        (outcome::section(visit, &case, rejected))
        (history::section(visit, &case, rejected))
        (forms::to_end_or_void(visit, &case, rejected))
    };
    let title = format!("Case {}", case.view.episode);
    let page = Page::of_study(title, &case.head.name, Tab::Cases, AsOf::of(&case.head));
    Ok(page.rejected(rejected).show(visit, &content))
}

/// What the case waits for, or how it ended.
fn lead(case: &Case) -> maud::Markup {
    match case.view.status {
        Status::Open | Status::Stopped => {
            html! { "Waits for " (waits_for(case.view.status, case.view.step, &case.view.state)) "." }
        }
        Status::Abandoned => html! { "Abandoned." },
        Status::Learned => html! { "Its outcome was entered." },
        Status::Voided => html! { "Voided." },
    }
}

/// What was recorded before the page was shown.
fn note(name: &str) -> Option<&'static str> {
    Some(match name {
        "opened" => "The case is open. The first recommendation is below.",
        "exists" => "A case with this id was opened before. This is it.",
        "tell" => "The step is recorded. The next recommendation is below.",
        "stop" => "The case is stopped. Enter its outcome when it is known.",
        "abandon" => "The case is abandoned. Its outcome can still be entered.",
        "outcome" => "The outcome is recorded.",
        "amend" => "The correction is recorded. The earlier values stay in the log.",
        "amend-step" => {
            "The correction of the step is recorded. The earlier report stays in the log."
        }
        "void" => "The case is voided: it counts for nothing, and stays in the log.",
        _ => return None,
    })
}

/// What happened to the case between a page and the form that was sent from it.
fn meanwhile(case: &Case, rejected: Rejected<'_>) -> maud::Markup {
    let steps = case.view.steps.as_deref().unwrap_or_default();
    let sent: Option<usize> = rejected.typed.get("step").parse().ok();
    let report = sent.and_then(|step| steps.iter().find(|it| it.step == step));
    let report = report.filter(|it| rejected.error.status == 409 && it.action.is_some());
    html! {
        @if let Some(report) = report {
            div.notice {
                h2 { "Meanwhile step " (report.step) " was reported" }
                p {
                    (stamp(report.reported.as_ref())) ": "
                    b { (report.action.as_deref().unwrap_or_default()) }
                    @if let Some(feedback) = &report.feedback { ", seen: " b { (feedback) } }
                    "."
                }
                p { "If that report is wrong, correct the step in the history below. If it is right, there is nothing more to do." }
            }
        }
    }
}
