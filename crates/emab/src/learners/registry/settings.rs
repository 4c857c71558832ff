//! Reads the parameters of a learner with range checks.

use super::entry::LearnerEntry;
use super::parameter::ParameterValue;
use crate::input::did_you_mean;
use crate::learners::LearnerError;
use crate::learners::{FeedBalParameters, Memory, Ties};
use crate::parameter::{Delta, FeedbackSpread, ParameterError, Sigma2};
use crate::spec::format_number;
use crate::width::WidthKind;

/// A learner's parameters by name.
pub(crate) struct Settings<'a> {
    pub(crate) learner: &'static str,
    pub(crate) values: &'a [(&'static str, ParameterValue)],
}

impl Settings<'_> {
    pub(crate) fn feedbal_parameters(&self) -> Result<FeedBalParameters, LearnerError> {
        let (sigma2_cost, sigma2_reward) = self.sigma2_parts()?;
        // The third has no coefficient, but the error lists it.
        let words = [
            ("paper", Some(false)),
            ("sound", Some(true)),
            ("bernstein", None),
        ];
        let sound = self.word("width", &words)?;
        let sound = sound.ok_or(LearnerError::NoBounds(self.learner))?;
        // A given value is checked even where it is not used.
        let spread = self.value("feedback_spread").map(|_| self.spread());
        let width = if sound {
            WidthKind::Sound(self.spread()?)
        } else {
            spread.transpose()?;
            WidthKind::Paper
        };
        Ok(FeedBalParameters {
            sigma2_cost,
            sigma2_reward,
            delta: self.delta()?,
            width,
            stop_bias: self.finite("stop_bias")?,
            ties: self.word(
                "ties",
                &[("lowest", Ties::Lowest), ("random", Ties::Random)],
            )?,
        })
    }

    /// The memory of a learner that forgets.
    pub(crate) fn memory(&self) -> Result<Option<Memory>, LearnerError> {
        let wrong = |error| self.wrong(error);
        let window = self
            .value("window")
            .filter(|_| !self.is_word("window", "all"));
        let gamma = self.value("gamma");
        let gamma = gamma.filter(|gamma| **gamma != ParameterValue::Number(1.0));
        let memory = match (window, gamma) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                let rule = "not be set together with `window`: it forgets in one way or the other";
                return self.reject("gamma", rule, "both");
            }
            (Some(_), None) => Memory::window(self.count("window", 1)?),
            (None, Some(_)) => Memory::discount(self.number("gamma")?),
        };
        memory.map(Some).map_err(wrong)
    }

    pub(crate) fn spread(&self) -> Result<FeedbackSpread, LearnerError> {
        if self.value("feedback_spread").is_none() {
            let width = self
                .value("width")
                .map_or(String::new(), |width| width.to_string());
            let rule = format!(
                "be known for width={width} (state it, or `reward_range`, in [learning], or in the call)"
            );
            return self.reject("feedback_spread", rule, "nothing");
        }
        FeedbackSpread::new(self.number("feedback_spread")?).map_err(|error| self.wrong(error))
    }

    pub(crate) fn wrong(&self, error: ParameterError) -> LearnerError {
        LearnerError::Parameter(self.learner, error)
    }

    /// The error that parameter `name` must `rule` but is `got`.
    pub(crate) fn reject<T>(
        &self,
        name: &str,
        rule: impl Into<String>,
        got: impl ToString,
    ) -> Result<T, LearnerError> {
        Err(self.wrong(ParameterError::new(name, rule, got)))
    }

    pub(crate) fn value(&self, name: &str) -> Option<&ParameterValue> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    pub(crate) fn number(&self, name: &str) -> Result<f64, LearnerError> {
        match (self.value(name), name) {
            (Some(ParameterValue::Number(number)), _) => Ok(*number),
            (Some(ParameterValue::Word(word)), "delta") => {
                let rule = "be a number, or `1/n` for one over the episodes of a run";
                self.reject(name, rule, word)
            }
            (Some(ParameterValue::Word(word)), _) => self.reject(name, "be a number", word),
            (None, _) => self.reject(name, "be given", "nothing"),
        }
    }

    pub(crate) fn finite(&self, name: &str) -> Result<f64, LearnerError> {
        match self.number(name)? {
            number if number.is_finite() => Ok(number),
            number => self.reject(name, "be a finite number", number),
        }
    }

    /// The variance proxies of costs and of rewards; `sigma2` stands for a part that is not set.
    pub(crate) fn sigma2_parts(&self) -> Result<(Sigma2, Sigma2), LearnerError> {
        let sigma2 = |name| {
            let sigma2 = Sigma2::named(name, self.number(name)?);
            sigma2.map_err(|error| self.wrong(error))
        };
        let both = sigma2("sigma2")?;
        let part = |name| self.value(name).map_or(Ok(both), |_| sigma2(name));
        Ok((part("sigma2_cost")?, part("sigma2_reward")?))
    }

    pub(crate) fn delta(&self) -> Result<Delta, LearnerError> {
        Delta::new(self.number("delta")?).map_err(|error| self.wrong(error))
    }

    /// Whether a parameter is this word.
    pub(crate) fn is_word(&self, name: &str, word: &str) -> bool {
        self.value(name) == Some(&ParameterValue::Word(word.into()))
    }

    /// Fails if one of these parameters is set though another setting makes it unused.
    pub(crate) fn reject_unused(
        &self,
        entry: &LearnerEntry,
        names: &[&str],
        why: &str,
    ) -> Result<(), LearnerError> {
        for &name in names {
            let default = entry.parameters.iter().find(|p| p.name == name);
            let default = default.map(|parameter| ParameterValue::read(parameter.default));
            if let Some(value) = self.value(name)
                && Some(value) != default.as_ref()
            {
                return self.reject(name, format!("be left at its default {why}"), value);
            }
        }
        Ok(())
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, LearnerError> {
        self.word(name, &[("true", true), ("false", false)])
    }

    /// A finite number of more than 0.
    pub(crate) fn positive(&self, name: &str) -> Result<f64, LearnerError> {
        match self.finite(name)? {
            number if number > 0.0 => Ok(number),
            number => self.reject(name, "be more than 0", number),
        }
    }

    /// A whole number of at least `least`.
    pub(crate) fn count(&self, name: &str, least: u64) -> Result<u64, LearnerError> {
        let number = self.number(name)?;
        if number >= least as f64 && number.fract() == 0.0 && number <= 1e15 {
            return Ok(number as u64);
        }
        let rule = format!("be a whole number from {least} to 1e15");
        self.reject(name, rule, format_number(number))
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn within(&self, name: &str, least: f64, most: f64) -> Result<f64, LearnerError> {
        let number = self.number(name)?;
        if (least..=most).contains(&number) {
            return Ok(number);
        }
        let [least, most] = [least, most].map(format_number);
        let rule = format!("be a number from {least} to {most}");
        self.reject(name, rule, format_number(number))
    }

    pub(crate) fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, LearnerError> {
        let got = self.value(name).map_or(String::new(), ToString::to_string);
        let found = words.iter().find(|(word, _)| *word == got);
        found.map_or_else(
            || {
                let known = listed(words.iter().map(|(word, _)| *word), "or");
                let near = did_you_mean(&got, words.iter().map(|(word, _)| *word));
                self.reject(name, format!("be {known}{near}"), format!("`{got}`"))
            },
            |(_, value)| Ok(*value),
        )
    }
}

/// A list of names, such as `a`, `b` and `c`.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>, last: &str) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [first @ .., end] if !first.is_empty() => format!("{} {last} {end}", first.join(", ")),
        all => all.join(""),
    }
}
