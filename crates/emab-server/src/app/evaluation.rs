//! What the current policies of a study's learners are worth, by its own log.

use std::sync::Arc;

use emab_logs::evaluate::{EvaluateError, Settings};
use emab_logs::policy::Choices;
use emab_logs::{Evaluation, Policy, evaluate};

use crate::app::decision_log::{LogReadError, of_episodes};
use crate::app::{CommandError, Service, ServiceError};
use crate::domain::{CHECKED_PAIRS, Rejection, StudyState};

/// The probability with which an interval contains its value, unless a caller asks for another one.
pub const CONFIDENCE: f64 = 0.95;

/// The evaluations of a study at an event.
#[derive(Debug)]
pub struct StudyEvaluation {
    /// The sequence number of the last event that they include.
    pub as_of: u64,
    /// Its hash.
    pub hash: String,
    /// The learner of the study.
    pub learner: Evaluation,
    /// Its shadow learners.
    pub shadows: Vec<Evaluation>,
}

impl Service {
    /// Evaluates the current choices of the learner of a study and of its shadow learners.
    pub async fn evaluation(
        self: &Arc<Self>,
        study: &str,
        confidence: f64,
    ) -> Result<StudyEvaluation, ServiceError> {
        self.current_state_and_store(study, move |state, store| {
            let settings = Settings {
                confidence,
                ..Settings::default()
            };
            let policies = policies(state)?;
            let log = of_episodes(&state.study, store, &state.head);
            let log = log.map_err(|error| match error {
                LogReadError::Store(error) => CommandError::Store(error),
                other => Rejection::internal(other.to_string()).into(),
            })?;
            let evaluated = policies.into_iter().map(|mut policy| {
                evaluate(&log, &mut policy, &settings).map_err(|error| match error {
                    EvaluateError::Graph(_)
                    | EvaluateError::Empty(_)
                    | EvaluateError::Assumption(_)
                    | EvaluateError::NoGain
                    | EvaluateError::Policy(_) => Rejection::not_possible(error.to_string()),
                    EvaluateError::Confidence(_) => {
                        Rejection::malformed(error.to_string()).at("/confidence")
                    }
                })
            });
            let mut evaluated = evaluated.collect::<Result<Vec<_>, _>>()?;
            let shadows = evaluated.split_off(1);
            let learner = evaluated.pop();
            let missing = || Rejection::internal("there is no learner");
            Ok(StudyEvaluation {
                as_of: state.head.seq,
                hash: state.head.hash.clone(),
                learner: learner.ok_or_else(missing)?,
                shadows,
            })
        })
        .await
    }
}

/// The current choices of the learner and of the shadow learners, in all reachable pairs.
fn policies(state: &mut StudyState) -> Result<Vec<Policy>, Rejection> {
    let study = state.study.clone();
    let wrong = |error: emab::spec::PointError| Rejection::not_possible(error.to_string());
    let reachable = study.spec.reachable(CHECKED_PAIRS).map_err(wrong)?;
    if !reachable.complete {
        let what = format!("more than {CHECKED_PAIRS} step-state pairs are reachable");
        return Err(Rejection::not_possible(what));
    }
    let configs = [&study.learner].into_iter().chain(&study.shadows);
    let mut tables: Vec<(String, Choices)> = configs
        .map(|config| (config.label().into(), Choices::new()))
        .collect();
    for (t, x) in reachable.pairs {
        let shadows = state.learners.shadow_choices(t, x);
        let all = [state.learners.choose(t, x)].into_iter().chain(shadows);
        for ((_, table), action) in tables.iter_mut().zip(all) {
            table.insert((t, x), action);
        }
    }
    let policies = tables.into_iter();
    Ok(policies
        .map(|(label, table)| Policy::of_table(label, true, table))
        .collect())
}
