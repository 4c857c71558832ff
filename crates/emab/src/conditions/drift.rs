//! Parameters that change over the episodes: at once, or linearly in steps.

use serde::{Deserialize, Serialize};

use crate::parameter::ParameterError;

/// A change of a parameter of the problem.
///
/// ```
/// use emab::conditions::Drift;
/// let sudden = Drift::at("p", 0.4, 5000).unwrap();
/// let slow = Drift::between("p", 0.4, 2000, 8000).unwrap();
/// assert_eq!((sudden.to_string(), slow.to_string()), ("p:0.4@5000".into(), "p:0.4@2000-8000".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DriftDto", into = "DriftDto")]
pub struct Drift {
    parameter: String,
    to: f64,
    when: DriftTiming,
}

/// When a parameter changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftTiming {
    /// The new value holds from this episode on.
    At(u64),
    /// The value changes linearly from the first to the second episode.
    Between(u64, u64),
}

impl Drift {
    /// The maximum number of steps of a linear change.
    pub const STEPS: u64 = 50;

    /// A sudden change at this episode; episodes count from 1.
    pub fn at(
        parameter: impl Into<String>,
        to: f64,
        episode: u64,
    ) -> Result<Drift, ParameterError> {
        if episode < 2 {
            let rule = "be an episode after the first, 2 or later";
            return Err(ParameterError::new("at", rule, episode));
        }
        Drift::new(parameter, to, DriftTiming::At(episode))
    }

    /// A linear change between two episodes.
    pub fn between(
        parameter: impl Into<String>,
        to: f64,
        from: u64,
        until: u64,
    ) -> Result<Drift, ParameterError> {
        if from < 1 {
            let rule = "be an episode, 1 or later";
            return Err(ParameterError::new("from", rule, from));
        }
        if until <= from {
            let rule = format!("be an episode after `from`, which is {from}");
            return Err(ParameterError::new("until", rule, until));
        }
        Drift::new(parameter, to, DriftTiming::Between(from, until))
    }

    fn new(
        parameter: impl Into<String>,
        to: f64,
        when: DriftTiming,
    ) -> Result<Drift, ParameterError> {
        if !to.is_finite() {
            return Err(ParameterError::new("to", "be a finite number", to));
        }
        Ok(Drift {
            parameter: parameter.into(),
            to,
            when,
        })
    }

    /// The name of the parameter.
    pub fn parameter(&self) -> &str {
        &self.parameter
    }

    /// The new value.
    pub fn to(&self) -> f64 {
        self.to
    }

    /// The time of the change.
    pub fn when(&self) -> DriftTiming {
        self.when
    }

    /// The first episode with a changed value, and the first with the new value.
    fn ends(&self) -> (u64, u64) {
        match self.when {
            DriftTiming::At(at) => (at, at),
            DriftTiming::Between(from, until) => (from + 1, until),
        }
    }

    /// The first episode of each step, and the fraction of the change that it has.
    fn steps(&self) -> Vec<(u64, f64)> {
        let (from, until) = match self.when {
            DriftTiming::At(at) => return vec![(at, 1.0)],
            DriftTiming::Between(from, until) => (from, until),
        };
        let steps = (until - from).min(Self::STEPS);
        let first =
            |step| from + (u128::from(until - from) * u128::from(step) / u128::from(steps)) as u64;
        let share = |episode: u64| (episode - from) as f64 / (until - from) as f64;
        let steps = (1..=steps).map(first);
        steps.map(|episode| (episode, share(episode))).collect()
    }
}

pub(super) fn check(drift: &[Drift]) -> Result<(), (usize, ParameterError)> {
    for (i, later) in drift.iter().enumerate() {
        let mut before = drift[..i].iter();
        let before = before.rfind(|other| other.parameter == later.parameter);
        if let Some(end) = before.map(|before| before.ends().1)
            && later.ends().0 <= end
        {
            let rule = format!(
                "change again after its change before is over, after episode {end}; changes of a parameter stand in their order"
            );
            let error = ParameterError::new(&later.parameter, rule, later);
            return Err((i, error));
        }
    }
    Ok(())
}

pub(super) fn drift_phases(
    drift: &[Drift],
    at_first: impl Fn(&str) -> f64,
) -> Vec<(u64, Vec<(String, f64)>)> {
    let mut names: Vec<&str> = Vec::new();
    for change in drift {
        if !names.contains(&change.parameter.as_str()) {
            names.push(&change.parameter);
        }
    }
    let mut values: Vec<f64> = names.iter().map(|name| at_first(name)).collect();
    // The episode, the parameter and its value from there on.
    let mut events: Vec<(u64, usize, f64)> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let mut value = values[i];
        for change in drift.iter().filter(|change| change.parameter == *name) {
            let begin = value;
            for (episode, share) in change.steps() {
                // The last step is the new value itself, without rounding.
                value = match share {
                    1.0 => change.to,
                    share => begin + share * (change.to - begin),
                };
                events.push((episode, i, value));
            }
        }
    }
    events.sort_by_key(|(episode, ..)| *episode);
    let phases = events
        .chunk_by(|one, other| one.0 == other.0)
        .map(|changes| {
            for &(_, i, value) in changes {
                values[i] = value;
            }
            let named = names.iter().map(|name| (*name).to_owned());
            (changes[0].0, named.zip(values.iter().copied()).collect())
        });
    phases.collect()
}

/// A drift as files have it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DriftDto {
    parameter: String,
    to: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

impl TryFrom<DriftDto> for Drift {
    type Error = ParameterError;

    fn try_from(written: DriftDto) -> Result<Drift, ParameterError> {
        let DriftDto { parameter, to, .. } = written;
        match (written.at, written.from, written.until) {
            (Some(at), None, None) => Drift::at(parameter, to, at),
            (None, Some(from), Some(until)) => Drift::between(parameter, to, from, until),
            _ => Err(ParameterError::new(
                "drift",
                "have `at`, or `from` and `until`",
                "neither or both",
            )),
        }
    }
}

impl From<Drift> for DriftDto {
    fn from(drift: Drift) -> DriftDto {
        let (at, from, until) = match drift.when {
            DriftTiming::At(at) => (Some(at), None, None),
            DriftTiming::Between(from, until) => (None, Some(from), Some(until)),
        };
        DriftDto {
            parameter: drift.parameter,
            to: drift.to,
            at,
            from,
            until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(drift: &[Drift], at_first: f64) -> Vec<(u64, f64)> {
        let drift_phases = drift_phases(drift, |_| at_first).into_iter();
        drift_phases
            .map(|(first, named)| (first, named[0].1))
            .collect()
    }

    #[test]
    fn sudden_changes_and_their_order() {
        let drift = [
            Drift::at("p", 0.4, 10).unwrap(),
            Drift::at("p", 0.8, 20).unwrap(),
        ];
        assert!(check(&drift).is_ok());
        assert_eq!(values(&drift, 0.8), [(10, 0.4), (20, 0.8)]);
        let (i, error) = check(&[drift[1].clone(), drift[0].clone()]).unwrap_err();
        assert_eq!(i, 1);
        assert_eq!(
            error.to_string(),
            "`p` must change again after its change before is over, after episode 20; changes of a parameter stand \
             in their order, got p:0.4@10"
        );
    }

    #[test]
    fn a_linear_change_has_steps() {
        let short = [Drift::between("p", 4.0, 10, 14).unwrap()];
        let stairs = [(11, 1.0), (12, 2.0), (13, 3.0), (14, 4.0)];
        assert_eq!(values(&short, 0.0), stairs);
        let long = [Drift::between("p", 1.0, 2000, 8000).unwrap()];
        let stairs = values(&long, 0.0);
        assert_eq!(stairs.len(), 50);
        assert_eq!((stairs[0], stairs[49]), ((2120, 0.02), (8000, 1.0)));
    }

    #[test]
    fn parameters_drift_side_by_side() {
        let drift = [
            Drift::at("p", 1.0, 10).unwrap(),
            Drift::at("q", 5.0, 20).unwrap(),
        ];
        let both = |p, q| vec![("p".to_owned(), p), ("q".to_owned(), q)];
        let drift_phases = drift_phases(&drift, |_| 0.0);
        assert_eq!(drift_phases, [(10, both(1.0, 0.0)), (20, both(1.0, 5.0))]);
    }

    #[test]
    fn rejects_invalid_changes() {
        assert!(Drift::at("p", 1.0, 1).is_err());
        assert!(Drift::at("p", f64::NAN, 5).is_err());
        let error = Drift::between("p", 1.0, 5, 5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`until` must be an episode after `from`, which is 5, got 5"
        );
    }
}
