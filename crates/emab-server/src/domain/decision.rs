//! Decisions: the recommendation for one step, its certificate (Corollary 1 of the paper) and what it was computed from.
//!
//! [`Decision::make`] is the only place where the service decides.

use emab::Action;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{Head, RULES_3, RULES_4, RULES_5, Study, StudyLearners};

/// A decision as it was answered, byte for byte.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDecision {
    pub episode: String,
    pub step: u32,
    /// The decision as JSON.
    pub text: String,
}

/// An action with the estimate of its gain and its confidence limits; `null` if it was never observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Estimate {
    /// The action by name, or `stop`.
    pub action: String,
    /// The number of observations in this step and state.
    pub count: u64,
    /// The sample mean of its gain.
    pub mean: Option<f64>,
    /// The lower confidence limit, within what the ranges of the study allow.
    pub lower: Option<f64>,
    /// The upper confidence limit, within what the ranges of the study allow.
    pub upper: Option<f64>,
}

/// The recommendation for one step of an episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    /// The recommendation.
    #[serde(flatten)]
    pub advice: Advice,
    /// The hash of the study's specification.
    pub spec_hash: String,
    /// The hash of the event before the one that records this decision.
    pub previous: String,
    /// The estimate of the recommended action; `null` if the learner keeps no estimates.
    pub estimate: Option<Estimate>,
    /// The action with the next largest index; `null` if there is no other.
    pub runner_up: Option<Estimate>,
    /// With probability at least 1 − delta, for all decisions of the study at once, the recommended action is within
    /// this much of the best one-step gain (Corollary 1 of the paper), or, for a learner that estimates values, of the best
    /// action when the optimal policy follows; `null` if it is withheld.
    pub certificate: Option<f64>,
    /// Why the certificate is withheld.
    pub withheld: Option<String>,
    /// Whether it is recommended for exploration: its mean is not the largest, or it was never observed.
    pub explored: Option<bool>,
    /// What made it; left out for studies of rules before 3, where it was always the learner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
}

/// What makes a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DecidedBy {
    /// The learner.
    Learner,
    /// The initial protocol of the study.
    Protocol,
    /// A table of the policy, while the service could not be reached. Only steps are decided so.
    Fallback,
}

/// What is decided: a step of an episode, and its state.
#[derive(Clone, Copy, Debug)]
pub struct DecisionPoint<'a> {
    pub episode: &'a str,
    /// The number of the episode among the opened ones.
    pub number: Option<u64>,
    pub t: usize,
    pub x: usize,
    /// The time of the decision.
    pub at: &'a str,
}

/// The recommendation without estimates and hashes: all that a `blinded` token is shown. Hashes would let it test guesses of what
/// it does not see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Advice {
    /// The study.
    pub study: String,
    /// The episode.
    pub episode: String,
    /// The step, from 1.
    pub step: usize,
    /// The state, by name.
    pub state: String,
    /// The recommended action, by name, or `stop`.
    pub action: String,
    /// The sequence number of the last event before the decision.
    pub as_of: u64,
    /// The time of the decision, RFC 3339; left out for studies of rules before 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// An action and what the learner has estimated for it.
type Candidate = (Action, emab::Estimate);

impl Decision {
    /// What is recommended in a step and state to the episode with this number, and what decides it.
    pub fn choice(
        study: &Study,
        learners: &mut StudyLearners,
        number: Option<u64>,
        (t, x): (usize, usize),
    ) -> (Action, DecidedBy) {
        let by_protocol = study.protocol.as_ref().and_then(|protocol| {
            protocol.choice(&study.spec, number, (t, x), learners.is_observed(t, x))
        });
        match by_protocol {
            Some(action) => (action, DecidedBy::Protocol),
            None => (learners.choose(t, x), DecidedBy::Learner),
        }
    }

    /// The decision for a step of an episode, from the log up to `head`.
    pub fn make(
        study: &Study,
        head: &Head,
        learners: &mut StudyLearners,
        point: DecisionPoint<'_>,
    ) -> Decision {
        let spec = &study.spec;
        let DecisionPoint { t, x, .. } = point;
        let (action, decided_by) = Decision::choice(study, learners, point.number, (t, x));
        let allowed = (0..spec.actions().len()).filter(|&a| spec.is_allowed(t, x, a));
        let all = allowed.map(Action::Continue).chain([Action::Stop]);
        let candidates: Vec<Candidate> = all
            .filter_map(|action| Some((action, learners.estimate(t, x, action)?)))
            .collect();
        let chosen = candidates.iter().find(|it| it.0 == action);
        let runner_up = candidates
            .iter()
            .filter(|it| it.0 != action)
            // Of equal indices the first; `max_by` takes the last.
            .rev()
            .max_by(|a, b| a.1.index.total_cmp(&b.1.index));
        // From rules 3 on, limits are clipped to what the ranges of the study allow.
        let clip = |action: Action, value: f64| match action {
            _ if head.rules < RULES_3 => value,
            Action::Stop => value.clamp(study.limits.stop[0], study.limits.stop[1]),
            // An accepted outlier shows that costs may be outside their range.
            Action::Continue(_) if head.details.outliers > 0 => value,
            Action::Continue(_) => value.clamp(study.limits.action[0], study.limits.action[1]),
        };
        let shortfall = learners.shortfall(spec, t, x, action);
        let biased = biased_action(study, head, learners, (t, x));
        let certificate = match biased {
            Some(why) => Err(why),
            None => certificate(study, head, chosen.map(|it| it.1.width), shortfall),
        };
        let certificate = certificate.map(|within| match chosen {
            Some((_, it)) => {
                let distance = |clip: &dyn Fn(Action, f64) -> f64| {
                    let uppers = candidates.iter().map(|(other, it)| clip(*other, it.upper));
                    let most = uppers.fold(f64::NEG_INFINITY, f64::max);
                    most - clip(action, it.mean - it.width)
                };
                let clipped = distance(&clip);
                match clipped < distance(&|_, value| value) {
                    true => within.min(clipped).max(0.0),
                    false => within,
                }
            }
            None => within,
        });
        let estimate = |(action, it): &Candidate| {
            let known = |value: f64| Some(value).filter(|v| it.count > 0 && v.is_finite());
            Estimate {
                action: spec.action_name(*action).into_owned(),
                count: it.count,
                mean: known(it.mean),
                lower: known(it.mean - it.width).map(|lower| clip(*action, lower)),
                upper: known(it.mean + it.width).map(|upper| clip(*action, upper)),
            }
        };
        Decision {
            advice: Advice {
                study: study.name.clone(),
                episode: point.episode.into(),
                step: t,
                state: spec.states().name(x).into_owned(),
                action: spec.action_name(action).into_owned(),
                as_of: head.seq,
                at: (head.rules >= RULES_4).then(|| point.at.into()),
            },
            spec_hash: study.hash.clone(),
            previous: head.hash.clone(),
            estimate: chosen.map(estimate),
            runner_up: runner_up.map(estimate),
            certificate: certificate.as_ref().ok().copied(),
            withheld: certificate.err(),
            explored: chosen.map(|(_, chosen)| {
                let better = |(_, it): &Candidate| it.count > 0 && it.mean > chosen.mean;
                chosen.count == 0 || candidates.iter().any(better)
            }),
            decided_by: (head.rules >= RULES_3).then_some(decided_by),
        }
    }
}

/// Why the means of gains in a step and state have no certificate: one of the gains of an action is unknown, and a mean of the
/// others is biased if that depends on the feedback. From rules 5 on.
fn biased_action(
    study: &Study,
    head: &Head,
    learners: &StudyLearners,
    (t, x): (usize, usize),
) -> Option<String> {
    if head.rules < RULES_5 || study.unsound.is_some() || !study.learner.averages_gains() {
        return None;
    }
    let spec = &study.spec;
    let moves = |a: usize| {
        let mut next = (0..spec.feedbacks().len()).map(|f| spec.next(t, x, a, f).ok());
        let first = next.next();
        next.any(|next| Some(next) != first)
    };
    let mut unknown = (0..spec.actions().len()).filter(|&a| learners.has_unknown_gain(t, x, a));
    let a = unknown.find(|&a| moves(a))?;
    Some(format!(
        "a gain of `{}` is unknown here, and the mean of the others is biased if that depends on the feedback \
         (`feedbal-pooled` and `feedbal-model` allow for it)",
        spec.actions().name(a)
    ))
}

/// How far the chosen action can be below the best one, or why the certificate is withheld.
///
/// FeedBAL chooses the largest upper confidence bound. While all bounds hold, its choice is within two widths of the best
/// action. For a learner that chooses another action, the shortfall below the largest bound counts as well.
///
/// The texts are recorded in the log and recomputed: they must not change.
fn certificate(
    study: &Study,
    head: &Head,
    width: Option<f64>,
    shortfall: Option<f64>,
) -> Result<f64, String> {
    if let Some(why) = &study.unsound {
        return Err(why.clone());
    }
    if head.missing > 0 && !study.missing_at_random {
        return Err(format!(
            "{} of {} episodes ended with an outcome that is missing, and nothing says that outcomes are missing at \
             random (`missing_at_random` of the study)",
            head.missing,
            head.counted_episodes()
        ));
    }
    let width = width.ok_or("the learner keeps no estimates")?;
    let within = shortfall.map(|shortfall| shortfall.max(2.0 * width));
    match within {
        Some(within) if within.is_finite() => Ok(within),
        Some(_) => Err("not every action has been observed here".into()),
        None => Err("the learner says nothing of some action here".into()),
    }
}
