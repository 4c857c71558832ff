//! `emab reproduce`: a ledger of what the paper says, with its figures.

use std::time::Instant;

use emab_paper::{Desk, Ledger, LedgerError, Settings};
use emab_report::{Block, Document, Folder, claims_table, regret_cells};
use serde_json::json;

use super::stop_on_ctrl_c;
use crate::args::Reproduce;
use crate::failure::Failure;
use crate::terminal;

pub fn reproduce(args: &Reproduce, json: bool) -> Result<(), Failure> {
    let base = if args.quick {
        Settings::QUICK
    } else {
        Settings::PAPER
    };
    let settings = Settings {
        runs: args.runs.unwrap_or(base.runs),
        episodes: args.episodes.unwrap_or(base.episodes),
        seed: args.seed,
    };
    let folder = Folder::create(&args.out)?;
    let began = Instant::now();
    let bar = terminal::progress(0);
    let ledger = emab_paper::reproduce(&mut Desk {
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
            Failure::Work("stopped; `emab reproduce` writes nothing before its end".into())
        }
        other => Failure::Work(other.to_string()),
    })?;
    let document = document(&ledger, settings);
    for figure in &ledger.figures {
        folder.write(
            format!("{}.svg", figure.name),
            figure.picture.svg.as_bytes(),
        )?;
        folder.write(format!("{}.png", figure.name), &figure.picture.png)?;
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
    let mut text = claims_table(&ledger.claims, terminal::width());
    if settings.episodes < Settings::PAPER.episodes {
        text += &format!(
            "\nThe paper has {} episodes; what it says of its figures need not hold after {}.",
            Settings::PAPER.episodes,
            settings.episodes
        );
    }
    text += &format!(
        "\n{} claims, all measured in this run, in {seconds:.1} s. Look at {1}/report.html; {1}/report.md is the same.",
        ledger.claims.len(),
        folder.path().display()
    );
    terminal::print(&text)
}

fn document(ledger: &Ledger, settings: Settings) -> Document {
    let mut blocks = vec![
        Block::Text(format!(
            "Episodic Multi-armed Bandits (Tekin, van der Schaar), claim by claim, by emab {}: figures from {} runs of {} episodes \
             for each learner, seed {}. Every verdict was measured in this run.",
            env!("CARGO_PKG_VERSION"),
            settings.runs,
            settings.episodes,
            settings.seed
        )),
        Block::Heading("What the paper says, and what was measured".into()),
        Block::Claims(ledger.claims.clone()),
        Block::Text(
            "That one number is less than another holds, or does not, if they are three standard errors apart; a promise \
             with a probability is kept or broken if its 95 % Clopper-Pearson interval lies on one side of it; otherwise \
             the claim is undecided. Intervals after ± are 95 %."
                .into(),
        ),
        Block::Heading("Pictures".into()),
    ];
    blocks.extend(ledger.figures.iter().map(|figure| Block::Picture {
        name: figure.name.into(),
        caption: figure.caption.clone(),
        svg: figure.picture.svg.clone(),
    }));
    let (header, rows) = regret_cells(&ledger.learners, &ledger.shown_at);
    blocks.push(Block::Heading(
        "Cumulative regret of the figures, with 95 % intervals".into(),
    ));
    blocks.push(Block::Table { header, rows });
    blocks.push(Block::Text(
        "Regret is the sum of V(t,x) - Q(t,x,a) against the benchmark along the learner's own path, which has the expectation \
         of the paper's Equation 2 and less variance."
            .into(),
    ));
    Document {
        title: "The paper, claim by claim".into(),
        blocks,
    }
}
