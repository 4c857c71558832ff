//! The history of a case: every step with its time and person, and the forms that correct a step.

use maud::{Markup, html};

use super::Case;
use crate::console::form::{Rejected, Values, choose, request_id, text_field, was};
use crate::console::visit::Visit;
use crate::console::words::stamp;
use crate::domain::{Advice, DecidedBy, Status};
use crate::http::view::StepView;
use crate::tokens::Permission;

pub(super) fn section<P>(visit: &Visit<P>, case: &Case, rejected: Option<Rejected<'_>>) -> Markup {
    let steps = case.view.steps.as_deref().unwrap_or_default();
    let study = &case.head.name;
    let correctable = visit.has_in(Permission::Amend, study) && case.view.status != Status::Voided;
    let told = steps.iter().filter(|step| step.feedback.is_some());
    html! {
        h2 { "History" }
        p { @if case.view.imported { "Imported: " } @else { "Opened: " } (stamp(case.view.opened_by.as_ref()))
            ", in state " b { bdi { (case.view.start) } } "." }
        div.wide tabindex="0" role="group" aria-label="Table: history" {
            table.data {
                thead { tr {
                    th scope="col" { "Step" } th scope="col" { "State" } th scope="col" { "Recommended" } th scope="col" { "Done" }
                    th scope="col" { "Seen" } th scope="col" { "Reported" } th scope="col" { "Remarks" }
                } }
                tbody { @for step in steps { (row(visit, case, step)) } }
            }
        }
        @if let Some(ended) = case.view.ended_by.as_ref() {
            p { @if case.view.status == Status::Abandoned { "Abandoned: " } @else { "Ended: " } (stamp(Some(ended))) "." }
        }
        @if let Some(entered) = case.view.outcome_by.as_ref() {
            p { "Outcome last entered or corrected: " (stamp(Some(entered))) "." }
        }
        @if let Some(voided) = case.view.voided_by.as_ref() { p { "Voided: " (stamp(Some(voided))) "." } }
        @if visit.has_in(Permission::Log, study) {
            p.hint { "Every report and correction is in the " a href={ (visit.root) "studies/" (study) "/log" } { "log" } "." }
        }
        @if correctable { @for step in told { (correction(visit, case, step, rejected)) } }
    }
}

fn row<P>(visit: &Visit<P>, case: &Case, step: &StepView) -> Markup {
    let advice = step.decision.as_ref();
    let advice: Option<Advice> = advice.and_then(|text| serde_json::from_str(text.get()).ok());
    let replay = visit.has_in(Permission::Log, &case.head.name) && advice.is_some();
    html! {
        tr {
            th scope="row" { (step.step) }
            td { bdi { (step.state) } }
            td { @if let Some(advice) = &advice { bdi { (advice.action) } } @else { "–" } }
            td { @if let Some(action) = &step.action { b { bdi { (action) } } } @else if case.view.status == Status::Open { "not reported yet" } @else { "–" } }
            td { @if let Some(feedback) = &step.feedback { bdi { (feedback) } } }
            td { @if step.action.is_some() { (stamp(step.reported.as_ref())) } }
            td.free-text {
                @if step.overridden { "Override" @if step.reason.is_some() { ": " } @else { ". " } }
                @if let Some(reason) = &step.reason { bdi { (reason) } ". " }
                @if step.decided_by == Some(DecidedBy::Fallback) { "Decided from a printed policy. " }
                @if let Some(why) = &step.corrected { "Corrected: " bdi { (why) } " (" (stamp(step.corrected_by.as_ref())) "). " }
                @if replay { a href={ (visit.root) (case.address()) "/replay/" (step.step) } { "Replay" span.sr { " the decision of step " (step.step) } } }
            }
        }
    }
}

fn correction<P>(
    visit: &Visit<P>,
    case: &Case,
    step: &StepView,
    rejected: Option<Rejected<'_>>,
) -> Markup {
    let (number, spec) = (step.step, &case.study.spec);
    let form = format!("amend-step-{number}");
    let values = Values::of(rejected, &form);
    let names = |names: &emab::spec::Names| -> Vec<String> {
        (0..names.len())
            .map(|i| names.name(i).into_owned())
            .collect()
    };
    let now = |value: &Option<String>| value.clone().unwrap_or_default();
    html! {
        details open[values.rejected()] {
            summary { "Correct step " (number) }
            p { "What was reported is wrong. Later steps are kept; if they would not be possible, void the case and enter it again." }
            form method="post" action={ (visit.root) (case.address()) "/steps/" (number) "/amend" } {
                (request_id(&visit.caller))
                (was("action", &now(&step.action)))
                (was("feedback", &now(&step.feedback)))
                (choose((&format!("{form}-action"), "action"), "Action", names(spec.actions()).into_iter(), values.changed_or("action", &now(&step.action))))
                (choose((&format!("{form}-feedback"), "feedback"), "What was seen", names(spec.feedbacks()).into_iter(), values.changed_or("feedback", &now(&step.feedback))))
                (text_field((&format!("{form}-reason"), "reason"), "Reason", values.get("reason"), None, true))
                button type="submit" { "Record the correction of step " (number) }
            }
        }
    }
}
