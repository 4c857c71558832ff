//! What the choices of a learner with its parameters depend on: tables alone, or more.

use super::entry::{Access, ChoiceBasis};
use super::settings::listed;
use crate::conditions::Conditions;
use crate::learners::{CATALOGUE, LearnerConfig, LearnerError};

impl LearnerConfig {
    /// Fails unless a choice in a pair is a function of the learned episodes in their order, and of nothing else: no
    /// random draws, no plan of an open episode, no effect of earlier requests. [`crate::conformance::check_tables`] tests it.
    ///
    /// ```
    /// use emab::learners::{LearnerConfig, LearnerDefaults};
    /// let config = |text| LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
    /// assert!(config("feedbal").chooses_from_tables().is_ok());
    /// assert_eq!(
    ///     config("feedbal:ties=random").chooses_from_tables().unwrap_err().to_string(),
    ///     "learner `feedbal` does not choose from its tables alone: it draws random numbers with ties=random; leave `ties` out",
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

impl LearnerConfig {
    /// Fails if several episodes are open at once and the learner can handle only one.
    ///
    /// ```
    /// use emab::Conditions;
    /// use emab::learners::{LearnerConfig, LearnerDefaults};
    /// let open = Conditions::default().with(["open=20"]).unwrap();
    /// let ucb1 = LearnerConfig::parse("ucb1", &LearnerDefaults::default()).unwrap();
    /// assert_eq!(
    ///     ucb1.check_conditions(&open).unwrap_err().to_string(),
    ///     "learner `ucb1` does not apply: it plans a whole episode at the first step, and with open=20 several episodes are \
    ///      open at once; leave `open` or the learner out",
    /// );
    /// ```
    pub fn check_conditions(&self, conditions: &Conditions) -> Result<(), LearnerError> {
        let entry = self.entry();
        if conditions.open.get() == 1 || entry.choice_basis != ChoiceBasis::Plan {
            return Ok(());
        }
        let why = format!(
            "{}, and with open={} several episodes are open at once; leave `open` or the learner out",
            entry.choice_basis.description(),
            conditions.open
        );
        Err(LearnerError::DoesNotApply(entry.name, why))
    }
}

/// The learners that choose from tables and need no model.
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

    fn rejection(text: &str) -> Option<String> {
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        let error = config.chooses_from_tables().err();
        error.map(|error| error.to_string())
    }

    #[test]
    fn errors_name_the_reason_and_the_remedy() {
        for text in [
            "feedbal:window=100",
            "feedbal:gamma=0.9,ties=lowest",
            "feedbal:width=bernstein,feedback_spread=1",
            "feedbal-model",
            "feedbal-lookahead",
            "olp",
            "q-learning",
        ] {
            assert_eq!(rejection(text), None);
        }
        let others = format!("{} do", names());
        assert!(others.starts_with("`feedbal`, ") && !others.contains("psrl"));
        for (text, why) in [
            ("psrl", "it draws random numbers; "),
            ("ucb1", "it plans a whole episode at the first step; "),
            ("ucbvi", "its choices depend on earlier requests; "),
        ] {
            let said = rejection(text).unwrap();
            assert!(said.ends_with(&format!("{why}{others}")), "{said}");
        }
        assert_eq!(
            rejection("q-learning:explore=epsilon").unwrap(),
            "learner `q-learning` does not choose from its tables alone: it draws random numbers with explore=epsilon; \
             leave `explore` out"
        );
        assert!(rejection("feedbal:ties=random").is_some());
    }
}
