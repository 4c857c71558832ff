//! Whether a confidence width covers the variation of a problem (noise, and how far one feedback moves the next expected
//! reward) and its conditions, as text.

mod conditions;

use std::sync::Arc;

use emab::environment::RegretEstimator;
use emab::learners::{FeedBalParameters, LearnerConfig, LearnerDefaults, ParameterValue};
use emab::oracle::{OracleError, Pairs, Variation};
use emab::width::{Coefficients, WidthKind};
use emab::{Conditions, Environment, Problem, Spec};

pub use self::conditions::uncovered_conditions;
use crate::results::number;

/// Why FeedBAL's width is not sound on a problem with this variation; none if it is.
pub fn soundness_words(
    parameters: &FeedBalParameters,
    variation: &Variation,
    spec: &Spec,
) -> Option<String> {
    let (used, needed) = (parameters.coefficients(), variation.needed);
    if used.cover(needed) {
        return None;
    }
    let which = match parameters.width {
        WidthKind::Paper => "the paper's width is not sound for this problem",
        WidthKind::Sound(_) => "this width is not sound: the problem varies more than it says",
    };
    let noise = noise_words(parameters, variation);
    let feedback = feedback_words(parameters, variation, spec);
    let (causes, remedies): (Vec<String>, Vec<&str>) = noise.into_iter().chain(feedback).unzip();
    Some(format!(
        "{which}: {}; {} ({})",
        coefficient_words(used, needed),
        causes.join(", and "),
        remedies.join("; ")
    ))
}

/// Warnings for each learner whose confidence width does not cover the variation of the problem or its conditions, and a note
/// where too many pairs can be reached to decide. `environment` is one of this problem, if it is solved already.
pub fn unsound_learners(
    problem: &Arc<Problem>,
    conditions: &Conditions,
    environment: Option<&Environment>,
    configs: &[LearnerConfig],
) -> Result<Vec<String>, OracleError> {
    let found = unsound_by_learner(problem, conditions, environment, configs)?;
    let mut words: Vec<String> = Vec::new();
    for (config, found) in configs.iter().zip(found) {
        words.extend(found.iter().map(|one| one.line(config)));
    }
    // The note on a problem that is too large is the same for every learner.
    words.dedup();
    Ok(words)
}

/// Why a confidence width is not known to be sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unsound {
    /// What the width of the learner does not cover.
    Learner(String),
    /// Why it was not decided; the same for every learner.
    Undecided(String),
}

impl Unsound {
    /// A line on a learner for the terminal.
    pub(crate) fn line(&self, config: &LearnerConfig) -> String {
        match self {
            Unsound::Learner(words) => format!("warning: {}: {words}", config.label()),
            Unsound::Undecided(words) => format!("note: {words}"),
        }
    }

    pub(crate) fn into_words(self) -> String {
        match self {
            Unsound::Learner(words) | Unsound::Undecided(words) => words,
        }
    }
}

/// What [`unsound_learners`] states, for each of the learners.
pub(crate) fn unsound_by_learner(
    problem: &Arc<Problem>,
    conditions: &Conditions,
    environment: Option<&Environment>,
    configs: &[LearnerConfig],
) -> Result<Vec<Vec<Unsound>>, OracleError> {
    // A learner without parameters makes no assumption.
    let has_parameters = |config: &LearnerConfig| !config.parameters().is_empty();
    if !configs.iter().any(has_parameters) {
        return Ok(vec![Vec::new(); configs.len()]);
    }
    let horizon = problem.spec().horizon();
    let uncovered = |config, moves| uncovered_conditions(config, conditions, horizon, moves);
    let mut pairs = match environment {
        Some(environment) => environment.pairs().clone(),
        None => Pairs::new(problem.clone())?,
    };
    let exact =
        environment.is_none_or(|environment| environment.estimator() == RegretEstimator::Exact);
    let mut variation = || Variation::of(&mut pairs, Environment::EXACT_PAIRS).ok();
    let Some(variation) = exact.then(&mut variation).flatten() else {
        let note = format!(
            "more than {} pairs can be reached, too many to decide here whether the width is sound; `emab check` searches further",
            Environment::EXACT_PAIRS
        );
        // In so large a problem some feedback is taken to move the reward.
        let all = configs.iter().map(|config| {
            let uncovered = uncovered(config, true).into_iter();
            let found = uncovered.map(Unsound::Learner);
            found.chain([Unsound::Undecided(note.clone())]).collect()
        });
        return Ok(all.collect());
    };
    let costs = pairs.iter().flat_map(|pair| {
        let pairs = &pairs;
        pairs.allowed(pair).map(move |a| pairs.cost(pair, a))
    });
    let least_cost = costs.fold(f64::INFINITY, f64::min);
    let words = configs.iter().map(|config| {
        let words = match config.feedbal_parameters() {
            Ok(parameters) => soundness_words(&parameters, &variation, problem.spec()),
            Err(_) => premises_words(config, &variation, least_cost),
        };
        let uncovered = uncovered(config, variation.spread > 0.0);
        let words = words.into_iter().chain(uncovered);
        words.map(Unsound::Learner).collect()
    });
    Ok(words.collect())
}

/// A note for each parameter of a learner that is set neither by the call nor by the problem file.
pub fn assumed_words(config: &LearnerConfig) -> Vec<String> {
    let assumed = assumed_parameters(config).into_iter();
    let label = config.label();
    assumed
        .map(|words| format!("note: {label}: {words}"))
        .collect()
}

/// The same without the learner.
pub(crate) fn assumed_parameters(config: &LearnerConfig) -> Vec<String> {
    let assumed = config.assumed().iter().map(|name| {
        let value = config.parameters().iter().find(|(n, _)| n == name);
        let value = value.map_or(String::new(), |(_, value)| value.to_string());
        format!("neither the call nor [learning] states `{name}`; {value} is assumed")
    });
    assumed.collect()
}

/// Where the noise exceeds the learner's `sigma2`: the cause and the remedy.
fn noise_words(
    parameters: &FeedBalParameters,
    variation: &Variation,
) -> Option<(String, &'static str)> {
    let (cost, reward) = variation.proxies;
    let short = is_short(parameters.sigma2_cost.get(), cost)
        || is_short(parameters.sigma2_reward.get(), reward);
    short.then(|| {
        let what = format!(
            "the noise has a variance proxy of {} on costs and {} on rewards",
            number(cost),
            number(reward)
        );
        (what, "state a larger sigma2, or its part")
    })
}

/// Where the feedback moves the reward further than the width covers: the cause and the remedy.
fn feedback_words(
    parameters: &FeedBalParameters,
    variation: &Variation,
    spec: &Spec,
) -> Option<(String, &'static str)> {
    let (cost, reward) = variation.proxies;
    // The noise alone needs this much; the rest comes from the feedback.
    let moves = variation.needed.action > 2.0 * (cost + reward);
    let remedy = match parameters.width {
        WidthKind::Paper => "width=sound covers the feedback",
        WidthKind::Sound(spread) if spread.get() < variation.spread => {
            "state a larger feedback_spread"
        }
        WidthKind::Sound(_) => return None,
    };
    let short = parameters.coefficients().action < variation.needed.action;
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

/// The same for a problem without a model: compares the paper's width with the `feedback_spread` of the file.
pub fn stated_soundness_text(
    parameters: &FeedBalParameters,
    spread: emab::FeedbackSpread,
) -> Option<String> {
    let sound =
        WidthKind::Sound(spread).coefficients(parameters.sigma2_cost, parameters.sigma2_reward);
    let used = parameters.coefficients();
    (!used.cover(sound)).then(|| {
        format!(
            "the paper's width is not sound if one feedback can move the next expected reward by {}, as [learning] says: \
             {} (width=sound covers the feedback)",
            number(spread.get()),
            coefficient_words(used, sound)
        )
    })
}

/// The parameters of a learner that the problem violates, for learners whose width is not a coefficient; none if all
/// hold. `least_cost` is the least expected cost of the problem.
pub fn premises_words(
    config: &LearnerConfig,
    variation: &Variation,
    least_cost: f64,
) -> Option<String> {
    let stated = |name: &str| match config.parameters().iter().find(|(n, _)| *n == name) {
        Some((_, ParameterValue::Number(number))) => Some(*number),
        _ => None,
    };
    // The bounds of `feedbal-pooled` use the range of rewards with one target, and the spread with the other.
    let targets = |target: &str| match config.parameters().iter().find(|(n, _)| *n == "target") {
        Some((_, value)) => *value == ParameterValue::Word(target.into()),
        None => true,
    };
    let violation = |name: &str, stated: f64, side: &str, truth: f64| {
        let (stated, truth) = (number(stated), number(truth));
        format!("`{name}` is {stated} and must be at {side} {truth}")
    };
    let (cost, reward) = variation.proxies;
    let both = stated("sigma2");
    let mut short: Vec<String> = [
        ("sigma2_cost", stated("sigma2_cost").or(both), cost),
        ("sigma2_reward", stated("sigma2_reward").or(both), reward),
        (
            "feedback_spread",
            stated("feedback_spread").filter(|_| targets("benchmark")),
            variation.spread,
        ),
    ]
    .into_iter()
    .filter_map(|(name, stated, truth)| {
        let stated = stated.filter(|stated| is_short(*stated, truth))?;
        Some(violation(name, stated, "least", truth))
    })
    .collect();
    let (low, high) = variation.rewards;
    let slack = 1e-12 * (high - low).abs();
    if let Some(most) = stated("reward_most").filter(|_| targets("optimal")) {
        if most < high - slack {
            short.push(violation("reward_most", most, "least", high));
        }
        if least_cost < 0.0 {
            short.push(format!(
                "`reward_most` bounds the gain only if no cost is negative, and one is {}",
                number(least_cost)
            ));
        }
    }
    let above = |least: &f64| targets("optimal") && *least > low + slack;
    if let Some(least) = stated("reward_least").filter(above) {
        short.push(violation("reward_least", least, "most", low));
    }
    (!short.is_empty()).then(|| {
        format!(
            "its parameters do not hold for this problem: {}",
            short.join(", and ")
        )
    })
}

/// The values of `[learning]` on rewards that the model violates.
pub fn missing_parameters_text(learning: &LearnerDefaults, variation: &Variation) -> Vec<String> {
    let mut words = Vec::new();
    let (cost, reward) = variation.proxies;
    // Bernoulli rewards need no spread: their noise covers it.
    let matters = variation.needed.action > 2.0 * (cost + reward);
    let spread = learning
        .feedback_spread
        .filter(|_| matters)
        .map(emab::FeedbackSpread::get);
    if let Some(spread) = spread.filter(|spread| is_short(*spread, variation.spread)) {
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

/// Whether a stated value is less than the true one by more than rounding.
fn is_short(stated: f64, truth: f64) -> bool {
    stated < truth * (1.0 - 1e-12)
}

/// The coefficient that is too small, and the value it needs.
pub fn coefficient_words(used: Coefficients, needed: Coefficients) -> String {
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

    /// Two steps: continuing shows a coin that is worth `spread`.
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

    fn words(parameters: &FeedBalParameters, noise: f64, spread: f64) -> Option<String> {
        let (variation, spec) = variation(noise, spread);
        soundness_words(parameters, &variation, &spec)
    }

    #[test]
    fn warnings_name_the_cause_and_a_remedy_that_works() {
        let paper = FeedBalParameters::new(0.1, 0.01).unwrap();
        let sound = |spread| FeedBalParameters {
            width: WidthKind::Sound(FeedbackSpread::new(spread).unwrap()),
            ..paper
        };
        let larger = FeedBalParameters::new(0.5, 0.01).unwrap();
        for (case, parameters, noise, spread, parts) in [
            (
                "the feedback alone",
                paper,
                0.1,
                1.0,
                &[
                    "is 0.4000, and 0.9000 is needed",
                    "moves the next expected reward by 1 (width=sound",
                ][..],
            ),
            (
                "the noise alone",
                paper,
                1.0,
                0.0,
                &["proxy of 1 on costs and 1 on rewards (state a larger sigma2, or its part)"],
            ),
            ("both", paper, 1.0, 1.0, &["its part; width=sound"]),
            (
                "the spread",
                sound(0.5),
                0.1,
                1.0,
                &["a larger feedback_spread)"],
            ),
            (
                "the noise",
                sound(1.0),
                1.0,
                1.0,
                &["(state a larger sigma2, or its part)"],
            ),
        ] {
            let text = words(&parameters, noise, spread).unwrap();
            assert!(
                parts.iter().all(|part| text.contains(part)),
                "{case}: {text}"
            );
            assert_eq!(text.contains("sigma2"), noise > 0.5, "{case}: {text}");
        }
        for parameters in [sound(1.0), larger] {
            assert_eq!(words(&parameters, 0.1, 1.0), None);
        }
    }

    #[test]
    fn parameters_that_do_not_hold_are_named() {
        let (variation, _) = variation(0.1, 2.0);
        let words = |text: &str| {
            let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
            premises_words(&config, &variation, -0.5)
        };
        assert_eq!(words("feedbal-model:sigma2=0.1,feedback_spread=2"), None);
        assert_eq!(
            words("ucbvi:sigma2=0.1,reward_least=1,reward_most=1").unwrap(),
            "its parameters do not hold for this problem: `reward_most` is 1 and must be at least 2, and \
             `reward_most` bounds the gain only if no cost is negative, and one is -0.5000, and `reward_least` is 1 and must \
             be at most 0"
        );
        assert_eq!(
            words("feedbal-model:sigma2=0.1,sigma2_cost=0.01,feedback_spread=1").unwrap(),
            "its parameters do not hold for this problem: `sigma2_cost` is 0.0100 and must be at least 0.1000, and \
             `feedback_spread` is 1 and must be at least 2"
        );
        // Each target of `feedbal-pooled` has its own assumption on the rewards.
        let pooled = |target| words(&format!("feedbal-pooled:target={target},sigma2=0.1")).unwrap();
        let (benchmark, optimal) = (pooled("benchmark"), pooled("optimal"));
        assert!(benchmark.contains("spread") && !benchmark.contains("reward_most"));
        assert!(optimal.contains("`reward_most` is 1") && !optimal.contains("spread"));
    }

    #[test]
    fn learning_values_that_the_model_violates_are_named() {
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
