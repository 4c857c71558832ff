//! Whether a learner, as it is set, chooses from its tables alone.

use super::entry::{Access, ChoiceBasis};
use super::settings::listed;
use crate::learners::{CATALOGUE, LearnerConfig, LearnerError};

impl LearnerConfig {
    /// An error unless what it chooses in a pair is a function of the episodes it learned, in their order, and of nothing
    /// else: no draw, no memory of an episode in course, no trace of what it was asked before.
    /// [`crate::conformance::check_tables`] holds learners to it.
    ///
    /// ```
    /// use emab::learners::{LearnerConfig, Learning};
    /// let config = |text| LearnerConfig::parse(text, &Learning::default()).unwrap();
    /// assert!(config("feedbal").chooses_from_tables().is_ok());
    /// assert_eq!(
    ///     config("feedbal:ties=random").chooses_from_tables().unwrap_err().to_string(),
    ///     "learner `feedbal` does not choose from what it learned alone: it draws with ties=random; leave `ties` out",
    /// );
    /// ```
    pub fn chooses_from_tables(&self) -> Result<(), LearnerError> {
        let entry = self.entry();
        let learner = entry.name;
        if entry.choice_basis != ChoiceBasis::Tables {
            return Err(LearnerError::NotFromTables {
                learner,
                why: entry.choice_basis.description().into(),
                remedy: format!("{} do", names()),
            });
        }
        let settings = self.settings();
        let drawn = entry.parameters.iter().find_map(|parameter| {
            let value = settings.value(parameter.name)?;
            parameter.draws(value).then_some((parameter.name, value))
        });
        match drawn {
            None => Ok(()),
            Some((name, value)) => Err(LearnerError::NotFromTables {
                learner,
                why: format!("{} with {name}={value}", ChoiceBasis::Draws.description()),
                remedy: format!("leave `{name}` out"),
            }),
        }
    }
}

/// Those that do, as far as they need no truth: who asks has none.
fn names() -> String {
    let names = CATALOGUE.iter().filter(|entry| {
        let sees_enough = entry.access == Access::Spec;
        sees_enough && entry.choice_basis == ChoiceBasis::Tables
    });
    listed(names.map(|entry| entry.name), "and")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::LearnerDefaults;

    fn refusal(text: &str) -> Option<String> {
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        let refused = config.chooses_from_tables().err();
        refused.map(|error| error.to_string())
    }

    #[test]
    fn who_does_not_is_told_why_and_what_to_do() {
        for text in [
            "feedbal:window=100",
            "feedbal:gamma=0.9,ties=lowest",
            "feedbal:width=bernstein,feedback_spread=1",
            "feedbal-model",
            "feedbal-lookahead",
            "olp",
            "q-learning",
        ] {
            assert_eq!(refusal(text), None);
        }
        let others = "`feedbal`, `feedbal-model`, `feedbal-lookahead`, `olp` and `q-learning` do";
        for (text, why) in [
            ("psrl", "it draws; "),
            (
                "ucb1",
                "it decides at the first step of an episode what to do in all of it; ",
            ),
            (
                "ucbvi",
                "what it chooses depends on when it was asked before; ",
            ),
        ] {
            let said = refusal(text).unwrap();
            assert!(said.ends_with(&format!("{why}{others}")), "{said}");
        }
        let said = refusal("q-learning:explore=epsilon").unwrap();
        assert!(
            said.ends_with("it draws with explore=epsilon; leave `explore` out"),
            "{said}"
        );
    }
}
