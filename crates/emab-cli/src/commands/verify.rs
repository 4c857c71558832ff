//! `emab verify`: how often a learner violates the guarantees of the paper.

use emab_report::{confidence, guarantees_table, number, percent};
use emab_sim::{CHECKED_PAIRS, Control, Verification};
use serde_json::json;

use super::stop_on_ctrl_c;
use crate::args::Verify;
use crate::error::CommandError;
use crate::{load, terminal};

pub fn verify(args: &Verify, json: bool) -> Result<(), CommandError> {
    let file = load::problem(&args.problem)?;
    let problem = file.problem()?;
    load::note_conditions(&file);
    file.check(CHECKED_PAIRS)?;
    let learner = load::learner(&file, &args.learner, args.episodes)?;
    let verification = Verification {
        problem,
        learner: learner.clone(),
        episodes: args.episodes,
        runs: args.runs,
        seed: args.seed,
    };
    let bar = terminal::progress(0);
    bar.set_message("verifying");
    let verified = verification.run(&mut Control {
        threads: args.threads.unwrap_or(0).into(),
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
    load::warn_unsound(&file, std::slice::from_ref(&learner))?;
    let guarantees = verified.guarantees();
    let worst = verified.worst.map(|(t, x, action, runs)| {
        let name = file.spec().action_name(action).into_owned();
        (t, x, name, runs)
    });
    if json {
        return terminal::print_json(&json!({
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
        }));
    }
    let mut text = format!(
        "{}, {}: {} runs of {} episodes, seed {}; each may fail with probability {}\n{}",
        file.name(),
        learner.label(),
        args.runs,
        args.episodes,
        args.seed,
        percent(verified.delta.get()),
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
        "\nRegret at the end: {}, at most {}. No learner can lose more than {}.",
        confidence(verified.regret.0, verified.regret.1, args.runs),
        number(verified.max_regret),
        number(verified.largest_regret)
    );
    if let Some(bound) = verified.theorem2 {
        text += &format!(
            " Theorem 2 (delta = 1/n) allows an expected {}.",
            number(bound.derived)
        );
    }
    terminal::print(&text)
}
