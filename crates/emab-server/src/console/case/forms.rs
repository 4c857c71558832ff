//! The forms for what was done with a case.

use maud::{Markup, html};

use super::Case;
use crate::console::form::{Rejected, Values, choose, request_id, text_field};
use crate::console::visit::Visit;
use crate::domain::Status;
use crate::tokens::Permission;

/// The forms that report a step and that stop the case; the recommended one comes first.
pub(super) fn of_open_case<P>(
    visit: &Visit<P>,
    case: &Case,
    rejected: Option<Rejected<'_>>,
) -> Markup {
    let Some(current) = &case.current else {
        return html! {};
    };
    let recommended = current.advice().action.as_str();
    let (tell, stop) = (
        tell_form(visit, case, recommended, Values::of(rejected, "tell")),
        stop_form(visit, case, recommended, Values::of(rejected, "stop")),
    );
    let was = |form: &str| rejected.is_some_and(|it| it.form == form);
    html! {
        @if recommended == "stop" {
            (stop)
            @if let Some(tell) = tell {
                details open[was("tell")] { summary { "Something else was done" } (tell) }
            }
        } @else {
            @if let Some(tell) = tell { (tell) }
            details open[was("stop")] { summary { "Stop here instead" } (stop) }
        }
    }
}

/// None where no action is allowed.
fn tell_form<P>(
    visit: &Visit<P>,
    case: &Case,
    recommended: &str,
    values: Values<'_>,
) -> Option<Markup> {
    let spec = &case.study.spec;
    let (t, x) = (case.record.step(), case.record.state());
    let allowed =
        (0..spec.actions().len()).filter(|&a| t < spec.horizon() && spec.is_allowed(t, x, a));
    let actions: Vec<String> = allowed
        .map(|a| spec.actions().name(a).into_owned())
        .collect();
    let feedbacks = (0..spec.feedbacks().len()).map(|f| spec.feedbacks().name(f).into_owned());
    if actions.is_empty() {
        return None;
    }
    let chosen = if recommended == "stop" {
        ""
    } else {
        recommended
    };
    Some(html! {
        section.card.no-print aria-labelledby="tell-title" {
            h2 id="tell-title" { "What was done in step " (t) "?" }
            form method="post" action={ (visit.root) (case.address()) "/tell" } {
                (request_id(&visit.caller))
                input type="hidden" name="step" value=(t);
                (choose(("action", "action"), "Action", actions.into_iter(), values.or("action", chosen)))
                (choose(("feedback", "feedback"), "What was seen", feedbacks, values.get("feedback")))
                (text_field(("tell-reason", "reason"), "Reason", values.get("reason"), Some(if recommended == "stop" {
                    "Required: stopping is recommended."
                } else {
                    "Required if another action than the recommended one was taken."
                }), false))
                (fallback("tell", values))
                button type="submit" { "Record step " (t) }
            }
        }
    })
}

fn stop_form<P>(visit: &Visit<P>, case: &Case, recommended: &str, values: Values<'_>) -> Markup {
    let step = case.record.step();
    let as_recommended = recommended == "stop";
    html! {
        section.card.no-print aria-labelledby="stop-title" {
            h2 id="stop-title" { "Stop the case" }
            form method="post" action={ (visit.root) (case.address()) "/stop" } {
                (request_id(&visit.caller))
                input type="hidden" name="step" value=(step);
                @if !as_recommended {
                    (text_field(("stop-reason", "reason"), "Reason", values.get("reason"),
                        Some("Required: an action is recommended."), false))
                }
                (fallback("stop", values))
                button type="submit" { "Stop at step " (step) }
            }
        }
    }
}

/// The table of the policy that a choice was made from while the service could not be reached.
fn fallback(form: &str, values: Values<'_>) -> Markup {
    let (event, hash) = (values.get("policy-as-of"), values.get("policy-hash"));
    html! {
        details open[!event.is_empty() || !hash.is_empty()] {
            summary { "Decided from a printed policy" }
            p.hint { "While the service could not be reached. It is no override then; number and hash are on the print." }
            (text_field((&format!("{form}-as-of"), "policy-as-of"), "Event of the policy", event, None, false))
            (text_field((&format!("{form}-hash"), "policy-hash"), "Hash of the policy", hash, None, false))
        }
    }
}

/// The forms that abandon and void a case.
pub(super) fn to_end_or_void<P>(
    visit: &Visit<P>,
    case: &Case,
    rejected: Option<Rejected<'_>>,
) -> Markup {
    let study = &case.head.name;
    let form = |verb: &str, title: &str, hint: &str| {
        let values = Values::of(rejected, verb);
        html! {
            details open[values.rejected()] {
                summary { (title) }
                p { (hint) }
                form method="post" action={ (visit.root) (case.address()) "/" (verb) } {
                    (request_id(&visit.caller))
                    (text_field((&format!("{verb}-reason"), "reason"), "Reason", values.get("reason"), None, true))
                    button.warn type="submit" { (title) }
                }
            }
        }
    };
    let abandon = case.view.status == Status::Open && visit.has_in(Permission::Act, study);
    let void = case.view.status != Status::Voided && visit.has_in(Permission::Amend, study);
    if !abandon && !void {
        return html! {};
    }
    html! {
        section.no-print {
            h2 { "Other" }
            @if abandon {
                (form("abandon", "Abandon the case", "It cannot be continued, for example because the patient moved away. Its outcome counts as missing until it is entered."))
            }
            @if void {
                (form("void", "Void the case", "It was entered in error. It then counts for nothing, and stays in the log."))
            }
        }
    }
}
