//! Audits on the page of the log, and replays of decisions.

use maud::{Markup, html};

use super::form::{Rejected, Values, shown_to, text_field};
use super::layout::{AsOf, Page, Tab, go_to, time};
use super::log::{self, pretty};
use super::visit::{PageResult, Visit};
use super::words::{counted, text};
use crate::app::audit::Report;
use crate::app::audits::Audit;
use crate::domain::json::short;
use crate::domain::{Head, is_hex};
use crate::http::error::ApiError;
use crate::http::view::ReplayView;
use crate::tokens::Permission;

/// Starts an audit. It is a read of the log, and needs the same permission.
pub async fn start(visit: Visit<String>) -> PageResult {
    visit.caller.may_in(Permission::Log, &visit.path)?;
    let head = visit.app.service.head(&visit.path).await?;
    let expect = visit.form.given("expect").map(|it| it.to_ascii_lowercase());
    if let Some(hash) = expect.as_deref().filter(|hash| !is_hex(hash, 64)) {
        let what = format!("a hash has 64 hexadecimal digits, got `{}`", short(hash));
        let error = ApiError::not_possible(what).at("/expect");
        let rejected = Rejected {
            form: "audit",
            typed: &visit.form,
            error: &error,
        };
        return log::show(&visit, Some(rejected)).await;
    }
    let (audits, service) = (&visit.app.audits, &visit.app.service);
    audits.start(service, &head.name, expect, visit.caller.author());
    Ok(go_to("log"))
}

/// The latest audit and the form that starts one.
pub fn section(visit: &Visit<String>, head: &Head, rejected: Option<Rejected<'_>>) -> Markup {
    let values = Values::of(rejected, "audit");
    let latest = visit.app.audits.latest(&head.name);
    let runs = latest.as_ref().is_some_and(|audit| audit.ended.is_none());
    html! {
        @if let Some(audit) = &latest { (result(audit)) }
        @if !runs {
            details open[values.rejected()] {
                summary { "Run an audit" }
                p {
                    "It checks the hash of every event and the chain, recomputes every decision from the log, and compares all projections with it. \
                     It runs in the background, on the state of the study at this moment."
                }
                form method="post" action={ (visit.root) "studies/" (head.name) "/audit" } {
                    (shown_to(&visit.caller))
                    (text_field(("expect", "expect"), "Expected hash", values.get("expect"), Some(
                        "Optional: a hash that was kept in another place. One of the events must have it."
                    ), false))
                    button type="submit" { "Run the audit" }
                }
            }
        }
    }
}

fn result(audit: &Audit) -> Markup {
    let started = html! { "Started " (time(&audit.begun)) " by " bdi { (audit.by) } };
    let Some((ended, result)) = &audit.ended else {
        let (read, all) = audit.progress();
        return html! {
            section.card aria-labelledby="audit-title" {
                h2 id="audit-title" { "Audit: running" }
                p role="status" data-reload="2" {
                    @if all == 0 { "It waits for its turn." }
                    @else if read < all { (read) " of " (all) " events are read." }
                    @else { "All " (all) " events are read; the projections are compared." }
                }
                @if all > 0 { progress max=(all) value=(read) aria-label="Events read" {} }
                p.hint { (started) ". " a href="log" { "Reload this page to see how far it is" } "." }
            }
        };
    };
    html! {
        section.card aria-labelledby="audit-title" {
            @match result {
                Err(error) => {
                    h2 id="audit-title" { "Audit: not finished" }
                    p role="status" { "The audit failed: " (text(error)) "." }
                }
                Ok(report) => (findings(audit, report)),
            }
            p.hint { (started) ", ended " (time(ended)) ". The result is kept until the service is restarted." }
        }
    }
}

fn findings(audit: &Audit, report: &Report) -> Markup {
    let count = report.findings.len() as u64 + report.more;
    html! {
        h2 id="audit-title" { "Audit: "
            @if report.is_clean() { span.mark.good { span aria-hidden="true" { "●" } " no findings" } }
            @else { span.mark.bad { span aria-hidden="true" { "■" } " " (counted(count, "finding")) } }
        }
        p role="status" {
            (report.events) " events were read, " (report.recomputed) " were recomputed, with " (report.decisions) " decisions, "
            (report.episodes) " cases and " (report.learned) " learned cases."
        }
        @if !report.findings.is_empty() {
            div.wide tabindex="0" role="group" aria-label="Table: findings" {
                table.data {
                    thead { tr { th scope="col" { "Place" } th scope="col" { "Finding" } } }
                    tbody { @for finding in &report.findings { tr { th scope="row" { (place(&finding.place)) } td { (text(&finding.what)) } } } }
                }
            }
            @if report.more > 0 { p { (counted(report.more, "more finding")) @if report.more == 1 { " is" } @else { " are" } " not listed." } }
        }
        dl {
            div { dt { "Last event" } dd { @if let Some(at) = &report.last_at { (time(at)) ", " } code.hash { (report.head_hash) } } }
            @if let Some(expect) = &audit.expect {
                div { dt { "Expected hash" } dd {
                    code.hash { (expect) } ": "
                    @if let Some(seq) = report.expected {
                        "event " (seq) " has it" @if let Some(at) = &report.expected_at { ", recorded " (time(at)) }
                    } @else { strong.bad { "no event has it" } }
                } }
            }
            @if let Some(hash) = &report.state_hash { div { dt { "Hash of the state" } dd { code.hash { (hash) } } } }
        }
    }
}

/// The place of a finding, with a link if it is an event. Its page is beside the log.
fn place(place: &str) -> Markup {
    let seq = place
        .strip_prefix("event ")
        .and_then(|seq| seq.parse::<u64>().ok());
    html! { @if let Some(seq) = seq { a href={ "log/" (seq) } { (place) } } @else { (place) } }
}

/// Replays a decision: recomputes it from the log and compares it with the recorded one.
pub async fn replay(visit: Visit<(String, String, String)>) -> PageResult {
    let (study, episode, step) = &visit.path;
    visit.caller.may_in(Permission::Log, study)?;
    let missing = || {
        let step = short(step);
        ApiError::not_found(format!(
            "case `{episode}` of study `{study}` has no decision `{step}`"
        ))
    };
    let number: u32 = step.parse().map_err(|_| missing())?;
    let service = &visit.app.service;
    let replayed = service.replay_decision(study, episode, number).await?;
    let (recorded, recomputed) = replayed.ok_or_else(missing)?;
    let view = ReplayView::new(recorded, recomputed)?;
    let head = service.head(study).await?;
    let json = |title: &str, text: &str| {
        html! { details { summary { (title) } div.wide tabindex="0" role="group" aria-label=(title) { pre { code { (pretty(text)) } } } } }
    };
    let content = html! {
        p { "The decision of step " (number) " of case " a href={ (visit.root) "studies/" (study) "/cases/" (episode) } { (episode) }
            " was recomputed from the log up to the event before it." }
        @if view.equal {
            p.lead { span.mark.good { span aria-hidden="true" { "●" } " Equal" } ": the recorded and the recomputed decision are the same, byte for byte." }
        } @else {
            p.lead { span.mark.bad { span aria-hidden="true" { "■" } " Different" } ": the recorded decision does not follow from the log." }
            @if view.differs.is_empty() { p { "The values are the same and are written differently." } }
            @else {
                p { "These fields differ:" }
                ul { @for field in &view.differs { li { code { (field) } } } }
            }
        }
        (json("Recorded decision", view.recorded.get()))
        (json("Recomputed decision", view.recomputed.get()))
    };
    let title = format!("Replay of case {episode}, step {number}");
    let page = Page::of_study(title, &head.name, Tab::Log, AsOf::of(&head));
    Ok(page.show(&visit, &content))
}
