//! The recommendation in words.

use maud::{Markup, html};

use super::{Case, Current};
use crate::console::layout::time;
use crate::console::words::{amount, counted, text};
use crate::domain::{DecidedBy, Decision, Estimate, Study};

/// The recommendation for the current step.
pub(super) fn card(case: &Case, current: &Current) -> Markup {
    let advice = current.advice();
    let horizon = case.study.spec.horizon();
    html! {
        section.card.recommendation aria-labelledby="recommendation" {
            h2 id="recommendation" {
                "Recommended: "
                @if advice.action == "stop" { strong { "stop" } } @else { strong { bdi { (advice.action) } } }
            }
            p { "Step " (advice.step) " of at most " (horizon) ", in state " b { bdi { (advice.state) } } "." }
            @if let Current::Full(decision) = current { (reasons(&case.study, decision)) }
            p.hint { "As of event " (advice.as_of) @if let Some(at) = &advice.at { ", " (time(at)) } "." }
        }
    }
}

fn reasons(study: &Study, decision: &Decision) -> Markup {
    html! {
        p { (why(decision)) }
        ul {
            @if let Some(estimate) = &decision.estimate { li { (estimated(estimate)) } }
            @if let Some(second) = &decision.runner_up { li { "Next best: " (estimated(second)) } }
            li { (certificate(study, decision)) }
        }
    }
}

/// Why it is recommended.
fn why(decision: &Decision) -> Markup {
    let action = &decision.advice.action;
    html! {
        @match (decision.decided_by, decision.explored) {
            (Some(DecidedBy::Protocol), _) => { "The protocol of the study prescribes it." }
            (_, Some(true)) if decision.estimate.as_ref().is_some_and(|it| it.count == 0) => {
                "It was not tried in this step and state yet."
            }
            (_, Some(true)) => { "It is recommended in order to learn more about " b { bdi { (action) } } ", of which too little is known here." }
            (_, Some(false)) => { "It has the largest estimated gain here." }
            (_, None) => { "The learner of this study keeps no estimates." }
        }
    }
}

/// The estimate of an action with its limits.
fn estimated(estimate: &Estimate) -> Markup {
    html! {
        b { bdi { (estimate.action) } } ": "
        @match (estimate.mean, estimate.lower, estimate.upper) {
            (Some(mean), Some(lower), Some(upper)) => {
                "estimated gain " (amount(mean)) ", between " (amount(lower)) " and " (amount(upper)) ", from " (counted(estimate.count, "case"))
            }
            (Some(mean), ..) => { "estimated gain " (amount(mean)) ", from " (counted(estimate.count, "case")) }
            _ => { "no case yet here" }
        }
    }
}

/// The certificate in one sentence.
fn certificate(study: &Study, decision: &Decision) -> Markup {
    let delta = study
        .learner
        .guaranteed_delta()
        .ok()
        .map(|delta| delta.get());
    let best = match study.learner.estimates_values() {
        true => "the best action when the best policy follows",
        false => "the best next step",
    };
    html! {
        @match (decision.certificate, delta) {
            (Some(within), Some(delta)) => {
                b { "Certificate " (amount(within)) ": " }
                "with a probability of at least " (amount(100.0 * (1.0 - delta))) "\u{a0}%, for all recommendations of this study together, following this one loses at most "
                (amount(within)) " of gain against " (best) "."
                @if study.outcome_range.reward.is_some_and(|[low, high]| within >= high - low) {
                    " That is as much as rewards can differ: it says nothing yet."
                }
            }
            (Some(within), None) => { b { "Certificate " (amount(within)) } }
            (None, _) => {
                b { "No certificate: " }
                (text(decision.withheld.as_deref().unwrap_or("the reason is not recorded"))) "."
            }
        }
    }
}
