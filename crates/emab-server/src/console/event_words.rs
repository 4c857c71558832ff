//! Events in words.

use maud::{Markup, html};
use serde::Deserialize;

use super::words::amount;
use crate::domain::EventKind;

/// The longest text of a person in a list, in characters.
const LONGEST: usize = 200;

/// The kind of an event.
pub fn kind(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Created(_) => "study created",
        EventKind::Opened(_) => "case opened",
        EventKind::StepRecorded(_) => "step reported",
        EventKind::Stopped(_) => "case stopped",
        EventKind::Abandoned(_) => "case abandoned",
        EventKind::OutcomeGiven(_) => "outcome given",
        EventKind::Amended(_) => "outcome corrected",
        EventKind::StepAmended(_) => "step corrected",
        EventKind::Voided(_) => "case voided",
        EventKind::Repeated(_) => "request repeated",
        EventKind::Imported(_) => "case imported",
        EventKind::Closed(_) => "study closed",
        EventKind::Reopened(_) => "study reopened",
        EventKind::Paused(_) => "study paused",
        EventKind::Resumed(_) => "study resumed",
    }
}

/// What happened.
pub fn sentence(kind: &EventKind) -> Markup {
    match kind {
        EventKind::Created(it) => {
            html! { "Specification " code { (it.spec_hash.get(..12).unwrap_or_default()) "…" } ", rules " (it.rules) "." }
        }
        EventKind::Opened(it) => html! {
            @if let Some(start) = &it.start { "In state " (name(start)) ". " } (recommended(it.decision.get(), 1))
        },
        EventKind::StepRecorded(it) => html! {
            "Step " (it.step) ": " (name(&it.action)) ", seen: " (name(&it.feedback)) ". "
            (choice(it.overridden, it.policy.is_some(), it.reason.as_deref()))
            (recommended(it.decision.get(), it.step + 1))
        },
        EventKind::Stopped(it) => html! {
            "At step " (it.step) ". " (choice(it.overridden, it.policy.is_some(), it.reason.as_deref()))
        },
        EventKind::Abandoned(it) => html! { "At step " (it.step) "." (because(Some(&it.reason))) },
        EventKind::OutcomeGiven(it) => html! {
            (values(&it.costs, &it.rewards, "unknown"))
            @if it.last { " Values that are still unknown are missing for good." }
            @if it.outlier { " Outside the expected range." }
            (because(it.reason.as_deref()))
        },
        EventKind::Amended(it) => html! {
            (values(&it.costs, &it.rewards, "unchanged"))
            @if it.outlier { " Outside the expected range." }
            (because(Some(&it.reason)))
        },
        EventKind::StepAmended(it) => html! {
            "Step " (it.step) ": "
            @if let Some(action) = &it.action { "action " (name(action)) }
            @if it.action.is_some() && it.feedback.is_some() { ", " }
            @if let Some(feedback) = &it.feedback { "seen " (name(feedback)) }
            "." @if it.overridden { " Override." } (because(Some(&it.reason)))
        },
        EventKind::Voided(it) => html! { "It counts for nothing." (because(Some(&it.reason))) },
        EventKind::Repeated(it) => {
            html! { "A request of kind " code { (clip(&it.of)) } " was repeated and changed nothing." }
        }
        EventKind::Imported(it) => html! {
            @if let Some(start) = &it.start { "In state " (name(start)) ". " }
            "Actions: " (list(it.actions.iter().map(String::as_str))) ". " (values(&it.costs, &it.rewards, "unknown"))
            @if it.outlier { " Outside the expected range." }
            (because(it.reason.as_deref()))
        },
        EventKind::Closed(it) => html! { "It opens no new cases." (because(it.reason.as_deref())) },
        EventKind::Reopened(it) => {
            html! { "It opens new cases again." (because(Some(&it.reason))) }
        }
        EventKind::Paused(it) => {
            html! { "It opens no new cases until it is resumed." (because(Some(&it.reason))) }
        }
        EventKind::Resumed(it) => html! { "It opens new cases again." (because(Some(&it.reason))) },
    }
}

/// A text of a person, cut where it is long.
fn clip(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

fn name(text: &str) -> Markup {
    html! { b { bdi { (clip(text)) } } }
}

fn because(reason: Option<&str>) -> Markup {
    html! { @if let Some(reason) = reason { " Reason: " bdi { (clip(reason)) } } }
}

fn choice(overridden: bool, printed: bool, reason: Option<&str>) -> Markup {
    html! {
        @if overridden { "Override." }
        @if printed { " Decided from a printed policy." }
        (because(reason))
        @if overridden || printed || reason.is_some() { " " }
    }
}

/// The recommendation that an event records.
fn recommended(decision: &str, step: usize) -> Markup {
    #[derive(Deserialize)]
    struct Choice {
        action: String,
    }
    let choice: Option<Choice> = serde_json::from_str(decision).ok();
    html! { @if let Some(Choice { action }) = choice { "Recommended for step " (step) ": " (name(&action)) "." } }
}

fn values(costs: &[Option<f64>], rewards: &[Option<f64>], none: &str) -> Markup {
    let texts = |values: &[Option<f64>]| -> Vec<String> {
        let text = |value: &Option<f64>| value.map_or(none.to_owned(), amount);
        values.iter().map(text).collect()
    };
    let (costs, rewards) = (texts(costs), texts(rewards));
    html! {
        @if costs.is_empty() { "Terminal rewards: " } @else { "Costs: " (list(costs.iter().map(String::as_str))) "; terminal rewards: " }
        (list(rewards.iter().map(String::as_str))) "."
    }
}

/// The first entries of a list.
fn list<'a>(mut entries: impl Iterator<Item = &'a str>) -> Markup {
    let mut first: Vec<String> = entries.by_ref().take(12).map(clip).collect();
    if entries.next().is_some() {
        first.push("…".into());
    }
    html! { (first.join(", ")) }
}
