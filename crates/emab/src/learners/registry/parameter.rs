//! The parameters of learners, and where a value comes from: the call, the problem file, the default.

use serde::{Deserialize, Serialize};

use crate::input::parse_count;
use crate::parameter::{Delta, FeedbackSpread, Sigma2};

/// One parameter of a learner.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The default, as text.
    pub default: &'static str,
    /// The description.
    pub about: &'static str,
    /// Its value in `[learning]` of a problem file.
    #[serde(skip)]
    stated: Option<fn(&LearnerDefaults) -> Option<f64>>,
    #[serde(skip)]
    kind: Kind,
    /// The value with which the choices depend on random draws.
    #[serde(skip)]
    draws: Option<&'static str>,
}

/// The value of a parameter that is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The default.
    Whole,
    /// That of another parameter. The other parameter in the call overrides the file.
    PartOf(&'static str),
    /// No value.
    Optional,
    /// No value. The value of a file is used only with one of these values of another, earlier parameter.
    OnlyWith(&'static str, &'static [&'static str]),
}

impl Parameter {
    pub(crate) const fn new(name: &'static str, default: &'static str) -> Parameter {
        Parameter {
            name,
            default,
            about: "",
            stated: None,
            kind: Kind::Whole,
            draws: None,
        }
    }

    pub(crate) const fn about(mut self, about: &'static str) -> Parameter {
        self.about = about;
        self
    }

    pub(crate) const fn stated(mut self, by: fn(&LearnerDefaults) -> Option<f64>) -> Parameter {
        self.stated = Some(by);
        self
    }

    pub(crate) const fn part_of(mut self, whole: &'static str) -> Parameter {
        self.kind = Kind::PartOf(whole);
        self
    }

    pub(crate) const fn only_with(
        mut self,
        name: &'static str,
        words: &'static [&'static str],
    ) -> Parameter {
        self.kind = Kind::OnlyWith(name, words);
        self
    }

    /// Without a value where it is not set.
    pub(crate) const fn optional(mut self) -> Parameter {
        self.kind = Kind::Optional;
        self
    }

    /// With this value the choices depend on random draws.
    pub(crate) const fn draws_with(mut self, word: &'static str) -> Parameter {
        self.draws = Some(word);
        self
    }

    /// Whether choices depend on random draws with this value.
    pub(crate) fn draws(&self, value: &ParameterValue) -> bool {
        matches!((self.draws, value), (Some(draws), ParameterValue::Word(word)) if draws == word)
    }

    fn in_file(&self, learning: &LearnerDefaults) -> Option<ParameterValue> {
        self.stated?(learning).map(ParameterValue::Number)
    }
}

/// The parameters that have a value, and the names of those at a default that a file could set.
pub(crate) fn resolve(
    parameters: &'static [Parameter],
    given: &dyn Fn(&str) -> Option<ParameterValue>,
    learning: &LearnerDefaults,
) -> (Vec<(&'static str, ParameterValue)>, Vec<&'static str>) {
    let mut values: Vec<(&'static str, ParameterValue)> = Vec::new();
    let mut assumed = Vec::new();
    for parameter in parameters {
        let name = parameter.name;
        let in_file = parameter.in_file(learning);
        let value = match parameter.kind {
            Kind::Whole => Some(given(name).or(in_file).unwrap_or_else(|| {
                let parts = parameters.iter();
                let mut parts = parts
                    .filter(|part| part.kind == Kind::PartOf(name))
                    .peekable();
                let unused = parts.peek().is_some()
                    && parts.all(|part| given(part.name).or(part.in_file(learning)).is_some());
                if parameter.stated.is_some() && !unused {
                    assumed.push(name);
                }
                ParameterValue::read(parameter.default)
            })),
            Kind::Optional => given(name).or(in_file),
            Kind::PartOf(whole) => given(name).or(in_file.filter(|_| given(whole).is_none())),
            Kind::OnlyWith(other, words) => {
                let set = values.iter().any(|(name, value)| {
                    *name == other && words.contains(&value.to_string().as_str())
                });
                given(name).or(in_file.filter(|_| set))
            }
        };
        values.extend(value.map(|value| (name, value)));
    }
    (values, assumed)
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

impl std::fmt::Display for ParameterValue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParameterValue::Number(number) => write!(out, "{number}"),
            ParameterValue::Word(word) => out.write_str(word),
        }
    }
}

impl ParameterValue {
    /// Parses a value.
    pub(crate) fn read(text: &str) -> ParameterValue {
        // `inf` and `nan` parse as numbers; range checks reject them.
        let number = text.parse().ok();
        let number = number.or_else(|| parse_count(text).ok().map(|count| count as f64));
        number.map_or_else(|| ParameterValue::Word(text.into()), ParameterValue::Number)
    }
}

/// Defaults of learner parameters, from `[learning]` of a problem file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LearnerDefaults {
    /// The probability with which some confidence bound may fail.
    pub delta: Option<Delta>,
    /// Variance proxy of the noise on costs and rewards.
    pub sigma2: Option<Sigma2>,
    /// The same for costs alone.
    pub sigma2_cost: Option<Sigma2>,
    /// The same for rewards alone.
    pub sigma2_reward: Option<Sigma2>,
    /// How far one feedback can move the next expected reward.
    pub feedback_spread: Option<FeedbackSpread>,
    /// The range of the terminal rewards.
    pub reward_range: Option<(f64, f64)>,
}

impl LearnerDefaults {
    /// The feedback spread, or otherwise the length of the reward range.
    pub fn spread(&self) -> Option<FeedbackSpread> {
        self.feedback_spread.or_else(|| {
            let (least, most) = self.reward_range?;
            FeedbackSpread::new(most - least).ok()
        })
    }
}
