//! What a study has learned: counts, means, widths and indices.

use emab::Action;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::StudyState;

/// The estimate of one action in one step and state.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct EstimateRow {
    /// The step, from 1.
    pub step: u32,
    /// The state, by name.
    pub state: String,
    /// The action by name, or `stop`.
    pub action: String,
    /// The number of observations.
    pub count: u64,
    /// The sample mean of its gain.
    pub mean: f64,
    /// The confidence width; `null` if it is infinite or the learner has none.
    pub width: Option<f64>,
    /// The index that actions are compared by; `null` if it is infinite or the learner has none.
    pub index: Option<f64>,
}

/// The estimates of a study.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct Estimates {
    /// The study.
    pub study: String,
    /// The learner.
    pub learner: String,
    /// The sequence number of the last event that is included.
    pub as_of: u64,
    /// The time of that event, RFC 3339; left out for a study of rules before 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The hash of that event.
    pub hash: String,
    /// The number of learned episodes.
    pub learned: u64,
    /// One row for every observed step, state and action.
    pub estimates: Vec<EstimateRow>,
}

impl Estimates {
    pub fn of(state: &mut StudyState) -> Estimates {
        state.settle_expired();
        let (study, learners) = (state.study.clone(), &mut state.learners);
        let spec = &study.spec;
        let rows = learners.gain_sums().into_iter().map(|gains| {
            let (t, x, a) = (gains.t as usize, gains.x as usize, gains.a as usize);
            let action = if a < spec.actions().len() {
                Action::Continue(a)
            } else {
                Action::Stop
            };
            let known = learners.estimate(t, x, action);
            let finite = |value: f64| Some(value).filter(|value| value.is_finite());
            EstimateRow {
                step: gains.t,
                state: spec.states().name(x).into_owned(),
                action: spec.action_name(action).into_owned(),
                count: known.map_or(gains.count, |known| known.count),
                mean: known.map_or(gains.sum / gains.count as f64, |known| known.mean),
                width: known.and_then(|known| finite(known.width)),
                index: known.and_then(|known| finite(known.index)),
            }
        });
        let estimates = rows.collect();
        Estimates {
            study: study.name.clone(),
            learner: study.learner.label().into(),
            as_of: state.head.seq,
            at: state.head.details.at.clone(),
            hash: state.head.hash.clone(),
            learned: state.head.counted_learned(),
            estimates,
        }
    }
}
