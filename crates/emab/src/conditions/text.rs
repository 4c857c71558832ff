//! Conditions as text, for the command line: `delay=20 dropout=0.05 drift=p:0.4@5000`.

use std::fmt;

use super::{Conditions, Delay, Drift, DriftTiming, Dropout, DropoutText, Missing, Probability};
use crate::input::{did_you_mean, parse_count};
use crate::parameter::ParameterError;

impl Conditions {
    /// The names of the conditions in a text and in a problem file.
    pub const KEYS: [&str; 8] = [
        "delay",
        "open",
        "dropout",
        "lost",
        "missing_costs",
        "missing_rewards",
        "override",
        "drift",
    ];

    /// These conditions with some replaced; each text is KEY=VALUE.
    ///
    /// A delay is `20`, `geometric:20`, `batches:50` or `none`; a dropout is a probability or an expression; missing costs are `0.2`, or `0:0.8` by feedback; a drift `p:0.4@5000` or `p:0.4@2000-8000`, or `none`.
    /// Several drifts apply in order; the first of them replaces the present ones.
    ///
    /// ```
    /// use emab::Conditions;
    /// let stated = Conditions::default().with(["delay=geometric:20", "drift=p:0.4@5000"]).unwrap();
    /// assert_eq!(stated.with(["delay=none"]).unwrap().to_string(), "drift=p:0.4@5000");
    /// assert_eq!(stated.with(["dropuot=0.1"]).unwrap_err().to_string(),
    ///     "`dropuot` must be one of delay, open, dropout, lost, missing_costs, missing_rewards, override, drift \
    ///      (did you mean `dropout`?), got `dropuot=0.1`");
    /// ```
    pub fn with<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Conditions, ParameterError> {
        let mut new = self.clone();
        let mut given: Vec<&str> = Vec::new();
        for text in texts {
            let Some((key, value)) = text.split_once('=') else {
                let rule = "be KEY=VALUE, such as delay=20";
                return Err(ParameterError::new("condition", rule, quoted(text)));
            };
            let (key, value) = (key.trim(), value.trim());
            let again = given.contains(&key);
            if again && key != "drift" {
                return Err(ParameterError::new(key, "be given once", quoted(text)));
            }
            given.push(key);
            match key {
                "delay" => new.delay = delay(value)?,
                "open" => new.open = Conditions::read_open(value)?,
                "dropout" => new.dropout = dropout(value)?,
                "lost" => new.lost = probability(key, value)?,
                "missing_costs" => new.missing_costs = missing(key, value)?,
                "missing_rewards" => new.missing_rewards = missing(key, value)?,
                "override" => new.overrides = probability(key, value)?,
                "drift" => {
                    if !again {
                        new.drift.clear();
                    }
                    if value != "none" {
                        new.drift.push(drift(value)?);
                    }
                }
                _ => {
                    let near = did_you_mean(key, Self::KEYS);
                    let rule = format!("be one of {}{near}", Self::KEYS.join(", "));
                    return Err(ParameterError::new(key, rule, quoted(text)));
                }
            }
        }
        new.check_drift().map_err(|(_, error)| error)?;
        Ok(new)
    }
}

fn quoted(text: &str) -> String {
    format!("`{text}`")
}

fn number(name: &str, text: &str) -> Result<f64, ParameterError> {
    let number = text.trim().parse();
    number.map_err(|_| ParameterError::new(name, "be a number", quoted(text)))
}

fn count(name: &str, text: &str) -> Result<u64, ParameterError> {
    parse_count(text)
        .map_err(|_| ParameterError::new(name, "be a whole number of at least 0", quoted(text)))
}

fn probability(name: &str, text: &str) -> Result<Probability, ParameterError> {
    Probability::new(name, number(name, text)?)
}

/// A probability, or an expression, which the reader of the problem file checks.
fn dropout(text: &str) -> Result<Dropout, ParameterError> {
    Dropout::try_from(match text.parse() {
        Ok(number) => DropoutText::Number(number),
        Err(_) => DropoutText::Expression(text.to_owned()),
    })
}

fn missing(name: &str, text: &str) -> Result<Missing, ParameterError> {
    let probability = |part: &str| {
        let rule =
            "be a probability, or one for each feedback with `:` between them, such as 0:0.8";
        let number = part.trim().parse();
        number.map_err(|_| ParameterError::new(name, rule, quoted(text)))
    };
    let each = text.split(':').map(probability);
    Missing::new(name, &each.collect::<Result<Vec<_>, _>>()?)
}

fn delay(text: &str) -> Result<Delay, ParameterError> {
    let wrong = || {
        let rule = "be a whole number of episodes, `geometric:MEAN`, `batches:SIZE` or `none`";
        ParameterError::new("delay", rule, quoted(text))
    };
    match text.split_once(':') {
        None if text == "none" => Ok(Delay::None),
        None => count("delay", text).map(Delay::Fixed).map_err(|_| wrong()),
        Some(("fixed", n)) => Ok(Delay::Fixed(count("delay", n)?)),
        Some(("geometric", mean)) => Delay::geometric(number("mean", mean)?),
        Some(("batches", size)) => Delay::batches(count("size", size)?),
        Some(_) => Err(wrong()),
    }
}

fn drift(text: &str) -> Result<Drift, ParameterError> {
    let parts = text
        .split_once(':')
        .and_then(|(parameter, rest)| Some((parameter, rest.split_once('@')?)));
    let Some((parameter, (to, when))) = parts else {
        let rule = "be PARAMETER:TO@EPISODE or PARAMETER:TO@FROM-UNTIL, such as p:0.4@5000";
        return Err(ParameterError::new("drift", rule, quoted(text)));
    };
    let (parameter, to) = (parameter.trim(), number("to", to)?);
    match when.split_once('-') {
        None => Drift::at(parameter, to, count("at", when)?),
        Some((from, until)) => {
            Drift::between(parameter, to, count("from", from)?, count("until", until)?)
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}@", self.parameter(), self.to())?;
        match self.when() {
            DriftTiming::At(at) => write!(out, "{at}"),
            DriftTiming::Between(from, until) => write!(out, "{from}-{until}"),
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::None => out.write_str("none"),
            Delay::Fixed(n) => write!(out, "{n}"),
            Delay::Geometric(mean) => write!(out, "geometric:{}", mean.get()),
            Delay::Batches(size) => write!(out, "batches:{size}"),
        }
    }
}

impl Conditions {
    /// The texts that [`Conditions::with`] takes; a dropout of several entries, which has none, is shown as `dropout=[...]`.
    pub fn texts(&self) -> Vec<String> {
        self.texts_with(&self.dropout.text().to_string())
    }

    fn texts_with(&self, dropout: &str) -> Vec<String> {
        let mut parts = Vec::new();
        if !self.delay.is_none() {
            parts.push(format!("delay={}", self.delay));
        }
        if self.open.get() > 1 {
            parts.push(format!("open={}", self.open));
        }
        let probability = |name: &str, probability: Probability| {
            (!probability.is_none()).then(|| format!("{name}={}", probability.get()))
        };
        let missing = |name: &str, missing: &Missing| {
            (!missing.is_none()).then(|| format!("{name}={missing}"))
        };
        let drops_out = !self.dropout.is_none();
        let stated = [
            drops_out.then(|| format!("dropout={dropout}")),
            probability("lost", self.lost),
            missing("missing_costs", &self.missing_costs),
            missing("missing_rewards", &self.missing_rewards),
            probability("override", self.overrides),
        ];
        parts.extend(stated.into_iter().flatten());
        parts.extend(self.drift.iter().map(|drift| format!("drift={drift}")));
        parts
    }
}

/// [`Conditions::texts`], separated by spaces; a long dropout is cut off.
impl fmt::Display for Conditions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 40;
        let dropout = self.dropout.text().to_string();
        let short = match dropout.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", dropout[..end].trim_end()),
            None => dropout,
        };
        out.write_str(&self.texts_with(&short).join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_with_are_inverse() {
        for text in [
            "delay=20",
            "delay=geometric:2.5 dropout=0.05",
            "open=20 lost=0.1",
            "missing_costs=0:0.8 missing_rewards=0.25",
            "delay=batches:50 lost=0.1 override=0.2 drift=p:0.4@5000 drift=p:-1@6000-7000",
        ] {
            let read = Conditions::default().with(text.split(' ')).unwrap();
            assert_eq!(read.to_string(), text);
        }
        let late = ["delay=20", "dropout=if(t < 11, 0, 0.1)"];
        let read = Conditions::default().with(late).unwrap();
        assert_eq!(read.texts(), late);
        let long = "if(t < 11, 0, if(x < 3, 0.1, if(x < 5, 0.2, 0.3)))";
        let long = Dropout::try_from(DropoutText::Expression(long.into())).unwrap();
        let read = Conditions {
            dropout: long,
            ..read
        };
        let shown = "delay=20 dropout=if(t < 11, 0, if(x < 3, 0.1, if(x < 5, 0…";
        assert_eq!(read.to_string(), shown);
    }

    #[test]
    fn rejects_invalid_conditions() {
        const CASES: &str = "
delay | `condition` must be KEY=VALUE, such as delay=20, got `delay`
delay=-1 | `delay` must be a whole number of episodes
delay=poisson:3 | `geometric:MEAN`
delay=geometric:-3 | `mean` must be a number from 0 to 1e15, got -3
delay=geometric:nan | `mean` must be a number from 0 to 1e15, got NaN
delay=batches:0 | `size` must be a whole number of at least 1, got 0
open=0 | `open` must be a whole number from 1 to 1000000, got 0
open=2e6 | `open` must be a whole number from 1 to 1000000, got 2000000
open=-1 | from 1 to 1000000, got `-1`
dropout=1 | `dropout` must lie in [0, 1), got 1
missing_costs=0:1 | `missing_costs` must lie in [0, 1), got 1
missing_costs=0:often | `missing_costs` must be a probability, or one for each feedback with `:` between them, such as 0:0.8, got `0:often`
missing_costs=0.1,0.2 | `missing_costs` must be a probability, or one for each feedback with `:` between them, such as 0:0.8, got `0.1,0.2`
missing_rewards= | `missing_rewards` must be a probability, or one
override=often | `override` must be a number, got `often`
drift=p | `drift` must be PARAMETER:TO@EPISODE
drift=p:inf@10 | `to` must be a finite number, got inf
drift=p:1@9-3 | `until` must be an episode after `from`, which is 9, got 3
";
        for case in CASES.trim().lines() {
            let (text, said) = case.split_once(" | ").unwrap();
            let error = Conditions::default().with([text]).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        let error = Conditions::default().with(["lost=0.1", "lost=0.2"]);
        let error = error.unwrap_err().to_string();
        assert_eq!(error, "`lost` must be given once, got `lost=0.2`");
    }
}
