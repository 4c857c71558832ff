//! Values in words.

use emab_report::inline;
use maud::{Markup, html};

use super::layout::time;
use crate::domain::{HealthStatus, Stamp, Status};

/// A number with three digits after the point at most.
pub fn amount(value: f64) -> String {
    let text = three_decimals(value);
    match text.contains('e') {
        true => text,
        false => text.trim_end_matches('0').trim_end_matches('.').into(),
    }
}

/// A number with three digits after the point, for columns; a very small or large one with an exponent.
pub fn three_decimals(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.001 || value.abs() >= 1e6 {
        return format!("{value:.2e}");
    }
    format!("{value:.3}").replace('-', "\u{2212}")
}

/// A number of things: `1 case`, `2 cases`.
pub fn counted(count: u64, one: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {one}{s}")
}

/// A status with a sign, so that it does not depend on colours.
pub fn health(status: HealthStatus) -> Markup {
    let (class, sign, text) = match status {
        HealthStatus::Green => ("good", "●", "green"),
        HealthStatus::Yellow => ("mixed", "▲", "yellow"),
        HealthStatus::Red => ("bad", "■", "red"),
    };
    html! { span class={ "mark " (class) } { span aria-hidden="true" { (sign) } " " (text) } }
}

/// What an episode waits for.
pub fn waits_for(status: Status, step: usize, state: &str) -> Markup {
    match status {
        Status::Open => html! { "step " (step) " in state " bdi { (state) } },
        Status::Stopped => html! { "its outcome" },
        Status::Abandoned => html! { "nothing; it was abandoned" },
        Status::Learned => html! { "nothing; its outcome was entered" },
        Status::Voided => html! { "nothing; it was voided" },
    }
}

/// When and by whom something was recorded.
pub fn stamp(stamp: Option<&Stamp>) -> Markup {
    html! {
        @if let Some(Stamp { at, by }) = stamp { bdi { (by) } ", " (time(at)) } @else { "not recorded" }
    }
}

/// A text with code between backticks.
pub fn text(text: &str) -> Markup {
    inline(text)
}

/// What errors say to programs, and what the pages say instead.
const FOR_PEOPLE: [(&str, &str); 14] = [
    ("; GET /docs lists the calls", ""),
    (
        "`emab token new` creates a token",
        "ask an administrator for another token",
    ),
    (
        "POST …:reopen lets it accept them again",
        "an administrator can reopen it",
    ),
    (
        "POST …:resume lets it open new episodes",
        "an administrator can resume it",
    ),
    ("void the episode with POST …:void", "void the case"),
    (
        "is corrected by POST …:void",
        "is corrected by voiding the case",
    ),
    (
        "if that was wrong, POST …:void",
        "if that was wrong, void it",
    ),
    ("after POST …:stop", "after it was stopped"),
    (
        "end the episode with POST …:stop",
        "use the form that stops the case",
    ),
    (
        "send a correction to POST …/outcome:amend",
        "use the form that corrects the outcome",
    ),
    (
        "send later values to POST …/outcome:amend",
        "enter later values in the form that corrects the outcome",
    ),
    (
        "send `null` in their place",
        "leave the fields of those values empty",
    ),
    (
        "or send it with `outlier`: true and a `reason`",
        "or confirm it in the part “A value is outside the usual range”, with a reason",
    ),
    (
        "a reason has 1 to 2000 characters, this one has 0",
        "give a reason",
    ),
];

/// The text of an error for people: it names forms in place of calls.
pub fn for_people(detail: &str) -> Markup {
    let mut text = detail.to_owned();
    for (program, people) in FOR_PEOPLE {
        text = text.replace(program, people);
    }
    // The call that corrects a step has its number.
    if let Some((before, rest)) = text.split_once(" with POST ")
        && let Some((_, after)) = rest.split_once(" and a reason")
    {
        text = format!("{before} in the history below, with a reason{after}");
    }
    // Names are between backticks.
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(i, part)| match i % 2 {
        0 => part.replace("episode", "case"),
        _ => part.into(),
    });
    inline(&parts.collect::<Vec<String>>().join("`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_forms_in_place_of_calls() {
        let shown = |text: &str| for_people(text).into_string();
        let text = "step 1 of episode `episode-1` was recorded before; correct it with POST …/steps/1:amend and a reason";
        let expected = "step 1 of case <code>episode-1</code> was recorded before; correct it in the history below, with a reason";
        assert_eq!(shown(text), expected);
        assert_eq!(
            shown("paused; POST …:resume lets it open new episodes"),
            "paused; an administrator can resume it"
        );
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 1.0, 0.5, -0.25, 12.3456, 0.0001, 1e7, 100.0].map(amount);
        let expected = [
            "0", "1", "0.5", "−0.25", "12.346", "1.00e-4", "1.00e7", "100",
        ];
        assert_eq!(shown, expected);
    }
}
