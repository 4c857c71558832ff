//! What learners of decision processes are told, and the parameters by which.

use crate::learners::LearnerError;
use crate::learners::registry::parameter::Parameter;
use crate::learners::registry::settings::Settings;
use crate::parameter::{Delta, ParameterError, Sigma2};

/// Variance proxy of the noise.
pub(crate) const SIGMA2: Parameter = Parameter::new(
    "sigma2",
    "0.25",
    "variance proxy of the noise on costs and rewards, at least 0",
)
.stated(|learning| {
    let parts = (learning.sigma2_cost, learning.sigma2_reward);
    // Where a file states the parts alone, the larger one covers both.
    let larger = match parts {
        (Some(cost), Some(reward)) => Some(cost.get().max(reward.get())),
        _ => None,
    };
    learning.sigma2.map(Sigma2::get).or(larger)
});

/// The chance that bounds may fail with.
pub(crate) const DELTA: Parameter = Parameter::new(
    "delta",
    "0.01",
    "chance that some confidence bound may fail with, in (0, 1); `1/n` for one over the episodes of the run",
)
.stated(|learning| learning.delta.map(Delta::get));

/// The least expected terminal reward.
pub(crate) const LEAST: Parameter = Parameter::new(
    "reward_least",
    "0",
    "the least that an expected terminal reward can be",
)
.stated(|learning| learning.reward_range.map(|(least, _)| least));

/// The largest expected terminal reward.
pub(crate) const MOST: Parameter = Parameter::new(
    "reward_most",
    "1",
    "the most that an expected terminal reward can be; no policy can be worth more while costs are not negative",
)
.stated(|learning| learning.reward_range.map(|(_, most)| most));

/// What multiplies the published bonus.
pub(crate) const SCALE: Parameter = Parameter::new(
    "scale",
    "1",
    "multiplies the published bonus, at least 0; below 1 the proof no longer holds and the regret is often smaller",
);

/// Whether all revealed rewards are seen.
pub(crate) const REVEAL: Parameter = Parameter::new(
    "reveal",
    "false",
    "`true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what it earned",
);

/// What a learner of decision processes is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TabularParameters {
    pub(crate) sigma2: f64,
    pub(crate) delta: f64,
    /// The least and the most that a terminal reward, and with it a value, can be.
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) scale: f64,
    pub(crate) reveal: bool,
}

impl TabularParameters {
    /// What the settings say; of a parameter that the learner does not have, its default.
    pub(crate) fn new(settings: &Settings<'_>) -> Result<TabularParameters, LearnerError> {
        let or = |name: &str, default: f64| match settings.value(name) {
            Some(_) => settings.finite(name),
            None => Ok(default),
        };
        let wrong = |error| settings.wrong(error);
        let (least, most) = (or("reward_least", 0.0)?, or("reward_most", 1.0)?);
        if least > most {
            return Err(wrong(ParameterError::new(
                "reward_most",
                format!("be at least `reward_least`, which is {least}"),
                most,
            )));
        }
        let scale = or("scale", 1.0)?;
        if scale < 0.0 {
            return Err(wrong(ParameterError::new("scale", "be at least 0", scale)));
        }
        Ok(TabularParameters {
            sigma2: Sigma2::new(or("sigma2", 0.25)?).map_err(wrong)?.get(),
            delta: match settings.value("delta") {
                Some(_) => Delta::new(settings.number("delta")?).map_err(wrong)?.get(),
                None => 0.01,
            },
            least,
            most,
            scale,
            reveal: settings.value("reveal").is_some() && settings.flag("reveal")?,
        })
    }

    /// How far values can be apart: what the papers call `H`.
    pub(crate) fn span(&self) -> f64 {
        self.most - self.least
    }
}
