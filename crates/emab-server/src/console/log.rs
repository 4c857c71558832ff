//! The log of a study: its events in words, one event with its hashes, and downloads.

use axum::http::{HeaderValue, header};
use maud::{Markup, html};

use super::audit;
use super::event_words::{kind, sentence};
use super::form::Rejected;
use super::layout::{AsOf, Page, Tab, secure, time};
use super::visit::{PageResult, Visit};
use crate::app::head;
use crate::app::tables::{Format, Rows, Table};
use crate::domain::json::short;
use crate::domain::{Event, Head, Record};
use crate::http::error::ApiError;
use crate::http::events::{LINES, export_response};
use crate::http::response::typed;
use crate::http::studies::current_estimates;
use crate::http::tables::{Form, episode_table};
use crate::tokens::Permission;

/// The number of events on a page.
const LIMIT: u64 = 50;
/// The longest text of an event on a page, in characters; the whole line can be downloaded.
const SHOWN: usize = 20_000;

pub async fn page(visit: Visit<String>) -> PageResult {
    show(&visit, None).await
}

/// Shows the log, with a form that was rejected.
pub async fn show(visit: &Visit<String>, rejected: Option<Rejected<'_>>) -> PageResult {
    visit.caller.may_in(Permission::Log, &visit.path)?;
    let oldest_first = visit.query.get("order") == "oldest";
    let typed = visit.query.get("from");
    let from: Option<u64> = typed.parse().ok();
    let name = visit.path.clone();
    let read = visit.app.service.read_snapshot(move |store| {
        let head = head(store, &name)?;
        let range = Range::new(head.seq, from, oldest_first);
        let mut events = store.events(head.key, range.after, range.count as usize)?;
        if !oldest_first {
            events.reverse();
        }
        Ok((head, range, events))
    });
    let (head, range, events) = read.await?;
    let content = html! {
        (head_hash(&head))
        (audit::section(visit, &head, rejected))
        (downloads(visit, &head))
        h2 { "Events" }
        (find_form(visit, typed, oldest_first))
        @if !typed.is_empty() && from.is_none_or(|from| !(1..=head.seq).contains(&from)) {
            p.notice role="status" { "There is no event " bdi { (short(typed)) } ": this study has events 1 to " (head.seq) "." }
        }
        (table(visit, &head, &events))
        (range.links(head.seq, oldest_first))
    };
    let page = Page::of_study("Log and audit", &head.name, Tab::Log, AsOf::of(&head));
    Ok(page.rejected(rejected).show(visit, &content))
}

/// The events on a page: `count` events after `after`.
struct Range {
    after: u64,
    count: u64,
}

impl Range {
    /// The page that begins with an event; without one, with the newest or the oldest.
    fn new(last: u64, from: Option<u64>, oldest_first: bool) -> Range {
        let from = from.map(|from| from.clamp(1, last.max(1)));
        let (first, end) = match oldest_first {
            true => {
                let first = from.unwrap_or(1);
                (first, last.min(first.saturating_add(LIMIT - 1)))
            }
            false => {
                let end = from.unwrap_or(last);
                (end.saturating_sub(LIMIT - 1).max(1), end)
            }
        };
        Range {
            after: first - 1,
            count: (end + 1).saturating_sub(first),
        }
    }

    fn links(&self, last: u64, oldest_first: bool) -> Markup {
        let (first, end) = (self.after + 1, self.after + self.count);
        let order = if oldest_first { "oldest" } else { "newest" };
        let link = |from: u64, rel: &'static str, text: &str| {
            html! { li { a rel=(rel) href={ "log?order=" (order) "&from=" (from) } { (text) } } }
        };
        // The page of newer events may overlap at the end of the log.
        let (older, newer) = match oldest_first {
            true => (first.saturating_sub(LIMIT).max(1), end + 1),
            false => (first.saturating_sub(1), last.min(end + LIMIT)),
        };
        let [to_older, to_newer] = if oldest_first {
            ["prev", "next"]
        } else {
            ["next", "prev"]
        };
        html! {
            nav.pages aria-label="More events" {
                ul {
                    @if end < last { (link(newer, to_newer, "Newer events")) }
                    @if first > 1 { (link(older, to_older, "Older events")) }
                }
            }
        }
    }
}

fn head_hash(head: &Head) -> Markup {
    html! {
        p {
            "Hash of the last event, " (head.seq) ": " code.hash { (head.hash) } " "
            button.quiet type="button" hidden data-copy=(head.hash) { "Copy the hash" }
        }
        p.hint {
            "Every event contains the hash of the one before it. Keep this hash in another place: an audit that expects it finds out whether \
             anything up to this event was changed."
        }
    }
}

fn downloads(visit: &Visit<String>, head: &Head) -> Markup {
    let base = format!("{}studies/{}/download/", visit.root, head.name);
    let both = |table: &str| {
        html! { (table) ": " a href={ (base) (table) ".csv" } { "CSV" span.sr { " of the " (table) } } ", "
        a href={ (base) (table) ".parquet" } { "Parquet" span.sr { " of the " (table) } } }
    };
    html! {
        details {
            summary { "Download data" }
            p { "The files are those of the HTTP API, which calls a case an episode. A table is of one moment, whose last event the header " code { "emab-seq" } " states." }
            ul {
                @if visit.has_in(Permission::ReadEpisode, &head.name) { li { (both("episodes")) } li { (both("decisions")) } }
                @if visit.has_in(Permission::Estimates, &head.name) { li { (both("estimates")) } }
                li { "the whole log: " a href={ (base) "log.ndjson" } { "JSON lines" } ", which " code { "emab audit" } " checks and an import restores" }
            }
        }
    }
}

fn find_form(visit: &Visit<String>, typed: &str, oldest_first: bool) -> Markup {
    html! {
        form.row method="get" action={ (visit.root) "studies/" (visit.path) "/log" } role="search" {
            div.field {
                label for="from" { "From event" }
                input type="search" id="from" name="from" value=(typed) inputmode="numeric" autocomplete="off" maxlength="20";
            }
            div.field {
                label for="order" { "Order" }
                select id="order" name="order" {
                    option value="newest" { "newest first" }
                    option value="oldest" selected[oldest_first] { "oldest first" }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

fn table(visit: &Visit<String>, head: &Head, events: &[Record]) -> Markup {
    html! {
        div.wide tabindex="0" role="group" aria-label="Table: events" {
            table.data.log {
                thead { tr {
                    th scope="col" { "Event" } th scope="col" { "Time" } th scope="col" { "Kind" } th scope="col" { "Case" }
                    th scope="col" { "Person" } th scope="col" { "What happened" } th scope="col" { "Hash begins" }
                } }
                tbody { @for record in events { (row(visit, head, record)) } }
            }
        }
    }
}

fn row(visit: &Visit<String>, head: &Head, record: &Record) -> Markup {
    let studies = format!("{}studies/{}", visit.root, head.name);
    let link =
        html! { th scope="row" { a href={ (studies) "/log/" (record.seq) } { (record.seq) } } };
    let hash = html! { td { code { (record.hash.get(..12).unwrap_or(&record.hash)) } } };
    let event = match record.read() {
        Ok(event) => event,
        Err(error) => {
            return html! { tr { (link) td {} td.bad { "unreadable" } td {} td {} td { (error) } (hash) } };
        }
    };
    html! {
        tr {
            (link)
            td { (time(&event.at)) }
            td { (kind(&event.kind)) }
            td { @if let Some(case) = event.kind.episode() { (case_link(&studies, case)) } }
            td { (person(&event)) }
            td.free-text { (sentence(&event.kind)) }
            (hash)
        }
    }
}

fn case_link(studies: &str, case: &str) -> Markup {
    html! { a href={ (studies) "/cases/" (case) } { (case) } }
}

/// The person of an event, or its token in a study of rules before 4.
fn person(event: &Event) -> Markup {
    html! { @if let Some(person) = &event.person { bdi { (person) } } @else { "token " bdi { (event.by) } } }
}

/// The page of one event.
pub async fn event(visit: Visit<(String, String)>) -> PageResult {
    let (study, seq) = &visit.path;
    let (head, record) = read_event(&visit, study, seq).await?;
    let studies = format!("{}studies/{study}", visit.root);
    let event = record.read();
    let pretty = pretty(&record.text);
    let cut = pretty.chars().nth(SHOWN).is_some();
    let shown: String = pretty.chars().take(SHOWN).collect();
    let seq = record.seq;
    let hash = |text: &str, label: &str| {
        html! { code.hash { (text) } " " button.quiet type="button" hidden data-copy=(text) { "Copy" span.sr { " the " (label) } } }
    };
    let content = html! {
        @match &event {
            Ok(event) => {
                dl {
                    div { dt { "Kind" } dd { (kind(&event.kind)) } }
                    @if let Some(case) = event.kind.episode() { div { dt { "Case" } dd { (case_link(&studies, case)) } } }
                    div { dt { "What happened" } dd { (sentence(&event.kind)) } }
                    div { dt { "Time" } dd { (time(&event.at)) } }
                    div { dt { "Person" } dd { (person(event)) @if event.person.is_some() { ", with token " code { (event.by) } } } }
                    div { dt { "Hash" } dd { (hash(&record.hash, "hash")) } }
                    div { dt { "Previous hash" } dd { (hash(&event.previous, "previous hash")) } }
                    div { dt { "Check" } dd {
                        @if record.is_intact() { "The hash is that of the line." } @else { strong.bad { "The hash is not that of the line: one of them was changed." } }
                    } }
                    @if let Some((case, step, _)) = event.decision() {
                        div { dt { "Decision" } dd { a href={ (studies) "/cases/" (case) "/replay/" (step) } { "Replay the decision of step " (step) } } }
                    }
                }
            }
            Err(error) => {
                p.error { "This event cannot be read: " (error) "." }
                dl { div { dt { "Hash" } dd { (hash(&record.hash, "hash")) } } }
            }
        }
        h2 { "JSON" }
        div.wide tabindex="0" role="group" aria-label="JSON of the event" { pre { code { (shown) } } }
        @if cut { p { "Only the first " (SHOWN) " characters are shown." } }
        p { a href={ (studies) "/download/event-" (seq) ".json" } { "Download the line" } ", whose SHA-256 is the hash." }
        nav.pages aria-label="Other events" {
            ul {
                @if seq > 1 { li { a rel="prev" href=(seq - 1) { "Event " (seq - 1) } } }
                @if seq < head.seq { li { a rel="next" href=(seq + 1) { "Event " (seq + 1) } } }
                li { a href={ (studies) "/log?from=" (seq) } { "The log from this event" } }
            }
        }
    };
    let title = format!("Event {seq}");
    let page = Page::of_study(title, &head.name, Tab::Log, AsOf::of(&head));
    Ok(page.show(&visit, &content))
}

/// A JSON text with one value on each line. Names stay in their order, and numbers as they are written.
pub fn pretty(text: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) = (String::new(), 0_usize, false, false);
    let mut last = ' ';
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
            last = c;
            continue;
        }
        let is_end = matches!(c, '}' | ']');
        if is_end {
            depth = depth.saturating_sub(1);
        }
        // Empty lists and objects stay on their line.
        let is_first = matches!(last, '{' | '[');
        if is_end && !is_first || !is_end && (is_first || last == ',') {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        }
        match c {
            '{' | '[' => depth += 1,
            '"' => in_string = true,
            _ => {}
        }
        out.push(c);
        if c == ':' {
            out.push(' ');
        }
        last = c;
    }
    out
}

async fn read_event<P>(
    visit: &Visit<P>,
    study: &str,
    seq: &str,
) -> Result<(Head, Record), ApiError> {
    visit.caller.may_in(Permission::Log, study)?;
    let missing = || ApiError::not_found(format!("study `{study}` has no event `{}`", short(seq)));
    let number: u64 = seq
        .parse()
        .ok()
        .filter(|seq| *seq > 0)
        .ok_or_else(missing)?;
    let name = study.to_owned();
    let read = visit.app.service.read_snapshot(move |store| {
        let head = head(store, &name)?;
        let mut found = match number <= head.seq {
            true => store.events(head.key, number - 1, 1)?,
            false => Vec::new(),
        };
        Ok((head, found.pop()))
    });
    let (head, record) = read.await?;
    Ok((
        head,
        record.filter(|it| it.seq == number).ok_or_else(missing)?,
    ))
}

/// Files with the data of a study: the same bytes as the calls of the API, for the same permissions.
pub async fn download(visit: Visit<(String, String)>) -> PageResult {
    let (study, file) = &visit.path;
    let missing = || ApiError::not_found(format!("there is no file `{}`", short(file)));
    let (name, ending) = file.split_once('.').ok_or_else(missing)?;
    let form = match ending {
        "csv" => Some((Form::Csv, Format::Csv)),
        "parquet" => Some((Form::Parquet, Format::Parquet)),
        _ => None,
    };
    let rows = Rows {
        blinded: visit.caller.is_blinded(),
        ..Rows::default()
    };
    let mut response = match (name, ending, form) {
        ("episodes" | "decisions", _, Some((_, format))) => {
            visit.caller.may_in(Permission::ReadEpisode, study)?;
            let table = if name == "episodes" {
                Table::Episodes
            } else {
                Table::Decisions
            };
            episode_table(&visit.app, (study, table), format, rows).await?
        }
        ("estimates", _, Some((form, _))) => {
            visit.caller.may_in(Permission::Estimates, study)?;
            current_estimates(&visit.app.service, study, form)
                .await?
                .1?
        }
        ("log", "ndjson", _) => {
            visit.caller.may_in(Permission::Log, study)?;
            let mut response = export_response(&visit.app.service, study, LINES).await?;
            attach(&mut response, &format!("{study}-log.ndjson"));
            response
        }
        (name, "json", _) if name.starts_with("event-") => {
            let seq = name.trim_start_matches("event-");
            let (_, record) = read_event(&visit, study, seq).await?;
            let mut response = typed(axum::http::StatusCode::OK, "application/json", record.text);
            attach(&mut response, &format!("{study}-{file}"));
            response
        }
        _ => return Err(missing()),
    };
    secure(&mut response);
    Ok(response)
}

/// Names the file; names of studies need no escaping.
fn attach(response: &mut axum::response::Response, file: &str) {
    let value = HeaderValue::from_str(&format!("attachment; filename=\"{file}\""));
    if let Ok(value) = value {
        response
            .headers_mut()
            .insert(header::CONTENT_DISPOSITION, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_written_with_one_value_on_each_line() {
        let text = r#"{"b":[1.50,{}],"a":"x,{\\\"}","c":[]}"#;
        let expected =
            "{\n  \"b\": [\n    1.50,\n    {}\n  ],\n  \"a\": \"x,{\\\\\\\"}\",\n  \"c\": []\n}";
        assert_eq!(pretty(text), expected);
    }

    #[test]
    fn pages_cover_the_log_in_both_orders() {
        let page = |last, from, oldest| {
            let Range { after, count } = Range::new(last, from, oldest);
            (after + 1, after + count)
        };
        assert_eq!(page(120, None, false), (71, 120));
        assert_eq!(page(120, Some(70), false), (21, 70));
        assert_eq!(page(120, Some(20), false), (1, 20));
        assert_eq!(page(120, None, true), (1, 50));
        assert_eq!(page(120, Some(101), true), (101, 120));
        assert_eq!(page(120, Some(u64::MAX), true), (120, 120));
        assert_eq!(page(1, Some(0), false), (1, 1));
        assert_eq!(Range::new(0, None, false).count, 0);
    }
}
