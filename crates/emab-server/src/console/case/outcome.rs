//! The outcome of a case: what is known, and the forms that give and correct it.

use maud::{Markup, html};

use super::Case;
use crate::console::form::{Rejected, Values, request_id, text_field, tick_box, was};
use crate::console::visit::Visit;
use crate::console::words::{amount, stamp};
use crate::domain::{Outcome, Status, Study};
use crate::tokens::Permission;

/// The outcome once the case has ended.
pub(super) fn section<P>(visit: &Visit<P>, case: &Case, rejected: Option<Rejected<'_>>) -> Markup {
    let study = &case.head.name;
    let ended = !matches!(case.view.status, Status::Open | Status::Voided);
    if !ended {
        return html! {};
    }
    let steps = case.view.step;
    let unknown = Outcome {
        costs: vec![None; steps.saturating_sub(1)],
        rewards: vec![None; steps],
        last: false,
    };
    // A blinded person does not see what is known.
    let known = case.view.outcome.as_ref().unwrap_or(&unknown);
    let awaited = !known.is_complete() && !known.last;
    let has_value = known
        .costs
        .iter()
        .chain(&known.rewards)
        .any(Option::is_some);
    html! {
        section.card aria-labelledby="outcome-title" {
            h2 id="outcome-title" { "Outcome" }
            @if visit.caller.is_blinded() {
                p { "Values that others have entered are not shown to you." }
            } @else if has_value || known.last {
                p { @if known.last && !known.is_complete() { "Final, with missing values" } @else if known.is_complete() { "Complete" } @else { "Known in part" }
                    "; last entered by " (stamp(case.view.outcome_by.as_ref())) "." }
                (values_table(case, known))
            }
            @if awaited && visit.has_in(Permission::Act, study) { (give(visit, case, known, Values::of(rejected, "outcome"))) }
            @if (has_value || known.last) && visit.has_in(Permission::Amend, study) { (correct(visit, case, known, Values::of(rejected, "amend"))) }
        }
    }
}

fn values_table(case: &Case, known: &Outcome) -> Markup {
    let shown = |value: Option<&Option<f64>>| {
        value
            .map(|value| value.map_or("not known".into(), amount))
            .unwrap_or_default()
    };
    html! {
        div.wide tabindex="0" role="group" aria-label="Table: outcome" {
            table.data {
                thead { tr { th scope="col" { "Step" } th scope="col" { "State" } th.n scope="col" { "Reward of stopping here" } th.n scope="col" { "Cost of the action" } } }
                tbody {
                    @for (i, reward) in known.rewards.iter().enumerate() {
                        tr {
                            th scope="row" { (i + 1) }
                            td { bdi { (state(case, i)) } }
                            td.n { (shown(Some(reward))) }
                            td.n { (shown(known.costs.get(i))) }
                        }
                    }
                }
            }
        }
    }
}

fn state(case: &Case, i: usize) -> String {
    let steps = case.view.steps.as_deref().unwrap_or_default();
    steps
        .get(i)
        .map(|step| step.state.clone())
        .unwrap_or_default()
}

/// One field for every reward and cost; `known` values are left out when they are given, and shown when they are corrected.
fn fields(case: &Case, known: &Outcome, values: Values<'_>, form: &str, all: bool) -> Markup {
    let steps = case.view.steps.as_deref().unwrap_or_default();
    let action = |i: usize| {
        steps
            .get(i)
            .and_then(|it| it.action.clone())
            .unwrap_or_default()
    };
    let field = |kind: &str, i: usize, label: &str, value: Option<f64>| {
        let (name, id) = (
            format!("{kind}-{}", i + 1),
            format!("{form}-{kind}-{}", i + 1),
        );
        let shown = value
            .filter(|_| all)
            .map(emab::spec::format_number)
            .unwrap_or_default();
        html! {
            @if value.is_none() || all {
                @if all { (was(&name, &shown)) }
                div.field.number {
                    label for=(id) { (label) }
                    input type="text" inputmode="decimal" id=(id) name=(name) value=(values.changed_or(&name, &shown)) autocomplete="off" maxlength="40";
                }
            }
        }
    };
    html! {
        div.row {
            @for (i, reward) in known.rewards.iter().enumerate() {
                (field("reward", i, &format!("Reward of stopping at step {} ({})", i + 1, state(case, i)), *reward))
            }
        }
        div.row {
            @for (i, cost) in known.costs.iter().enumerate() {
                (field("cost", i, &format!("Cost of {} at step {}", action(i), i + 1), *cost))
            }
        }
    }
}

fn give<P>(visit: &Visit<P>, case: &Case, known: &Outcome, values: Values<'_>) -> Markup {
    html! {
        form method="post" action={ (visit.root) (case.address()) "/outcome" } {
            p.hint { "Leave empty what is not known yet. The service learns from the case when every value is known, or when the outcome is final. " (ranges(&case.study)) }
            (request_id(&visit.caller))
            (fields(case, known, values, "give", false))
            (tick_box(("give-final", "final"), "Final: no further values will come", values.ticked("final")))
            @if !case.study.missing_at_random {
                p.hint { "A value that is missing for good ends the certificates of this study." }
            }
            (outlier("give", values))
            button type="submit" { "Record the outcome" }
        }
    }
}

/// The usual ranges of values, if the study states them.
fn ranges(study: &Study) -> Markup {
    let range = |what: &str, range: Option<[f64; 2]>| {
        html! {
            @if let Some([low, high]) = range { (what) " are from " (amount(low)) " to " (amount(high)) ". " }
        }
    };
    html! { (range("Rewards", study.outcome_range.reward)) (range("Costs", study.outcome_range.cost)) }
}

fn correct<P>(visit: &Visit<P>, case: &Case, known: &Outcome, values: Values<'_>) -> Markup {
    html! {
        details open[values.rejected()] {
            summary { "Correct the outcome" }
            p { "Change the values that are wrong. The earlier ones stay in the log." }
            form method="post" action={ (visit.root) (case.address()) "/amend" } {
                (request_id(&visit.caller))
                (fields(case, known, values, "amend", true))
                (text_field(("amend-reason", "reason"), "Reason", values.get("reason"), None, true))
                (tick_box(("amend-outlier", "outlier"), "A value outside the usual range is right", values.ticked("outlier")))
                button type="submit" { "Record the correction" }
            }
        }
    }
}

fn outlier(form: &str, values: Values<'_>) -> Markup {
    html! {
        details open[values.ticked("outlier") || !values.get("reason").is_empty()] {
            summary { "A value is outside the usual range" }
            (tick_box((&format!("{form}-outlier"), "outlier"), "It is right", values.ticked("outlier")))
            (text_field((&format!("{form}-reason"), "reason"), "Reason", values.get("reason"), None, false))
        }
    }
}
