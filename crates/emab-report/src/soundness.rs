//! Whether a confidence width covers what the truth varies by, in words.

use std::sync::Arc;

use emab::learners::{FeedBalParameters, LearnerConfig, LearnerDefaults, ParameterValue};
use emab::oracle::{OracleError, Pairs, Variation};
use emab::width::{Coefficients, WidthKind};
use emab::{Environment, Problem, Spec};

use crate::table::number;

/// What is wrong with FeedBAL's width on a problem that varies so much; nothing if it covers it.
pub fn soundness_words(
    told: &FeedBalParameters,
    variation: &Variation,
    spec: &Spec,
) -> Option<String> {
    let (used, needed) = (told.coefficients(), variation.needed);
    if used.cover(needed) {
        return None;
    }
    let which = match told.width {
        WidthKind::Paper => "the paper's width is not sound for this problem",
        WidthKind::Sound(_) => "this width is not sound: the problem varies more than it says",
    };
    let noise = noise_words(told, variation);
    let feedback = feedback_words(told, variation, spec);
    let (causes, remedies): (Vec<String>, Vec<&str>) = noise.into_iter().chain(feedback).unzip();
    Some(format!(
        "{which}: {}; {} ({})",
        numbers(used, needed),
        causes.join(", and "),
        remedies.join("; ")
    ))
}

/// Remarks on learners whose confidence does not cover what this problem varies by, each with its learner's label; and
/// one where too much can be reached to see that.
pub fn problem_soundness_words(
    problem: &Arc<Problem>,
    configs: &[LearnerConfig],
) -> Result<Vec<String>, OracleError> {
    // Whoever is told nothing has no premises.
    let told = |config: &&LearnerConfig| !config.parameters().is_empty();
    if !configs.iter().any(|config| told(&config)) {
        return Ok(Vec::new());
    }
    let mut pairs = Pairs::new(problem.clone())?;
    let Ok(variation) = Variation::of(&mut pairs, Environment::EXACT_PAIRS) else {
        return Ok(vec![format!(
            "note: more than {} pairs can be reached, too many to see here whether the width is sound; `emab check` looks further",
            Environment::EXACT_PAIRS
        )]);
    };
    let costs = pairs.iter().flat_map(|pair| {
        let pairs = &pairs;
        pairs.allowed(pair).map(move |a| pairs.cost(pair, a))
    });
    let least_cost = costs.fold(f64::INFINITY, f64::min);
    let words = configs.iter().filter(told).filter_map(|config| {
        let words = match config.feedbal_parameters() {
            Ok(told) => soundness_words(&told, &variation, problem.spec()),
            Err(_) => premises_words(config, &variation, least_cost),
        };
        Some(format!("warning: {}: {}", config.label(), words?))
    });
    Ok(words.collect())
}

/// Remarks on what is assumed of a learner because nobody said it.
pub fn assumed_words(config: &LearnerConfig) -> Vec<String> {
    let assumed = config.assumed().iter().map(|name| {
        let value = config.parameters().iter().find(|(n, _)| n == name);
        format!(
            "note: {}: neither the call nor [learning] states `{name}`; {} is assumed",
            config.label(),
            value.map_or(String::new(), |(_, value)| value.to_string())
        )
    });
    assumed.collect()
}

/// Where the noise is larger than the learner was told: what it is, and what helps.
fn noise_words(told: &FeedBalParameters, variation: &Variation) -> Option<(String, &'static str)> {
    let (cost, reward) = variation.proxies;
    let short = |told: f64, truth: f64| told < truth * (1.0 - 1e-12);
    let short = short(told.sigma2_cost.get(), cost) || short(told.sigma2_reward.get(), reward);
    short.then(|| {
        let what = format!(
            "the noise has a variance proxy of {} on costs and {} on rewards",
            number(cost),
            number(reward)
        );
        (what, "state a larger sigma2, or its part")
    })
}

/// Where the feedback moves more than the width covers.
fn feedback_words(
    told: &FeedBalParameters,
    variation: &Variation,
    spec: &Spec,
) -> Option<(String, &'static str)> {
    let (cost, reward) = variation.proxies;
    // What the noise alone would need: the rest is the feedback's.
    let moves = variation.needed.action > 2.0 * (cost + reward);
    let remedy = match told.width {
        WidthKind::Paper => "width=sound covers the feedback",
        WidthKind::Sound(spread) if spread.get() < variation.spread => {
            "state a larger feedback_spread"
        }
        WidthKind::Sound(_) => return None,
    };
    let short = told.coefficients().action < variation.needed.action;
    (moves && short).then(|| {
        let (t, x, a) = variation.at;
        let what = format!(
            "at t = {t}, x = {}, a = {} one feedback moves the next expected reward by {}",
            spec.states().name(x),
            spec.actions().name(a),
            number(variation.spread)
        );
        (what, remedy)
    })
}

/// The same where no truth is known: the paper's width beside what the file itself tells of the feedback.
pub fn stated_soundness_text(
    told: &FeedBalParameters,
    spread: emab::FeedbackSpread,
) -> Option<String> {
    let sound = WidthKind::Sound(spread).coefficients(told.sigma2_cost, told.sigma2_reward);
    let used = told.coefficients();
    (!used.cover(sound)).then(|| {
        format!(
            "the paper's width is not sound if one feedback can move the next expected reward by {}, as [learning] says: \
             {} (width=sound covers the feedback)",
            number(spread.get()),
            numbers(used, sound)
        )
    })
}

/// What a learner was told that the truth does not keep to, where what it does rests on what it was told and not on a
/// coefficient: nothing if all is as it was told. `least_cost` is the least expected cost of the problem.
pub fn premises_words(
    config: &LearnerConfig,
    variation: &Variation,
    least_cost: f64,
) -> Option<String> {
    let told = |name: &str| {
        let set = config.parameters().iter().find(|(n, _)| *n == name);
        match set {
            Some((_, ParameterValue::Number(number))) => Some(*number),
            _ => None,
        }
    };
    let (cost, reward) = variation.proxies;
    let both = told("sigma2");
    let premises = [
        ("sigma2_cost", told("sigma2_cost").or(both), cost),
        ("sigma2_reward", told("sigma2_reward").or(both), reward),
        ("feedback_spread", told("feedback_spread"), variation.spread),
    ];
    let mut short: Vec<String> = premises
        .into_iter()
        .filter_map(|(name, told, truth)| {
            let told = told.filter(|told| *told < truth * (1.0 - 1e-12))?;
            Some(format!(
                "`{name}` is {} and must be at least {}",
                number(told),
                number(truth)
            ))
        })
        .collect();
    let (low, high) = variation.rewards;
    let slack = 1e-12 * (high - low).abs();
    if let Some(most) = told("reward_most") {
        if most < high - slack {
            short.push(format!(
                "`reward_most` is {} and must be at least {}",
                number(most),
                number(high)
            ));
        }
        if least_cost < 0.0 {
            short.push(format!(
                "costs must not be negative for `reward_most` to bound what can be earned, and one is {}",
                number(least_cost)
            ));
        }
    }
    if let Some(least) = told("reward_least")
        && least > low + slack
    {
        short.push(format!(
            "`reward_least` is {} and must be at most {}",
            number(least),
            number(low)
        ));
    }
    (!short.is_empty()).then(|| {
        format!(
            "what it was told is not true of this problem: {}",
            short.join(", and ")
        )
    })
}

/// What `[learning]` says of the rewards that the truth does not keep to.
pub fn missing_parameters_text(learning: &LearnerDefaults, variation: &Variation) -> Vec<String> {
    let mut words = Vec::new();
    let (cost, reward) = variation.proxies;
    // Rewards of 0 or 1 need no spread: their noise covers it.
    let matters = variation.needed.action > 2.0 * (cost + reward);
    let spread = learning
        .feedback_spread
        .filter(|_| matters)
        .map(emab::FeedbackSpread::get);
    if let Some(spread) = spread.filter(|spread| *spread < variation.spread * (1.0 - 1e-12)) {
        words.push(format!(
            "`feedback_spread` is {}, and in the model one feedback moves the next expected reward by {}",
            number(spread),
            number(variation.spread)
        ));
    }
    if let Some((least, most)) = learning.reward_range {
        let (low, high) = variation.rewards;
        let slack = 1e-12 * (high - low).abs();
        if low < least - slack || high > most + slack {
            words.push(format!(
                "`reward_range` is [{least}, {most}], and in the model expected rewards go from {} to {}",
                number(low),
                number(high)
            ));
        }
    }
    words
}

/// The coefficient that is too small, and what it must be.
pub(crate) fn numbers(used: Coefficients, needed: Coefficients) -> String {
    let (what, used, needed) = if used.action < needed.action {
        ("an action", used.action, needed.action)
    } else {
        ("stop", used.stop, needed.stop)
    };
    format!(
        "its coefficient for {what} is {}, and {} is needed",
        number(used),
        number(needed)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use emab::oracle::Pairs;
    use emab::{FeedbackSpread, Model, Names, Noise, Problem};

    /// Two steps: going on shows a coin that is worth `spread`.
    fn variation(noise: f64, spread: f64) -> (Variation, Spec) {
        let names = |n| Names::Count(n, "");
        let spec = || {
            let spec = Spec::new(2, names(2), names(1), names(2)).unwrap();
            spec.transition(|_t, _x, _a, f| f as f64)
        };
        let noise = Noise::normal(noise).unwrap();
        let model = Model::new(|_t, _x, _a, _f| 0.5, move |_t, x, _a, _f| x as f64 * spread);
        let problem = Problem::new("coin", spec(), model.noise(noise, noise));
        let mut pairs = Pairs::new(Arc::new(problem)).unwrap();
        (Variation::of(&mut pairs, 100).unwrap(), spec())
    }

    fn words(told: &FeedBalParameters, noise: f64, spread: f64) -> Option<String> {
        let (variation, spec) = variation(noise, spread);
        soundness_words(told, &variation, &spec)
    }

    #[test]
    fn the_cause_is_named_and_the_remedy_helps() {
        let paper = FeedBalParameters::new(0.1, 0.01).unwrap();
        let sound = |spread| FeedBalParameters {
            width: WidthKind::Sound(FeedbackSpread::new(spread).unwrap()),
            ..paper
        };
        // The feedback alone.
        let text = words(&paper, 0.1, 1.0).unwrap();
        assert!(text.contains("is 0.4000, and 0.9000 is needed"), "{text}");
        assert!(
            text.contains("moves the next expected reward by 1 (width=sound"),
            "{text}"
        );
        assert!(!text.contains("sigma2"), "{text}");
        assert_eq!(words(&sound(1.0), 0.1, 1.0), None);
        // The noise alone.
        let text = words(&paper, 1.0, 0.0).unwrap();
        assert!(
            text.contains(
                "proxy of 1 on costs and 1 on rewards (state a larger sigma2, or its part)"
            ),
            "{text}"
        );
        // Both.
        let text = words(&paper, 1.0, 1.0).unwrap();
        assert!(text.contains("its part; width=sound"), "{text}");
        // A spread that is too small, and one that is not while the noise is.
        assert!(
            words(&sound(0.5), 0.1, 1.0)
                .unwrap()
                .contains("a larger feedback_spread)")
        );
        let text = words(&sound(1.0), 1.0, 1.0).unwrap();
        assert!(
            text.contains("(state a larger sigma2, or its part)"),
            "{text}"
        );
        // Told more than enough.
        assert_eq!(
            words(&FeedBalParameters::new(0.5, 0.01).unwrap(), 0.1, 1.0),
            None
        );
    }

    #[test]
    fn what_a_learner_was_told_that_is_not_so() {
        let (variation, _) = variation(0.1, 2.0);
        let words = |text: &str| {
            let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
            premises_words(&config, &variation, -0.5)
        };
        assert_eq!(words("feedbal-model:sigma2=0.1,feedback_spread=2"), None);
        assert_eq!(
            words("ucbvi:sigma2=0.1,reward_least=1,reward_most=1").unwrap(),
            "what it was told is not true of this problem: `reward_most` is 1 and must be at least 2, and costs must not be \
             negative for `reward_most` to bound what can be earned, and one is -0.5000, and `reward_least` is 1 and must be at \
             most 0"
        );
        assert_eq!(
            words("feedbal-model:sigma2=0.1,sigma2_cost=0.01,feedback_spread=1").unwrap(),
            "what it was told is not true of this problem: `sigma2_cost` is 0.0100 and must be at least 0.1000, and \
             `feedback_spread` is 1 and must be at least 2"
        );
    }

    #[test]
    fn what_the_truth_does_not_keep_to_is_told() {
        let (variation, _) = variation(0.1, 2.0);
        let learning = |spread: Option<f64>, range| LearnerDefaults {
            feedback_spread: spread.map(|spread| FeedbackSpread::new(spread).unwrap()),
            reward_range: range,
            ..LearnerDefaults::default()
        };
        let count =
            |spread, range| missing_parameters_text(&learning(spread, range), &variation).len();
        assert_eq!(count(None, None), 0);
        assert_eq!(count(Some(2.0), Some((0.0, 2.0))), 0);
        assert_eq!(count(Some(1.9), None), 1);
        // Either end of the range.
        assert_eq!(count(None, Some((0.0, 1.9))), 1);
        assert_eq!(count(None, Some((0.1, 2.0))), 1);
        assert_eq!(count(Some(1.0), Some((0.1, 1.9))), 2);
    }
}
