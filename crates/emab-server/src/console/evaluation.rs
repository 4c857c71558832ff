//! What the current choices of the learner and of the shadow learners are worth, by the log of the study.

use emab_logs::evaluate::Value;
use emab_logs::{Assumed, Evaluation};
use maud::{Markup, html};

use super::layout::{AsOf, Page, Tab};
use super::visit::{PageResult, Visit};
use super::waiting::{in_time, loading};
use super::words::{amount, counted, for_people, text, three_decimals};
use crate::app::evaluation::{CONFIDENCE, StudyEvaluation};
use crate::tokens::Permission;

/// The most steps and states without observations that are named.
const NAMED: usize = 12;

pub async fn page(visit: Visit<String>) -> PageResult {
    visit.caller.may_in(Permission::Log, &visit.path)?;
    let service = &visit.app.service;
    let head = service.head(&visit.path).await?;
    let read = in_time(service.evaluation(&head.name, CONFIDENCE)).await;
    let (as_of, content) = match read {
        Ok(Some(it)) => {
            let at = head.details.at.clone().filter(|_| it.as_of == head.seq);
            (AsOf { seq: it.as_of, at }, evaluation(&it))
        }
        Ok(None) => (AsOf::of(&head), loading()),
        // Such as no case with an outcome.
        Err(error) if error.status == 422 => (
            AsOf::of(&head),
            html! { p.notice { "There is no evaluation: " (for_people(&error.detail)) "." } },
        ),
        Err(error) => return Err(error),
    };
    let page = Page::of_study("Evaluation", &head.name, Tab::Progress, as_of);
    Ok(page.show(&visit, &content))
}

fn evaluation(it: &StudyEvaluation) -> Markup {
    let learner = &it.learner;
    let all: Vec<&Evaluation> = [learner].into_iter().chain(&it.shadows).collect();
    let cases = counted(learner.log.learned, "case");
    let contradictions: Vec<String> = learner
        .contradictions
        .iter()
        .map(ToString::to_string)
        .collect();
    let assumed: Vec<String> = learner.assumed.iter().map(Assumed::statement).collect();
    html! {
        p { "What would a case gain on average if all cases followed what a learner recommends now? The estimates are made from the "
            (cases) " of this study that have an outcome." }
        (table(&all))
        @if let Some(mean) = learner.logged_value {
            p { "The cases of this study gained " (amount(mean)) " on average"
                @if let Some(error) = learner.logged_stderr { " (standard error " (amount(error)) ")" }
                "."
                @if learner.log.overridden > 0 {
                    " In " (learner.log.overridden) " of them something else was done than recommended. If that was because of something that the states do not show, \
                     the estimates are biased; those without overridden steps leave out these steps and what followed them."
                }
            }
        }
        p { "If no warning follows, the intervals of all learners contain the gain with a probability of " (CONFIDENCE * 100.0)
            " %, although the learner chose what was observed. "
            @if learner.without_overrides.is_some() { "The same holds by itself for those without overridden steps. " }
            "Where two intervals overlap, the log does not show which learner is better." }
        @if learner.log.without_outcome() > 0 {
            p { "Cases without an outcome are left out (" (learner.log.without_outcome()) "). The intervals hold if outcomes are missing for reasons that do not \
                depend on what happened in the case; of cases under way, those that end early have their outcome first." }
        }
        (unsupported(&all))
        (warnings("The observations contradict what the study states, so that the intervals are wrong:", &learner.violations))
        (warnings(
            "The states leave out something that matters: what was observed depends on what came before them, so that the estimates are biased:",
            &contradictions,
        ))
        (warnings(
            "The study does not state these limits. They were taken from the observations, and the intervals hold only if they are right:",
            &assumed,
        ))
    }
}

fn table(all: &[&Evaluation]) -> Markup {
    let overridden = all.iter().any(|it| it.without_overrides.is_some());
    let values = || all.iter().map(|it| &it.value);
    let least = values().map(|it| it.lower).fold(f64::INFINITY, f64::min);
    let most = values()
        .map(|it| it.upper)
        .fold(f64::NEG_INFINITY, f64::max);
    html! {
        div.wide tabindex="0" role="group" aria-label="Table: gain of a case by learner" {
            table.data {
                thead { tr { th scope="col" { "Learner" } th.n scope="col" { "Gain" }
                    th scope="col" { (CONFIDENCE * 100.0) " % interval" }
                    @if overridden { th scope="col" { "Without overridden steps" } } } }
                tbody {
                    @for (i, it) in all.iter().enumerate() {
                        tr {
                            th scope="row" { code { (it.policy) } @if i == 0 { ", recommends" } @else { ", shadow" } }
                            td.n { (three_decimals(it.value.value)) }
                            td { (three_decimals(it.value.lower)) " to " (three_decimals(it.value.upper)) (interval(&it.value, (least, most))) }
                            @if let Some(without) = it.without_overrides {
                                td { (three_decimals(without.value)) " (" (three_decimals(without.lower)) " to " (three_decimals(without.upper)) ")" }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// An interval and its estimate as a line with a point, on a scale that all rows of the table share.
fn interval(value: &Value, (least, most): (f64, f64)) -> Markup {
    const WIDTH: f64 = 100.0;
    const MARGIN: f64 = 4.0;
    let length = if most > least { most - least } else { 1.0 };
    let at = |it: f64| {
        let share = (it - least) / length;
        format!("{:.1}", MARGIN + share * (WIDTH - 2.0 * MARGIN))
    };
    html! {
        br;
        svg width=(WIDTH) height="10" viewBox={ "0 0 " (WIDTH) " 10" } aria-hidden="true" {
            line x1=(at(value.lower)) x2=(at(value.upper)) y1="5" y2="5" stroke="currentColor" stroke-width="2" {}
            circle cx=(at(value.value)) cy="5" r="4" fill="currentColor" {}
        }
    }
}

/// The steps and states in which the log never has what a learner recommends.
fn unsupported(all: &[&Evaluation]) -> Markup {
    html! {
        @for it in all.iter().filter(|it| !it.supported) {
            p { "What " code { (it.policy) } " recommends was never observed in "
                (counted(it.unsupported.len() as u64, "place")) "; the interval assumes the worst and the best that is possible there:" }
            ul {
                @for place in it.unsupported.iter().take(NAMED) {
                    li { "step " (place.t) ", state " bdi { (place.state) } ": " bdi { (place.a) } }
                }
                @if it.unsupported.len() > NAMED { li { "and " (it.unsupported.len() - NAMED) " more" } }
            }
        }
    }
}

fn warnings(what: &str, found: &[String]) -> Markup {
    html! {
        @if !found.is_empty() {
            section.notice {
                p { (what) }
                ul { @for it in found.iter().take(NAMED) { li { (text(it)) } }
                    @if found.len() > NAMED { li { "and " (found.len() - NAMED) " more" } } }
            }
        }
    }
}
