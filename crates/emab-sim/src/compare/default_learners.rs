//! The default learners of an arena: the whole catalogue, and some variants.

use emab::learners::{CATALOGUE, LearnerEntry};

/// Parameter values that are compared with the defaults.
const VARIANTS: [(&str, &str, &str); 5] = [
    ("feedbal", "width", "sound"),
    ("feedbal", "width", "bernstein"),
    ("feedbal-model", "width", "bernstein"),
    ("ucbvi", "bonus", "hoeffding"),
    ("q-learning", "explore", "epsilon"),
];

/// Every learner of the catalogue with its defaults, with `reveal=true` where it has that parameter, and in some
/// variants; as `name` or `name:key=value`.
///
/// ```
/// let learners = emab_sim::compare::default_learners();
/// assert_eq!(learners[0], "feedbal");
/// assert!(learners.contains(&"psrl:reveal=true".into()) && learners.contains(&"random".into()));
/// ```
pub fn default_learners() -> Vec<String> {
    let mut all = Vec::new();
    for entry in CATALOGUE {
        all.push(entry.name.to_owned());
        let variants = VARIANTS.iter().filter(|(name, ..)| *name == entry.name);
        for (_, key, value) in variants.filter(|(_, key, _)| has(entry, key)) {
            all.push(format!("{}:{key}={value}", entry.name));
        }
        if has(entry, "reveal") {
            all.push(format!("{}:reveal=true", entry.name));
        }
    }
    all
}

fn has(entry: &LearnerEntry, parameter: &str) -> bool {
    entry.parameters.iter().any(|p| p.name == parameter)
}

#[cfg(test)]
mod tests {
    use emab::learners::{LearnerConfig, LearnerDefaults};

    #[test]
    fn default_learners_are_valid_and_unique() {
        let mut all = super::default_learners();
        for text in &all {
            LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        }
        for (name, key, value) in super::VARIANTS {
            assert!(
                all.contains(&format!("{name}:{key}={value}")),
                "{name} {key}"
            );
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
