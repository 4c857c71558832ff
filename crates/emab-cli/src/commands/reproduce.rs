//! `emab reproduce`: a ledger of what the paper says, with its figures; prints a summary, or all of it.

use std::time::Instant;

use emab_paper::{BEYOND, LedgerError, Runner, Settings, TALLY};
use emab_report::{Verdict, claims_table, table};
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
    let width = terminal::width();
    let mut text = match args.full {
        true => {
            let (paper, ours) = ledger.parts();
            let [paper, ours] = [paper, ours].map(|claims| claims_table(&claims, width));
            format!("{paper}\n\n{BEYOND}:\n{ours}\n\n")
        }
        false => String::new(),
    };
    text += &table(&TALLY, &ledger.tally(), width);
    for (title, verdicts) in [
        ("Does not hold", &[Verdict::Fails][..]),
        (
            "Vacuous, consistent or undecided",
            &[Verdict::Vacuous, Verdict::Consistent, Verdict::Undecided],
        ),
    ] {
        let lines = ledger.lines(verdicts);
        if !args.full && !lines.is_empty() {
            let lines: Vec<String> = lines.iter().map(|line| shorten(line, width)).collect();
            text += &format!("\n\n{title}:\n{}", lines.join("\n"));
        }
    }
    text.push('\n');
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
    if !args.full {
        text += " `--full` prints every claim.";
    }
    terminal::print(&text)
}

/// A line of a list that fits the terminal.
fn shorten(line: &str, width: usize) -> String {
    let most = width.saturating_sub(2);
    match line.chars().count() > most {
        true => {
            let kept: String = line.chars().take(most.saturating_sub(1)).collect();
            format!("  {}…", kept.trim_end())
        }
        false => format!("  {line}"),
    }
}
