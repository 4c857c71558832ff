//! `emab check`: validates a problem file, describes it and counts its reachable pairs.

use emab::conformance::ReachSummary;
use emab::learners::{LearnerConfig, LearnerDefaults};
use emab::oracle::{Pairs, Variation};
use emab::width::{Coefficients, WidthKind};
use emab::{Delta, FeedbackSpread, Sigma2};
use emab_problem::{OutcomeRange, ProblemFile};
use emab_report::number;
use emab_sim::soundness::{
    missing_parameters_text, soundness_words, stated_soundness_text, uncovered_conditions,
};
use serde_json::{Map, Value, json};

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
    let names = || (0..spec.actions().len()).map(|a| spec.actions().name(a));
    let learning = stated(file.learning());
    if json {
        let mut numbers: Map<String, Value> = learning
            .iter()
            .map(|(name, value)| ((*name).into(), json!(value)))
            .collect();
        numbers.insert("reward_range".into(), json!(file.learning().reward_range));
        numbers.insert("outcome_range".into(), json!(file.outcome_range()));
        let mut document = json!({
            "problem": file.name(),
            "description": file.description(),
            "problem_hash": file.hash(),
            "horizon": spec.horizon(),
            "states": spec.states().len(),
            "actions": names().collect::<Vec<_>>(),
            "feedbacks": spec.feedbacks().len(),
            "start": match spec.starts() {
                [one] => json!(one),
                several => json!(several),
            },
            "k": spec.k(),
            "reachable_pairs": reachable,
            "checked_pairs": reached.pairs,
            "model": file.has_model(),
            "conditions": file.conditions(),
            "learning": numbers,
            "widths": { "paper": widths.paper, "needed": widths.needed },
            "remarks": remarks,
            "warnings": widths.warnings,
        });
        if spec.starts().len() > 1 {
            document["start_probabilities"] = json!(probabilities(&file)?);
        }
        return terminal::print_json(&document);
    }
    let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let whole = |n: f64| number(n.round());
    let checked = whole(reached.pairs as f64);
    let pairs = reachable.map_or(format!("more than {checked}"), |_| checked.clone());
    let all = whole(spec.horizon() as f64 * spec.states().len() as f64);
    let (steps, states) = (
        count(spec.horizon(), "step"),
        count(spec.states().len(), "state"),
    );
    let feedbacks = count(spec.feedbacks().len(), "feedback");
    let mut actions: Vec<_> = names().take(8).collect();
    if spec.actions().len() > 8 {
        actions.push("…".into());
    }
    let mut known: Vec<String> = learning
        .iter()
        .filter_map(|(name, value)| value.map(|v| format!("{name} = {v}")))
        .collect();
    if let Some((least, most)) = file.learning().reward_range {
        known.push(format!("reward_range = [{least}, {most}]"));
    }
    let OutcomeRange { cost, reward } = file.outcome_range();
    for (name, range) in [("costs", cost), ("rewards", reward)] {
        if let Some([least, most]) = range {
            known.push(format!("observed {name} in [{least}, {most}]"));
        }
    }
    let model = match file.has_model() {
        true => "stated",
        false => "none: a live study",
    };
    let rows: Vec<Vec<String>> = [
        ("size", format!("{steps}, {states}, {feedbacks}")),
        ("actions", format!("{}, and stop", actions.join(", "))),
        ("start", starts(&file)?),
        ("K", whole(spec.k())),
        ("reachable", format!("{pairs} of {all} step-state pairs")),
        ("learning", known.join(", ")),
        ("model", model.into()),
        ("conditions", file.conditions().to_string()),
        ("hash", file.hash().into()),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(name, value)| vec![name.into(), value])
    .collect();
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
    text += &match reached.complete {
        true => "\nThe problem is valid.".to_owned(),
        false => format!("\nThe first {checked} pairs are valid; the others were not checked."),
    };
    terminal::print(&text)
}

/// The probabilities of the start states, where the file has a model.
fn probabilities(file: &ProblemFile) -> Result<Option<Vec<f64>>, CommandError> {
    let Ok(problem) = file.problem() else {
        return Ok(None);
    };
    let probabilities = problem.start_distribution();
    let probabilities = probabilities.map_err(|error| file.locate(&error))?;
    Ok(Some(probabilities.to_vec()))
}

/// The start states, with their probabilities where there are several and the model gives them.
fn starts(file: &ProblemFile) -> Result<String, CommandError> {
    const SHOWN: usize = 8;
    let spec = file.spec();
    let name = |&x: &usize| spec.states().name(x);
    if let [one] = spec.starts() {
        return Ok(format!("state {}", name(one)));
    }
    let probabilities = probabilities(file)?;
    let starts = spec.starts().iter().take(SHOWN).enumerate();
    let mut starts: Vec<String> = starts
        .map(|(i, x)| match &probabilities {
            Some(p) => format!("{} ({})", name(x), number(p[i])),
            None => name(x).into_owned(),
        })
        .collect();
    if spec.starts().len() > SHOWN {
        starts.push("…".into());
    }
    Ok(format!("states {}", starts.join(", ")))
}

/// The numbers of `[learning]`, where the file states them.
fn stated(learning: &LearnerDefaults) -> [(&'static str, Option<f64>); 5] {
    [
        ("delta", learning.delta.map(Delta::get)),
        ("sigma2", learning.sigma2.map(Sigma2::get)),
        ("sigma2_cost", learning.sigma2_cost.map(Sigma2::get)),
        ("sigma2_reward", learning.sigma2_reward.map(Sigma2::get)),
        (
            "feedback_spread",
            learning.feedback_spread.map(FeedbackSpread::get),
        ),
    ]
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
    let feedbal = LearnerConfig::parse("feedbal", learning).map_err(CommandError::of(file))?;
    let parameters = feedbal.feedbal_parameters();
    let parameters = parameters.map_err(CommandError::of(file))?;
    let (mut needed, mut warnings) = (None, Vec::new());
    if file.has_model() {
        // Feedback that moves nothing is the exception.
        let mut moves = true;
        let mut pairs = Pairs::new(file.problem()?).map_err(CommandError::of(file))?;
        // The variation of a problem with too many pairs is unknown.
        if let Ok(variation) = Variation::of(&mut pairs, LIMIT) {
            needed = Some(variation.needed);
            moves = variation.spread > 0.0;
            warnings.extend(soundness_words(&parameters, &variation, file.spec()));
            warnings.extend(missing_parameters_text(learning, &variation));
        }
        let horizon = file.spec().horizon();
        let uncovered = uncovered_conditions(&feedbal, file.conditions(), horizon, moves);
        warnings.extend(
            uncovered
                .into_iter()
                .map(|words| format!("feedbal: {words}")),
        );
    } else if let Some(spread) = learning.spread() {
        let sound = WidthKind::Sound(spread);
        needed = Some(sound.coefficients(parameters.sigma2_cost, parameters.sigma2_reward));
        warnings.extend(stated_soundness_text(&parameters, spread));
    }
    Ok(Widths {
        paper: parameters.coefficients(),
        needed,
        warnings,
    })
}
