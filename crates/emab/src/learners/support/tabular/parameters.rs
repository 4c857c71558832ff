//! Parameters that the learners for decision processes share.

use crate::learners::LearnerError;
use crate::learners::registry::parameter::Parameter;
use crate::learners::registry::settings::Settings;
use crate::parameter::{Delta, Sigma2};

pub(crate) const SIGMA2: Parameter = Parameter::new("sigma2", "0.25")
    .about("variance proxy of the noise on costs and rewards, at least 0")
    .stated(|learning| {
        let parts = (learning.sigma2_cost, learning.sigma2_reward);
        // If the file sets only the two parts, the larger one covers both.
        let larger = match parts {
            (Some(cost), Some(reward)) => Some(cost.get().max(reward.get())),
            _ => None,
        };
        learning.sigma2.map(Sigma2::get).or(larger)
    });

pub(crate) const DELTA: Parameter = Parameter::new("delta", "0.01")
    .about("probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the run")
    .stated(|learning| learning.delta.map(Delta::get));

pub(crate) const LEAST: Parameter = Parameter::new("reward_least", "0")
    .about("smallest possible expected terminal reward")
    .stated(|learning| learning.reward_range.map(|(least, _)| least));

pub(crate) const MOST: Parameter = Parameter::new("reward_most", "1")
    .about("largest possible expected terminal reward; bounds the value of every policy while costs are not negative")
    .stated(|learning| learning.reward_range.map(|(_, most)| most));

pub(crate) const SCALE: Parameter = Parameter::new("scale", "1")
    .about("factor of the published bonus, at least 0; below 1 the proof does not apply, and the regret is often smaller");

pub(crate) const REVEAL: Parameter = Parameter::new("reveal", "false")
    .about("`true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned reward only");

/// The shared parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TabularParameters {
    pub(crate) sigma2: f64,
    pub(crate) delta: f64,
    /// The range of terminal rewards and values.
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) scale: f64,
    pub(crate) reveal: bool,
}

impl TabularParameters {
    /// The parameters of the settings; defaults for those that the learner does not have.
    pub(crate) fn new(settings: &Settings<'_>) -> Result<TabularParameters, LearnerError> {
        let or = |name: &str, default: f64| match settings.value(name) {
            Some(_) => settings.finite(name),
            None => Ok(default),
        };
        let (least, most) = (or("reward_least", 0.0)?, or("reward_most", 1.0)?);
        if least > most {
            let rule = format!("be at least `reward_least`, which is {least}");
            return settings.reject("reward_most", rule, most);
        }
        let scale = or("scale", 1.0)?;
        if scale < 0.0 {
            return settings.reject("scale", "be at least 0", scale);
        }
        Ok(TabularParameters {
            sigma2: Sigma2::new(or("sigma2", 0.25)?)
                .map_err(|error| settings.wrong(error))?
                .get(),
            delta: match settings.value("delta") {
                Some(_) => settings.delta()?.get(),
                None => 0.01,
            },
            least,
            most,
            scale,
            reveal: settings.value("reveal").is_some() && settings.flag("reveal")?,
        })
    }

    /// The length of the range of values: `H` in the publications.
    pub(crate) fn span(&self) -> f64 {
        self.most - self.least
    }
}
