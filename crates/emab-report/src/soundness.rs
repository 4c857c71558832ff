//! Whether a confidence width covers what the truth varies by, in words.

use emab::learners::{FeedBalParameters, Learning};
use emab::oracle::Variation;
use emab::{Coefficients, Spec, WidthKind};

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
    let numbers = numbers(used, needed);
    let (t, x, a) = variation.at;
    let why = if used.action < needed.action && variation.spread > 0.0 {
        format!(
            "; at t = {t}, x = {}, a = {} one feedback moves the next expected reward by {}",
            spec.states().name(x),
            spec.actions().name(a),
            number(variation.spread)
        )
    } else {
        "; the noise is larger than sigma2 says".into()
    };
    let remedy = match told.width {
        WidthKind::Paper => "width=sound covers the feedback",
        WidthKind::Sound(_) => "state a larger `feedback_spread` or `sigma2`",
    };
    Some(format!("{which}: {numbers}{why} ({remedy})"))
}

/// The same where no truth is known: the paper's width beside what the file itself tells of the feedback.
pub fn told_soundness_words(told: &FeedBalParameters, spread: emab::Spread) -> Option<String> {
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

/// What `[learning]` says of the rewards that the truth does not keep to.
pub fn told_too_little(learning: &Learning, variation: &Variation) -> Vec<String> {
    let mut words = Vec::new();
    let spread = learning.feedback_spread.map(emab::Spread::get);
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

fn numbers(used: Coefficients, needed: Coefficients) -> String {
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
