//! Whether confidence widths are sound on the problem, and the bounds that rest on them.

use emab_sim::background::{RunBackground, Soundness};

use crate::bounds::{bounds_notes, bounds_rows};
use crate::document::Block;

/// A warning that names the learners whose width is not sound.
pub(super) fn warning(background: &RunBackground) -> Option<Block> {
    let unsound = background
        .soundness
        .iter()
        .filter(|one| !one.warnings.is_empty());
    let labels: Vec<String> = unsound.map(|one| format!("`{}`", one.label)).collect();
    (!labels.is_empty()).then(|| {
        Block::Warning(format!(
            "The confidence widths of {} are not sound here: their guarantees do not apply. See \"Soundness\".",
            labels.join(", ")
        ))
    })
}

pub(super) fn blocks(background: &RunBackground) -> Vec<Block> {
    if background.soundness.is_empty() {
        return Vec::new();
    }
    let conditions = background.problem.file.conditions();
    let sound = "sound: what it assumes covers the noise and the feedback of this problem";
    let sound = match conditions.is_none() {
        true => sound.into(),
        false => format!(
            "{sound}, and its proof covers {conditions}; no theorem bounds the regret under conditions"
        ),
    };
    let row = |one: &Soundness| {
        let finding = match (one.warnings.is_empty(), one.has_proved_bounds) {
            (false, _) => one.warnings.join("; "),
            (true, true) => sound.clone(),
            (true, false) => "no confidence bounds are proved for it".into(),
        };
        vec![one.label.clone(), finding, one.assumed.join("; ")]
    };
    let mut rows: Vec<Vec<String>> = background.soundness.iter().map(row).collect();
    let mut header = vec!["learner", "confidence width", "assumed parameters"];
    if rows.iter().all(|row| row[2].is_empty()) {
        header.truncate(2);
        rows.iter_mut().for_each(|row| row.truncate(2));
    }
    let text = "Whether the confidence width of each learner covers the variation of the problem (its noise, and how far one feedback moves \
                the next expected reward) and its conditions. The guarantee of a learner holds only if it does.";
    vec![
        Block::Heading("Soundness".into()),
        Block::Text(text.into()),
        Block::table(header, rows),
    ]
}

/// The bounds of the theorems for each `feedbal`.
pub(super) fn bounds(background: &RunBackground) -> Vec<Block> {
    if background.bounds.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![
        Block::Heading("Bounds".into()),
        Block::Text(
            "The paper's bounds on the regret of `feedbal` after the last episode. The last columns are the episodes from which a bound is \
             below what no learner can exceed."
                .into(),
        ),
    ];
    for (label, bounds) in &background.bounds {
        let (mut header, rows) = bounds_rows(bounds);
        header[0] = label;
        blocks.push(Block::table(header, rows));
        blocks.push(Block::List(bounds_notes(bounds)));
    }
    blocks
}
