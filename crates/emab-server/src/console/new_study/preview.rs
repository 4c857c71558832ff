//! What a new study would be: its problems, or its steps and states, learner and certificates.

use emab::Spec;
use maud::{Markup, html};

use super::input::Problem;
use crate::console::words::{amount, text};
use crate::domain::{Study, in_words};

/// The largest number of rows, of actions and feedbacks in one of them, and of feedbacks in all of them.
const ROWS: usize = 200;
const IN_ROW: usize = 12;
const IN_ALL: usize = 1_200;
/// The largest number of pairs that are counted.
const COUNTED: usize = 2_000;
/// The largest part of the specification that is shown, in bytes.
const SPECIFICATION: usize = 16 << 10;

/// The result of a check, in few words: assistive technology reads it whenever it changes.
pub fn found(problems: &[Problem], notices: &[String], study: Option<&Study>) -> Markup {
    html! {
        @if !problems.is_empty() {
            div.error {
                h3 { @if problems.len() == 1 { "One problem was found" } @else { (problems.len()) " problems were found" } }
                ul { @for problem in problems { li { a href={ "#" (problem.input.id) } { (problem.place()) } ": " (text(&problem.error.detail)) } } }
            }
        } @else if let Some(study) = study {
            p.notice { "No problem was found. " (certificates(study)) }
        }
        @for notice in notices { p.notice { (text(notice)) } }
    }
}

fn certificates(study: &Study) -> Markup {
    let delta = study
        .learner
        .guaranteed_delta()
        .ok()
        .map(|delta| delta.get());
    html! {
        @match (&study.unsound, delta) {
            (Some(why), _) => { "Recommendations of this study have " b { "no certificates" } ": " (text(why)) "." }
            (None, Some(delta)) => {
                "Recommendations of this study have " b { "certificates" } ", which hold together with a probability of at least "
                (amount(100.0 * (1.0 - delta))) "\u{a0}%."
            }
            (None, None) => { "Recommendations of this study have " b { "certificates" } "." }
        }
    }
}

/// The study, if it can be read.
pub fn preview(study: Option<&Study>) -> Markup {
    let Some(study) = study else {
        return html! { p.hint { "The steps and states of the study are shown here when it has no problem." } };
    };
    let spec = &study.spec;
    html! {
        dl {
            div { dt { "Learner" } dd { code { (study.learner.label()) } ": " (text(study.learner.entry().about)) } }
            @if !study.shadows.is_empty() {
                div { dt { "Recorded beside it" } dd { @for shadow in &study.shadows { code { (shadow.label()) } " " } } }
            }
            div { dt { "Size" } dd {
                (spec.horizon()) " steps at most, " (spec.states().len()) " states, " (spec.actions().len()) " actions and "
                code { "stop" } ", " (spec.feedbacks().len()) " feedbacks"
            } }
            div { dt { "Certificates" } dd { (certificates(study)) } }
            @if let Some(delay) = study.expected_delay {
                div { dt { "Outcomes expected" } dd { (in_words(delay)) " after the end of a case" } }
            }
            @for (what, range) in [("Rewards", study.outcome_range.reward), ("Costs", study.outcome_range.cost)] {
                @if let Some([low, high]) = range {
                    div { dt { (what) } dd { "from " (amount(low)) " to " (amount(high)) "; a value outside needs a confirmation" } }
                }
            }
            div { dt { "Missing outcomes" } dd {
                @if study.missing_at_random { "declared as missing at random" } @else { "end the certificates of the study" }
            } }
            @if study.protocol.is_some() { div { dt { "Protocol" } dd { "recommends to the first cases, as the problem file says" } } }
        }
        (steps(spec))
        details {
            summary { "Specification as JSON" }
            @let (shown, whole) = cut(&study.canonical);
            pre tabindex="0" { code { (shown) } }
            @if !whole { p.hint { "The first " (SPECIFICATION >> 10) " of " (study.canonical.len() >> 10) " KiB." } }
        }
    }
}

fn cut(text: &str) -> (&str, bool) {
    let end = (0..=SPECIFICATION.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let end = end.unwrap_or(0);
    (&text[..end], end == text.len())
}

fn steps(spec: &Spec) -> Markup {
    let Ok(reachable) = spec.reachable(COUNTED) else {
        return html! {};
    };
    let count = reachable.pairs.len();
    let in_row = spec.actions().len().min(IN_ROW) * spec.feedbacks().len().min(IN_ROW);
    let rows = ROWS.min(IN_ALL / in_row.max(1));
    html! {
        h3 { "Steps and states" }
        p {
            @if reachable.complete { (count) } @else { "More than " (count) }
            " pairs of a step and a state can be reached. In each of them a case may also stop."
            @if count > rows { " The first " (rows) " are shown." }
        }
        div.wide tabindex="0" role="group" aria-label="Table: steps and states" {
            table.data {
                thead { tr { th.n scope="col" { "Step" } th scope="col" { "State" } th scope="col" { "Allowed action, and the next state by feedback" } } }
                tbody {
                    @for &(t, x) in reachable.pairs.iter().take(rows) {
                        tr { td.n { (t) } th scope="row" { bdi { (spec.states().name(x)) } } td { (actions(spec, t, x)) } }
                    }
                }
            }
        }
    }
}

fn actions(spec: &Spec, t: usize, x: usize) -> Markup {
    if t >= spec.horizon() {
        return html! { "none but " code { "stop" } ", at the last step" };
    }
    let all = spec.actions().len();
    // Of a long list only the beginning is looked at.
    let allowed: Vec<usize> = (0..all.min(1_000))
        .filter(|&a| spec.is_allowed(t, x, a))
        .collect();
    let (few, feedbacks) = (allowed.len().min(IN_ROW), spec.feedbacks().len());
    html! {
        @if allowed.is_empty() { "none but " code { "stop" } }
        @for &a in &allowed[..few] {
            div {
                b { bdi { (spec.actions().name(a)) } } ": "
                @for f in 0..feedbacks.min(IN_ROW) {
                    @if f > 0 { ", " }
                    bdi { (spec.feedbacks().name(f)) } " → "
                    @if let Ok(y) = spec.next(t, x, a, f) { bdi { (spec.states().name(y)) } } @else { "no state" }
                }
                @if feedbacks > IN_ROW { ", and " (feedbacks - IN_ROW) " more feedbacks" }
            }
        }
        @if allowed.len() > few || all > 1_000 { div { "and more actions" } }
    }
}
