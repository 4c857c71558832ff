//! The overview of a study: counts and health, the form that opens a case, and the forms that pause and close the study.

use axum::response::Response;
use maud::{Markup, html};

use super::form::{REQUEST, Rejected, Values, choose, is_rejection, request_id, text_field};
use super::layout::{AsOf, Page, Tab, go_to, time};
use super::studies::status;
use super::visit::{PageResult, Visit};
use super::words::{amount, health, text};
use crate::domain::json::Name;
use crate::domain::{CloseStudy, Command, Head, Health, NAME_RULE, Open, Reason, ReplyBody, Study};
use crate::http::error::ApiError;
use crate::http::response::read_decision;
use crate::tokens::Permission;

pub async fn page(visit: Visit<String>) -> PageResult {
    show(&visit, &visit.path, None).await
}

async fn show<P>(visit: &Visit<P>, study: &str, rejected: Option<Rejected<'_>>) -> PageResult {
    visit.caller.may_in(Permission::ReadStudy, study)?;
    let service = &visit.app.service;
    let head = service.head(study).await?;
    let study = service.load_study(&head).await?;
    let health = visit.has_in(Permission::Health, &head.name);
    let health = health.then(|| visit.app.health.latest(service, &head));
    let content = html! {
        (counts(visit, &head))
        @if visit.has_in(Permission::Act, &head.name) { (open_form(visit, &head, &study, rejected)) }
        @if let Some(health) = &health { (health_table(health.as_ref(), head.seq)) }
        (facts(&head, &study, visit.caller.is_blinded()))
        @if visit.has_in(Permission::CloseStudy, &head.name) { (change_forms(visit, &head, rejected)) }
    };
    let title = format!("Study {}", head.name);
    let page = Page::of_study(title, &head.name, Tab::Overview, AsOf::of(&head));
    Ok(page.rejected(rejected).show(visit, &content))
}

fn counts<P>(visit: &Visit<P>, head: &Head) -> Markup {
    let cases = format!("{}studies/{}/cases", visit.root, head.name);
    html! {
        ul.counts {
            li { "Status: " b { (status(head)) } }
            li { a href={ (cases) "?show=open" } { b { (head.open) } " open" } }
            @if visit.has_in(Permission::Health, &head.name) {
                li { a href={ (cases) "?show=awaited" } { b { (head.details.awaited.total()) } " awaiting their outcome" } }
                li { b { (head.counted_learned()) } " learned" }
                li { b { (head.missing) } " with a missing outcome" }
            }
            li { a href=(cases) { b { (head.counted_episodes()) } " cases"
                @if head.details.voided > 0 { ", and " (head.details.voided) " voided" } } }
        }
    }
}

fn open_form<P>(
    visit: &Visit<P>,
    head: &Head,
    study: &Study,
    rejected: Option<Rejected<'_>>,
) -> Markup {
    let values = Values::of(rejected, "open");
    let spec = &study.spec;
    if head.closed || head.details.paused || head.restoring {
        let change = head.details.change.as_ref();
        return html! {
            p.notice {
                "This study is " (status(head)) ": it opens no new cases."
                @if let Some(change) = change {
                    " " (change.kind) " by " bdi { (change.by) } ", " (time(&change.at))
                    @if let Some(reason) = &change.reason { ": " bdi { (reason) } }
                }
            }
        };
    }
    html! {
        section.card.no-print aria-labelledby="open-title" {
            h2 id="open-title" { "Open a case" }
            form method="post" action={ (visit.root) "studies/" (head.name) "/open" } {
                (request_id(&visit.caller))
                (text_field(("case-id", "id"), "Id of the case", values.get("id"), Some(&format!(
                    "A code that identifies no person: {NAME_RULE}. Leave it empty for a generated one."
                )), false))
                @if spec.starts().len() > 1 {
                    (choose(("case-start", "start"), "State at intake", spec.starts().iter().map(|&x| spec.states().name(x).into_owned()),
                        values.get("start")))
                }
                button type="submit" { "Open the case and get the first recommendation" }
            }
        }
    }
}

fn health_table(known: Option<&Health>, last: u64) -> Markup {
    let Some(known) = known else {
        return html! { h2 { "Health" } p data-reload="2" { "It is being computed. Reload the page in a moment." } };
    };
    html! {
        h2 { "Health: " (health(known.status)) }
        div.wide tabindex="0" role="group" aria-label="Table: health" {
            table.data {
                thead { tr { th scope="col" { "Check" } th scope="col" { "Status" } th.n scope="col" { "Value" }
                    th.n scope="col" { "Yellow, red at" } th scope="col" { "What it says" } } }
                tbody {
                    @for check in &known.checks {
                        tr {
                            th scope="row" { (check.name) }
                            td { (health(check.status)) }
                            td.n { @if let Some(value) = check.value { (amount(value)) } }
                            td.n { @if let Some(limits) = check.threshold { (amount(limits.yellow)) ", " (amount(limits.red)) } }
                            td.free-text { (text(&check.detail)) }
                        }
                    }
                }
            }
        }
        @if known.as_of < last {
            p.hint data-reload="2" { "As of event " (known.as_of) "; it is being computed as of event " (last) "." }
        } @else {
            p.hint { "As of event " (known.as_of) "." }
        }
    }
}

fn facts(head: &Head, study: &Study, blinded: bool) -> Markup {
    let spec = &study.spec;
    let names = |names: &emab::spec::Names| {
        let few: Vec<String> = (0..names.len().min(12))
            .map(|i| names.name(i).into_owned())
            .collect();
        let more = if names.len() > few.len() { ", …" } else { "" };
        format!("{} ({}{more})", names.len(), few.join(", "))
    };
    html! {
        h2 { "About this study" }
        dl {
            div { dt { "Learner" } dd { code { (study.learner.label()) } } }
            div { dt { "Steps at most" } dd { (spec.horizon()) } }
            div { dt { "States" } dd { (names(spec.states())) } }
            div { dt { "Actions" } dd { (names(spec.actions())) } }
            div { dt { "Feedbacks" } dd { (names(spec.feedbacks())) } }
            @if let Some(change) = &head.details.change {
                div { dt { "Last change" } dd { (change.kind) ", "
                    (time(&change.at)) " by " bdi { (change.by) }
                    @if let Some(reason) = &change.reason { ": " bdi { (reason) } }
                } }
            }
            @if let Some(why) = &study.unsound { div { dt { "No certificates" } dd { (text(why)) } } }
            @if !blinded { div { dt { "Specification" } dd { code { (head.spec_hash) } } } }
        }
    }
}

fn change_forms<P>(visit: &Visit<P>, head: &Head, rejected: Option<Rejected<'_>>) -> Markup {
    let form = |verb: &'static str, title: &str, hint: &str| {
        let values = Values::of(rejected, verb);
        let required = verb != "close";
        html! {
            details open[values.rejected()] {
                summary { (title) }
                p { (hint) }
                form method="post" action={ (visit.root) "studies/" (head.name) "/" (verb) } {
                    (request_id(&visit.caller))
                    (text_field((&format!("{verb}-reason"), "reason"), "Reason", values.get("reason"), None, required))
                    button type="submit" { (title) }
                }
            }
        }
    };
    html! {
        section.no-print {
            h2 { "Change the study" }
            @if head.details.paused {
                (form("resume", "Resume the study", if head.closed { "It stays closed until it is reopened." } else { "It opens new cases again." }))
            } @else {
                (form("pause", "Pause the study", "It opens no new cases until it is resumed. Open cases go on."))
            }
            @if head.closed {
                (form("reopen", "Reopen the study", if head.details.paused { "It stays paused until it is resumed." } else { "It opens new cases again." }))
            } @else {
                (form("close", "Close the study", "It opens no new cases. Open cases go on, and outcomes are accepted."))
            }
        }
    }
}

/// Opens a case and shows it.
pub async fn open(visit: Visit<String>) -> PageResult {
    visit.caller.may_in(Permission::Act, &visit.path)?;
    let open = Open {
        id: visit.form.given("id"),
        start: visit.form.given("start").map(Name::Text),
        request: visit.form.given(REQUEST),
    };
    // Without an id a form that is sent twice would open two cases: its request is the id then.
    let id = open
        .id
        .clone()
        .or_else(|| Some(format!("case-{}", open.request.as_deref()?.get(..12)?)));
    let command = Command::Open(Open { id, ..open });
    let reply = match visit.submit(&visit.path, command).await {
        Ok(reply) => reply,
        Err(error) => return rejected(&visit, "open", error).await,
    };
    let ReplyBody::Decision(decision) = reply.body else {
        return Err(ApiError::internal("unexpected reply"));
    };
    let episode = read_decision(&decision)?.advice.episode;
    let note = if reply.new { "opened" } else { "exists" };
    Ok(go_to(&format!("cases/{episode}?note={note}")))
}

pub async fn pause(visit: Visit<String>) -> PageResult {
    change(visit, "pause", Command::Pause).await
}

pub async fn resume(visit: Visit<String>) -> PageResult {
    change(visit, "resume", Command::Resume).await
}

pub async fn reopen(visit: Visit<String>) -> PageResult {
    change(visit, "reopen", Command::Reopen).await
}

pub async fn close(visit: Visit<String>) -> PageResult {
    let command = |it: Reason| {
        Command::Close(CloseStudy {
            reason: Some(it.reason).filter(|reason| !reason.is_empty()),
            request: it.request,
        })
    };
    change(visit, "close", command).await
}

async fn change(
    visit: Visit<String>,
    form: &'static str,
    command: impl FnOnce(Reason) -> Command,
) -> PageResult {
    visit.caller.may_in(Permission::CloseStudy, &visit.path)?;
    let command = command(Reason {
        reason: visit.form.get("reason").into(),
        request: visit.form.given(REQUEST),
    });
    match visit.submit(&visit.path, command).await {
        Ok(_) => Ok(go_to(&format!("../{}", visit.path))),
        Err(error) => rejected(&visit, form, error).await,
    }
}

async fn rejected(
    visit: &Visit<String>,
    form: &str,
    error: ApiError,
) -> Result<Response, ApiError> {
    if !is_rejection(&error) {
        return Err(error);
    }
    let rejected = Rejected {
        form,
        typed: &visit.form,
        error: &error,
    };
    show(visit, &visit.path, Some(rejected)).await
}
