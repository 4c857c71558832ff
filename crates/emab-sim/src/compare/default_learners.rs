//! Who takes part where nobody is named: the whole catalogue, and some settings that are learners of their own.

use emab::learners::{CATALOGUE, LearnerEntry};

/// Settings worth a place beside the defaults, of learners that have them.
const VARIANTS: [(&str, &str, &str); 5] = [
    ("feedbal", "width", "sound"),
    ("feedbal", "width", "bernstein"),
    ("feedbal-model", "width", "bernstein"),
    ("ucbvi", "bonus", "hoeffding"),
    ("q-learning", "explore", "epsilon"),
];

/// Every learner of the catalogue as it is, told all that an episode reveals where it can be, and in some other
/// settings; as `name` or `name:key=value`.
///
/// ```
/// let roster = emab_sim::roster();
/// assert_eq!(roster[0], "feedbal");
/// assert!(roster.contains(&"psrl:reveal=true".into()) && roster.contains(&"random".into()));
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
    fn everybody_can_be_read_and_is_there_once() {
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
