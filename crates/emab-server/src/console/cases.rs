//! Lists of cases: of one study, and the worklist over all of them.

use maud::{Markup, html};

use super::layout::{AsOf, Page, Section, Tab, go_to, time};
use super::studies::visible;
use super::visit::{PageResult, Visit};
use super::words::{stamp, waits_for};
use crate::app::head;
use crate::clock::now_seconds;
use crate::domain::{EpisodeRecord, Head, Status, Study, is_name, is_overdue};
use crate::http::error::ApiError;
use crate::store::{Store, StoreError, Which};
use crate::tokens::Permission;

/// The number of cases on a page, and of each study in the worklist.
const LIMIT: usize = 50;
const IN_WORKLIST: usize = 20;
/// The largest number of cases that are read to find those of a person on one page.
const SCANNED: usize = 2_000;

/// Which cases a list shows.
struct Filter {
    which: Which,
    /// Only those that this person opened.
    of: Option<String>,
    /// Only those whose id begins with this.
    prefix: String,
    after: String,
    limit: usize,
}

/// A page of a list.
struct Cases {
    rows: Vec<EpisodeRecord>,
    /// The id after which the next page begins.
    next: Option<String>,
}

impl Cases {
    /// Whether there is none, on this page and the next ones.
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.next.is_none()
    }
}

impl Filter {
    fn read(&self, store: &mut dyn Store, study: i64) -> Result<Cases, StoreError> {
        let mut rows = Vec::new();
        let (mut after, mut scanned) = (self.after.clone(), 0);
        // Ids are ordered by bytes: the first with a prefix comes directly after the last text before it.
        if after < self.prefix {
            let found = store.episodes(study, &[&self.prefix])?;
            rows.extend(found.into_iter().filter(|it| self.shows(it)));
            after.clone_from(&self.prefix);
        }
        loop {
            let page = store.episodes_after(study, &after, self.which, self.limit + 1)?;
            scanned += page.len();
            let ended = page.len() <= self.limit;
            for episode in page {
                if !episode.id.starts_with(&self.prefix) {
                    return Ok(Cases { rows, next: None });
                }
                if rows.len() == self.limit {
                    return Ok(Cases {
                        rows,
                        next: Some(after),
                    });
                }
                after.clone_from(&episode.id);
                if self.shows(&episode) {
                    rows.push(episode);
                }
            }
            if ended || scanned >= SCANNED {
                let next = (!ended).then_some(after);
                return Ok(Cases { rows, next });
            }
        }
    }

    fn shows(&self, episode: &EpisodeRecord) -> bool {
        let kind = match self.which {
            Which::All => true,
            Which::Open => episode.status() == Status::Open,
            Which::Awaited => episode.status() == Status::Stopped,
        };
        let opened = episode.opened_stamp.as_ref();
        let own = |person: &String| opened.is_some_and(|it| it.by == *person);
        kind && self.of.as_ref().is_none_or(own)
    }
}

/// The cases of a study.
pub async fn page(visit: Visit<String>) -> PageResult {
    visit.caller.may_in(Permission::ReadEpisode, &visit.path)?;
    let query = &visit.query;
    let show = query.get("show");
    let which = match show {
        "open" => Which::Open,
        "awaited" => Which::Awaited,
        _ => Which::All,
    };
    let mine = query.ticked("mine");
    let name_or_nothing = |text: &str| {
        Some(text)
            .filter(|it| is_name(it))
            .unwrap_or_default()
            .to_owned()
    };
    let typed = query.get("id");
    let prefix = name_or_nothing(typed);
    let filter = Filter {
        which,
        of: mine.then(|| visit.caller.author().person.clone()),
        prefix: prefix.clone(),
        after: name_or_nothing(query.get("after")),
        limit: LIMIT,
    };
    let (name, service) = (visit.path.clone(), visit.app.service.clone());
    let read = visit.app.service.read_snapshot(move |store| {
        let head = head(store, &name)?;
        let cases = filter.read(store, head.key)?;
        let study = service.study(store, &head)?;
        Ok((head, study, cases))
    });
    let (head, study, cases) = read.await?;
    // The only case with an id that was typed in full.
    if let [only] = &cases.rows[..]
        && only.id == typed
        && query.get("after").is_empty()
    {
        return Ok(go_to(&format!("cases/{typed}")));
    }
    let base = format!(
        "cases?show={show}&id={prefix}{}",
        if mine { "&mine=yes" } else { "" }
    );
    let content = html! {
        (filter_form(&visit, show, mine, typed))
        @if !typed.is_empty() && prefix.is_empty() {
            p.notice { "No id begins with " bdi { (typed) } ": ids have letters, digits, dots, dashes and underscores." }
        }
        (table(&visit, &study, &cases.rows, &format!("cases of {}", head.name)))
        @if let Some(next) = &cases.next {
            nav.pages aria-label="More cases" { a rel="next" href={ (base) "&after=" (next) } { "Next cases, after " (next) } }
        }
        p.hint { "Download all cases: "
            a href={ (visit.root) "studies/" (head.name) "/download/episodes.csv" } { "CSV" } ", "
            a href={ (visit.root) "studies/" (head.name) "/download/episodes.parquet" } { "Parquet" } }
    };
    let page = Page::of_study("Cases", &head.name, Tab::Cases, AsOf::of(&head));
    Ok(page.show(&visit, &content))
}

fn filter_form(visit: &Visit<String>, show: &str, mine: bool, typed: &str) -> Markup {
    let option =
        |value: &str, text: &str| html! { option value=(value) selected[show == value] { (text) } };
    html! {
        form.row method="get" action={ (visit.root) "studies/" (visit.path) "/cases" } role="search" {
            div.field {
                label for="find-id" { "Id begins with" }
                input type="search" id="find-id" name="id" value=(typed) autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="128";
            }
            div.field {
                label for="find-show" { "Show" }
                select id="find-show" name="show" { (option("", "all cases")) (option("open", "open cases")) (option("awaited", "cases whose outcome is awaited")) }
            }
            div.choice {
                input type="checkbox" id="find-mine" name="mine" value="yes" checked[mine];
                label for="find-mine" { "only those that I opened" }
            }
            button type="submit" { "Show" }
        }
    }
}

fn table<P>(visit: &Visit<P>, study: &Study, rows: &[EpisodeRecord], label: &str) -> Markup {
    let ended = rows.iter().any(|case| case.end.is_some());
    html! {
        @if rows.is_empty() { p { "No case." } } @else {
            div.wide tabindex="0" role="group" aria-label={ "Table: " (label) } {
                table.data.cases {
                    thead { tr { th scope="col" { "Case" } th scope="col" { "Waits for" } th scope="col" { "Opened" } @if ended { th scope="col" { "Ended" } } } }
                    tbody {
                        @for case in rows {
                            @let state = study.spec.states().name(case.state());
                            tr {
                                th scope="row" { a href={ (visit.root) "studies/" (study.name) "/cases/" (case.id) } { (case.id) } }
                                td { (waiting(study, case, &state)) }
                                td { @if case.imported { "imported, " } (stamp(case.opened_stamp.as_ref())) }
                                @if ended { td { @if let Some(end) = &case.end { (stamp(end.stamp.as_ref())) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What a case waits for: the recommended action, or its outcome, which may be overdue.
fn waiting(study: &Study, case: &EpisodeRecord, state: &str) -> Markup {
    let recommended = case
        .recommended
        .map_or("stop".into(), |a| study.spec.actions().name(a));
    let awaited = case.awaited_since().zip(study.expected_delay);
    let overdue = awaited.is_some_and(|(since, delay)| is_overdue(since, delay, now_seconds()));
    html! {
        @if case.status() == Status::Open { b { bdi { (recommended) } } ": " }
        (waits_for(case.status(), case.step(), state))
        @if overdue { " " span.mark.mixed { span aria-hidden="true" { "▲" } " overdue" } }
    }
}

/// The cases that wait for a report or an outcome, of all studies.
pub async fn worklist(visit: Visit) -> PageResult {
    visit.caller.may(Permission::ReadEpisode)?;
    // People who only read have opened none.
    let everyone = match visit.query.get("of") {
        "" => !visit.caller.has(Permission::Act),
        of => of == "everyone",
    };
    let typed = visit.query.get("id").to_owned();
    let person = visit.caller.author().person.clone();
    let after = visit.query.get("after");
    let (heads, more) = visible(&visit, after).await?;
    let found = match is_name(&typed) {
        true => studies_with(&visit, &typed).await?,
        false => Vec::new(),
    };
    if let [study] = &found[..] {
        return Ok(go_to(&format!("studies/{study}/cases/{typed}")));
    }
    let sees_awaited = |head: &Head| head.details.awaited.total() > 0 || head.rules < 4;
    let mut sections = Vec::new();
    for head in heads
        .iter()
        .filter(|head| head.open > 0 || sees_awaited(head))
    {
        let (key, found, service) = (head.clone(), typed.clone(), visit.app.service.clone());
        let of = (!everyone).then(|| person.clone());
        let read = visit.app.service.read_snapshot(move |store| {
            let mut lists = Vec::new();
            for which in [Which::Open, Which::Awaited] {
                let filter = Filter {
                    which,
                    of: of.clone(),
                    prefix: Some(&found)
                        .filter(|it| is_name(it))
                        .cloned()
                        .unwrap_or_default(),
                    after: String::new(),
                    limit: IN_WORKLIST,
                };
                lists.push(filter.read(store, key.key)?);
            }
            Ok((service.study(store, &key)?, lists))
        });
        let (study, lists) = read.await?;
        sections.push((head, study, lists));
    }
    let none = sections
        .iter()
        .all(|(_, _, lists)| lists.iter().all(Cases::is_empty));
    let content = html! {
        form.row method="get" action={ (visit.root) "worklist" } role="search" {
            div.field {
                label for="find" { "Find a case by its id" }
                input type="search" id="find" name="id" value=(typed) autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="128" autofocus accesskey="s";
            }
            div.field {
                label for="find-of" { "Cases" }
                select id="find-of" name="of" { option value="me" { "that I opened" } option value="everyone" selected[everyone] { "of everyone" } }
            }
            button type="submit" { "Find" }
        }
        @if !typed.is_empty() && !is_name(&typed) {
            p.notice { "No id begins with " bdi { (typed) } ": ids have letters, digits, dots, dashes and underscores." }
        }
        @if !found.is_empty() {
            p { "Several studies have a case " b { (typed) } ":" }
            ul { @for study in &found { li { a href={ "studies/" (study) "/cases/" (typed) } { (typed) " of " (study) } } } }
        }
        @if none {
            p { "No case waits" @if !typed.is_empty() { " whose id begins with " bdi { (typed) } } @if !everyone { " that you opened" } ". "
                @if !everyone { a href="worklist?of=everyone" { "Show the cases of everyone" } } }
        }
        @for (head, study, lists) in &sections {
            @for (list, show, title) in lists.iter().zip(["open", "awaited"]).zip(["open cases", "outcomes awaited"]).map(|((a, b), c)| (a, b, c)) {
                @if !list.is_empty() {
                    h2 { (head.name) ": " (title) }
                    p.hint { "As of event " (head.seq) @if let Some(at) = &head.details.at { ", recorded " (time(at)) } "." }
                    @if list.rows.is_empty() { p { "None of the first " (SCANNED) " is yours." } } @else {
                        (table(&visit, study, &list.rows, &format!("{}, {title}", head.name)))
                    }
                    @if list.next.is_some() {
                        p { a href={ "studies/" (head.name) "/cases?show=" (show) @if !everyone { "&mine=yes" } } { "All " (title) " of " (head.name) } }
                    }
                }
            }
        }
        @if let Some(more) = more {
            nav.pages aria-label="More studies" { a href={ "worklist?of=" (visit.query.get("of")) "&after=" (more) } { "Cases of more studies" } }
        }
        p.hint { "Type an id and press Enter to open a case. In the lists, the arrow keys move from case to case." }
    };
    let page = Page::new("Worklist", Section::Worklist).following(after, &heads);
    Ok(page.show(&visit, &content))
}

/// The studies that a person may see with a case of this id.
async fn studies_with(visit: &Visit, id: &str) -> Result<Vec<String>, ApiError> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let (heads, next) = visible(visit, &after).await?;
        let id = id.to_owned();
        let some = visit.app.service.read(move |store| {
            let mut some = Vec::new();
            for head in heads {
                if !store.episodes(head.key, &[&id])?.is_empty() {
                    some.push(head.name);
                }
            }
            Ok(some)
        });
        found.extend(some.await?);
        match next {
            Some(next) => after = next,
            None => return Ok(found),
        }
    }
}
