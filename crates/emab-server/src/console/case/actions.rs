//! What the forms of a case do: each becomes a command, as a call of the API does.

use std::collections::HashMap;

use super::{Case, show};
use crate::console::form::{Fields, REQUEST, Rejected, is_rejection, number};
use crate::console::layout::go_to;
use crate::console::visit::{PageResult, Visit};
use crate::domain::json::{LenientU64, Name, short};
use crate::domain::{
    Abandon, Amend, AmendStep, Command, Fallback, GiveOutcome, PolicyReference, Stop, Tell,
    VoidEpisode,
};
use crate::http::error::ApiError;
use crate::tokens::Permission;

type CaseVisit = Visit<(String, String)>;

pub async fn tell(visit: CaseVisit) -> PageResult {
    act(visit, Permission::Act, "tell", |id, form, _| {
        let policy = policy(form)?;
        let tell = Tell {
            step: LenientU64(step(form)?),
            action: required(form, "action")?,
            feedback: required(form, "feedback")?,
            reason: form.given("reason"),
            decided_by: policy.as_ref().map(|_| Fallback::Fallback),
            policy,
            request: form.given(REQUEST),
        };
        Ok(Command::Tell(id, tell))
    })
    .await
}

pub async fn stop(visit: CaseVisit) -> PageResult {
    act(visit, Permission::Act, "stop", |id, form, _| {
        let policy = policy(form)?;
        let stop = Stop {
            step: LenientU64(step(form)?),
            reason: form.given("reason"),
            decided_by: policy.as_ref().map(|_| Fallback::Fallback),
            policy,
            request: form.given(REQUEST),
        };
        Ok(Command::Stop(id, stop))
    })
    .await
}

pub async fn abandon(visit: CaseVisit) -> PageResult {
    act(visit, Permission::Act, "abandon", |id, form, _| {
        let (reason, request) = (form.get("reason").into(), form.given(REQUEST));
        Ok(Command::Abandon(id, Abandon { reason, request }))
    })
    .await
}

pub async fn void(visit: CaseVisit) -> PageResult {
    act(visit, Permission::Amend, "void", |id, form, _| {
        let (reason, request) = (form.get("reason").into(), form.given(REQUEST));
        Ok(Command::Void(id, VoidEpisode { reason, request }))
    })
    .await
}

pub async fn give_outcome(visit: CaseVisit) -> PageResult {
    let blinded = visit.caller.is_blinded();
    act(visit, Permission::Act, "outcome", |id, form, case| {
        let steps = case.view.step;
        let given = form
            .iter()
            .filter(|(name, _)| name.starts_with("reward-") || name.starts_with("cost-"));
        if !form.ticked("final") && given.into_iter().all(|(_, value)| value.trim().is_empty()) {
            let what = "no value is entered: enter at least one, or tick that the outcome is final";
            return Err(ApiError::not_possible(what));
        }
        let given = GiveOutcome {
            costs: Some(numbers(form, "cost", steps.saturating_sub(1))?),
            rewards: Some(numbers(form, "reward", steps)?),
            last: form.ticked("final"),
            outlier: form.ticked("outlier"),
            reason: form.given("reason"),
            request: form.given(REQUEST),
            blinded,
        };
        Ok(Command::GiveOutcome(id, given))
    })
    .await
}

pub async fn amend(visit: CaseVisit) -> PageResult {
    act(visit, Permission::Amend, "amend", |id, form, case| {
        let known = case.view.outcome.clone().unwrap_or_default();
        let costs = changed(form, "cost", &known.costs)?;
        let rewards = changed(form, "reward", &known.rewards)?;
        if costs.iter().chain(&rewards).all(Option::is_none) {
            return Err(nothing_changed());
        }
        let amend = Amend {
            costs: Some(costs),
            rewards: Some(rewards),
            reason: form.get("reason").into(),
            outlier: form.ticked("outlier"),
            request: form.given(REQUEST),
        };
        Ok(Command::Amend(id, amend))
    })
    .await
}

pub async fn amend_step(visit: Visit<(String, String, u64)>) -> PageResult {
    let (study, episode, step) = visit.path.clone();
    let visit = visit.at((study, episode));
    let form = format!("amend-step-{step}");
    act(visit, Permission::Amend, &form, |id, form, case| {
        let steps = case.view.steps.as_deref().unwrap_or_default();
        let known = steps.iter().find(|it| it.step as u64 == step);
        let action = known.and_then(|it| it.action.as_ref());
        let feedback = known.and_then(|it| it.feedback.as_ref());
        let action = changed_name(form, "action", action)?;
        let feedback = changed_name(form, "feedback", feedback)?;
        if action.is_none() && feedback.is_none() {
            return Err(nothing_changed());
        }
        let amend = AmendStep {
            action,
            feedback,
            reason: form.get("reason").into(),
            request: form.given(REQUEST),
        };
        Ok(Command::AmendStep(id, step, amend))
    })
    .await
}

/// Submits the command of a form, and shows the case: with what was recorded, or with the form and why it was rejected.
async fn act(
    visit: CaseVisit,
    permission: Permission,
    form: &str,
    command: impl FnOnce(String, &Fields, &Case) -> Result<Command, ApiError>,
) -> PageResult {
    let (study, episode) = &visit.path;
    visit.caller.may_in(permission, study)?;
    let case = Case::read(&visit, study, episode).await?;
    let done = match command(episode.clone(), &visit.form, &case) {
        Ok(command) => visit.submit(study, command).await.map(drop),
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => {
            let note = if form.starts_with("amend-step") {
                "amend-step"
            } else {
                form
            };
            let address = format!("{}studies/{study}/cases/{episode}?note={note}", visit.root);
            Ok(go_to(&address))
        }
        Err(error) if is_rejection(&error) => {
            let rejected = Rejected {
                form,
                typed: &visit.form,
                error: &error,
            };
            show(&visit, study, episode, Some(rejected)).await
        }
        Err(error) => Err(error),
    }
}

fn required(form: &Fields, name: &str) -> Result<Name, ApiError> {
    let given = form.given(name).map(Name::Text);
    given.ok_or_else(|| ApiError::not_possible(format!("choose the {name}")).at(format!("/{name}")))
}

fn step(form: &Fields) -> Result<u64, ApiError> {
    let step = form.get("step").parse().ok().filter(|step| *step > 0);
    step.ok_or_else(|| ApiError::malformed("the form names no step; reload the page").at("/step"))
}

/// The table of the policy that a choice was made from, if the form names one.
fn policy(form: &Fields) -> Result<Option<PolicyReference>, ApiError> {
    let (as_of, hash) = (form.get("policy-as-of"), form.get("policy-hash"));
    if as_of.is_empty() && hash.is_empty() {
        return Ok(None);
    }
    let wrong = |_| {
        let what = format!(
            "the event of the policy is a number, as on the print, got `{}`",
            short(as_of)
        );
        ApiError::not_possible(what).at("/policy/as_of")
    };
    let as_of = as_of.parse().map_err(wrong)?;
    let hash = hash.to_ascii_lowercase();
    Ok(Some(PolicyReference { as_of, hash }))
}

/// The numbers of fields such as `cost-1`; none for an empty one.
fn numbers(form: &Fields, kind: &str, count: usize) -> Result<Vec<Option<f64>>, ApiError> {
    let typed: HashMap<&str, &str> = form.iter().collect();
    let fields = (0..count).map(|i| {
        let text = typed.get(&*format!("{kind}-{}", i + 1)).copied();
        let text = text.unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(None);
        }
        let number = number(text);
        number.map(Some).ok_or_else(|| {
            let what = format!(
                "the {kind} of step {} is `{}`, which is not a number",
                i + 1,
                short(text)
            );
            ApiError::not_possible(what).at(format!("/{kind}s/{i}"))
        })
    });
    fields.collect()
}

/// The numbers that were changed in fields that show the known ones; none for one that was not. Fails if another person has changed
/// one of them since.
fn changed(form: &Fields, kind: &str, known: &[Option<f64>]) -> Result<Vec<Option<f64>>, ApiError> {
    let given = numbers(form, kind, known.len())?;
    let pairs = given.into_iter().zip(known).enumerate();
    let changed = pairs.map(|(i, (given, known))| {
        let step = i + 1;
        let was = form.was(&format!("{kind}-{step}"));
        let was = was.map_or(*known, number);
        let fails = |error: ApiError| Err(error.at(format!("/{kind}s/{i}")));
        if given == was {
            return Ok(None);
        }
        // The known value is the given one if the form was sent before.
        if was != *known && given != *known {
            return fails(corrected_meanwhile(&format!("the {kind} of step {step}")));
        }
        if given.is_none() {
            return fails(ApiError::not_possible(format!(
                "the {kind} of step {step} is empty: a value that was entered can be changed, and not removed"
            )));
        }
        Ok(given)
    });
    changed.collect()
}

/// The name that was changed in a field that shows the known one; none if it was not.
fn changed_name(
    form: &Fields,
    field: &str,
    known: Option<&String>,
) -> Result<Option<Name>, ApiError> {
    let known = known.map_or("", |it| it);
    let was = form.was(field).unwrap_or(known);
    let given = form.given(field).filter(|given| given != was);
    let conflicts = |given: &String| was != known && given != known;
    if given.as_ref().is_some_and(conflicts) {
        return Err(corrected_meanwhile(&format!("the {field}")));
    }
    Ok(given.map(Name::Text))
}

fn corrected_meanwhile(what: &str) -> ApiError {
    ApiError::conflict(format!(
        "{what} was corrected by another person since this page was shown; look at the new value, and send the form again if it is \
         still wrong"
    ))
}

fn nothing_changed() -> ApiError {
    ApiError::not_possible("no value is changed: there is nothing to correct")
}
