//! What all pages share: the frame with navigation, the state that a page shows, and the headers of the response.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use maud::{Markup, html};

use super::assets;
use super::form::{Rejected, is_hidden};
use super::visit::Visit;
use super::words::for_people;
use crate::domain::{Head, is_name};
use crate::http::response::typed;
use crate::tokens::Permission;

/// The longest value that is repeated beside the reason of a rejection, in bytes.
const SHORT: usize = 4_000;

/// The `Content-Security-Policy` of all pages: nothing from elsewhere, no script or style in the page itself.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The main pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Studies,
    Worklist,
    NewStudy,
    People,
}

/// The pages of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    Overview,
    Cases,
    Policy,
    Progress,
    Log,
}

/// The state that a page shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsOf {
    /// The number of the last event, and its time if it is known.
    pub seq: u64,
    pub at: Option<String>,
}

impl AsOf {
    pub fn of(head: &Head) -> AsOf {
        AsOf {
            seq: head.seq,
            at: head.details.at.clone(),
        }
    }
}

/// The number of events of some studies together: it changes with each of them.
pub fn events_of(heads: &[Head]) -> u64 {
    heads.iter().map(|head| head.seq).sum()
}

/// A page around its content.
pub struct Page<'a> {
    pub title: String,
    pub section: Option<Section>,
    /// The study, its page and the event that the page shows.
    pub study: Option<(&'a str, Tab, AsOf)>,
    /// The query of the stream that tells when the page changes, of a page of several studies.
    pub follows: Option<String>,
    /// A form that was rejected.
    pub rejected: Option<Rejected<'a>>,
}

impl<'a> Page<'a> {
    pub fn new(title: impl Into<String>, section: Section) -> Page<'a> {
        Page {
            title: title.into(),
            section: Some(section),
            study: None,
            follows: None,
            rejected: None,
        }
    }

    pub fn of_study(title: impl Into<String>, study: &'a str, tab: Tab, as_of: AsOf) -> Page<'a> {
        Page {
            title: title.into(),
            section: None,
            study: Some((study, tab, as_of)),
            follows: None,
            rejected: None,
        }
    }

    /// The page changes with these studies, which begin after a name.
    pub fn following(mut self, after: &str, heads: &[Head]) -> Page<'a> {
        let after = if is_name(after) { after } else { "" };
        self.follows = Some(format!("from={after}&after={}", events_of(heads)));
        self
    }

    pub fn rejected(mut self, rejected: Option<Rejected<'a>>) -> Page<'a> {
        self.rejected = rejected;
        self
    }

    /// The response with the page.
    pub fn show<P>(&self, visit: &Visit<P>, content: &Markup) -> Response {
        let root = &visit.root;
        let updates = match &self.study {
            Some((study, _, as_of)) => Some(format!("study={study}&after={}", as_of.seq)),
            None => self.follows.clone(),
        };
        let updates = updates.map(|query| format!("{root}updates?{query}"));
        let body = html! {
            (self.header(visit))
            main id="main" data-updates=[updates] tabindex="-1" {
                @if let Some((study, tab, _)) = &self.study { (study_links(visit, study, *tab)) }
                h1 { (self.title) }
                @if let Some(rejected) = self.rejected { (error_summary(rejected)) }
                (content)
            }
            (self.footer(root))
        };
        // Also with a form that was rejected: it is a page for people, and browsers report other statuses as faults.
        document(200, root, &self.title, &body)
    }

    fn header<P>(&self, visit: &Visit<P>) -> Markup {
        let (root, caller) = (&visit.root, &visit.caller);
        let link = |section: Section, to: &str, text: &str| {
            let current = (self.section == Some(section)).then_some("page");
            html! { li { a href={ (root) (to) } aria-current=[current] { (text) } } }
        };
        html! {
            header.bar {
                a.skip href="#main" { "Skip to the content" }
                a.home href=(root) { "emab" }
                nav aria-label="Main" {
                    ul {
                        (link(Section::Studies, "", "Studies"))
                        (link(Section::Worklist, "worklist", "Worklist"))
                        @if caller.has(Permission::CreateStudy) { (link(Section::NewStudy, "new-study", "New study")) }
                        @if caller.token.may(Permission::Tokens, None) { (link(Section::People, "people", "People and tokens")) }
                    }
                }
                div.person {
                    span { bdi { (caller.author().person) } " · " (caller.token.role) }
                    @if visit.session.is_some() {
                        form method="post" action={ (root) "sign-out" } { button.quiet type="submit" { "Sign out" } }
                    }
                }
            }
        }
    }

    fn footer(&self, root: &str) -> Markup {
        html! {
            footer {
                @if let Some((study, _, as_of)) = &self.study {
                    p { "As of event " b id="as-of" { (as_of.seq) } " of study " b { (study) }
                        @if let Some(at) = &as_of.at { ", recorded " (time(at)) } "." }
                }
                p { "Rendered " (time(&crate::clock::now_text())) "." span id="connection" role="status" {} }
                p { "emab " (env!("CARGO_PKG_VERSION")) " · " a href={ (root) "docs" } { "API" } }
            }
        }
    }
}

fn study_links<P>(visit: &Visit<P>, study: &str, tab: Tab) -> Markup {
    let root = &visit.root;
    let link = |this: Tab, to: &str, text: &str| {
        let current = (tab == this).then_some("page");
        html! { li { a href={ (root) "studies/" (study) (to) } aria-current=[current] { (text) } } }
    };
    html! {
        nav.tabs aria-label={ "Study " (study) } {
            ul {
                (link(Tab::Overview, "", study))
                (link(Tab::Cases, "/cases", "Cases"))
                @if visit.has_in(Permission::Policy, study) { (link(Tab::Policy, "/policy", "Policy map")) }
                @if visit.has_in(Permission::Estimates, study) { (link(Tab::Progress, "/progress", "Progress")) }
                @if visit.has_in(Permission::Log, study) { (link(Tab::Log, "/log", "Log and audit")) }
            }
        }
    }
}

/// Why a form was rejected, at the top of the page.
fn error_summary(rejected: Rejected<'_>) -> Markup {
    let error = rejected.error;
    // After a conflict the form may be another one, or gone.
    let is_shown = |(name, value): &(&str, &str)| {
        let hidden = is_hidden(name) || ["step", "policy-hash"].contains(name);
        let same = rejected.typed.was(name) == Some(value.trim());
        error.status == 409 && !hidden && !same && (1..=SHORT).contains(&value.trim().len())
    };
    let mut typed = rejected.typed.iter().filter(is_shown).peekable();
    html! {
        div.error role="alert" tabindex="-1" autofocus {
            h2 { "Not recorded" }
            p { (for_people(&error.detail)) }
            @if typed.peek().is_some() {
                p { "You entered: "
                    @for (i, (name, value)) in typed.enumerate() {
                        @if i > 0 { "; " } (name.replace(['-', '_'], " ")) ": " b { bdi { (value) } }
                    }
                }
            }
        }
    }
}

/// A whole HTML document.
pub fn document(status: u16, root: &str, title: &str, body: &Markup) -> Response {
    let head = html! {
        link rel="icon" href="data:,";
        link rel="stylesheet" href={ (root) (assets::style()) };
        script src={ (root) (assets::script()) } defer {}
    };
    let body = html! { body.console { (body) } };
    let page = emab_report::html_page(&format!("{title} · emab"), &head, &body);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = typed(status, "text/html; charset=utf-8", page);
    secure(&mut response);
    response
}

/// Adds the headers that every response of the console has.
pub fn secure(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    // Not `no-referrer`, with which browsers send forms without an origin.
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
}

/// Sends the browser to another page after a form.
pub fn go_to(address: &str) -> Response {
    let mut response = typed(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    if let Ok(address) = HeaderValue::from_str(address) {
        response.headers_mut().insert(header::LOCATION, address);
    }
    secure(&mut response);
    response
}

/// A time of an event, to the second; the script shows it in the time zone of the reader.
pub fn time(text: &str) -> Markup {
    let short = match text.split_once('T') {
        Some((day, clock)) => format!("{day} {} UTC", clock.get(..8).unwrap_or(clock)),
        None => text.into(),
    };
    html! { time datetime=(text) { (short) } }
}
