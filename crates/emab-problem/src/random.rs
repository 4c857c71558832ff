//! Random problems: families of problem files, by size, horizon, gap, noise and how myopic the benchmark is.
//!
//! A problem depends on its family, the seed and its number alone, and is an ordinary problem file:
//!
//! - the next state of each `(x, a, f)` is uniform, `P(f | t, x, a)` is uniform on the simplex;
//! - `r_{t,x} = gap * ((1 - myopia) u_x + myopia u_{t,x}) + rise * (t - 1)` with all `u` uniform in [0, 1] and one `rise`
//!   uniform in `[0, 0.3 gap]`; costs are uniform in `[0, 0.1 gap]`. With `myopia = 0` a state is worth the same at every
//!   step, and looking one step ahead loses little; with 1 it loses much;
//! - costs and rewards have normal noise of variance `noise`, which `[learning]` states as `sigma2`.

use std::fmt::Write;

use emab::input::did_you_mean;
use emab::{Role, Stream};
use thiserror::Error;

use crate::error::ReadError;
use crate::file::{Format, ProblemFile};

/// A family of random problems: the range of each property.
///
/// ```
/// use emab_problem::Family;
/// let family = Family::parse("mixed:steps=12..20,noise=0.5").unwrap();
/// assert_eq!(family.to_string(), "mixed:steps=12..20,noise=0.5");
/// let file = family.problem(1, 7).unwrap();
/// assert!((12..=20).contains(&file.spec().horizon()));
/// assert_eq!(file.hash(), family.problem(1, 7).unwrap().hash()); // the same seed and number, the same problem
/// assert_eq!(
///     Family::parse("mixed:step=3").unwrap_err().to_string(),
///     "family `mixed`: unknown property `step` (did you mean `steps`?); expected one of steps, states, actions, feedbacks, \
///      gap, noise, myopia",
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    text: String,
    /// By property, in the order of [`PROPERTIES`].
    ranges: [(f64, f64); PROPERTIES.len()],
}

/// A named family.
#[derive(Clone, Copy, Debug)]
pub struct NamedFamily {
    /// Its name.
    pub name: &'static str,
    /// What it contains.
    pub about: &'static str,
    settings: &'static str,
}

/// The named families.
pub static FAMILIES: &[NamedFamily] = &[
    NamedFamily {
        name: "small",
        about: "5 steps, 4 states, 3 actions, 3 feedbacks",
        settings: "",
    },
    NamedFamily {
        name: "mixed",
        about: "3 to 8 steps, 4 to 8 states, 2 to 4 actions and feedbacks, gaps of 0.5 to 2, noises of 0.02 to 0.2",
        settings: "steps=3..8,states=4..8,actions=2..4,feedbacks=2..4,gap=0.5..2,noise=0.02..0.2,myopia=0..1",
    },
    NamedFamily {
        name: "long",
        about: "12 to 20 steps",
        settings: "steps=12..20",
    },
    NamedFamily {
        name: "wide",
        about: "20 to 40 states, 5 actions, 5 feedbacks",
        settings: "states=20..40,actions=5,feedbacks=5",
    },
    NamedFamily {
        name: "narrow",
        about: "rewards that differ little: gaps of 0.2 to 0.4",
        settings: "gap=0.2..0.4",
    },
    NamedFamily {
        name: "noisy",
        about: "noise of variance 0.5 to 1",
        settings: "noise=0.5..1",
    },
    NamedFamily {
        name: "myopic",
        about: "the benchmark is far from optimal: rewards of a state differ from step to step",
        settings: "myopia=1",
    },
];

/// A property of a family.
struct Property {
    name: &'static str,
    whole: bool,
    least: f64,
    most: f64,
    /// In the family `small`.
    default: f64,
}

const fn property(
    name: &'static str,
    whole: bool,
    least: f64,
    most: f64,
    default: f64,
) -> Property {
    Property {
        name,
        whole,
        least,
        most,
        default,
    }
}

static PROPERTIES: [Property; 7] = [
    property("steps", true, 2.0, 100.0, 5.0),
    property("states", true, 1.0, 200.0, 4.0),
    property("actions", true, 1.0, 20.0, 3.0),
    property("feedbacks", true, 1.0, 20.0, 3.0),
    property("gap", false, 1e-6, 1e6, 1.0),
    property("noise", false, 1e-6, 1e6, 0.1),
    property("myopia", false, 0.0, 1.0, 0.5),
];

/// Why a text names no family.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FamilyError {
    /// No family has this name.
    #[error(
        "unknown family `{name}`{}; expected one of {}",
        did_you_mean(name, FAMILIES.iter().map(|family| family.name)),
        FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// No property has this name.
    #[error(
        "family `{family}`: unknown property `{name}`{}; expected one of {}",
        did_you_mean(name, PROPERTIES.iter().map(|property| property.name)),
        PROPERTIES.iter().map(|property| property.name).collect::<Vec<_>>().join(", ")
    )]
    Property {
        /// The family.
        family: String,
        /// The name.
        name: String,
    },
    /// A value is not a range of this property.
    #[error("family `{family}`: `{name}` must be {rule}, got `{got}`")]
    Range {
        /// The family.
        family: String,
        /// The property.
        name: &'static str,
        /// The rule.
        rule: String,
        /// The value.
        got: String,
    },
}

impl std::fmt::Display for Family {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.text)
    }
}

impl Family {
    /// Parses `name` or `name:property=value,…`; a value is a number or a range `least..most`, both included.
    pub fn parse(text: &str) -> Result<Family, FamilyError> {
        let text = text.trim();
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let Some(named) = FAMILIES.iter().find(|family| family.name == name) else {
            return Err(FamilyError::Unknown { name: name.into() });
        };
        let mut ranges = PROPERTIES
            .each_ref()
            .map(|property| (property.default, property.default));
        let both = named.settings.split(',').chain(settings.split(','));
        for setting in both.filter(|setting| !setting.is_empty()) {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let Some(at) = PROPERTIES.iter().position(|property| property.name == key) else {
                return Err(FamilyError::Property {
                    family: name.into(),
                    name: key.into(),
                });
            };
            ranges[at] = PROPERTIES[at]
                .range(value)
                .map_err(|rule| FamilyError::Range {
                    family: name.into(),
                    name: PROPERTIES[at].name,
                    rule,
                    got: value.into(),
                })?;
        }
        let text = text.to_owned();
        Ok(Family { text, ranges })
    }

    /// The name of the family, without settings.
    pub fn name(&self) -> &str {
        self.text.split(':').next().unwrap_or(&self.text)
    }

    /// The problem of this number.
    pub fn problem(&self, seed: u64, number: u64) -> Result<ProblemFile, ReadError> {
        let name = format!("{}-{seed}-{number}.toml", self.name());
        ProblemFile::parse_as(Format::Toml, &name, &self.text(seed, number))
    }

    /// The file of this number, as TOML.
    pub fn text(&self, seed: u64, number: u64) -> String {
        let mut stream = Stream::new(seed, number, Role::Problem);
        let mut values = [0.0; PROPERTIES.len()];
        for ((value, property), range) in values.iter_mut().zip(&PROPERTIES).zip(self.ranges) {
            *value = property.draw(range, &mut stream);
        }
        Sample::draw(values, &mut stream).toml(&self.text, seed, number)
    }
}

impl Property {
    fn range(&self, text: &str) -> Result<(f64, f64), String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let within = |number: &f64| {
            (self.least..=self.most).contains(number) && (!self.whole || number.fract() == 0.0)
        };
        let read = |text: &str| text.parse::<f64>().ok().filter(within);
        match (read(least), read(most)) {
            (Some(least), Some(most)) if least <= most => Ok((least, most)),
            _ => Err(format!(
                "a {}number from {} to {}, or a range of them as 3..8",
                if self.whole { "whole " } else { "" },
                self.least,
                self.most
            )),
        }
    }

    fn draw(&self, (least, most): (f64, f64), stream: &mut Stream) -> f64 {
        if self.whole {
            return least + stream.below((most - least) as usize + 1) as f64;
        }
        // Gap and noise are log-uniform: only their ratios matter.
        let uniform = stream.uniform();
        match self.name {
            "gap" | "noise" => least * libm::pow(most / least, uniform),
            _ => least + (most - least) * uniform,
        }
    }
}

/// The numbers of one problem.
struct Sample {
    steps: usize,
    states: usize,
    actions: usize,
    feedbacks: usize,
    noise: f64,
    /// By `(x, a, f)`.
    next: Vec<usize>,
    /// By `(t, x, a, f)`.
    feedback: Vec<f64>,
    /// By `(t, x, a)`.
    cost: Vec<f64>,
    /// By `(t, x)`.
    reward: Vec<f64>,
}

impl Sample {
    fn draw(values: [f64; PROPERTIES.len()], stream: &mut Stream) -> Sample {
        let [steps, states, actions, feedbacks] = [0, 1, 2, 3].map(|i| values[i] as usize);
        let [gap, noise, myopia] = [values[4], values[5], values[6]];
        let next = (0..states * actions * feedbacks).map(|_| stream.below(states));
        let next = next.collect();
        let mut feedback = Vec::new();
        for _ in 0..(steps - 1) * states * actions {
            // Uniform on the simplex: exponential variables, divided by their sum.
            let weights: Vec<f64> = (0..feedbacks)
                .map(|_| -libm::log1p(-stream.uniform()))
                .collect();
            let sum: f64 = weights.iter().sum();
            let mut rest = 1.0;
            for &weight in &weights[1..] {
                let p = round(weight / sum).min(rest);
                rest -= p;
                feedback.push(p);
            }
            feedback.push(round(rest));
        }
        let costs = (0..(steps - 1) * states * actions).map(|_| 0.1 * gap * stream.uniform());
        let cost = costs.map(round).collect();
        let rise = 0.3 * gap * stream.uniform();
        let of_state: Vec<f64> = (0..states).map(|_| stream.uniform()).collect();
        let mut reward = Vec::new();
        for t in 0..steps {
            for state in &of_state {
                let mixed = (1.0 - myopia) * state + myopia * stream.uniform();
                reward.push(round(gap * mixed + rise * t as f64));
            }
        }
        Sample {
            steps,
            states,
            actions,
            feedbacks,
            noise: round(noise),
            next,
            feedback,
            cost,
            reward,
        }
    }

    fn toml(&self, family: &str, seed: u64, number: u64) -> String {
        let least = self.reward.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self
            .reward
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = write!(
            text,
            "name        = \"{family} {seed}/{number}\"\n\
             description = \"Problem {number} of seed {seed} in the family {family}.\"\n\
             horizon     = {}\n\
             states      = {}\n\
             actions     = {}\n\
             feedbacks   = {}\n\
             \n\
             # [t][x][a][f]\n\
             transition = [{}]\n\
             \n\
             [model]\n\
             feedback     = {}\n\
             cost         = {}\n\
             reward       = {}\n\
             cost_noise   = {{ kind = \"normal\", variance = {} }}\n\
             reward_noise = {{ kind = \"normal\", variance = {} }}\n\
             \n\
             [learning]\n\
             delta        = 0.01\n\
             sigma2       = {}\n\
             reward_range = [{least}, {most}]\n",
            self.steps,
            self.states,
            self.actions,
            self.feedbacks,
            nested(&self.next, &[self.states, self.actions, self.feedbacks]),
            nested(
                &self.feedback,
                &[self.steps - 1, self.states, self.actions, self.feedbacks]
            ),
            nested(&self.cost, &[self.steps - 1, self.states, self.actions]),
            nested(&self.reward, &[self.steps, self.states]),
            self.noise,
            self.noise,
            self.noise,
        );
        text
    }
}

/// To six decimals, so that files are short and their sums exact enough.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Values as nested arrays of these lengths.
fn nested<T: std::fmt::Display>(values: &[T], lengths: &[usize]) -> String {
    let Some((_, inner)) = lengths.split_first() else {
        return values.first().map_or(String::new(), T::to_string);
    };
    let size = inner.iter().product::<usize>().max(1);
    let rows: Vec<String> = values
        .chunks(size)
        .map(|chunk| nested(chunk, inner))
        .collect();
    // Probabilities of one action stay on a line.
    match inner.len() {
        0 | 1 => format!("[{}]", rows.join(", ")),
        _ => format!("[\n{}\n]", rows.join(",\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_every_family_are_valid_and_differ() {
        for named in FAMILIES {
            let family = Family::parse(named.name).unwrap();
            let mut hashes = Vec::new();
            for number in 1..=5 {
                let file = family.problem(2, number).unwrap();
                file.check(100_000).unwrap();
                hashes.push(file.hash().to_owned());
            }
            hashes.sort();
            hashes.dedup();
            assert_eq!(hashes.len(), 5, "{}", named.name);
        }
    }

    #[test]
    fn properties_are_within_their_ranges() {
        let family = Family::parse("small:states=1..3,feedbacks=1,noise=0.25,myopia=0").unwrap();
        for number in 0..20 {
            let file = family.problem(1, number).unwrap();
            let spec = file.spec();
            assert!((1..=3).contains(&spec.states().len()));
            assert_eq!((spec.horizon(), spec.feedbacks().len()), (5, 1));
            let problem = file.problem().unwrap();
            assert_eq!(problem.model().reward_noise.proxy(), 0.25);
            // Without myopia the rewards of a state differ by the rise alone.
            let rewards: Vec<f64> = (1..=5).map(|t| problem.reward(t, 0).unwrap()).collect();
            for three in rewards.windows(3) {
                assert!((three[2] - 2.0 * three[1] + three[0]).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn wrong_families() {
        let wrong = |text: &str| Family::parse(text).unwrap_err().to_string();
        assert_eq!(
            wrong("mixd"),
            "unknown family `mixd` (did you mean `mixed`?); expected one of small, mixed, long, wide, narrow, noisy, myopic"
        );
        for text in [
            "small:steps=1",
            "small:steps=2.5",
            "small:steps=8..3",
            "small:steps",
            "small:noise=0",
        ] {
            assert!(wrong(text).contains("must be a "), "{text}");
        }
        assert_eq!(
            wrong("small:gap=nan"),
            "family `small`: `gap` must be a number from 0.000001 to 1000000, or a range of them as 3..8, got `nan`"
        );
    }
}
