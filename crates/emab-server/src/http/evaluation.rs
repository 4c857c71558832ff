//! What the current policies of a study are worth, by its own log.

use axum::http::StatusCode;
use emab::theory::TripletAt;
use emab_logs::{Assumed, Evaluation};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::call::Call;
use super::error::ApiError;
use super::response::{ApiResult, json};
use crate::app::evaluation::CONFIDENCE;
use crate::tokens::Permission;

/// The settings of an evaluation.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct EvaluationQuery {
    /// The probability with which each interval contains the value, more than 0 and less than 1; 0.95 by default.
    #[param(value_type = Option<f64>, exclusive_minimum = 0, exclusive_maximum = 1)]
    confidence: Option<String>,
}

/// The value of the current policies of a study, by its own log.
#[derive(Serialize, ToSchema)]
pub struct EvaluationView {
    /// The study.
    study: String,
    /// The sequence number of the last event that it includes.
    as_of: u64,
    /// The hash of that event.
    hash: String,
    /// The probability with which each interval contains the value.
    confidence: f64,
    /// The number of episodes with an outcome.
    episodes: u64,
    /// Those in which something else was done than recommended.
    overridden: u64,
    /// The mean gain of these episodes; `null` if none is known.
    logged_value: Option<f64>,
    /// Its standard error; `null` for fewer than two.
    logged_stderr: Option<f64>,
    /// The learner of the study first, then its shadow learners.
    policies: Vec<PolicyValue>,
    /// What is not stated and was taken from the log; the intervals hold only if it is true.
    assumed: Vec<String>,
    /// Where the observations contradict the stated ranges and noise; the intervals are wrong then.
    violations: Vec<String>,
    /// Steps and states at which what was observed depends on more than step and state; the values are then biased.
    contradictions: Vec<String>,
}

/// The value of the current choices of a learner.
#[derive(Serialize, ToSchema)]
pub struct PolicyValue {
    /// The learner.
    learner: String,
    /// Whether it is a shadow learner.
    shadow: bool,
    /// The estimated expected gain of an episode that follows its current choices.
    value: f64,
    /// The lower end of the interval.
    lower: f64,
    /// The upper end of the interval.
    upper: f64,
    /// Whether every step and state that it leads to was observed with its action.
    supported: bool,
    /// Those that were not; the interval rests on the stated ranges there.
    unsupported: Vec<Unsupported>,
    /// The same without the steps from the first override of an episode on; `null` if there are no overrides.
    without_overrides: Option<ValueInterval>,
}

/// An estimate and its interval.
#[derive(Serialize, ToSchema)]
pub struct ValueInterval {
    /// The estimate.
    value: f64,
    /// The lower end of the interval.
    lower: f64,
    /// The upper end of the interval.
    upper: f64,
}

/// A step and state that was not observed with an action.
#[derive(Serialize, ToSchema)]
pub struct Unsupported {
    /// The step, from 1.
    t: usize,
    /// The state, by index.
    x: usize,
    /// The state, by name.
    state: String,
    /// The action, by name, or `stop`.
    a: String,
}

impl From<&TripletAt> for Unsupported {
    fn from(place: &TripletAt) -> Unsupported {
        let TripletAt { t, x, state, a } = place.clone();
        Unsupported { t, x, state, a }
    }
}

fn policy_value(it: &Evaluation, shadow: bool) -> PolicyValue {
    PolicyValue {
        learner: it.policy.clone(),
        shadow,
        value: it.value.value,
        lower: it.value.lower,
        upper: it.value.upper,
        supported: it.supported,
        unsupported: it.unsupported.iter().map(Unsupported::from).collect(),
        without_overrides: it.without_overrides.map(|it| ValueInterval {
            value: it.value,
            lower: it.lower,
            upper: it.upper,
        }),
    }
}

/// Evaluate the policies of a study
///
/// What the current choices of the learner and of each shadow learner are worth: the expected gain of an episode that follows them,
/// estimated from the log of the study, with an interval that holds although the log was collected adaptively and the choices
/// depend on it. `emab evaluate` computes the same from an export, and more.
#[utoipa::path(get, operation_id = "evaluateStudy", path = "/v1/studies/{study}/evaluation", tag = "studies",
    params(("study" = String, Path), EvaluationQuery),
    responses((status = 200, description = "The values", body = EvaluationView)))]
pub async fn evaluation(call: Call<String, EvaluationQuery>) -> ApiResult {
    call.may(Permission::Log)?;
    let wrong = || {
        let what = "`confidence` must be a number more than 0 and less than 1";
        ApiError::malformed(what)
    };
    let confidence: f64 = match call.query.confidence.as_deref() {
        None => CONFIDENCE,
        Some(text) => text.parse().map_err(|_| wrong())?,
    };
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(wrong());
    }
    let it = call.app.service.evaluation(&call.path, confidence).await?;
    let learner = &it.learner;
    let shadows = it.shadows.iter().map(|it| policy_value(it, true));
    let view = EvaluationView {
        study: call.path.clone(),
        as_of: it.as_of,
        hash: it.hash,
        confidence,
        episodes: learner.log.learned,
        overridden: learner.log.overridden,
        logged_value: learner.logged_value,
        logged_stderr: learner.logged_stderr,
        policies: [policy_value(learner, false)]
            .into_iter()
            .chain(shadows)
            .collect(),
        assumed: learner.assumed.iter().map(Assumed::statement).collect(),
        violations: learner.violations.clone(),
        contradictions: learner
            .contradictions
            .iter()
            .map(ToString::to_string)
            .collect(),
    };
    json(StatusCode::OK, &view)
}
