//! `emab verify`: how often a learner violates the guarantees of the paper.

use emab::Conditions;
use emab_problem::ProblemFile;
use emab_report::{confidence, guarantees_table, number, percent};
use emab_sim::{CHECKED_PAIRS, Control, Device, Verification};
use serde_json::json;

use super::stop_on_ctrl_c;
use crate::args::Verify;
use crate::error::CommandError;
use crate::{load, terminal};

/// The missing costs and rewards among the conditions; rejects others that the call gives.
fn missing_only(file: &ProblemFile, given: &[String]) -> Result<Conditions, CommandError> {
    let read = Conditions::default().with(given.iter().map(String::as_str));
    let read = read.map_err(|error| CommandError::input(format!("--condition: {error}")))?;
    let others = read.without_missing();
    if !others.is_none() {
        return Err(CommandError::input(format!(
            "--condition: a verification simulates `missing_costs` and `missing_rewards` only; remove {others}"
        )));
    }
    Ok(Conditions {
        missing_costs: file.conditions().missing_costs.clone(),
        missing_rewards: file.conditions().missing_rewards.clone(),
        ..Conditions::default()
    })
}

pub fn verify(args: &Verify, json: bool) -> Result<(), CommandError> {
    let file = load::problem(&args.problem)?;
    load::note_ignored(&file, &file.conditions().without_missing());
    let file = load::with_conditions(file, &args.condition)?;
    let conditions = missing_only(&file, &args.condition)?;
    let problem = file.problem()?;
    file.check(CHECKED_PAIRS)?;
    let learner = load::learner(&file, &args.learner, args.episodes)?;
    let verification = Verification {
        problem,
        learner: learner.clone(),
        episodes: args.episodes,
        runs: args.runs,
        seed: args.seed,
        conditions: conditions.clone(),
    };
    let bar = terminal::progress(0);
    bar.set_message("verifying");
    let verified = verification.run(&mut Control {
        threads: args.threads.unwrap_or(0).into(),
        device: Device::processor(),
        stop: stop_on_ctrl_c(),
        watch: &mut |progress, _| {
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        },
    });
    bar.finish_and_clear();
    let verified = verified.map_err(CommandError::of(&file))?;
    let Some(verified) = verified else {
        return Err(CommandError::Work("stopped; nothing was saved".into()));
    };
    load::warn_unsound(&file, &conditions, &learner)?;
    let guarantees = verified.guarantees();
    let worst = verified.worst.map(|(t, x, action, runs)| {
        let name = file.spec().action_name(action).into_owned();
        (t, x, name, runs)
    });
    if json {
        let mut document = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "problem": file.name(),
            "problem_hash": file.hash(),
            "learner": learner.label(),
            "delta": verified.delta.get(),
            "seed": args.seed,
            "runs": args.runs,
            "episodes": args.episodes,
            "promises": guarantees,
            "worst": worst.map(|(t, x, a, runs)| json!({"t": t, "x": x, "a": a, "runs": runs})),
            "regret": verified.regret.0,
            "stderr": verified.regret.1,
            "most_regret": verified.max_regret,
            "theorem1": verified.theorem1,
            "largest_regret": verified.largest_regret,
            "covered": verified.covered,
            "theorem2": verified.theorem2,
        });
        if !conditions.is_none() {
            document["conditions"] = json!(conditions);
        }
        return terminal::print_json(&document);
    }
    let mut text = format!(
        "{}, {}: {} runs of {} episodes, seed {}; each may fail with probability {}\n{}{}",
        file.name(),
        learner.label(),
        args.runs,
        args.episodes,
        args.seed,
        percent(verified.delta.get()),
        match conditions.is_none() {
            true => String::new(),
            false => format!("conditions: {conditions}\n"),
        },
        guarantees_table(&guarantees, terminal::width())
    );
    if verified.theorem1.is_some() && !verified.covered {
        text += "\nTheorem 1 does not cover this problem and this learner: see `emab bounds`.";
    }
    if let Some((t, x, a, runs)) = worst {
        text += &format!(
            "\nThe runs that violate {} do so most often at t = {t}, x = {}, a = {a}: in {runs} of them.",
            guarantees.first().map_or("it", |first| &first.statement),
            file.spec().states().name(x)
        );
    }
    text += &format!(
        "\nRegret at the end: {}, at most {}. No learner's regret exceeds {}, except with probability {}.",
        confidence(verified.regret.0, verified.regret.1, args.runs),
        number(verified.max_regret),
        number(verified.largest_regret),
        percent(verified.delta.get())
    );
    if let Some(bound) = verified.theorem2 {
        text += &format!(
            " Theorem 2 (delta = 1/n) allows an expected {}.",
            number(bound.derived)
        );
    }
    terminal::print(&text)
}
