//! `emab reproduce`: a ledger of what the paper says, with its figures.

use std::time::Instant;

use emab_paper::{Desk, Ledger, LedgerError, Settings};
use emab_report::{Block, Claim, Document, Folder, Verdict, claims_table, regret_cells};
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
    let (paper, ours) = ledger.parts();
    let width = terminal::width();
    let mut text = claims_table(&paper, width);
    text += &format!("\n\n{BEYOND}:\n{}", claims_table(&ours, width));
    text += &format!("\n\n{}", tally(&paper));
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

/// What the rows are called that no sentence of the paper asks for.
const BEYOND: &str = "Beyond the paper: repairs and checks of our own";

/// How the claims of the paper came out.
fn tally(claims: &[Claim]) -> String {
    let count = |verdict| claims.iter().filter(|c| c.verdict == verdict).count();
    format!(
        "{} claims of the paper: {} hold and {} in part; {} do not hold; {} undecided.",
        claims.len(),
        count(Verdict::Holds),
        count(Verdict::HoldsInPart),
        count(Verdict::Fails),
        count(Verdict::Undecided)
    )
}

fn document(ledger: &Ledger, settings: Settings) -> Document {
    let (paper, ours) = ledger.parts();
    let mut blocks = vec![
        Block::Text(format!(
            "What the paper by Cem Tekin and Mihaela van der Schaar says, tested by emab {} (seed {}; the figures have {} runs of {} \
             episodes for each learner). {} Every verdict is of this run.",
            env!("CARGO_PKG_VERSION"),
            settings.seed,
            settings.runs,
            settings.episodes,
            tally(&paper)
        )),
        Block::Text(TERMS.into()),
        Block::Text(RULES.into()),
        Block::Heading("What the paper says, and what was measured".into()),
        Block::Claims(paper),
        Block::Heading(BEYOND.into()),
        Block::Claims(ours),
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
    Document {
        title: "Episodic Multi-armed Bandits, claim by claim".into(),
        blocks,
    }
}

const TERMS: &str = "Terms. The benchmark takes, step by step, what gains most one step ahead. V is its value, and Q that of an \
    action followed by the benchmark; regret is the sum of V - Q along the learner's own path, which has the expectation of the \
    paper's Equation 2 and less variance. A triplet is a step, a state and an action. A confidence number is the half-width of a \
    learner's confidence interval. A bound is given as printed in the paper, as derived by its own proof, or tight, the least that \
    the argument gives. `width=sound` is our repair: a width that also covers the randomness of the feedback.";

const RULES: &str = "Verdicts. What is computed exactly holds or does not. That one number is less than another holds, or does not, \
    if they are three standard errors apart. A promise with a probability is kept or broken if the 95 % Clopper-Pearson interval of \
    how often it failed lies on one side of it. Other thresholds stand where the test is described. What these rules do not settle \
    is undecided. Numbers after ± are half-widths of 95 % intervals.";
