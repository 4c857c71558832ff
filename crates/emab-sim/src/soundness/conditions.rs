//! Which conditions the proofs of the confidence bounds do not cover, as text. `docs/conditions.md` has the table.

use emab::Conditions;
use emab::learners::{LearnerConfig, ParameterValue};

/// Why the confidence bounds of a learner are not covered under these conditions: one text for each condition that breaks a
/// premise of their proof. Empty for learners without proved bounds.
///
/// Delays, lost outcomes and overrides break none: they do not depend on the feedback. `horizon` is that of the problem, and
/// `moves` is whether a feedback can change the next expected reward.
pub fn uncovered_conditions(
    config: &LearnerConfig,
    conditions: &Conditions,
    horizon: usize,
    moves: bool,
) -> Vec<String> {
    let mut words = Vec::new();
    if !config.has_proved_bounds() {
        return words;
    }
    let none = Conditions::default;
    let mut uncovered = |conditions: Conditions, why: &str| {
        words.push(format!(
            "its confidence bounds do not cover {conditions}: {why}"
        ));
    };
    // A mean of known gains is biased where it depends on the feedback which gains are known.
    let averages = config.averages_gains() && moves;
    if averages && conditions.hide_gains_by_feedback() {
        let missing = Conditions {
            missing_costs: conditions.missing_costs.clone(),
            missing_rewards: conditions.missing_rewards.clone(),
            ..none()
        };
        uncovered(
            missing,
            "which gains are known depends on the feedback, so that their mean is biased \
             (feedbal-pooled and feedbal-model count all feedback)",
        );
    }
    let drop = ("unknown_costs", ParameterValue::Word("drop".into()));
    if conditions.missing_costs.depends_on_feedback() && config.parameters().contains(&drop) {
        let missing = Conditions {
            missing_costs: conditions.missing_costs.clone(),
            ..none()
        };
        uncovered(
            missing,
            "with unknown_costs=drop the feedback is left out with its cost, so that what remains is a selection \
             (unknown_costs=impute counts all feedback)",
        );
    }
    // After the only continuation action of two steps, no choice depends on the feedback.
    let later_choices = horizon > 2;
    // A dropout that varies makes it depend on the feedback, as do missing rewards.
    let varies = conditions.dropout.constant().is_none();
    if averages && (later_choices || varies) && !conditions.dropout.is_none() {
        let dropout = Conditions {
            dropout: conditions.dropout.clone(),
            ..none()
        };
        uncovered(
            dropout,
            "no gain of an episode that drops out is known, and feedback that leads to more steps makes that more likely \
             (feedbal-pooled and feedbal-model count all feedback)",
        );
    }
    if later_choices && conditions.open.get() > 1 {
        let open = Conditions {
            open: conditions.open,
            ..none()
        };
        uncovered(
            open,
            "the order in which episodes are learned depends on their feedback",
        );
    }
    if !conditions.drift.is_empty() {
        let drift = Conditions {
            drift: conditions.drift.clone(),
            ..none()
        };
        uncovered(drift, "the distributions change");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use emab::learners::LearnerDefaults;

    /// The conditions that the words name.
    fn named(learner: &str, texts: &[&str], horizon: usize, moves: bool) -> Vec<String> {
        let config = LearnerConfig::parse(learner, &LearnerDefaults::default()).unwrap();
        let conditions = Conditions::default().with(texts.iter().copied()).unwrap();
        let words = uncovered_conditions(&config, &conditions, horizon, moves);
        let named = words.iter().map(|words| {
            let words = words.strip_prefix("its confidence bounds do not cover ");
            words.unwrap().split(": ").next().unwrap().to_owned()
        });
        named.collect()
    }

    #[test]
    fn each_condition_that_breaks_a_premise_is_named() {
        const CASES: &str = "
feedbal, feedbal:width=bernstein | missing_costs=0:0.5 | missing_costs=0:0.5
feedbal | missing_rewards=0:0.5 lost=0.1 | missing_rewards=0:0.5
feedbal | missing_costs=0:0.5 missing_rewards=0.5:0 |
feedbal-model, feedbal-pooled, feedbal-lookahead | missing_costs=0:0.5 missing_rewards=0:0.5 dropout=0.1 |
feedbal-model:unknown_costs=drop, feedbal-pooled:unknown_costs=drop | missing_costs=0:0.5 missing_rewards=0:0.5 | missing_costs=0:0.5
feedbal-model:unknown_costs=drop | missing_costs=0.5 missing_rewards=0:0.5 |
feedbal, feedbal-pooled | delay=geometric:9 lost=0.1 override=0.2 missing_costs=0.5 missing_rewards=0.5 |
feedbal | dropout=0.1 | dropout=0.1
feedbal, feedbal-model, feedbal-pooled, feedbal-lookahead | open=9 | open=9
feedbal, feedbal-model, feedbal-pooled | drift=p:0.4@50 | drift=p:0.4@50
feedbal:window=9, ucb1, random | missing_costs=0:0.5 dropout=0.1 drift=p:0.4@50 |
";
        for case in CASES.trim().lines() {
            let [learners, texts, expected] = case.split(" |").collect::<Vec<_>>()[..] else {
                panic!("{case}")
            };
            let texts: Vec<&str> = texts.split_whitespace().collect();
            for learner in learners.split(", ") {
                let found = named(learner, &texts, 4, true).join(" ");
                assert_eq!(found, expected.trim(), "{learner}: {case}");
            }
        }
        // Two steps have no choice that depends on feedback, and a feedback that moves nothing biases no mean.
        assert_eq!(
            named("feedbal", &["dropout=0.1", "open=9"], 2, true).len(),
            0
        );
        let missing = ["missing_costs=0:0.5", "dropout=0.1"];
        assert_eq!(named("feedbal", &missing, 4, false).len(), 0);
    }
}
