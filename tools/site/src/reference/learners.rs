//! Every learner with its parameters and its publication.

use emab::learners::CATALOGUE;

use super::{sentence, table};

pub fn page() -> (&'static str, &'static str, String) {
    let mut out = String::new();
    for entry in CATALOGUE {
        out += &format!("## `{}`\n\n{}\n\n", entry.name, sentence(entry.about));
        out += &format!("- Reference: {}\n", entry.reference);
        out += &format!("- Reads: {}\n", entry.access.description());
        out += &format!("- Choices depend on: {}\n\n", entry.choice_basis.name());
        if !entry.parameters.is_empty() {
            let rows = entry.parameters.iter();
            let rows = rows.map(|it| {
                vec![
                    format!("`{}`", it.name),
                    format!("`{}`", it.default),
                    it.about.into(),
                ]
            });
            out += &table(&["parameter", "default", "meaning"], rows);
            out += "\n";
        }
    }
    (
        "Catalogue of learners",
        "Every learner with its parameters and its publication; `emab learners NAME` prints the same. A learner with parameters is written \
         `name:key=value,key=value`. Values in `[learning]` of a problem file override the defaults, and the call overrides both. \
         [Learners](../learners.md) explains the methods and how they differ from their publications; \
         [which learner](../which-learner.md) compares them.",
        out,
    )
}
