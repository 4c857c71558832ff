//! The default learners of an arena: the whole catalogue, and some variants.

use emab::learners::CATALOGUE;

/// Parameter values that are compared with the defaults.
const VARIANTS: [(&str, &str, &str); 6] = [
    ("feedbal-pooled", "target", "benchmark"),
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
        for (_, key, value) in VARIANTS.iter().filter(|(name, ..)| *name == entry.name) {
            all.push(format!("{}:{key}={value}", entry.name));
        }
        if entry.parameters.iter().any(|p| p.name == "reveal") {
            all.push(format!("{}:reveal=true", entry.name));
        }
    }
    all
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
            let variant = format!("{name}:{key}={value}");
            assert!(all.contains(&variant), "{variant}");
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
