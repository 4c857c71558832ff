//! Certificates: an upper bound on the shortfall of a choice (Corollary 1) that holds with probability `1 - delta` in a live
//! study, for which only the specification and `[learning]` are known.
//!
//! `emab check`, `run` and `verify` compare the parameters of a learner with the model. A live study has no model: set
//! parameters are taken as true, defaults are not, and a width that does not cover all randomness is rejected.

use thiserror::Error;

use crate::learner::Learner;
use crate::learners::registry::settings::listed;
use crate::learners::support::tabular::TransitionGraph;
use crate::learners::{LearnerConfig, LearnerError, ProvedBounds};
use crate::parameter::{Delta, FeedbackSpread};
use crate::spec::{Action, Spec, format_number};
use crate::width::WidthKind;

/// Why the widths of a learner certify nothing. Logs record these texts, so they do not change.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Withheld {
    /// The learner has no guarantee with these parameters, or they are invalid.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// `delta=1/n` requires a known number of episodes.
    #[error(
        "learner `{0}`: `delta` is one over the episodes of a run, and a study has no last one (state `delta` as a number)"
    )]
    Endless(&'static str),
    /// The widths depend on parameters that are not set.
    #[error(
        "learner `{0}`: nobody stated {names}, and what is assumed certifies nothing (state {them} in [learning] or in the call)",
        names = listed(.1.iter().copied(), "and"),
        them = if .1.len() == 1 { "it" } else { "them" }
    )]
    Assumed(&'static str, Vec<&'static str>),
    /// The paper's width does not cover the randomness of the feedback, of this spread if it is set. Where that adds nothing,
    /// as with rewards of 0 or 1 and a `sigma2_reward` of 1/4, `feedback_spread=0` in the call states it.
    #[error(
        "learner `{0}`: width=paper leaves out that the feedback is random, and {why}",
        why = moves(*.1)
    )]
    Feedback(&'static str, Option<FeedbackSpread>),
    /// The index of `stop` is not its upper bound, but has this bias.
    #[error(
        "learner `{0}`: with stop_bias={bias} it plays `stop` where another bound is larger, or does not where `stop` has \
         the largest (leave `stop_bias` out)",
        bias = format_number(*.1)
    )]
    Biased(&'static str, f64),
    /// Feedback without a known cost is left out.
    #[error(
        "learner `{0}`: with unknown_costs=drop feedback is left out where its cost is unknown, which may depend on the feedback \
         (leave `unknown_costs` out)"
    )]
    Drops(&'static str),
}

fn moves(spread: Option<FeedbackSpread>) -> String {
    match spread {
        Some(spread) => format!(
            "one feedback can move the next expected reward by {} (width=sound covers it)",
            format_number(spread.get())
        ),
        None => "nothing says how far it can move the next expected reward (width=sound covers it, once `feedback_spread` \
                 or `reward_range` in [learning] says so)"
            .into(),
    }
}

impl LearnerConfig {
    /// The probability with which some width may fail in a live study, by its specification and the parameters from the
    /// call and `[learning]`; otherwise the reason why there is none.
    ///
    /// While all widths hold, [`shortfall`] bounds the shortfall of a choice. Premises that a configuration cannot show: the
    /// set parameters are true; there is no drift; which episodes are learned, and in which order, is independent of their
    /// values and feedback; which costs and rewards of a learned episode are known is independent of their noise, and, where
    /// gains are averaged ([`LearnerConfig::averages_gains`]), of the feedback; for values under the optimal policy, expected
    /// costs are not negative; overrides use no information beyond the state.
    ///
    /// ```
    /// use emab::learners::{LearnerConfig, LearnerDefaults};
    /// use emab::{Spec};
    /// let spec = Spec::numbered(2, 2, 1, 2).unwrap()
    ///     .transition(|_t, _x, _a, f| f as f64);
    /// let config = |text| LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
    /// let sound = config("feedbal:sigma2=0.1,delta=0.05,width=sound,feedback_spread=1");
    /// assert_eq!(sound.certified(&spec).unwrap().get(), 0.05);
    /// assert_eq!(
    ///     config("feedbal:sigma2=0.1").certified(&spec).unwrap_err().to_string(),
    ///     "learner `feedbal`: nobody stated `delta`, and what is assumed certifies nothing (state it in [learning] or in \
    ///      the call)",
    /// );
    /// ```
    pub fn certified(&self, spec: &Spec) -> Result<Delta, Withheld> {
        let (learner, settings) = (self.entry().name, self.settings());
        if self.entry().proved_bounds != ProvedBounds::Verified {
            return Err(LearnerError::NoGuarantee(learner).into());
        }
        if settings.is_word("delta", "1/n") {
            return Err(Withheld::Endless(learner));
        }
        let delta = self.guaranteed_delta()?;
        if settings.is_word("unknown_costs", "drop") {
            return Err(Withheld::Drops(learner));
        }
        let moves = feedback_moves(learner, spec);
        // The spread is not needed where feedback cannot change the state.
        let needed = |name: &&&str| moves || **name != "feedback_spread";
        let names: Vec<&str> = self.assumed().iter().filter(needed).copied().collect();
        if !names.is_empty() {
            return Err(Withheld::Assumed(learner, names));
        }
        let parameters = match self.feedbal_parameters() {
            Ok(parameters) => parameters,
            // Widths of another form cover the feedback if its spread is set.
            Err(LearnerError::NoBounds(_)) => {
                settings.spread()?;
                return Ok(delta);
            }
            Err(error) => return Err(error.into()),
        };
        if parameters.stop_bias != 0.0 {
            return Err(Withheld::Biased(learner, parameters.stop_bias));
        }
        let spread = match moves {
            true => self.spread(),
            false => FeedbackSpread::new(0.0).ok(),
        };
        let covered = spread.is_some_and(|spread| {
            let needed = WidthKind::Sound(spread);
            let needed = needed.coefficients(parameters.sigma2_cost, parameters.sigma2_reward);
            parameters.coefficients().cover(needed)
        });
        match covered {
            true => Ok(delta),
            false => Err(Withheld::Feedback(learner, spread)),
        }
    }

    /// Whether an estimate is the mean of the gains `R_{t+1} - C_t` that are known, as in the paper. It is biased where it
    /// depends on the feedback which of them are.
    pub fn averages_gains(&self) -> bool {
        self.entry().name == "feedbal"
    }

    /// The feedback spread of the call, or otherwise of the file.
    fn spread(&self) -> Option<FeedbackSpread> {
        match self.settings().value("feedback_spread") {
            Some(_) => self.settings().spread().ok(),
            None => self.defaults().spread(),
        }
    }
}

/// Whether two feedbacks to the same action can lead to different states; only then can they move the next reward.
fn feedback_moves(learner: &'static str, spec: &Spec) -> bool {
    if spec.feedbacks().len() == 1 {
        return false;
    }
    let stays = |graph: TransitionGraph| {
        (0..graph.edge_count()).all(|edge| graph.transitions(edge).len() <= 1)
    };
    // If there are too many pairs to check, assume that they can.
    !TransitionGraph::new(learner, spec).is_ok_and(stays)
}

/// The shortfall of an action in a pair while all widths hold, one step ahead or, where the learner estimates values
/// ([`LearnerConfig::estimates_values`]), to the end under the optimal policy: the largest upper bound of the other actions less
/// its lower bound. None for a learner without estimates and for an action that is not allowed.
///
/// For the action with the largest upper bound, as FeedBAL plays, it is at most twice its width (Corollary 1). It also
/// holds for the other actions that `feedbal-model` plays, and for overrides. [`LearnerConfig::certified`] has the
/// probability.
///
/// ```
/// use std::sync::Arc;
/// use emab::learners::{FeedBal, FeedBalParameters, shortfall};
/// use emab::{Action, Episode, Learner, Spec};
/// let spec = Spec::numbered(2, 1, 1, 1).unwrap();
/// let spec = Arc::new(spec);
/// let mut learner = FeedBal::new(spec.clone(), FeedBalParameters::new(0.01, 0.1).unwrap());
/// let (states, costs) = (vec![0, 0], vec![0.0]);
/// learner.learn(&Episode { states, actions: vec![0], feedbacks: vec![0], costs, rewards: vec![0.0, 5.0] });
/// assert_eq!(shortfall(&mut learner, &spec, 1, 0, Action::Continue(0)), Some(0.0)); // no other action can be better
/// assert!(shortfall(&mut learner, &spec, 1, 0, Action::Stop).unwrap() > 5.0);
/// assert_eq!(shortfall(&mut learner, &spec, 2, 0, Action::Stop), Some(0.0)); // only `stop` is allowed
/// ```
pub fn shortfall<L: Learner + ?Sized>(
    learner: &mut L,
    spec: &Spec,
    t: usize,
    x: usize,
    action: Action,
) -> Option<f64> {
    let allowed = |action: &Action| match *action {
        Action::Continue(a) => spec.is_allowed(t, x, a),
        Action::Stop => true,
    };
    let chosen = learner
        .estimate(t, x, action)
        .filter(|_| allowed(&action))?;
    let lower = chosen.mean - chosen.width;
    let others = (0..spec.actions().len()).map(Action::Continue);
    let others = others
        .chain([Action::Stop])
        .filter(|other| *other != action);
    let mut most = 0.0_f64;
    for other in others.filter(allowed) {
        let other = learner.estimate(t, x, other)?;
        most = most.max(other.upper - lower);
    }
    Some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::LearnerDefaults;
    use crate::parameter::Sigma2;

    /// Two steps, two states; with `moves`, each feedback leads to another state.
    fn spec(feedbacks: usize, moves: bool) -> Spec {
        let spec = Spec::numbered(2, 2, 1, feedbacks).unwrap();
        spec.transition(move |_t, _x, _a, f| if moves { f as f64 } else { 1.0 })
    }

    fn judged(text: &str, learning: &LearnerDefaults, spec: &Spec) -> Result<f64, Withheld> {
        let config = LearnerConfig::parse(text, learning).unwrap();
        config.certified(spec).map(Delta::get)
    }

    /// What a file states.
    fn stated(spread: Option<f64>, range: Option<(f64, f64)>) -> LearnerDefaults {
        LearnerDefaults {
            delta: Some(Delta::new(0.05).unwrap()),
            sigma2: Some(Sigma2::new(0.1).unwrap()),
            feedback_spread: spread.map(|spread| FeedbackSpread::new(spread).unwrap()),
            reward_range: range,
            ..LearnerDefaults::default()
        }
    }

    /// Fails unless there is no certificate, for a reason that contains `part`.
    #[track_caller]
    fn withheld(text: &str, learning: &LearnerDefaults, spec: &Spec, part: &str) {
        let reason = judged(text, learning, spec).unwrap_err().to_string();
        assert!(reason.contains(part), "{text}: {reason}");
    }

    #[test]
    fn sound_widths_are_certified() {
        let file = stated(Some(1.0), None);
        for text in [
            "feedbal:width=sound",
            "feedbal:width=sound,ties=random",
            "feedbal:width=bernstein",
            "feedbal-model",
            "feedbal-model:width=bernstein,rule=boldest",
            // A spread of 0 in the call is taken as true: rewards of 0 or 1, whose noise covers it.
            "feedbal:feedback_spread=0",
        ] {
            assert_eq!(judged(text, &file, &spec(2, true)), Ok(0.05), "{text}");
        }
        // The range of the rewards in the file sets the spread.
        let range = stated(None, Some((2.0, 2.5)));
        assert_eq!(
            judged("feedbal:width=sound", &range, &spec(2, true)),
            Ok(0.05)
        );
        assert_eq!(judged("feedbal-model", &range, &spec(2, true)), Ok(0.05));
    }

    #[test]
    fn learners_without_guarantee_are_not_certified() {
        let (file, spec) = (stated(Some(1.0), None), spec(2, true));
        for text in ["ucbvi", "feedbal-lookahead", "random"] {
            let part = "promises nothing that could be checked; `feedbal`";
            withheld(text, &file, &spec, part);
        }
        for memory in ["window=100", "gamma=0.9"] {
            let text = format!("feedbal:width=sound,{memory}");
            let part = "once it forgets; leave `window` and `gamma` out";
            withheld(&text, &file, &spec, part);
        }
    }

    #[test]
    fn default_parameters_are_not_certified() {
        let (nothing, spec) = (LearnerDefaults::default(), spec(2, true));
        let withheld = |text: &str| judged(text, &nothing, &spec).unwrap_err();
        let assumed = |learner, names: &[&'static str]| Withheld::Assumed(learner, names.to_vec());
        let sound = "feedbal:width=sound,feedback_spread=1";
        assert_eq!(withheld(sound), assumed("feedbal", &["sigma2", "delta"]));
        let parts = format!("{sound},sigma2_cost=0,sigma2_reward=1");
        assert_eq!(withheld(&parts), assumed("feedbal", &["delta"]));
        assert_eq!(
            withheld(&parts).to_string(),
            "learner `feedbal`: nobody stated `delta`, and what is assumed certifies nothing (state it in [learning] or in \
             the call)"
        );
        assert_eq!(
            judged(&format!("{parts},delta=0.1"), &nothing, &spec),
            Ok(0.1)
        );
        assert_eq!(
            withheld("feedbal-model").to_string(),
            "learner `feedbal-model`: nobody stated `sigma2`, `delta` and `feedback_spread`, and what is assumed certifies \
             nothing (state them in [learning] or in the call)"
        );
        // How far feedback moves the reward need not be said where it does not.
        let model = "feedbal-model:sigma2=0.1,delta=0.1";
        assert_eq!(
            withheld(model),
            assumed("feedbal-model", &["feedback_spread"])
        );
        assert_eq!(judged(model, &nothing, &self::spec(1, true)), Ok(0.1));
        assert_eq!(judged(model, &nothing, &self::spec(2, false)), Ok(0.1));
        // A width that cannot be had without it says so itself.
        let file = stated(None, None);
        for width in ["sound", "bernstein"] {
            let part = format!("be known for width={width}");
            self::withheld(&format!("feedbal:width={width}"), &file, &spec, &part);
        }
    }

    #[test]
    fn the_papers_width_is_not_certified_where_feedback_can_move_the_reward() {
        let unsaid = stated(None, None);
        assert_eq!(
            judged("feedbal", &unsaid, &spec(2, true))
                .unwrap_err()
                .to_string(),
            "learner `feedbal`: width=paper leaves out that the feedback is random, and nothing says how far it can move the \
             next expected reward (width=sound covers it, once `feedback_spread` or `reward_range` in [learning] says so)"
        );
        for file in [stated(Some(0.5), None), stated(None, Some((1.0, 1.5)))] {
            let part =
                "one feedback can move the next expected reward by 0.5 (width=sound covers it)";
            withheld("feedbal", &file, &spec(2, true), part);
        }
        // The call goes before the file.
        let text = "feedbal:feedback_spread=0.2";
        withheld(
            text,
            &stated(Some(0.0), None),
            &spec(2, true),
            "reward by 0.2 (",
        );
        // It cannot: there is one feedback, or all lead to the same state, or the file says so.
        for (file, spec) in [
            (unsaid, spec(1, true)),
            (unsaid, spec(2, false)),
            (stated(Some(0.0), None), spec(2, true)),
            (stated(None, Some((1.0, 1.0))), spec(2, true)),
        ] {
            assert_eq!(judged("feedbal", &file, &spec), Ok(0.05));
        }
        // What is too large to be looked at may.
        let large = Spec::numbered(50, 1_000_000, 1, 10).unwrap();
        let large = large.transition(|_t, x, _a, f| ((10 * x + f) % 1_000_000) as f64);
        assert!(judged("feedbal", &unsaid, &large).is_err());
    }

    #[test]
    fn settings_outside_the_proof_are_not_certified() {
        let (file, spec) = (stated(Some(1.0), None), spec(2, true));
        let biased = judged("feedbal:width=sound,stop_bias=0.01", &file, &spec);
        assert_eq!(
            biased.unwrap_err().to_string(),
            "learner `feedbal`: with stop_bias=0.01 it plays `stop` where another bound is larger, or does not where `stop` \
             has the largest (leave `stop_bias` out)"
        );
        for learner in ["feedbal-model", "feedbal-pooled"] {
            let text = format!("{learner}:unknown_costs=drop");
            withheld(&text, &file, &spec, "(leave `unknown_costs` out)");
        }
        for text in ["feedbal:width=sound,delta=1/n", "feedbal-model:delta=1/n"] {
            let part = "has no last one (state `delta` as a number)";
            withheld(text, &file, &spec, part);
        }
        let part = "`sigma2` must be a finite number of at least 0";
        withheld("feedbal:width=sound,sigma2=-1", &file, &spec, part);
    }
}
