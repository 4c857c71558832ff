//! `emab reproduce`: a ledger of what the paper says, with its figures.

use std::time::Instant;

use emab_paper::{BEYOND, LedgerError, Runner, Settings};
use emab_report::claims_table;
use emab_sim::Folder;
use serde_json::json;

use super::{stop_on_ctrl_c, write_picture};
use crate::args::Reproduce;
use crate::error::CommandError;
use crate::terminal;

pub fn reproduce(args: &Reproduce, json: bool) -> Result<(), CommandError> {
    let base = match args.quick {
        true => Settings::QUICK,
        false => Settings::PAPER,
    };
    let settings = Settings {
        runs: args.runs.unwrap_or(base.runs),
        episodes: args.episodes.unwrap_or(base.episodes),
        seed: args.seed,
    };
    let folder = Folder::create(&args.out)?;
    let began = Instant::now();
    let bar = terminal::progress(0);
    let ledger = emab_paper::reproduce(&mut Runner {
        settings,
        threads: args.threads.unwrap_or(0).into(),
        stop: stop_on_ctrl_c(),
        watch: &mut |what, progress| {
            bar.set_message(what.to_owned());
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        },
    });
    bar.finish_and_clear();
    let ledger = ledger.map_err(|error| match error {
        LedgerError::Stopped => {
            CommandError::Work("stopped; `emab reproduce` writes nothing before its end".into())
        }
        other => CommandError::Work(other.to_string()),
    })?;
    let document = ledger.document();
    for figure in &ledger.figures {
        write_picture(&folder, figure.name, &figure.picture)?;
    }
    folder.write("report.md", document.markdown().as_bytes())?;
    folder.write("report.html", document.html().as_bytes())?;

    let seconds = began.elapsed().as_secs_f64();
    if json {
        let learners: Vec<_> = ledger.learners.iter().map(|(_, result)| result).collect();
        return terminal::print_json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "seed": settings.seed,
            "runs": settings.runs,
            "episodes": settings.episodes,
            "claims": ledger.claims,
            "learners": learners,
            "folder": folder.path().display().to_string(),
            "seconds": seconds,
        }));
    }
    let (paper, ours) = ledger.parts();
    let width = terminal::width();
    let mut text = claims_table(&paper, width);
    text += &format!("\n\n{BEYOND}:\n{}", claims_table(&ours, width));
    text += &format!("\n\n{}", ledger.tally());
    if settings.episodes < Settings::PAPER.episodes {
        text += &format!(
            "\nThe paper has {} episodes; what it says of its figures need not hold after {}.",
            Settings::PAPER.episodes,
            settings.episodes
        );
    }
    text += &format!(
        "\nMeasured in {seconds:.1} s. Look at {0}/report.html; {0}/report.md is the same.",
        folder.path().display()
    );
    terminal::print(&text)
}
