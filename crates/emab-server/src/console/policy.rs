//! The policy map: what is recommended in each step and state, what that rests on, and what has changed since an earlier event.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use maud::{Markup, html};

use super::layout::{AsOf, Page, Tab, time};
use super::visit::{PageResult, Visit};
use super::waiting::{WAIT, in_time, loading};
use super::words::{amount, counted, text};
use crate::app::policy_map::{Basis, PolicyMap, changes, last_event_before};
use crate::domain::json::short;
use crate::domain::{Head, PolicyChoice, PolicyTable, Rejection};
use crate::http::error::ApiError;
use crate::http::studies::printable_policy;
use crate::tokens::Permission;

/// A table with one column for each step has at most this many of them, and this many states.
const STEPS: usize = 8;
const STATES: usize = 60;
/// The number of rows on a page of a larger study.
const ROWS: usize = 200;
/// The longest log that is replayed for an earlier policy: that takes seconds.
const REPLAYED: u64 = 200_000;

pub async fn page(visit: Visit<String>) -> PageResult {
    let study = &visit.path;
    visit.caller.may_in(Permission::Policy, study)?;
    let head = visit.app.service.head(study).await?;
    let wanted = Wanted {
        step: visit.query.get("step").parse().unwrap_or(1),
        skip: visit.query.get("skip").parse().unwrap_or(0),
    };
    let read = visit.app.service.current_state(study, move |state| {
        let horizon = state.study.spec.horizon();
        let map = PolicyMap::of(state, |table| wanted.rows(table, horizon))?;
        Ok::<_, Rejection>((map, horizon))
    });
    let Some(read) = in_time(read).await? else {
        return Ok(show(&visit, AsOf::of(&head), &loading()));
    };
    let (map, horizon) = match read {
        Ok(read) => read,
        Err(rejection) => {
            let why = html! { p.notice { "There is no map: " (text(&rejection.detail)) "." } };
            return Ok(show(&visit, AsOf::of(&head), &why));
        }
    };
    let since = Since::read(&visit, &head, &map.table).await?;
    let as_of = AsOf {
        seq: map.table.as_of,
        at: map.table.at.clone(),
    };
    // The policy of the API has no counts and certificates: they are for those who may read the estimates.
    let compares = visit.has_in(Permission::Estimates, study);
    let cells = Cells {
        map: &map,
        since: &since,
        compares,
    };
    let is_small = wanted.is_small(&map.table, horizon);
    let link = |step: usize| address(&visit, step, 0);
    let content = html! {
        p { "What is recommended to the next case in each step and state that it can reach. "
            a href={ (visit.root) "studies/" (study) "/policy/print" } { "Page to print" }
            ", for times when the service cannot be reached." }
        (since_form(&visit, &wanted))
        (since.summary(&map.table, if is_small { None } else { Some(&link) }))
        @if is_small { (matrix(&cells, horizon)) } @else { (rows(&visit, &cells, wanted, horizon)) }
        @if compares { (explanation(&map.bases)) }
        p.hint { "Hash of this policy: " code.hash { (map.table.hash) } }
    };
    Ok(show(&visit, as_of, &content))
}

fn show(visit: &Visit<String>, as_of: AsOf, content: &Markup) -> axum::response::Response {
    Page::of_study("Policy map", &visit.path, Tab::Policy, as_of).show(visit, content)
}

/// The policy as a page to print.
pub async fn print(visit: Visit<String>) -> PageResult {
    visit.caller.may_in(Permission::Policy, &visit.path)?;
    let read = visit
        .app
        .service
        .current_state(&visit.path, PolicyTable::of);
    Ok(printable_policy(&read.await??))
}

/// The part of a large map that a page shows.
#[derive(Clone, Copy)]
struct Wanted {
    step: usize,
    /// The number of rows of the step that come before.
    skip: usize,
}

impl Wanted {
    /// Whether the map has one column for each step.
    fn is_small(self, table: &PolicyTable, horizon: usize) -> bool {
        let mut states: Vec<&str> = Vec::new();
        horizon <= STEPS
            && table.choices.iter().all(|it| {
                if !states.contains(&&*it.state) {
                    states.push(&it.state);
                }
                states.len() <= STATES
            })
    }

    /// The rows of the table that are shown.
    fn rows(self, table: &PolicyTable, horizon: usize) -> Range<usize> {
        if self.is_small(table, horizon) {
            return 0..table.choices.len();
        }
        let step = of_step(table, self.step);
        let from = step.end.min(step.start.saturating_add(self.skip));
        from..step.end.min(from + ROWS)
    }
}

/// The rows of a step; the table is in the order of steps.
fn of_step(table: &PolicyTable, step: usize) -> Range<usize> {
    let from = table.choices.partition_point(|it| it.step < step);
    from..table.choices.partition_point(|it| it.step <= step)
}

/// The earlier policy that this one is compared with.
enum Since {
    Nothing,
    /// Why there is none.
    Problem(String),
    Event {
        seq: u64,
        at: Option<String>,
        /// The earlier actions that differ.
        changes: HashMap<usize, String>,
    },
}

impl Since {
    async fn read(
        visit: &Visit<String>,
        head: &Head,
        now: &PolicyTable,
    ) -> Result<Since, ApiError> {
        let (typed, service) = (visit.query.get("since"), &visit.app.service);
        let problem = |what: String| Ok(Since::Problem(what));
        if typed.is_empty() {
            return Ok(Since::Nothing);
        }
        let seq = match typed.parse() {
            Ok(seq) => seq,
            Err(_) => {
                let start = match typed.contains('T') {
                    true => humantime::parse_rfc3339(typed),
                    false => humantime::parse_rfc3339(&format!("{typed}T00:00:00Z")),
                };
                let Ok(start) = start else {
                    let typed = short(typed);
                    return problem(format!(
                        "`{typed}` is neither the number of an event nor a date such as `2026-01-31`"
                    ));
                };
                let head = head.clone();
                let found = service.read(move |store| Ok(last_event_before(store, &head, start)?));
                match found.await? {
                    0 => return problem(format!("this study has no event before {typed}")),
                    seq => seq,
                }
            }
        };
        if !(1..=now.as_of).contains(&seq) {
            return problem(format!(
                "the events of this study are from 1 to {}",
                now.as_of
            ));
        }
        if seq > REPLAYED {
            return problem(format!(
                "an earlier policy is computed from the log up to its event, here {seq} events, and at most {REPLAYED} are read for a page; \
                 `emab export` gives the log for a comparison elsewhere"
            ));
        }
        let earlier = visit.app.policies.at(service, head, seq);
        let Some(earlier) = in_time(earlier).await? else {
            return problem(format!(
                "the policy at event {seq} could not be computed in {} s",
                WAIT.as_secs()
            ));
        };
        Ok(Since::Event {
            seq,
            changes: changes(&earlier, now),
            at: earlier.at.clone(),
        })
    }

    /// The earlier action in a row, if it was another one.
    fn earlier(&self, row: usize) -> Option<&str> {
        match self {
            Since::Event { changes, .. } => changes.get(&row).map(String::as_str),
            _ => None,
        }
    }

    /// How much has changed; with links to the steps of a large map.
    fn summary(&self, now: &PolicyTable, link: Option<&dyn Fn(usize) -> String>) -> Markup {
        html! {
            @match self {
                Since::Nothing => {}
                Since::Problem(what) => { p.notice role="status" { "No comparison: " (text(what)) "." } }
                Since::Event { seq, at, changes } => {
                    p.notice role="status" {
                        b { (changes.len()) " of " (counted(now.choices.len() as u64, "recommendation")) " changed" }
                        " since event " (seq) @if let Some(at) = at { ", recorded " (time(at)) } "."
                        @if !changes.is_empty() { " They are marked, with the earlier action." }
                    }
                    @if let (Some(link), false) = (link, changes.is_empty()) {
                        p { "Changes by step: "
                            @for (i, (step, count)) in by_step(changes, now).iter().take(50).enumerate() {
                                @if i > 0 { ", " } a href=(link(*step)) { "step " (step) } ": " (count)
                            }
                            "." }
                    }
                }
            }
        }
    }
}

/// The numbers of changes by step.
fn by_step(changes: &HashMap<usize, String>, table: &PolicyTable) -> BTreeMap<usize, u64> {
    let mut steps = BTreeMap::new();
    for row in changes.keys().filter_map(|&i| table.choices.get(i)) {
        *steps.entry(row.step).or_default() += 1;
    }
    steps
}

/// The address of a part of a large map.
fn address(visit: &Visit<String>, step: usize, skip: usize) -> String {
    let since = visit.query.get("since");
    let since: String = form_urlencoded::byte_serialize(since.as_bytes()).collect();
    format!("policy?step={step}&skip={skip}&since={since}")
}

fn since_form(visit: &Visit<String>, wanted: &Wanted) -> Markup {
    html! {
        form.row method="get" action={ (visit.root) "studies/" (visit.path) "/policy" } {
            div.field {
                label for="since" { "Show changes since" }
                input type="search" id="since" name="since" value=(visit.query.get("since")) autocomplete="off" maxlength="40"
                    aria-describedby="since-hint";
            }
            @if wanted.step > 1 { input type="hidden" name="step" value=(wanted.step); }
            button type="submit" { "Compare" }
        }
        p.hint id="since-hint" { "The number of an event, or a date such as 2026-01-31: the last event before that day (UTC)." }
    }
}

/// What the cells of both kinds of tables show.
struct Cells<'a> {
    map: &'a PolicyMap,
    since: &'a Since,
    compares: bool,
}

impl Cells<'_> {
    fn basis(&self, row: usize) -> Option<&Basis> {
        let at = row.checked_sub(self.map.shown.start)?;
        self.map.bases.get(at).filter(|_| self.compares)
    }

    fn choice(&self, row: usize) -> Option<&PolicyChoice> {
        self.map.table.choices.get(row)
    }

    fn action(&self, row: usize, choice: &PolicyChoice) -> Markup {
        html! {
            b { bdi { (choice.action) } }
            @if let Some(earlier) = self.since.earlier(row) { br; "changed, before: " bdi { (earlier) } }
        }
    }
}

fn count(basis: &Basis) -> Markup {
    html! { @if let Some(count) = basis.count { (count) } @else { "–" } }
}

fn certificate(basis: &Basis) -> Markup {
    html! { @if let Some(certificate) = basis.certificate { (amount(certificate)) } @else { "none" } }
}

/// One row for each state and one column for each step.
fn matrix(cells: &Cells<'_>, horizon: usize) -> Markup {
    let mut states: Vec<&str> = Vec::new();
    let mut rows = HashMap::new();
    for (i, choice) in cells.map.table.choices.iter().enumerate() {
        if !states.contains(&&*choice.state) {
            states.push(&choice.state);
        }
        rows.insert((choice.step, &*choice.state), i);
    }
    html! {
        div.wide tabindex="0" role="group" aria-label="Table: policy map" {
            table.data.map {
                thead { tr { th scope="col" { "State" } @for step in 1..=horizon { th scope="col" { "Step " (step) } } } }
                tbody { @for state in states { tr {
                    th scope="row" { bdi { (state) } }
                    @for step in 1..=horizon { (cell(cells, rows.get(&(step, state)).copied())) }
                } } }
            }
        }
    }
}

fn cell(cells: &Cells<'_>, row: Option<usize>) -> Markup {
    let Some((row, choice)) = row.and_then(|row| Some((row, cells.choice(row)?))) else {
        return html! { td.empty { span aria-hidden="true" { "–" } span.sr { "cannot be reached" } } };
    };
    let changed = cells.since.earlier(row).map(|_| "changed");
    html! {
        td class=[changed] {
            (cells.action(row, choice))
            @if let Some(basis) = cells.basis(row) {
                br;
                span.hint {
                    @if let Some(count) = basis.count { (counted(count, "observation")) br; }
                    @if let Some(certificate) = basis.certificate { "certificate " (amount(certificate)) } @else { "no certificate" }
                }
            }
        }
    }
}

/// One row for each state of a step.
fn rows(visit: &Visit<String>, cells: &Cells<'_>, wanted: Wanted, horizon: usize) -> Markup {
    let step = of_step(&cells.map.table, wanted.step);
    let shown = &cells.map.shown;
    let base = |step: usize, skip: usize| address(visit, step, skip);
    html! {
        h2 { "Step " (wanted.step) }
        form.row method="get" action={ (visit.root) "studies/" (visit.path) "/policy" } {
            input type="hidden" name="since" value=(visit.query.get("since"));
            div.field {
                label for="step" { "Step, from 1 to " (horizon) }
                input type="number" id="step" name="step" min="1" max=(horizon) value=(wanted.step) required;
            }
            button type="submit" { "Show the step" }
        }
        @if shown.is_empty() { p { "No state can be reached in this step." } } @else {
            p { "States " (shown.start - step.start + 1) " to " (shown.end - step.start) " of " (step.len()) " that can be reached in step " (wanted.step) "." }
            div.wide tabindex="0" role="group" aria-label="Table: policy map" {
                table.data.map {
                    thead { tr {
                        th scope="col" { "State" } th scope="col" { "Recommended" }
                        @if cells.compares { th.n scope="col" { "Observations" } th.n scope="col" { "Certificate" } }
                    } }
                    tbody { @for row in shown.clone() { @if let Some(choice) = cells.choice(row) {
                        tr {
                            th scope="row" { bdi { (choice.state) } }
                            td class=[cells.since.earlier(row).map(|_| "changed")] { (cells.action(row, choice)) }
                            @if let Some(basis) = cells.basis(row) { td.n { (count(basis)) } td.n { (certificate(basis)) } }
                        }
                    } } }
                }
            }
        }
        nav.pages aria-label="Steps and states" {
            ul {
                @if shown.start > step.start { li { a rel="prev" href=(base(wanted.step, (shown.start - step.start).saturating_sub(ROWS))) { "Earlier states" } } }
                @if shown.end < step.end { li { a rel="next" href=(base(wanted.step, shown.end - step.start)) { "Further states of step " (wanted.step) } } }
                @if wanted.step > 1 { li { a href=(base(wanted.step - 1, 0)) { "Step " (wanted.step - 1) } } }
                @if wanted.step < horizon { li { a href=(base(wanted.step + 1, 0)) { "Step " (wanted.step + 1) } } }
            }
        }
    }
}

/// What the numbers mean, and why certificates are missing.
fn explanation(bases: &[Basis]) -> Markup {
    let mut reasons: Vec<(&str, u64)> = Vec::new();
    for why in bases.iter().filter_map(|basis| basis.withheld.as_deref()) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((why, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = reasons.len().saturating_sub(5);
    html! {
        p.hint {
            "Observations are those of the recommended action in the step and state. The certificate says how far the recommendation can be \
             from the best one, in units of gain."
        }
        @if !reasons.is_empty() {
            p.hint { "Recommendations on this page without a certificate, by reason:" }
            ul.hint {
                @for (why, count) in reasons.iter().take(5) { li { (count) " of " (bases.len()) ": " (text(why)) "." } }
                @if more > 0 { li { (counted(more as u64, "further reason")) "." } }
            }
        }
    }
}
