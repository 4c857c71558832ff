//! `emab check`: validates a problem file, describes it and counts its reachable pairs.

use emab::conformance::ReachSummary;
use emab::learners::LearnerConfig;
use emab::oracle::{Pairs, Variation};
use emab::width::{Coefficients, WidthKind};
use emab_problem::ProblemFile;
use emab_report::number;
use emab_sim::soundness::{missing_parameters_text, soundness_words, stated_soundness_text};
use serde_json::json;

use crate::error::CommandError;
use crate::{load, terminal};

/// The most pairs that are checked.
const LIMIT: usize = 2_000_000;

pub fn check(name: &str, json: bool) -> Result<(), CommandError> {
    let file = load::problem(name)?;
    let spec = file.spec();
    let reached = file.check(LIMIT)?;
    let widths = widths(&file)?;
    let remarks = remarks(&file, &reached);
    let reachable = reached.complete.then_some(reached.pairs);
    let learning = file.learning();
    if json {
        return terminal::print_json(&json!({
            "problem": file.name(),
            "description": file.description(),
            "problem_hash": file.hash(),
            "horizon": spec.horizon(),
            "states": spec.states().len(),
            "actions": (0..spec.actions().len()).map(|a| spec.actions().name(a)).collect::<Vec<_>>(),
            "feedbacks": spec.feedbacks().len(),
            "start": spec.start(),
            "k": spec.k(),
            "reachable_pairs": reachable,
            "checked_pairs": reached.pairs,
            "model": file.has_model(),
            "conditions": file.conditions(),
            "learning": {
                "delta": learning.delta.map(emab::Delta::get),
                "sigma2": learning.sigma2.map(emab::Sigma2::get),
                "sigma2_cost": learning.sigma2_cost.map(emab::Sigma2::get),
                "sigma2_reward": learning.sigma2_reward.map(emab::Sigma2::get),
                "feedback_spread": learning.feedback_spread.map(emab::FeedbackSpread::get),
                "reward_range": learning.reward_range,
            },
            "widths": { "paper": widths.paper, "needed": widths.needed },
            "remarks": remarks,
            "warnings": widths.warnings,
        }));
    }
    let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let actions: Vec<_> = (0..spec.actions().len().min(8))
        .map(|a| spec.actions().name(a))
        .collect();
    let more = if spec.actions().len() > 8 {
        ", …"
    } else {
        ""
    };
    let whole = |n: f64| number(n.round());
    let pairs = reachable.map_or(format!("more than {}", whole(reached.pairs as f64)), |n| {
        whole(n as f64)
    });
    let all = spec.horizon() as f64 * spec.states().len() as f64;
    let mut rows = vec![
        vec![
            "size".into(),
            format!(
                "{}, {}, {}",
                count(spec.horizon(), "step"),
                count(spec.states().len(), "state"),
                count(spec.feedbacks().len(), "feedback")
            ),
        ],
        vec![
            "actions".into(),
            format!("{}{more}, and stop", actions.join(", ")),
        ],
        vec![
            "start".into(),
            format!("state {}", spec.states().name(spec.start())),
        ],
        vec!["K".into(), whole(spec.k())],
        vec![
            "reachable".into(),
            format!("{pairs} of {} step-state pairs", whole(all)),
        ],
        vec![
            "model".into(),
            if file.has_model() {
                "stated"
            } else {
                "none: a live study"
            }
            .into(),
        ],
        vec!["hash".into(), file.hash().into()],
    ];
    let known = [
        ("delta", learning.delta.map(emab::Delta::get)),
        ("sigma2", learning.sigma2.map(emab::Sigma2::get)),
        ("sigma2_cost", learning.sigma2_cost.map(emab::Sigma2::get)),
        (
            "sigma2_reward",
            learning.sigma2_reward.map(emab::Sigma2::get),
        ),
        (
            "feedback_spread",
            learning.feedback_spread.map(emab::FeedbackSpread::get),
        ),
    ];
    let mut known: Vec<String> = known
        .iter()
        .filter_map(|(name, value)| value.map(|v| format!("{name} = {v}")))
        .collect();
    if let Some((least, most)) = learning.reward_range {
        known.push(format!("reward_range = [{least}, {most}]"));
    }
    if !known.is_empty() {
        rows.insert(5, vec!["learning".into(), known.join(", ")]);
    }
    if !file.conditions().is_none() {
        let hash = rows.len() - 1;
        let conditions = file.conditions().to_string();
        rows.insert(hash, vec!["conditions".into(), conditions]);
    }
    let mut text = emab_report::table(&[file.name(), ""], &rows, terminal::width());
    if !file.description().is_empty() {
        text = format!("{}\n{text}", file.description());
    }
    for remark in &remarks {
        text += &format!("\nnote: {remark}");
    }
    for warning in &widths.warnings {
        text += &format!("\nwarning: {warning}");
    }
    text += &if reached.complete {
        "\nThe problem is valid.".to_owned()
    } else {
        format!(
            "\nThe first {} pairs are valid; the others were not checked.",
            whole(reached.pairs as f64)
        )
    };
    terminal::print(&text)
}

/// Properties that differ from the paper's assumptions.
fn remarks(file: &ProblemFile, reached: &ReachSummary) -> Vec<String> {
    let mut remarks = Vec::new();
    for (what, least) in [
        ("reward", reached.least_reward),
        ("cost", reached.least_cost),
    ] {
        if least < 0.0 {
            remarks.push(format!(
                "the least {what} is {}; the paper assumes at least 0",
                number(least)
            ));
        }
    }
    let learning = file.learning();
    let apart = learning.sigma2_cost.is_some() && learning.sigma2_reward.is_some();
    if learning.sigma2.is_none() && !apart {
        remarks.push(
            "[learning] does not set `sigma2`; learners that need it use their default".into(),
        );
    }
    remarks
}

/// The coefficients of the paper's width and of a sound width, where known.
struct Widths {
    paper: Coefficients,
    needed: Option<Coefficients>,
    warnings: Vec<String>,
}

fn widths(file: &ProblemFile) -> Result<Widths, CommandError> {
    let learning = file.learning();
    let parameters = LearnerConfig::parse("feedbal", learning)
        .and_then(|config| config.feedbal_parameters())
        .map_err(|error| CommandError::learner(file, error))?;
    let mut widths = Widths {
        paper: parameters.coefficients(),
        needed: None,
        warnings: Vec::new(),
    };
    if !file.has_model() {
        if let Some(spread) = learning.spread() {
            let sound = WidthKind::Sound(spread);
            widths.needed =
                Some(sound.coefficients(parameters.sigma2_cost, parameters.sigma2_reward));
            widths
                .warnings
                .extend(stated_soundness_text(&parameters, spread));
        }
        return Ok(widths);
    }
    let mut pairs =
        Pairs::new(file.problem()?).map_err(|error| CommandError::oracle(file, error))?;
    // The variation of a problem with too many pairs is unknown.
    if let Ok(variation) = Variation::of(&mut pairs, LIMIT) {
        widths.needed = Some(variation.needed);
        let words = soundness_words(&parameters, &variation, file.spec());
        widths.warnings.extend(words);
        widths
            .warnings
            .extend(missing_parameters_text(learning, &variation));
    }
    Ok(widths)
}
