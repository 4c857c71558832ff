//! Values in words.

use emab_report::inline;
use maud::{Markup, html};

use super::layout::time;
use crate::domain::{HealthStatus, Stamp, Status};

/// A number with three digits after the point at most.
pub fn amount(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.001 || value.abs() >= 1e6 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.replace('-', "\u{2212}")
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
        Status::Learned => html! { "nothing; its outcome is known" },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 1.0, 0.5, -0.25, 12.3456, 0.0001, 1e7, 100.0].map(amount);
        let expected = [
            "0", "1", "0.5", "−0.25", "12.346", "1.00e-4", "1.00e7", "100",
        ];
        assert_eq!(shown, expected);
    }
}
