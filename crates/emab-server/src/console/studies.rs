//! The start page: the studies that a person may see.

use maud::{Markup, html};

use super::layout::{Page, Section, time};
use super::visit::{PageResult, Visit};
use super::words::{amount, health};
use crate::app::Summary;
use crate::clock::now_seconds;
use crate::domain::{Head, Health, is_name};
use crate::http::error::ApiError;
use crate::tokens::Permission;

/// The number of studies on a page.
const LIMIT: usize = 50;

pub async fn page(visit: Visit) -> PageResult {
    visit.caller.may(Permission::ReadStudy)?;
    let after = visit.query.get("after");
    let (heads, next) = visible(&visit, after).await?;
    let mut rows = Vec::new();
    for head in &heads {
        let summary = visit.app.service.summary(head).await?;
        let health = visit.has_in(Permission::Health, &head.name);
        let health = health.then(|| visit.app.health.latest(&visit.app.service, head));
        rows.push((head, summary, health));
    }
    let content = html! {
        @if rows.is_empty() { (none_yet(&visit)) } @else { (table(&visit, &rows)) }
        @if let Some(next) = next {
            nav.pages aria-label="More studies" { a href={ "./?after=" (next) } { "More studies" } }
        }
    };
    let page = Page::new("Studies", Section::Studies).following(after, &heads);
    Ok(page.show(&visit, &content))
}

/// A page of the studies that a person may see, after a name, and the name after which the next page begins.
pub async fn visible<P>(
    visit: &Visit<P>,
    after: &str,
) -> Result<(Vec<Head>, Option<String>), ApiError> {
    let after = if is_name(after) { after } else { "" };
    let bound = visit.caller.token.studies.clone();
    let heads = visit.app.service.heads(bound, after, LIMIT + 1);
    let mut heads = heads.await?;
    let more = heads.len() > LIMIT;
    heads.truncate(LIMIT);
    let next = heads.last().filter(|_| more).map(|head| head.name.clone());
    Ok((heads, next))
}

fn none_yet(visit: &Visit) -> Markup {
    html! {
        @if visit.caller.token.studies.is_some() {
            p { "None of the studies that your token is valid for exists." }
        } @else {
            p { "There is no study yet." }
        }
        @if visit.caller.has(Permission::CreateStudy) {
            p { a.button href="new-study" { "Create the first study" } }
        } @else {
            p { "An administrator creates studies on the page " b { "New study" } "." }
        }
    }
}

/// A study, and its health if the caller may see it and it is known.
type Row<'a> = (&'a Head, std::sync::Arc<Summary>, Option<Option<Health>>);

fn table(visit: &Visit, rows: &[Row<'_>]) -> Markup {
    let sees_health = rows.iter().any(|(_, _, health)| health.is_some());
    html! {
        div.wide tabindex="0" role="group" aria-label="Table: studies" {
            table.data {
                thead { tr {
                    th scope="col" { "Study" }
                    th scope="col" { "Status" }
                    th.n scope="col" { "Open cases" }
                    @if sees_health {
                        th.n scope="col" { "Outcomes awaited" }
                        th.n scope="col" { "Overdue" }
                        th scope="col" { "Health" }
                        th.n scope="col" { "Certificate" }
                    }
                    th.n scope="col" { "Cases" }
                    th.n scope="col" { "Event" }
                    th scope="col" { "Last event" }
                } }
                tbody { @for row in rows { (self::row(visit, row, sees_health)) } }
            }
        }
        @if sees_health {
            p.hint {
                "The certificate says how far the first recommendation can be from the best one, in units of gain. An outcome is overdue when it is \
                 awaited for longer than the study expects, by up to a sixteenth of that time."
            }
        }
    }
}

fn row(visit: &Visit, (head, summary, health): &Row<'_>, sees_health: bool) -> Markup {
    let name = &head.name;
    let awaited = head.details.awaited.total();
    let delay = summary.expected_delay;
    let overdue = delay.map(|delay| head.details.awaited.overdue(delay, now_seconds()));
    html! {
        tr {
            th scope="row" { a href={ (visit.root) "studies/" (name) } { (name) } }
            td { (status(head)) }
            td.n { a href={ (visit.root) "studies/" (name) "/cases?show=open" } { (head.open) span.sr { " open cases of " (name) } } }
            @if sees_health {
                @if let Some(health) = health {
                    td.n { a href={ (visit.root) "studies/" (name) "/cases?show=awaited" } { (awaited) span.sr { " outcomes awaited in " (name) } } }
                    td.n { @if let Some(overdue) = overdue { (overdue) } @else { "–" } }
                    td { (health_cell(health.as_ref(), head.seq)) }
                    td.n { (certificate(health.as_ref())) }
                } @else { td {} td {} td {} td {} }
            }
            td.n { (head.counted_episodes()) }
            td.n { (head.seq) }
            td { @if let Some(at) = &head.details.at { (time(at)) } }
        }
    }
}

/// Whether a study accepts new cases.
pub fn status(head: &Head) -> &'static str {
    match head {
        Head {
            restoring: true, ..
        } => "being restored",
        Head { closed: true, .. } => "closed",
        head if head.details.paused => "paused",
        _ => "running",
    }
}

/// The health at the last event, or at an earlier one while it is computed.
fn health_cell(known: Option<&Health>, last: u64) -> Markup {
    html! {
        @match known {
            None => span data-reload="2" { "being computed" },
            Some(known) if known.as_of < last => {
                (health(known.status)) " " span data-reload="2" { "as of event " (known.as_of) }
            },
            Some(known) => (health(known.status)),
        }
    }
}

fn certificate(known: Option<&Health>) -> Markup {
    let check = known.and_then(|it| it.checks.iter().find(|check| check.name == "certificate"));
    let value = check.and_then(|check| check.value);
    html! { @if let Some(value) = value { (amount(value)) } @else if known.is_some() { "none" } }
}
